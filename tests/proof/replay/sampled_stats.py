"""The counters of a replayed broker, sampled every 10 s at a phase that no frame tells.

A look at a queue is no delivery until its answer is the recorded one, so what consumers got is counted there. Of all
phases of the samples those stay that explain every recorded rate so far.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from rmqlab.message.record import decode_records
from rmqlab.protocol.codes import PULLS, RequestCode, ResponseCode
from rmqlab_tools.live.extra.broker_stats_manager import BrokerStatsManager
from tests.proof.replay.compare import compare

if TYPE_CHECKING:
    from collections.abc import Callable

    from rmqlab.protocol.command import RemotingCommand
    from rmqlab_tools.recordings.exchange import Exchange

SAMPLED = frozenset({RequestCode.GET_CONSUME_STATS, RequestCode.VIEW_BROKER_STATS_DATA})
PERIOD_MS = 10_000


class SampledStats(BrokerStatsManager):
    """Counters that remember everything that was added to them, and have it sampled when somebody asks for rates.

    `delivered` counts the messages that consumers got.
    """

    def __init__(self, cluster_name: str, started: int) -> None:
        """`started` is when the broker began."""
        super().__init__(cluster_name, started)
        self.delivered = 0
        self._broker_started = started
        self._added: list[tuple[str, str, int, int, int]] = []
        # The moments, within the period, at which the samples may have been taken.
        self._phases: list[tuple[int, int]] = [(0, PERIOD_MS)]

    def add(self, kind: str, key: str, value: int, now: int, times: int = 1) -> None:
        """Remember what is added to a counter."""
        self._added.append((kind, key, value, now, times))

    def get(self, group: str, topic: str, queue_id: int | None, count: int, size: int, now: int) -> None:
        """Wait for the recorded answer: `deliver` counts it."""

    def deliver(self, exchange: Exchange, now: int) -> None:
        """Count the messages of a pull whose answer is final."""
        got = exchange.got
        if got is None or exchange.code not in PULLS or got.code != ResponseCode.SUCCESS:
            return
        body = got.body or b""
        count = len(decode_records(body, read_body=False))
        self.delivered += count
        super().get(str(exchange.fields.get("consumerGroup")), *exchange.queue, count, len(body), now)

    def answer(self, exchange: Exchange, ask: Callable[[], RemotingCommand | None], now: int) -> RemotingCommand | None:
        """Answer a request for rates with a phase that explains the recorded answer, and keep such phases only."""
        first: RemotingCommand | None = None
        found: RemotingCommand | None = None
        explaining = []
        for low, high in self._pieces(now):
            self._sample((low + high) // 2)
            got = ask()
            first = first or got
            if exchange.expected is not None and got and not compare(exchange.code, exchange.expected, got):
                found = found or got
                explaining.append((low, high))
        self._phases = explaining or self._phases
        return found or first

    def _sample(self, phase: int) -> None:
        """Have the counters as if they were sampled at this phase."""
        self.started = self._broker_started - PERIOD_MS + (phase - self._broker_started) % PERIOD_MS
        self._table = {}
        for kind, key, value, now, times in sorted(self._added, key=lambda added: added[3]):
            super().add(kind, key, value, now, times)

    def _pieces(self, now: int) -> list[tuple[int, int]]:
        """The open phases, cut wherever a sample would come before or after something that was added."""
        cuts = {added[3] % PERIOD_MS for added in self._added} | {now % PERIOD_MS}
        pieces: list[tuple[int, int]] = []
        for low, high in self._phases:
            edges = [low, *sorted(cut + 1 for cut in cuts if low < cut + 1 < high), high]
            pieces.extend(pairwise(edges))
        return pieces
