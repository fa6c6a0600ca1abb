"""The broker: its parts, who answers which request, and when its services run (4.8.0 `BrokerController`)."""

from __future__ import annotations

from collections import deque
from importlib import import_module
from typing import TYPE_CHECKING, Any

from rmqlab.broker.timers import Timers
from rmqlab.message.message import Host
from rmqlab.protocol.codes import RequestCode, ResponseCode
from rmqlab.protocol.command import RemotingCommand

if TYPE_CHECKING:
    from collections.abc import Callable

    from rmqlab.broker.broker_config import BrokerConfig
    from rmqlab.broker.channel import Channel
    from rmqlab.store.message_store import MessageStore

    Observer = Callable[[str, dict[str, object]], None]


def first(_label: str, _n: int) -> int:
    """Choose 0 at every choice point."""
    return 0


class ProcessorError(Exception):
    """A request met what throws an unchecked exception in Java; the text is the remark of the SYSTEM_ERROR answer."""


def _part(module: str, name: str, broker: Broker) -> Any:
    """Build a part, or None while its module is not written yet."""
    full = f"rmqlab.broker.{module}"
    try:
        return getattr(import_module(full), name)(broker)
    except ModuleNotFoundError as error:
        if error.name != full:
            raise
        return None


class Broker:
    """One broker. It is called, never calls: no clock, socket, thread or random source of its own.

    `handle` takes a request and returns the answer, or None when the request is held (long poll) or one-way. What a
    held request gets later, and what the broker sends by itself, goes to the channel. `next_timer` says when it wants
    to be woken (`run_timers`); ask again after every call, since a message that arrives makes the pulls that wait for
    it due at once. `choose(label, n)` is asked for every random number of Java; `observe(kind, facts)` hears what
    happened.
    """

    def __init__(
        self,
        config: BrokerConfig,
        store: MessageStore,
        *,
        now: int,
        choose: Callable[[str, int], int] = first,
        observe: Observer | None = None,
    ) -> None:
        self.config = config
        self.message_store = store
        self.now = now
        self.choose = choose
        self.observe = observe
        self.on_register: Callable[[Any], None] | None = None
        self.store_host = Host(config.broker_ip1, config.listen_port)
        self.timers = Timers()
        self._wake_ups: deque[Callable[[], None]] = deque()

        self.consumer_offset_manager = _part("consumer_offset_manager", "ConsumerOffsetManager", self)
        self.topic_config_manager = _part("topic_config_manager", "TopicConfigManager", self)
        self.pull_message_processor = _part("pull_message_processor", "PullMessageProcessor", self)
        self.pull_request_hold_service = _part("pull_request_hold_service", "PullRequestHoldService", self)
        self.consumer_ids_change_listener = _part("consumer_ids_change_listener", "ConsumerIdsChangeListener", self)
        self.consumer_manager = _part("consumer_manager", "ConsumerManager", self)
        self.consumer_filter_manager = _part("consumer_filter_manager", "ConsumerFilterManager", self)
        self.producer_manager = _part("producer_manager", "ProducerManager", self)
        self.client_housekeeping_service = _part("client_housekeeping_service", "ClientHousekeepingService", self)
        self.subscription_group_manager = _part("subscription_group_manager", "SubscriptionGroupManager", self)
        self.rebalance_lock_manager = _part("rebalance_lock_manager", "RebalanceLockManager", self)
        self.schedule_message_service = _part("schedule_message_service", "ScheduleMessageService", self)
        self.transactional_message_service = _part("transactional_message_service", "TransactionalMessageService", self)

        self._processors: dict[int, Any] = {}
        for module, name, codes in (
            ("send_message_processor", "SendMessageProcessor", (10, 310, 320, 36)),
            ("pull_message_processor", "PullMessageProcessor", (11,)),
            ("reply_message_processor", "ReplyMessageProcessor", (324, 325)),
            ("query_message_processor", "QueryMessageProcessor", (12, 33)),
            ("client_manage_processor", "ClientManageProcessor", (34, 35, 46)),
            ("consumer_manage_processor", "ConsumerManageProcessor", (38, 14, 15)),
            ("end_transaction_processor", "EndTransactionProcessor", (37,)),
        ):
            processor = _part(module, name, self)
            if processor is not None:
                self._processors |= dict.fromkeys(map(RequestCode, codes), processor)
        self._default_processor = _part("admin_broker_processor", "AdminBrokerProcessor", self)

    def handle(self, channel: Channel, command: RemotingCommand, now: int) -> RemotingCommand | None:
        """Process one request at `now` (epoch ms); see the class for what None means."""
        self.now = now
        processor = self._processors.get(command.code, self._default_processor)
        if processor is None:
            response = RemotingCommand.response(
                ResponseCode.REQUEST_CODE_NOT_SUPPORTED, f" request type {command.code} not supported"
            )
        else:
            response = processor.process(channel, command, now)
        if response is None or command.is_oneway:
            return None
        response.opaque = command.opaque
        response.mark_response()
        return response

    def on_channel_close(self, channel: Channel, now: int) -> None:
        """The client closed its connection, or it broke."""
        self.now = now
        self.client_housekeeping_service.on_channel_close(channel, now)

    def on_channel_exception(self, channel: Channel, now: int) -> None:
        """Something went wrong on the connection."""
        self.now = now
        self.client_housekeeping_service.on_channel_exception(channel, now)

    def on_channel_idle(self, channel: Channel, now: int) -> None:
        """Nothing was read or written for 120 s."""
        self.now = now
        self.client_housekeeping_service.on_channel_idle(channel, now)

    def wake_up(self, run: Callable[[], None]) -> None:
        """Queue work that Java hands to the pull thread pool: done before the next timer, in this order."""
        self._wake_ups.append(run)

    def next_timer(self) -> int | None:
        """Return when `run_timers` wants to be called next (epoch ms), None for never."""
        return self.now if self._wake_ups else self.timers.next_due()

    def run_timers(self, now: int) -> None:
        """Run everything due at `now` or before, in the order of time and then of registration."""
        self._run_wake_ups()
        while (due := self.timers.next_due()) is not None and due <= now:
            self.now = max(due, self.now)
            self.timers.run_next(self.now)
            self._run_wake_ups()
        self.now = max(now, self.now)

    def _run_wake_ups(self) -> None:
        while self._wake_ups:
            self._wake_ups.popleft()()
