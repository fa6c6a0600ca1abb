"""Our broker as a replay drives it: nothing happens by itself, and everything it sends is caught.

A look at a queue is no delivery until its answer is the recorded one, so what consumers got is counted there. The
counters are sampled every 10 s; of all phases those stay that explain every recorded rate so far.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING

from rmqlab.broker.broker import Broker
from rmqlab.broker.broker_config import BrokerConfig, refuse_unworkable
from rmqlab.broker.consumer_manager import ConsumerGroupEvent, ConsumerIdsChangeListener
from rmqlab.broker.extra.broker_stats_manager import BrokerStatsManager
from rmqlab.broker.extra.registration import register_extras
from rmqlab.lab.replay.compare import compare
from rmqlab.message.message import Host
from rmqlab.message.record import RecordError, decode_records
from rmqlab.protocol.codes import RequestCode, ResponseCode
from rmqlab.protocol.command import RemotingCommand
from rmqlab.rules import DEFAULT_RULES
from rmqlab.store.config import MessageStoreConfig
from rmqlab.store.message_store import MessageStore

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from rmqlab.broker.pull_request_hold_service import PullRequest
    from rmqlab.lab.replay.exchange import Exchange
    from rmqlab.lab.replay.recorded_clock import RecordedClock
    from rmqlab.message.message import MessageExt, MessageExtBrokerInner
    from rmqlab.protocol.channel import Channel
    from rmqlab.protocol.subscription_data import SubscriptionData
    from rmqlab.rules import Rules
    from rmqlab.store.dispatch_request import DispatchRequest, PutMessageResult

# Services whose hour the recording tells.
_DRIVEN = "hold service", "client housekeeping"
NO_QUEUE = "", 0


@dataclass(eq=False, slots=True)
class RecordedChannel:
    """A recorded connection; what is sent to it is kept in `outgoing`, which all connections share."""

    conn: int
    remote_address: str
    outgoing: list[tuple[int, RemotingCommand]]

    def send(self, command: RemotingCommand) -> None:
        """Keep a command."""
        self.outgoing.append((self.conn, command))

    def close(self) -> None:
        """Do nothing: the recording says when a connection closed."""


class ReplayedStore(MessageStore):
    """A store that takes a message's store time from the recording where it is known there, and possible.

    `window` says what is possible: the commit log offset that a recorded answer tells (else None), and the earliest
    and latest epoch ms. `times_taken` counts. `stored` has topic and queue, offset there and commit log offset of every
    put since somebody emptied it (of a batch, the commit log offset of its first message).
    """

    clock: RecordedClock
    window: tuple[int | None, int, int] = None, 0, 0
    times_taken = 0
    stored: list[tuple[tuple[str, int], int, int]]

    def _put(self, msg: MessageExt, single: MessageExtBrokerInner | None, now: int) -> PutMessageResult:
        put = super()._put(msg, single, self._time(now))
        if put.append_status is not None:
            self.stored += [
                ((msg.topic, msg.queue_id), put.logics_offset + index, put.wrote_offset) for index in range(put.msg_num)
            ]
        return put

    def _time(self, now: int) -> int:
        put_at, earliest, latest = self.window
        told = self.clock.store_times.get(max(self.max_phy_offset, 0) if put_at is None else put_at)
        if told is None or not earliest <= told <= latest:
            return now
        self.times_taken += 1
        return told


class ReplayedListener(ConsumerIdsChangeListener):
    """A listener that can put off the second half of a heartbeat, in which expressions are compiled."""

    def __init__(self, broker: Broker) -> None:
        super().__init__(broker.config, broker.consumer_filter_manager, broker.broker2client, broker.hooks)
        self.postpone = False
        self._postponed: list[tuple[str, Collection[SubscriptionData]]] = []

    def handle(
        self,
        event: ConsumerGroupEvent,
        group: str,
        channels: Collection[Channel] = (),
        subscriptions: Collection[SubscriptionData] = (),
    ) -> None:
        """Act on an event, or keep it for later."""
        if self.postpone and event is ConsumerGroupEvent.REGISTER:
            self._postponed.append((group, subscriptions))
        else:
            super().handle(event, group, channels, subscriptions)

    def release(self) -> None:
        """Act on what was kept and keep nothing more."""
        self.postpone = False
        postponed, self._postponed = self._postponed, []
        for group, subscriptions in postponed:
            super().handle(ConsumerGroupEvent.REGISTER, group, subscriptions=subscriptions)


class RecordedStats(BrokerStatsManager):
    """Counters that remember everything that was added to them."""

    def __init__(self, cluster_name: str, now: int) -> None:
        super().__init__(cluster_name, now)
        self.log: list[tuple[str, str, int, int, int]] = []

    def add(self, kind: str, key: str, value: int, now: int, times: int = 1) -> None:
        """Add to a counter and remember it."""
        self.log.append((kind, key, value, now, times))
        super().add(kind, key, value, now, times)

    def get(self, group: str, topic: str, queue_id: int | None, count: int, size: int, now: int) -> None:
        """Wait for the recorded answer: `SamplePhases.delivered` counts it."""

    def sample_since(self, started: int) -> None:
        """Have the same counters as if they were sampled since another moment."""
        self.started = started
        self._table = {}
        for kind, key, value, now, times in sorted(self.log, key=lambda entry: entry[3]):
            super().add(kind, key, value, now, times)


class ReplayedBroker(Broker):
    """A broker that dispatches messages, looks after held pulls and executes them only when it is told to."""

    def __init__(self, properties: Mapping[str, str], clock: RecordedClock, rules: Rules = DEFAULT_RULES) -> None:
        """Read all settings from the recorded broker's; raises `BadInput` for a value that does not fit."""
        store_config = MessageStoreConfig.from_properties(properties)
        config = BrokerConfig.from_properties(properties)
        refuse_unworkable(config, store_config, "the recorded broker's settings")
        self.store = ReplayedStore(store_config, store_host=Host(config.broker_ip1, config.listen_port), rules=rules)
        self.store.clock = clock
        self.store.stored = []
        self.store.defers_dispatch = True
        self.outgoing: list[tuple[int, RemotingCommand]] = []
        self._woken: list[Callable[[], None]] = []
        self._dispatched = NO_QUEUE
        started = clock.boot or clock.epoch_ms(0.0)
        super().__init__(config, self.store, now=started, rules=rules)
        self.delivered = 0
        self.recorded_stats = RecordedStats(config.broker_cluster_name, started)
        extras = register_extras(self, self.recorded_stats)
        extras.runtime_info.disk_usage = lambda: (1, 1)  # it was on a disk, whatever that disk was
        self.listener = self.consumer_manager.listener = ReplayedListener(self)
        for service in _DRIVEN:
            self.timers.cancel(service)
        self.store.dispatchers.append(self._note_queue)

    def handle(self, channel: Channel, command: RemotingCommand, now: int) -> RemotingCommand | None:
        """Process a command; looks that a replay takes again count as one read only."""
        self.store.store_stats_service.get_message_transfered_msg_count = self.delivered
        return super().handle(channel, command, now)

    def wake_up(self, pull: PullRequest) -> None:
        """Keep the execution of a held pull until the replay asks for it."""
        self._woken.append(partial(self.pull_message_processor.execute_request_when_wakeup, pull.channel, pull.request))

    def take_woken(self) -> list[Callable[[], None]]:
        """Return the executions of held pulls that have been woken since the last call."""
        woken, self._woken = self._woken, []
        return woken

    def execute(self, run: Callable[[], None], now: int) -> tuple[int, RemotingCommand] | None:
        """Execute a held pull; return connection and answer. It changes nothing and can be done again."""
        self.now = now
        run()
        return self.outgoing.pop() if self.outgoing else None

    def look_at_pull(self, channel: Channel, command: RemotingCommand, now: int) -> RemotingCommand | None:
        """Answer a pull without holding it and without committing an offset."""
        self.now = now
        self.pull_message_processor.execute_request_when_wakeup(channel, command)
        return self.outgoing.pop()[1] if self.outgoing else None

    def dispatch_one(self, now: int) -> tuple[str, int] | None:
        """Make the next stored message visible; return its queue, None when there is none."""
        self.now = now
        self._dispatched = NO_QUEUE
        reput = self.store.reput_message_service
        while reput.behind() > 0 and self._dispatched == NO_QUEUE:
            before = reput.reput_from_offset
            # the blank at a file's end is a step of its own
            self.store.dispatch(before + 1)
            if reput.reput_from_offset == before:
                return None
        return None if self._dispatched == NO_QUEUE else self._dispatched

    def _note_queue(self, request: DispatchRequest) -> None:
        self._dispatched = request.topic, request.queue_id


SAMPLED = frozenset({RequestCode.GET_CONSUME_STATS, RequestCode.VIEW_BROKER_STATS_DATA})
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
