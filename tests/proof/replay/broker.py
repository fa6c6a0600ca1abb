"""Our broker as a replay drives it: nothing happens by itself, and everything it sends is caught."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from rmqlab.broker.broker import Broker
from rmqlab.broker.broker_config import BrokerConfig, refuse_unworkable
from rmqlab.broker.consumer_manager import ConsumerGroupEvent, ConsumerIdsChangeListener
from rmqlab.broker.pop.pop_services import pop_of
from rmqlab.broker.pull_message_processor import OffsetMovedEvent
from rmqlab.broker.schedule_message_service import ScheduleMessageService, message_time_up
from rmqlab.message.message import Host
from rmqlab.message.topics import MessageQueue
from rmqlab.protocol.codes import ResponseCode
from rmqlab.protocol.command import RemotingCommand
from rmqlab.protocol.consumer_headers import PullMessageRequestHeader, PullMessageResponseHeader
from rmqlab.rules import DEFAULT_RULES
from rmqlab.store.config import BrokerRole, MessageStoreConfig
from rmqlab.store.message_store import MessageStore
from rmqlab_tools.live.extra.registration import register_extras
from tests.proof.replay.recorded_clock import place_key
from tests.proof.replay.sampled_stats import SampledStats

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from rmqlab.broker.pop.pop_check_point import PopCheckPoint
    from rmqlab.broker.pop.pop_long_polling_service import PopRequest
    from rmqlab.broker.pop.pop_revive_service import PopReviveService
    from rmqlab.broker.pop.pop_services import PopServices
    from rmqlab.broker.pull_request_hold_service import PullRequest
    from rmqlab.message.message import MessageExt, MessageExtBrokerInner
    from rmqlab.protocol.channel import Channel
    from rmqlab.protocol.subscription_data import SubscriptionData
    from rmqlab.rules import Rules
    from rmqlab.store.consume_queue import ConsumeQueue
    from rmqlab.store.dispatch_request import DispatchRequest, PutMessageResult
    from tests.proof.replay.recorded_clock import RecordedClock

# Services whose hour the recording tells.
_DRIVEN = "hold service", "client housekeeping"


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
    before_put: Callable[[], object] = staticmethod(lambda: None)
    window: tuple[int | None, int, int] = None, 0, 0
    times_taken = 0
    stored: list[tuple[tuple[str, int], int, int]]

    def put_message(self, msg: MessageExtBrokerInner, now: int) -> PutMessageResult:
        """Store what the broker makes itself."""
        self.before_put()
        return self._noted(msg, super().put_message(msg, self._time(now)))

    def put_filler(self, msg: MessageExtBrokerInner) -> None:
        """Store something that is no broker's."""
        self._noted(msg, super().put_message(msg, self.window[1]))

    def async_put_message(self, msg: MessageExtBrokerInner, now: int) -> PutMessageResult:
        """Store what a producer sent."""
        return self._noted(msg, super().async_put_message(msg, self._time(now)))

    def async_put_messages(self, batch: MessageExt, now: int) -> PutMessageResult:
        """Store a batch."""
        return self._noted(batch, super().async_put_messages(batch, self._time(now)))

    def _noted(self, msg: MessageExt, put: PutMessageResult) -> PutMessageResult:
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


class ReplayedSchedule(ScheduleMessageService):
    """Delivers a delayed message not before its recorded store time, and behind what lies before it in the log.

    A pull that brought it later tells both. One look of a level delivers all that is due; meanwhile others store, too.
    `catch_up` stores what is pending and lies before a place.
    """

    _store: ReplayedStore
    catch_up: Callable[[int], None]

    def _place(self, commit_log_offset: int, size: int) -> int:
        """Where in the log a delayed message was stored again, -1 where no pull tells."""
        message = self._store.look_message_by_offset(commit_log_offset, size)
        inner = None if message is None else message_time_up(message, self._store.rules.wire)
        return -1 if inner is None else self._store.clock.places.get(place_key(inner), -1)

    def _deliver_timestamp(
        self, queue: ConsumeQueue, level: int, tags_code: int, commit_log_offset: int, size: int, now: int
    ) -> int:
        due = super()._deliver_timestamp(queue, level, tags_code, commit_log_offset, size, now)
        return max(due, self._store.clock.store_times.get(self._place(commit_log_offset, size), due))

    def _deliver(self, commit_log_offset: int, size: int, now: int) -> bool:
        self.catch_up(self._place(commit_log_offset, size))
        return super()._deliver(commit_log_offset, size, now)


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


class ReplayedBroker(Broker):
    """A broker that dispatches messages, looks after held pulls and executes them only when it is told to."""

    schedule_message_service: ReplayedSchedule

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
        self._woken: list[PullRequest] = []
        self._dispatched: tuple[str, int] | None = None
        started = clock.boot or clock.epoch_ms(0.0)
        super().__init__(config, self.store, now=started, rules=rules)
        self.schedule_message_service.shutdown()
        self.schedule_message_service = ReplayedSchedule(self.store, self.timers)
        self.config_managers = (*self.config_managers[:-1], self.schedule_message_service)
        if store_config.broker_role is not BrokerRole.SLAVE:
            self.schedule_message_service.start(started)
        self.pull_message_processor.on_offset_moved = lambda _event, _now: None  # looks are taken again: see settle
        self.stats = SampledStats(config.broker_cluster_name, started)
        extras = register_extras(self, self.stats)
        extras.runtime_info.disk_space = lambda: (1, 1, 1)  # it was on a disk, whatever that disk was
        self.listener = self.consumer_manager.listener = ReplayedListener(self)
        for service in _DRIVEN:
            self.timers.cancel(service)
        self.woken_pops: list[PopRequest] = []
        # What the timer holds, by the place of its message; what revive services decided to store again.
        self.in_timer: dict[int, Callable[[int], object]] = {}
        self.to_revive: list[tuple[PopReviveService, PopCheckPoint, int]] = []
        if self.pop is not None:
            self._drive(pop_of(self))
        self.store.dispatchers.append(self._note_queue)

    def _drive(self, services: PopServices) -> None:
        """Let nothing of POP happen by itself: the recording tells when."""
        services.line.execute = self.woken_pops_append
        services.line.look_at = lambda _due, _line: None
        services.timer.hold = lambda place, _due, deliver: self.in_timer.update({place: deliver})
        for service in services.revive:
            service.look_at = lambda _due: None
            service.revive = partial(self._note_revived, service)

    def woken_pops_append(self, pop: PopRequest) -> None:
        """Keep a pop that our line has woken: the replay executes it."""
        self.woken_pops.append(pop)

    def _note_revived(self, service: PopReviveService, point: PopCheckPoint, offset: int, _now: int) -> None:
        self.to_revive.append((service, point, offset))

    def handle(
        self, channel: Channel, command: RemotingCommand, now: int, *, known: bool = True
    ) -> RemotingCommand | None:
        """Process a command; looks that a replay takes again count as one read only."""
        self.store.store_stats_service.get_message_transfered_msg_count = self.stats.delivered
        return super().handle(channel, command, now, known=known)

    def withdraw(self, topic: str, queue_id: int, pull: PullRequest) -> None:
        """Take back a held pull of which is learnt later what happened; nothing happens when it is not held."""
        table = self.pull_request_hold_service.pull_request_table
        held = table.get((topic, queue_id), [])
        table[topic, queue_id] = [other for other in held if other is not pull]

    def wake_up(self, pull: PullRequest) -> None:
        """Keep a held pull whose execution the replay will ask for."""
        self._woken.append(pull)

    def take_woken(self, now: int) -> list[tuple[int, RemotingCommand]]:
        """Execute the held pulls that have been woken since the last call; return connections and answers."""
        self.now = now
        woken, self._woken = self._woken, []
        for pull in woken:
            self.pull_message_processor.execute_request_when_wakeup(pull.channel, pull.request)
        answers = self.outgoing[:]
        self.outgoing.clear()
        return answers

    def look_at_pull(self, channel: Channel, command: RemotingCommand, now: int) -> RemotingCommand | None:
        """Answer a pull without holding it and without committing an offset: that can be done again."""
        self.now = now
        self.pull_message_processor.execute_request_when_wakeup(channel, command)
        return self.outgoing.pop()[1] if self.outgoing else None

    def moves_offset(self, pull: RemotingCommand, answer: RemotingCommand, now: int) -> None:
        """A pull has got its answer: where that sends the consumer elsewhere, the event of it is stored."""
        header, told = pull.header, answer.header
        if answer.code != ResponseCode.PULL_OFFSET_MOVED or not isinstance(told, PullMessageResponseHeader):
            return
        asked = header if isinstance(header, PullMessageRequestHeader) else pull.decode_header(PullMessageRequestHeader)
        queue = MessageQueue(asked.topic, self.config.broker_name, asked.queue_id)
        event = OffsetMovedEvent(asked.consumer_group, queue, asked.queue_offset, told.next_begin_offset or 0)
        self.store.window = None, now, now
        self.pull_message_processor.put_offset_moved(event, now)

    def dispatch_one(self, now: int) -> tuple[str, int] | None:
        """Make the next stored message visible; return its queue, None when there is none."""
        self.now = now
        self._dispatched = None
        reput = self.store.reput_message_service
        while reput.behind() > 0 and self._dispatched is None:
            before = reput.reput_from_offset
            # the blank at a file's end is a step of its own
            self.store.dispatch(before + 1)
            if reput.reput_from_offset == before:
                break
        return self._dispatched

    def _note_queue(self, request: DispatchRequest) -> None:
        self._dispatched = request.topic, request.queue_id
