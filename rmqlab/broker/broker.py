"""The broker: its parts, who answers which request, and when its services run (4.8.0 `BrokerController`)."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any, Protocol

from rmqlab.broker.acl_error import AclError
from rmqlab.broker.admin_broker_processor import AdminBrokerProcessor
from rmqlab.broker.broker2client import Broker2Client
from rmqlab.broker.broker_registration import BrokerRegistration, registered_topics
from rmqlab.broker.broker_stats_manager import BrokerStatsManager
from rmqlab.broker.client_housekeeping_service import ClientHousekeepingService
from rmqlab.broker.client_manage_processor import ClientManageProcessor
from rmqlab.broker.commit_log_dispatcher_calc_bit_map import CommitLogDispatcherCalcBitMap
from rmqlab.broker.configuration import Configuration
from rmqlab.broker.consumer_filter_manager import CONFIG_FILE as FILTER_FILE
from rmqlab.broker.consumer_filter_manager import PERSIST_PERIOD_MS as FILTER_PERIOD_MS
from rmqlab.broker.consumer_filter_manager import ConsumerFilterManager
from rmqlab.broker.consumer_ids_change_listener import ConsumerIdsChangeListener
from rmqlab.broker.consumer_manage_processor import ConsumerManageProcessor
from rmqlab.broker.consumer_manager import ConsumerManager
from rmqlab.broker.consumer_offset_manager import ConsumerOffsetManager
from rmqlab.broker.end_transaction_processor import EndTransactionProcessor
from rmqlab.broker.filter_server_manager import FilterServerManager
from rmqlab.broker.processor_error import ProcessorError
from rmqlab.broker.producer_manager import ProducerManager
from rmqlab.broker.pull_message_processor import PullMessageProcessor
from rmqlab.broker.pull_request_hold_service import PullRequestHoldService
from rmqlab.broker.query_message_processor import QueryMessageProcessor
from rmqlab.broker.rebalance_lock_manager import RebalanceLockManager
from rmqlab.broker.reply_message_processor import ReplyMessageProcessor
from rmqlab.broker.schedule_message_service import ScheduleMessageService
from rmqlab.broker.send_message_processor import SendMessageProcessor
from rmqlab.broker.store_rates import StoreRates, Totals
from rmqlab.broker.subscription_group_manager import SubscriptionGroupManager
from rmqlab.broker.timers import Timers
from rmqlab.broker.topic_config_manager import TopicConfigManager
from rmqlab.broker.transactional_message_check_service import TransactionalMessageCheckService
from rmqlab.broker.transactional_message_service import TransactionalMessageService
from rmqlab.message.message import Host
from rmqlab.message.topics import SCHEDULE_TOPIC
from rmqlab.protocol.codes import RequestCode, ResponseCode
from rmqlab.protocol.command import RemotingCommand
from rmqlab.protocol.header import FrameError, RemotingCommandException
from rmqlab.rules import RULES
from rmqlab.store.broker_role import BrokerRole

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from rmqlab.broker.broker_config import BrokerConfig
    from rmqlab.broker.plain_access import PlainPermissionManager
    from rmqlab.protocol.channel import Channel
    from rmqlab.rules import Rules
    from rmqlab.store.message_store import MessageStore

    Observer = Callable[[str, dict[str, object]], None]

REGISTER_FIRST_MS = 10_000
DAY_MS = 86_400_000
REGISTER_PERIOD_MS = (10_000, 60_000)  # shortest and longest


class Processor(Protocol):
    """Answers requests of one kind."""

    def process(self, channel: Channel, command: RemotingCommand, now: int) -> RemotingCommand | None:
        """Return the answer, or None when it comes later or never. Raises ProcessorError where Java throws."""


# Every other request but a pull goes to the admin processor, as in 4.8.0 `registerProcessor`.
PROCESSORS: tuple[tuple[Callable[[Broker], Processor], tuple[RequestCode, ...]], ...] = (
    (
        SendMessageProcessor,
        (
            RequestCode.SEND_MESSAGE,
            RequestCode.SEND_MESSAGE_V2,
            RequestCode.SEND_BATCH_MESSAGE,
            RequestCode.CONSUMER_SEND_MSG_BACK,
        ),
    ),
    (ReplyMessageProcessor, (RequestCode.SEND_REPLY_MESSAGE, RequestCode.SEND_REPLY_MESSAGE_V2)),
    (QueryMessageProcessor, (RequestCode.QUERY_MESSAGE, RequestCode.VIEW_MESSAGE_BY_ID)),
    (
        ClientManageProcessor,
        (RequestCode.HEART_BEAT, RequestCode.UNREGISTER_CLIENT, RequestCode.CHECK_CLIENT_CONFIG),
    ),
    (
        ConsumerManageProcessor,
        (
            RequestCode.GET_CONSUMER_LIST_BY_GROUP,
            RequestCode.UPDATE_CONSUMER_OFFSET,
            RequestCode.QUERY_CONSUMER_OFFSET,
        ),
    ),
    (EndTransactionProcessor, (RequestCode.END_TRANSACTION,)),
)


def first(_label: str, _n: int) -> int:
    """Choose 0 at every choice point."""
    return 0


class Broker:
    """One broker. It is called, never calls: no clock, socket, thread or random source of its own.

    `handle` takes a request and returns the answer, or None when the request is held (long poll) or one-way. What a
    held request gets later, and what the broker sends by itself, goes to the channel. `next_timer` says when it wants
    to be woken (`run_timers`); ask again after every call, since a message that arrives makes the pulls that wait for
    it due at once. `choose(label, n)` is asked for every random number of Java; `observe(kind, facts)` hears what
    happened. `on_register` gets what the broker tells the name servers: at once, 10 s later, then every 30 s, and
    whenever a topic is made. `on_persist` gets the name and the text of a file that 4.8.0 keeps in the store's `config`
    folder, every time it would be written; `load` takes in what was kept.
    """

    def __init__(
        self,
        config: BrokerConfig,
        store: MessageStore,
        *,
        now: int,
        choose: Callable[[str, int], int] = first,
        observe: Observer | None = None,
        on_register: Callable[[BrokerRegistration], None] | None = None,
        on_persist: Callable[[str, str], None] | None = None,
        rules: Rules = RULES["4.8.0"],
    ) -> None:
        self.rules = rules
        self.config = config
        self.message_store = store
        self.now = now
        self.choose = choose
        self.observe = observe
        self.on_register = on_register
        self.on_persist = on_persist
        self.store_host = Host(config.broker_ip1, config.listen_port)
        self.timers = Timers()
        self._wake_ups: deque[Callable[[], None]] = deque()
        self._opaque = 0
        self.broker2client = Broker2Client(self)
        self.configuration = Configuration(config, store.config, now)
        self.broker_stats_manager = BrokerStatsManager(config.broker_cluster_name, now)
        self.store_rates = StoreRates(store.store_stats_service, now)
        self.morning_totals = Totals(), Totals()  # when yesterday began, and today
        # access control: nothing is checked without it; the hook hears of rules that the admin tool changed
        self.access: PlainPermissionManager | None = None
        self.on_access_changed: Callable[[dict[str, Any]], None] | None = None
        # size and free bytes of the disk that holds the store; None: it is in memory
        self.disk_usage: Callable[[], tuple[int, int]] | None = None

        self.consumer_offset_manager = ConsumerOffsetManager(self)
        self.topic_config_manager = TopicConfigManager(self)
        self.pull_message_processor = PullMessageProcessor(self)
        self.pull_request_hold_service = PullRequestHoldService(self)
        self.consumer_ids_change_listener = ConsumerIdsChangeListener(self)
        self.consumer_manager = ConsumerManager(self)
        self.consumer_filter_manager = ConsumerFilterManager(self)
        self.producer_manager = ProducerManager(self)
        self.filter_server_manager = FilterServerManager(self)
        self.client_housekeeping_service = ClientHousekeepingService(self)
        self.subscription_group_manager = SubscriptionGroupManager(self)
        self.rebalance_lock_manager = RebalanceLockManager(self)
        self.schedule_message_service = ScheduleMessageService(self)
        self.transactional_message_service = TransactionalMessageService(self)
        self.transactional_message_check_service = TransactionalMessageCheckService(self)

        self._default_processor: Processor = AdminBrokerProcessor(self)
        self._processors: dict[int, Processor] = {
            RequestCode.PULL_MESSAGE: self.pull_message_processor,
            # a 4.8.0 broker leaves it without an answer; newer lite pull consumers would get nothing
            RequestCode.LITE_PULL_MESSAGE: self.pull_message_processor,
        }
        for kind, codes in PROCESSORS:
            self._processors |= dict.fromkeys(codes, kind(self))

        self._add_timers(now)
        store.dispatchers.insert(0, CommitLogDispatcherCalcBitMap(config, self.consumer_filter_manager).dispatch)
        store.message_arriving = self._message_arriving
        if store.config.broker_role is not BrokerRole.SLAVE:
            self.schedule_message_service.start(now)
            self.transactional_message_check_service.start(now)
        self.register_broker_all(check_order_config=True, oneway=False, force_register=True)

    def _add_timers(self, now: int) -> None:
        persist = self.consumer_filter_manager.persist
        self.timers.at_fixed_rate("filter data", now + FILTER_PERIOD_MS, FILTER_PERIOD_MS, lambda _: persist())
        shortest, longest = REGISTER_PERIOD_MS
        self.timers.at_fixed_rate("broker stats", now - now % DAY_MS + DAY_MS, DAY_MS, self._new_day)
        period = max(shortest, min(self.config.register_name_server_period, longest))
        self.timers.at_fixed_rate("register broker", now + REGISTER_FIRST_MS, period, self._register_periodically)

    def load(self, read: Callable[[str], str | None]) -> None:
        """Take in the files of the `config` folder, before the first request; `read` gives None for one not there.

        Raises FrameError for a file that is damaged: nothing of it is taken in.
        """
        text = read(FILTER_FILE)
        if text:
            self.consumer_filter_manager.decode(text)

    def persist(self, now: int) -> None:
        """Write every file of the `config` folder through `on_persist`, as at a shutdown."""
        self.now = now
        self.consumer_filter_manager.persist()

    def __repr__(self) -> str:
        """Its name, address, topics and the groups that are online."""
        topics = len(self.topic_config_manager.topic_config_table)
        groups = ", ".join(map(str, self.consumer_manager.consumer_table)) or "none"
        return (
            f"<Broker {self.config.broker_name} at {self.config.broker_addr}: {topics} topics; groups online: {groups}>"
        )

    def handle(self, channel: Channel, command: RemotingCommand, now: int) -> RemotingCommand | None:
        """Process one command at `now` (epoch ms); see the class for what None means.

        A client's answer to a request of the broker goes to whoever asked. What throws in Java gives SYSTEM_ERROR with
        the exception's name and text, without the source line that Java adds.
        """
        self.now = now
        if now >= self.store_rates.next_sample:
            self.store_rates.sample(now)
        if command.is_response:
            self.broker2client.on_response(channel, command)
            return None
        processor = self._processors.get(command.code, self._default_processor)
        response: RemotingCommand | None
        try:
            if self.access is not None:
                self.access.validate(command, channel.remote_address)
            response = processor.process(channel, command, now)
        except RemotingCommandException as error:
            response = RemotingCommand.response(
                ResponseCode.SYSTEM_ERROR, f"org.apache.rocketmq.remoting.exception.RemotingCommandException: {error}"
            )
        except AclError as error:
            response = RemotingCommand.response(
                ResponseCode.SYSTEM_ERROR, f"org.apache.rocketmq.acl.common.AclException: {error}"
            )
        except (ProcessorError, FrameError) as error:
            response = RemotingCommand.response(ResponseCode.SYSTEM_ERROR, str(error))
        if response is None or command.is_oneway:
            return None
        return response.reply_to(command)

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

    def next_opaque(self) -> int:
        """Return the number of the next request that the broker sends by itself.

        Java counts every command of the process, those it reads and answers too, so that real numbers are higher.
        """
        self._opaque += 1
        return self._opaque

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

    def client_id(self, channel: Channel, group: str) -> str:
        """Return who a consumer group's member on this connection is; its address when the group does not know it."""
        info = self.consumer_manager.get_consumer_group_info(group)
        member = None if info is None else info.channel_info_table.get(channel)
        return channel.remote_address if member is None or member.client_id is None else member.client_id

    def register_broker_all(self, *, check_order_config: bool, oneway: bool, force_register: bool) -> None:
        """Tell the name servers about this broker and its topics (`on_register`).

        Without `force_register` 4.8.0 asks each name server first whether its data is older; here the receiver decides.
        """
        if self.on_register is None:
            return
        config = self.config
        manager = self.topic_config_manager
        self.on_register(
            BrokerRegistration(
                cluster_name=config.broker_cluster_name,
                broker_addr=config.broker_addr,
                broker_name=config.broker_name,
                broker_id=config.broker_id,
                ha_server_addr=config.ha_server_addr,
                topic_config_table=registered_topics(manager.topic_config_table, config.broker_permission),
                data_version=manager.data_version,
                filter_server_list=self.filter_server_manager.filter_servers(),
                check_order_config=check_order_config,
                oneway=oneway,
                force_register=force_register,
            )
        )

    def _new_day(self, _now: int) -> None:
        """Count today's messages from now on; Java does so at midnight where it stands, here that is UTC."""
        self.morning_totals = self.morning_totals[1], self.store_rates.totals()

    def _register_periodically(self, now: int) -> None:
        force = self.config.force_register
        self.register_broker_all(check_order_config=True, oneway=False, force_register=force)

    def _message_arriving(
        self,
        topic: str,
        queue_id: int,
        logic_offset: int,
        tags_code: int,
        store_time: int,
        bitmap: bytes | None,
        properties: Mapping[str, str] | None,
    ) -> None:
        """The store says that a message can be read. Without long polling nobody is woken by it."""
        if topic == SCHEDULE_TOPIC:
            self.schedule_message_service.arriving(queue_id)
        if self.config.long_polling_enable:
            self.pull_request_hold_service.arriving(
                topic, queue_id, logic_offset, tags_code, store_time, bitmap, properties
            )
