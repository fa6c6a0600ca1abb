"""MQClientInstance: what all producers and consumers of one client id share (4.8.0, same name).

Connections, routes, timers, heartbeats. Rows H-11..H-25, H-53, S-85, S-97.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypeVar

from msgspec.structs import replace

from rmqlab.client.client_config import MASTER_ID, ServiceState
from rmqlab.client.client_error import CALL_ERRORS, IllegalStateError, MQClientError
from rmqlab.client.client_remoting_processor import ClientRemotingProcessor
from rmqlab.client.executor import Lock, ScheduledExecutor
from rmqlab.client.mq_admin import MQAdmin
from rmqlab.client.mq_client_api import MQClientAPI
from rmqlab.client.producer import DefaultMQProducer
from rmqlab.client.pull_message_service import PullMessageService, RebalanceService
from rmqlab.client.queue_order import key_order
from rmqlab.client.topic_publish_info import publish_info_of, subscribe_info_of
from rmqlab.events import HeartbeatSent
from rmqlab.filter.expression_type import is_tag_type
from rmqlab.message.java import to_utf8
from rmqlab.message.record import body_crc
from rmqlab.message.topics import CLIENT_INNER_PRODUCER_GROUP
from rmqlab.protocol.consumer_headers import RegisterMessageFilterClassRequestHeader
from rmqlab.protocol.heartbeat import ConsumerData, ConsumeType, HeartbeatData, ProducerData
from rmqlab.rules import RULES
from rmqlab.runtime.runtime import RemotingError

if TYPE_CHECKING:
    from rmqlab.client.client_config import ClientConfig
    from rmqlab.client.consumer import Consumer
    from rmqlab.client.process_queue import PullRequest
    from rmqlab.client.request_reply import Request
    from rmqlab.client.topic_publish_info import TopicPublishInfo
    from rmqlab.events import Observer
    from rmqlab.message.ids import UniqueIdMaker
    from rmqlab.protocol.route import TopicRouteData
    from rmqlab.protocol.subscription_data import SubscriptionData
    from rmqlab.rules import Rules
    from rmqlab.runtime.runtime import Runtime

_Client = TypeVar("_Client")
LOCK_TIMEOUT = 3_000
ROUTE_TIMEOUT = 3_000
HEARTBEAT_TIMEOUT = 3_000
FILTER_CLASS_TIMEOUT = 5_000


class FindBrokerResult(NamedTuple):
    """Where a broker is: address, whether it is a slave, its version (0 until a heartbeat was answered)."""

    broker_addr: str
    slave: bool
    broker_version: int


class MQClientInstance:
    """One client id's connections, routes and timers.

    `broker_addr_table` holds {broker name: {broker id: "ip:port"}} as last learnt from routes.
    """

    def __init__(
        self,
        runtime: Runtime,
        config: ClientConfig,
        client_id: str,
        unique_ids: UniqueIdMaker,
        observe: Observer | None = None,
        rules: Rules = RULES["4.8.0"],
    ) -> None:
        """An instance that has not started; `unique_ids` makes the UNIQ_KEY of messages sent from here."""
        self.rules = rules
        self.runtime = runtime
        self.config = config
        self.client_id = client_id
        self.unique_ids = unique_ids
        self.observe = observe
        self.state = ServiceState.CREATE_JUST
        self.api = MQClientAPI(runtime)
        self.admin = MQAdmin(self)
        if config.namesrv_addr is not None:
            self.api.name_servers = config.namesrv_addr.split(";")
        self.requests: dict[str, Request] = {}
        self.producer_table: dict[str, DefaultMQProducer] = {}
        self.consumer_table: dict[str, Consumer] = {}
        self.topic_route_table: dict[str, TopicRouteData] = {}
        self.broker_addr_table: dict[str, dict[int, str]] = {}
        self.broker_version_table: dict[str, dict[str, int]] = {}
        self.heartbeats_sent = 0
        self._lock_namesrv = Lock(runtime)
        self._lock_heartbeat = Lock(runtime)
        self.scheduled = ScheduledExecutor(runtime, "MQClientFactoryScheduledThread")
        self.pull_message_service = PullMessageService(runtime, self._pull_message)
        self.rebalance_service = RebalanceService(runtime, self.do_rebalance, config.rebalance_wait_interval)
        self.default_producer = DefaultMQProducer(CLIENT_INNER_PRODUCER_GROUP, self)
        runtime.on_request(ClientRemotingProcessor(self).process_request)

    # ---- life

    async def start(self) -> None:
        """Start timers, loops and the inner producer; a second start of a running instance does nothing."""
        if self.state is ServiceState.START_FAILED:
            raise MQClientError(f"The Factory object[{self.client_id}] has been created before, and failed.")
        if self.state is not ServiceState.CREATE_JUST:
            return
        self.state = ServiceState.START_FAILED
        config, timer = self.config, self.scheduled
        self.api.started_at = self.runtime.now()
        if config.namesrv_addr is None:
            await self._fetch_name_server_addr()
            timer.schedule_at_fixed_rate(self._fetch_name_server_addr, 10_000, 120_000)
        timer.schedule_at_fixed_rate(self._update_all_routes, 10, config.poll_name_server_interval)
        timer.schedule_at_fixed_rate(self._heartbeat_job, 1_000, config.heartbeat_broker_interval)
        timer.schedule_at_fixed_rate(self.persist_all_consumer_offset, 10_000, config.persist_consumer_offset_interval)
        # 4.8.0 has a fifth timer, every minute: its bodies (incCorePoolSize, decCorePoolSize) are commented out (H-15)
        self.pull_message_service.start()
        self.rebalance_service.start()
        await self.default_producer.start(start_factory=False)
        self.state = ServiceState.RUNNING

    async def shutdown(self) -> None:
        """Stop when no consumer and no producer but the inner one is left."""
        if self.consumer_table or len(self.producer_table) > 1 or self.state is not ServiceState.RUNNING:
            return
        await self.default_producer.shutdown(shutdown_factory=False)
        self.state = ServiceState.SHUTDOWN_ALREADY
        self.pull_message_service.shutdown()
        self.scheduled.shutdown()
        self.runtime.close_connections()
        self.rebalance_service.shutdown()

    def register_consumer(self, group: str | None, consumer: Consumer | None) -> bool:
        """Add a consumer; False when the group has one in this client id already (row S-97), or something is None."""
        return _put_if_absent(self.consumer_table, group, consumer)

    def register_producer(self, group: str | None, producer: DefaultMQProducer | None) -> bool:
        """Add a producer; False when the group has one in this client id already, or something is None."""
        return _put_if_absent(self.producer_table, group, producer)

    async def unregister_consumer(self, group: str) -> None:
        """Forget a consumer and tell every broker."""
        self.consumer_table.pop(group, None)
        await self._unregister_client(None, group)

    async def unregister_producer(self, group: str) -> None:
        """Forget a producer and tell every broker."""
        self.producer_table.pop(group, None)
        await self._unregister_client(group, None)

    async def _unregister_client(self, producer_group: str | None, consumer_group: str | None) -> None:
        if not await self._lock_heartbeat.acquire(LOCK_TIMEOUT):
            return
        try:
            for addr in [addr for name in key_order(self.broker_addr_table) for addr in self._addresses(name).values()]:
                try:
                    await self.api.unregister_client(addr, self.client_id, producer_group, consumer_group, 3_000)
                except CALL_ERRORS:
                    continue
        finally:
            self._lock_heartbeat.release()

    # ---- heartbeats

    async def _heartbeat_job(self) -> None:
        await self._clean_offline_broker()
        await self.send_heartbeat_to_all_broker_with_lock()

    async def send_heartbeat_to_all_broker_with_lock(self) -> bool:
        """Send a heartbeat to all brokers; False when one is under way already: then nothing is sent (row H-16)."""
        if not self._lock_heartbeat.try_acquire():
            return False
        try:
            await self._send_heartbeat_to_all_broker()
            await self._upload_filter_class_source()
        finally:
            self._lock_heartbeat.release()
        return True

    async def _send_heartbeat_to_all_broker(self) -> None:
        heartbeat = self.prepare_heartbeat_data()
        if not (heartbeat.producer_data_set or heartbeat.consumer_data_set) or not self.broker_addr_table:
            return
        self.heartbeats_sent += 1
        for name in key_order(self.broker_addr_table):
            for broker_id, addr in sorted(self._addresses(name).items()):
                # a client without consumers has nothing to say to a slave (row H-21)
                if not heartbeat.consumer_data_set and broker_id != MASTER_ID:
                    continue
                if self.observe is not None:
                    self.observe(HeartbeatSent(self.client_id, name, addr, heartbeat))
                try:
                    version = await self.api.send_heartbeat(addr, heartbeat, HEARTBEAT_TIMEOUT)
                except CALL_ERRORS:
                    continue
                self.broker_version_table.setdefault(name, {})[addr] = version

    def prepare_heartbeat_data(self) -> HeartbeatData:
        """All consumers with their subscriptions, and all producer groups (row H-13)."""
        consumers = [self.consumer_table[group] for group in key_order(self.consumer_table)]
        return HeartbeatData(
            client_id=self.client_id,
            consumer_data_set=[
                ConsumerData(
                    group_name=consumer.group_name,
                    consume_type=consumer.consume_type,
                    message_model=consumer.message_model,
                    consume_from_where=consumer.consume_from_where,
                    subscription_data_set=consumer.subscriptions(),
                    unit_mode=consumer.unit_mode,
                )
                for consumer in consumers
            ],
            producer_data_set=[ProducerData(group_name=group) for group in key_order(self.producer_table)],
        )

    async def _upload_filter_class_source(self) -> None:
        for consumer in list(self.consumer_table.values()):
            if consumer.consume_type is not ConsumeType.CONSUME_PASSIVELY:
                continue
            for subscription in consumer.subscriptions():
                if subscription.class_filter_mode and subscription.filter_class_source is not None:
                    await self._upload_to_filter_servers(consumer.group_name, subscription)

    async def _upload_to_filter_servers(self, group: str, subscription: SubscriptionData) -> None:
        route = self.topic_route_table.get(str(subscription.topic))
        source = to_utf8(subscription.filter_class_source or "")
        header = RegisterMessageFilterClassRequestHeader(
            group, str(subscription.topic), str(subscription.sub_string), body_crc(source)
        )
        for servers in [] if route is None else list(route.filter_server_table.values()):
            for addr in servers:
                try:
                    await self.api.register_message_filter_class(addr, header, source, FILTER_CLASS_TIMEOUT)
                except CALL_ERRORS:
                    continue

    async def check_client_in_broker(self) -> None:
        """Let brokers compile the subscriptions that are not tags; raises `MQClientError` if one refuses (row F-98)."""
        for group in key_order(self.consumer_table):
            subscriptions = self.consumer_table[group].subscriptions()
            if not subscriptions:
                return  # 4.8.0 leaves the whole check here, the other groups included
            for subscription in subscriptions:
                if is_tag_type(subscription.expression_type):
                    continue
                addr = self.find_broker_addr_by_topic(str(subscription.topic))
                if addr is None:
                    continue
                try:
                    await self.api.check_client_in_broker(addr, group, self.client_id, subscription, 3_000)
                except RemotingError as error:
                    raise MQClientError(
                        f"Check client in broker error, maybe because you use {subscription.expression_type} to filter "
                        "message, but server has not been upgraded to support!This error would not affect the launch "
                        "of consumer, but may has impact on message receiving if you have use the new features which "
                        "are not supported by server, please check the log!"
                    ) from error

    # ---- routes

    async def _fetch_name_server_addr(self) -> None:
        fetch = self.config.fetch_namesrv_addr
        addresses = None if fetch is None else fetch()
        if addresses:
            self.api.name_servers = addresses.split(";")

    async def _update_all_routes(self) -> None:
        topics: dict[str, None] = {}
        for consumer in self.consumer_table.values():
            topics.update(dict.fromkeys(str(subscription.topic) for subscription in consumer.subscriptions()))
        for producer in self.producer_table.values():
            topics.update(dict.fromkeys(producer.topic_publish_info_table))
        try:
            for topic in key_order(topics):
                await self.update_topic_route_info_from_name_server(topic)
        except IllegalStateError:
            return  # the name server is away: the topics behind wait for the next round

    async def update_topic_route_info_from_name_server(
        self, topic: str, default_producer: DefaultMQProducer | None = None
    ) -> bool:
        """Ask for a topic's route and hand it out; True when it was new.

        With `default_producer` the route of its create-topic key is taken for the topic's (auto-creation). Raises
        `IllegalStateError` when the name server does not answer.
        """
        if not await self._lock_namesrv.acquire(LOCK_TIMEOUT):
            return False
        try:
            if default_producer is None:
                route = await self.api.get_topic_route_info(topic, ROUTE_TIMEOUT)
            else:
                settings = default_producer.config
                route = await self.api.get_topic_route_info(settings.create_topic_key, ROUTE_TIMEOUT)
                route = _with_queue_nums(route, settings.default_topic_queue_nums)
            return self._take_route(topic, route)
        except MQClientError:
            return False
        except RemotingError as error:
            raise IllegalStateError(str(error)) from error
        finally:
            self._lock_namesrv.release()

    def _take_route(self, topic: str, route: TopicRouteData) -> bool:
        old = self.topic_route_table.get(topic)
        if old is not None and _same_route(old, route) and not self._is_need_update(topic):
            return False
        for broker in route.broker_datas:
            self.broker_addr_table[broker.broker_name] = broker.broker_addrs
        info = publish_info_of(topic, route)
        for producer in self.producer_table.values():
            producer.topic_publish_info_table[topic] = info
        queues = subscribe_info_of(topic, route)
        for consumer in self.consumer_table.values():
            consumer.update_topic_subscribe_info(topic, queues)
        self.topic_route_table[topic] = route
        return True

    def _is_need_update(self, topic: str) -> bool:
        def lacks(info: TopicPublishInfo | None) -> bool:
            return info is None or not info.ok()

        return any(
            lacks(producer.topic_publish_info_table.get(topic)) for producer in self.producer_table.values()
        ) or any(consumer.is_subscribe_topic_need_update(topic) for consumer in self.consumer_table.values())

    async def _clean_offline_broker(self) -> None:
        if not await self._lock_namesrv.acquire(LOCK_TIMEOUT):
            return
        try:
            known = {
                addr
                for route in self.topic_route_table.values()
                for broker in route.broker_datas
                for addr in broker.broker_addrs.values()
            }
            for name, table in list(self.broker_addr_table.items()):
                left = {broker_id: addr for broker_id, addr in table.items() if addr in known}
                if left:
                    self.broker_addr_table[name] = left
                else:
                    del self.broker_addr_table[name]
        finally:
            self._lock_namesrv.release()

    # ---- looking things up

    def _addresses(self, broker_name: str) -> dict[int, str]:
        return self.broker_addr_table.get(broker_name, {})

    def _found(self, broker_name: str, addr: str, broker_id: int) -> FindBrokerResult:
        version = self.broker_version_table.get(broker_name, {}).get(addr, 0)
        return FindBrokerResult(addr, broker_id != MASTER_ID, version)

    def find_broker_address_in_publish(self, broker_name: str) -> str | None:
        """The master's address."""
        return self._addresses(broker_name).get(MASTER_ID)

    def find_broker_address_in_admin(self, broker_name: str) -> FindBrokerResult | None:
        """The broker with the lowest id."""
        for broker_id, addr in sorted(self._addresses(broker_name).items()):
            return self._found(broker_name, addr, broker_id)
        return None

    def find_broker_address_in_subscribe(
        self, broker_name: str, broker_id: int, *, only_this_broker: bool
    ) -> FindBrokerResult | None:
        """The broker of that id; failing that a slave's next id; failing that any, unless `only_this_broker`."""
        table = self._addresses(broker_name)
        addr = table.get(broker_id)
        if addr is None and broker_id != MASTER_ID:
            addr = table.get(broker_id + 1)
        if addr is not None:
            return self._found(broker_name, addr, broker_id)
        return None if only_this_broker else self.find_broker_address_in_admin(broker_name)

    def find_broker_addr_by_topic(self, topic: str) -> str | None:
        """A random broker of the topic (a choice point when there are several): its master, or one of its slaves."""
        route = self.topic_route_table.get(topic)
        if route is None or not route.broker_datas:
            return None
        brokers = route.broker_datas
        broker = brokers[self._choose("broker_of_topic", len(brokers))]
        addrs = broker.broker_addrs
        if MASTER_ID in addrs:
            return addrs[MASTER_ID]
        slaves = [addr for _, addr in sorted(addrs.items())]
        return slaves[self._choose("slave_of_broker", len(slaves))]

    def _choose(self, label: str, count: int) -> int:
        return self.runtime.choose(label, count) if count > 1 else 0

    async def find_consumer_id_list(self, topic: str, group: str) -> list[str] | None:
        """The clients of a group, asked of one broker of the topic; None when nobody answers (rows S-93, H-47)."""
        addr = self.find_broker_addr_by_topic(topic)
        if addr is None:
            await self.update_topic_route_info_from_name_server(topic)
            addr = self.find_broker_addr_by_topic(topic)
        if addr is None:
            return None
        try:
            return await self.api.get_consumer_id_list_by_group(addr, group, 3_000)
        except CALL_ERRORS:
            return None

    # ---- consumers

    async def do_rebalance(self) -> None:
        """Let every consumer rebalance (row H-53)."""
        for group in key_order(self.consumer_table):
            consumer = self.consumer_table.get(group)
            if consumer is not None:
                await consumer.do_rebalance()

    async def persist_all_consumer_offset(self) -> None:
        """Let every consumer commit its offsets."""
        for group in key_order(self.consumer_table):
            consumer = self.consumer_table.get(group)
            if consumer is not None:
                await consumer.persist_consumer_offset()

    async def _pull_message(self, request: PullRequest) -> None:
        consumer = self.consumer_table.get(request.consumer_group)
        if consumer is not None:
            await consumer.pull_message(request)


def _put_if_absent(table: dict[str, _Client], group: str | None, client: _Client | None) -> bool:
    if group is None or client is None or group in table:
        return False
    table[group] = client
    return True


def _with_queue_nums(route: TopicRouteData, most: int) -> TopicRouteData:
    """The route for a topic yet to be made: as many queues as the default topic has, `most` at most."""
    numbers = [(data, min(most, data.read_queue_nums)) for data in route.queue_datas]
    return replace(route, queue_datas=[replace(data, read_queue_nums=n, write_queue_nums=n) for data, n in numbers])


def _same_route(old: TopicRouteData, new: TopicRouteData) -> bool:
    return old is new or (
        old.order_topic_conf == new.order_topic_conf
        and sorted(old.queue_datas) == sorted(new.queue_datas)
        and sorted(old.broker_datas) == sorted(new.broker_datas)
        and old.filter_server_table == new.filter_server_table
    )
