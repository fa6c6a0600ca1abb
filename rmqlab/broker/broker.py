"""The broker: its parts, who answers which request, and when its services run (`BrokerController`)."""

from __future__ import annotations

from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Protocol

from rmqlab.broker.admin_broker_processor import AdminBrokerProcessor, RebalanceLockManager
from rmqlab.broker.client_housekeeping_service import ClientHousekeepingService, ProducerManager
from rmqlab.broker.consumer_filter_manager import PERSIST_PERIOD_MS as FILTER_PERIOD_MS
from rmqlab.broker.consumer_filter_manager import CommitLogDispatcherCalcBitMap, ConsumerFilterManager
from rmqlab.broker.consumer_manage_processor import (
    ClientManageProcessor,
    ConsumerManageProcessor,
    ConsumerOffsetManager,
)
from rmqlab.broker.consumer_manager import ConsumerIdsChangeListener, ConsumerManager
from rmqlab.broker.consumer_send_msg_back import SendDependencies, consumer_send_msg_back
from rmqlab.broker.processor import Broker2Client, BrokerHooks, ProcessorError, Timers, system_error
from rmqlab.broker.pull_check import PullDependencies
from rmqlab.broker.pull_message_processor import PullMessageProcessor
from rmqlab.broker.pull_request_hold_service import PullRequestHoldService
from rmqlab.broker.schedule_message_service import ScheduleMessageService
from rmqlab.broker.send_message_processor import SendMessageProcessor
from rmqlab.broker.topic_config_manager import SubscriptionGroupManager, TopicConfigManager
from rmqlab.message.topics import SCHEDULE_TOPIC, is_retry_topic
from rmqlab.protocol.codes import RequestCode
from rmqlab.protocol.command import ONEWAY, RESPONSE
from rmqlab.protocol.header import FrameError, RemotingCommandException, remark_of
from rmqlab.protocol.topic_config import PERM_READ_WRITE, BrokerRegistration, DataVersion, TopicConfig
from rmqlab.rules import DEFAULT_RULES
from rmqlab.store.config import BrokerRole

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from rmqlab.broker.broker_config import BrokerConfig
    from rmqlab.broker.config_manager import ConfigManager
    from rmqlab.broker.consumer_group_info import ConsumerGroupInfo
    from rmqlab.broker.processor import Handler
    from rmqlab.broker.pull_request_hold_service import PullRequest
    from rmqlab.events import Observer
    from rmqlab.protocol.channel import Channel
    from rmqlab.protocol.command import RemotingCommand
    from rmqlab.rules import Rules
    from rmqlab.store.dispatch_request import DispatchRequest
    from rmqlab.store.message_store import MessageStore

    RpcHook = Callable[[Channel, RemotingCommand, int], None]

POP = "rmqlab.broker.pop.pop_services"  # by name: it is loaded where the rules have it
REGISTER_FIRST_MS = 10_000
REGISTER_PERIOD_MS = (10_000, 60_000)  # shortest and longest


class Pop(Protocol):
    """What a broker asks of its POP; `rmqlab.broker.pop.pop_services.pop_of` has the rest of it."""

    @property
    def handlers(self) -> Mapping[int, Handler]:
        """Who answers which request."""

    @property
    def modes(self) -> ConfigManager:
        """The table of request modes."""

    def arriving(self, request: DispatchRequest) -> None:
        """Hear from the store that a message can be read."""

    def on_channel_close(self, channel: Channel) -> None:
        """A client's connection is gone."""


class Broker:
    """One broker. It is called, never calls: no clock, socket, thread or random source of its own.

    `handle` takes a request and returns the answer, or None when the request is held (long poll) or one-way. What a
    held request gets later, and what the broker sends by itself, goes to the channel. `next_timer` says when it wants
    to be woken (`run_timers`); ask again after every call, since a message that arrives makes the pulls that wait for
    it due at once. `choose(label, n)` is asked for every random number of Java; `observe(event)` hears what
    happened. `on_register` gets what the broker sends the name servers: at once, 10 s later, then every 30 s, and
    whenever a topic is made. `config_managers` have what 4.8.0 keeps in the
    store's `config` folder, in the order in which it loads them.

    Requests are answered by code (`register_processor`), others not at all, as by the real one, whose default processor
    has no answer to them: `on_unknown(code)` hears of these. `rpc_hooks` see every command first.
    """

    def __init__(
        self,
        config: BrokerConfig,
        store: MessageStore,
        *,
        now: int,
        choose: Callable[[str, int], int] = lambda _label, _n: 0,
        observe: Observer | None = None,
        on_register: Callable[[BrokerRegistration], None] | None = None,
        rules: Rules = DEFAULT_RULES,
    ) -> None:
        self.rules = rules
        self.config = config
        self.message_store = store
        self.choose = choose
        self.on_register = on_register
        self._registered_permission = PERM_READ_WRITE
        self.hooks = hooks = BrokerHooks(observe, observe)
        self.rpc_hooks: list[RpcHook] = []
        self.on_unknown: Callable[[int], None] = lambda _code: None
        self.filter_servers: Callable[[], list[str]] = list
        self.timers = timers = Timers(now)
        self.next_timer = timers.next_due
        self.broker2client = Broker2Client(timers, rules.wire)

        self.consumer_offset_manager = ConsumerOffsetManager(hooks)
        self.topic_config_manager = TopicConfigManager(config, timers, self._register_topic)
        self.subscription_group_manager = SubscriptionGroupManager(config, timers)
        self.pull_request_hold_service = PullRequestHoldService(config, store, timers, rules, hooks, self.wake_up)
        self.consumer_filter_manager = ConsumerFilterManager(config, store.config, timers, rules)
        self.consumer_manager = ConsumerManager(
            ConsumerIdsChangeListener(config, self.consumer_filter_manager, self.broker2client, hooks), rules, hooks
        )
        self.producer_manager = ProducerManager(rules, hooks)
        self.client_housekeeping_service = ClientHousekeepingService(
            timers, rules.scan_period_ms, self.producer_manager, self.consumer_manager
        )
        self.rebalance_lock_manager = RebalanceLockManager()
        self.schedule_message_service = ScheduleMessageService(store, timers)
        self.config_managers: tuple[ConfigManager, ...] = (
            self.topic_config_manager,
            self.consumer_offset_manager,
            self.subscription_group_manager,
            self.consumer_filter_manager,
            self.schedule_message_service,
        )

        locks = self.rebalance_lock_manager
        self.send_parts = SendDependencies(
            config,
            store,
            self.topic_config_manager,
            self.subscription_group_manager,
            choose,
            hooks,
            rules,
            lambda group, now: not locks.is_lock_all_expired(group, now),
        )
        parts = PullDependencies(
            config,
            self.topic_config_manager,
            self.subscription_group_manager,
            self.consumer_manager,
            self.consumer_filter_manager,
            rules,
        )
        self.pull_message_processor = PullMessageProcessor(
            parts, store, self.consumer_offset_manager, self.pull_request_hold_service, timers, hooks
        )
        self.send_message_processor = SendMessageProcessor(self.send_parts)
        self.client_manage_processor = ClientManageProcessor(
            config,
            self.topic_config_manager,
            self.subscription_group_manager,
            self.consumer_manager,
            self.producer_manager,
            hooks,
            rules,
        )
        self._handlers: dict[int, Handler] = {
            RequestCode.CONSUMER_SEND_MSG_BACK: partial(consumer_send_msg_back, self.send_parts)
        }
        for part in (
            self.send_message_processor,
            self.pull_message_processor,
            self.client_manage_processor,
            ConsumerManageProcessor(self.consumer_manager, self.consumer_offset_manager, store, rules),
            AdminBrokerProcessor(
                config,
                store,
                self.topic_config_manager,
                self.subscription_group_manager,
                self.consumer_offset_manager,
                self.consumer_manager,
                self.rebalance_lock_manager,
                self.broker2client,
                hooks,
                self.register_broker_all,
            ),
        ):
            self.register_processor(part.handlers)

        self.pop = self._pop(parts) if rules.has_pop else None
        self._add_timers(now)
        store.dispatchers.insert(0, CommitLogDispatcherCalcBitMap(config, self.consumer_filter_manager).dispatch)
        store.message_arriving = self._message_arriving
        self.register_broker_all()

    def _pop(self, parts: PullDependencies) -> Pop:
        """POP, which a broker of 4.8.0 neither has nor loads.

        Raises:
            BadInput: a setting of it is none.
        """
        services: Pop = import_module(POP).of_broker(
            parts, self.message_store, self.consumer_offset_manager, self.timers, self.hooks, self.choose
        )
        self.register_processor(services.handlers)
        self.config_managers = (*self.config_managers, services.modes)
        return services

    def _add_timers(self, now: int) -> None:
        timers, config = self.timers, self.config
        clean = self.consumer_filter_manager.clean
        timers.at_fixed_rate("filter data", now + FILTER_PERIOD_MS, FILTER_PERIOD_MS, lambda _: clean())
        shortest, longest = REGISTER_PERIOD_MS
        period = max(shortest, min(config.register_name_server_period, longest))
        timers.at_fixed_rate("register broker", now + REGISTER_FIRST_MS, period, lambda _: self.register_broker_all())
        if self.message_store.config.broker_role is not BrokerRole.SLAVE:
            self.schedule_message_service.start(now)
            # The first look for unfinished transactions makes their topic, whether anybody sends any or not.
            due = now + config.transaction_check_interval
            timers.once("half topic", due, lambda _: self.topic_config_manager.create_half_topic())

    def register_processor(self, handlers: Mapping[int, Handler]) -> None:
        """Answer requests of these codes so from now on."""
        self._handlers.update(handlers)

    @property
    def observe(self) -> Observer | None:
        """Who hears what happens."""
        return self.hooks.observe

    @observe.setter
    def observe(self, observe: Observer | None) -> None:
        self.hooks.observe = self.hooks.observe_pull = observe

    @property
    def now(self) -> int:
        """The present moment (epoch ms)."""
        return self.timers.now

    @now.setter
    def now(self, now: int) -> None:
        self.timers.now = now

    def __repr__(self) -> str:
        """Its name, address, topics, and the groups that are online, with members and what is held for each."""
        topics = len(self.topic_config_manager.topic_config_table)
        groups = ", ".join(map(_in_words, self.consumer_manager.consumer_table.values())) or "none"
        return (
            f"<Broker {self.config.broker_name} at {self.config.broker_addr}: {topics} topics; groups online: {groups}>"
        )

    def handle(
        self, channel: Channel, command: RemotingCommand, now: int, *, known: bool = True
    ) -> RemotingCommand | None:
        """Process one command at `now` (epoch ms); see the class for what None means.

        One that is not `known` where it came has no answer, but the hooks see it.

        A client's answer to a request of the broker goes to whoever asked. What throws in Java gives SYSTEM_ERROR with
        the exception's name and text, without the source line that Java adds.
        """
        self.timers.now = now
        response: RemotingCommand | None
        try:
            for hook in self.rpc_hooks:
                hook(channel, command, now)
            if command.flag & RESPONSE:
                self.broker2client.on_response(channel, command)
                return None
            handler = self._handlers.get(command.code) if known else None
            if handler is None:
                self.on_unknown(command.code)
                return None  # as Java: the client times out
            response = handler(channel, command, now)
        except (FrameError, RemotingCommandException) as error:
            response = system_error(remark_of(error))
        except ProcessorError as error:
            response = system_error(str(error))
        if response is None or command.flag & ONEWAY:
            return None
        return response.reply_to(command, self.rules.wire)

    def on_channel_close(self, channel: Channel, now: int) -> None:
        """The client's connection was closed, broke, or nothing was read or written on it for 120 s."""
        self.timers.now = now
        self.client_housekeeping_service.on_channel_close(channel)
        if self.pop is not None:
            self.pop.on_channel_close(channel)

    def wake_up(self, pull: PullRequest) -> None:
        """Queue the execution of a held pull, which Java hands to a thread pool: done before the next timer."""
        processor = self.pull_message_processor
        self.timers.wake_up(partial(processor.execute_request_when_wakeup, pull.channel, pull.request))

    def run_timers(self, now: int) -> None:
        """Run everything due, in the order of time and then of registration; what comes late runs at `now`, as in Java.

        A check with a fixed delay runs once after a stall of the process, and its next run is a whole pause later.
        """
        self.timers.now = max(self.timers.now, now)
        self.timers.run(now)

    def _register_topic(self, topic: str, since: DataVersion | None) -> None:
        """Tell the name servers of a topic that was made on demand."""
        created = None if since is None else (topic, since)
        self.register_broker_all(check_order_config=False, oneway=True, created=created)

    def register_broker_all(
        self, *, check_order_config: bool = True, oneway: bool = False, created: tuple[str, DataVersion] | None = None
    ) -> None:
        """Tell the name servers about this broker and its topics (`on_register`).

        Without `forceRegister` 4.8.0 asks each name server first whether its data is older; here the receiver decides.
        A broker that may not be read or written lends its topics its own permission.
        """
        if self.on_register is None:
            return
        config, manager = self.config, self.topic_config_manager
        topics: Mapping[str, TopicConfig] = manager.topic_config_table
        if config.broker_permission & PERM_READ_WRITE != PERM_READ_WRITE:
            topics = _with_permission(topics, config.broker_permission)
        if config.broker_permission != self._registered_permission:
            self._registered_permission, created = config.broker_permission, None
        self.on_register(
            BrokerRegistration(
                cluster_name=config.broker_cluster_name,
                broker_addr=config.broker_addr,
                broker_name=config.broker_name,
                broker_id=config.broker_id,
                ha_server_addr=config.ha_server_addr,
                topic_config_table=topics,
                data_version=manager.data_version,
                filter_server_list=self.filter_servers(),
                check_order_config=check_order_config,
                oneway=oneway,
                created=created,
            )
        )

    def _message_arriving(self, request: DispatchRequest) -> None:
        """The store says that a message can be read. Without long polling no pull is woken by it."""
        if request.topic == SCHEDULE_TOPIC:
            self.schedule_message_service.arriving(request.queue_id)
        if self.config.long_polling_enable:
            self.pull_request_hold_service.arriving(request)
        if self.pop is not None:
            self.pop.arriving(request)


def _with_permission(topics: Mapping[str, TopicConfig], perm: int) -> dict[str, TopicConfig]:
    return {
        name: TopicConfig(name, topic.read_queue_nums, topic.write_queue_nums, perm) for name, topic in topics.items()
    }


def _in_words(group: ConsumerGroupInfo) -> str:
    """A group, its members, and the one subscription that it has of each topic."""
    subscriptions = (
        f"{topic} {data.sub_string}"
        for topic, data in group.subscription_table.items()
        if not is_retry_topic(topic or "")
    )
    members = ", ".join(map(str, group.client_ids)) or "nobody"
    return f"{group.group_name} ({members}; holds {', '.join(subscriptions) or 'nothing'})"
