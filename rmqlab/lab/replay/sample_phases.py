"""Counters in a replay: what a recorded rate says about the moment at which the real broker began to sample.

A look at a queue is no delivery until its answer is the recorded one, so what consumers got is counted there. The
counters are sampled every 10 s; of all phases those stay that explain every recorded rate so far.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from rmqlab.broker.extra.broker_stats_manager import BrokerStatsManager
from rmqlab.lab.replay.compare import compare
from rmqlab.message.record import RecordError, decode_records
from rmqlab.protocol.codes import RequestCode, ResponseCode

if TYPE_CHECKING:
    from rmqlab.lab.replay.broker import RecordedChannel, ReplayedBroker
    from rmqlab.lab.replay.exchange import Exchange
    from rmqlab.protocol.command import RemotingCommand

SAMPLED = frozenset({
    RequestCode.GET_CONSUME_STATS, RequestCode.VIEW_BROKER_STATS_DATA, RequestCode.GET_BROKER_CONSUME_STATS,
})  # fmt: skip
PERIOD_MS = 10_000


class SamplePhases:
    """The moments, within 10 s, at which the samples may have been taken; `started` is when the broker began."""

    def __init__(self, broker: ReplayedBroker, started: int) -> None:
        self._broker = broker
        self._started = started
        self._open: list[tuple[int, int]] = [(0, PERIOD_MS)]

    def delivered(self, exchange: Exchange, now: int) -> None:
        """Count the messages of a pull whose answer is final."""
        got = exchange.got
        if got is None or exchange.code != RequestCode.PULL_MESSAGE or got.code != ResponseCode.SUCCESS:
            return
        try:
            count = len(decode_records(got.body or b""))
        except RecordError:
            return
        group, (topic, queue_id) = str(exchange.fields.get("consumerGroup")), exchange.queue
        self._broker.delivered += count
        BrokerStatsManager.get(self._broker.recorded_stats, group, topic, queue_id, count, len(got.body or b""), now)

    def answer(self, channel: RecordedChannel, exchange: Exchange, now: int) -> RemotingCommand | None:
        """Answer a request for rates with a phase that explains the recorded answer, and keep such phases only."""
        broker, command, expected = self._broker, exchange.command, exchange.expected
        if command is None:
            return None
        first: RemotingCommand | None = None
        found: tuple[RemotingCommand, list[tuple[int, int]]] | None = None
        for low, high in self._pieces(now):
            started = self._started - PERIOD_MS + ((low + high) // 2 - self._started) % PERIOD_MS
            broker.recorded_stats.sample_since(started)
            got = broker.handle(channel, command, now)
            first = first or got
            if expected is not None and got is not None and not compare(exchange.code, expected, got):
                if found is None:
                    found = got, []
                found[1].append((low, high))
        broker.recorded_stats.sample_since(self._started)
        if found is None:
            return first
        self._open = found[1]
        return found[0]

    def _pieces(self, now: int) -> list[tuple[int, int]]:
        """The open phases, cut wherever a sample would come before or after something that was added."""
        cuts = {entry[3] % PERIOD_MS for entry in self._broker.recorded_stats.log} | {now % PERIOD_MS}
        pieces: list[tuple[int, int]] = []
        for low, high in self._open:
            edges = [low, *sorted(cut + 1 for cut in cuts if low < cut + 1 < high), high]
            pieces.extend(pairwise(edges))
        return pieces
