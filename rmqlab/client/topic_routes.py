"""Routes of topics, learnt from the name server and handed to producers and consumers, and where brokers are.

Source: `MQClientInstance`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from msgspec.structs import replace

from rmqlab.client.client_error import IllegalStateError, MQClientError
from rmqlab.client.lock import Lock
from rmqlab.client.mq_client_api import MQClientAPI, publish_info_of, subscribe_info_of
from rmqlab.client.runtime import RemotingError
from rmqlab.message.java import hash_map_order
from rmqlab.message.topics import AUTO_CREATE_TOPIC_KEY_TOPIC
from rmqlab.protocol.namesrv import MASTER_ID

if TYPE_CHECKING:
    from collections.abc import Callable

    from rmqlab.client.mq_client_api import SendResult, TopicPublishInfo
    from rmqlab.client.runtime import Runtime
    from rmqlab.message.message import Message
    from rmqlab.message.topics import MessageQueue
    from rmqlab.protocol.heartbeat import ConsumeFromWhere, ConsumeType, MessageModel
    from rmqlab.protocol.namesrv import TopicRouteData
    from rmqlab.protocol.subscription_data import SubscriptionData
    from rmqlab.protocol.wire import Wire


_Found = TypeVar("_Found")
ROUTE_LOCK_TIMEOUT = 3_000
ROUTE_TIMEOUT = 3_000
DEFAULT_TOPIC_QUEUE_NUMS = 4  # `DefaultMQProducer.defaultTopicQueueNums`


class MQProducerInner(Protocol):
    """What an instance knows of a producer."""

    topic_publish_info_table: dict[str, TopicPublishInfo]

    async def start(self, *, start_factory: bool = True) -> None:
        """Register and send a first heartbeat."""

    async def shutdown(self, *, shutdown_factory: bool = True) -> None:
        """Unregister at the brokers."""

    async def send(self, message: Message) -> SendResult:
        """Send and wait for the answer."""


class MQConsumerInner(ABC):
    """What an instance knows of a consumer.

    `subscription_inner`: {topic: subscription}; `topic_subscribe_info_table`: {topic: all its queues}.
    """

    group_name: str
    consume_type: ConsumeType
    message_model: MessageModel
    consume_from_where: ConsumeFromWhere
    subscription_inner: dict[str, SubscriptionData]
    topic_subscribe_info_table: dict[str, list[MessageQueue]]

    def subscriptions(self) -> list[SubscriptionData]:
        """All subscriptions, in hash table order."""
        return [self.subscription_inner[topic] for topic in hash_map_order(self.subscription_inner)]

    @abstractmethod
    async def do_rebalance(self) -> bool:
        """Look again which queues are ours."""

    @abstractmethod
    async def persist_consumer_offset(self) -> None:
        """Commit the offsets of the queues held."""

    async def pull_message(self, request: Any) -> None:  # noqa: B027 - only push consumers have pull requests
        """Make a pull request, or of a consumer that pops a pop request."""

    async def reset_offset(self, topic: str, offsets: dict[MessageQueue, int]) -> None:  # noqa: B027 - nor can be reset
        """Begin again at `offsets`."""


class TopicRoutes:
    """`broker_addr_table` holds {broker name: {broker id: "ip:port"}} as last learnt from routes."""

    def __init__(self, runtime: Runtime, wire: Wire) -> None:
        """Nothing is known yet; `wire` is that of the client's version."""
        self.runtime = runtime
        self.api = MQClientAPI(runtime, wire)
        self.producer_table: dict[str, MQProducerInner] = {}
        self.consumer_table: dict[str, MQConsumerInner] = {}
        self.topic_route_table: dict[str, TopicRouteData] = {}
        self.broker_addr_table: dict[str, dict[int, str]] = {}
        self.broker_version_table: dict[str, dict[str, int]] = {}
        self._lock_namesrv = Lock(runtime)

    # ---- routes

    async def update_all_routes(self) -> None:
        """Ask for the routes of all topics that producers send to and consumers subscribe."""
        topics: dict[str, None] = {}
        for consumer in self.consumer_table.values():
            topics.update(dict.fromkeys(hash_map_order(consumer.subscription_inner)))
        for producer in self.producer_table.values():
            topics.update(dict.fromkeys(producer.topic_publish_info_table))
        try:
            for topic in hash_map_order(topics):
                await self.update_topic_route_info_from_name_server(topic)
        except IllegalStateError:
            return  # the name server is away: the topics behind wait for the next round

    async def update_topic_route_info_from_name_server(self, topic: str, *, auto_create: bool = False) -> bool:
        """Ask for a topic's route and hand it out; True when it was new.

        With `auto_create` the route of the topic by which brokers make new ones is taken for it. Raises
        `IllegalStateError` when the name server does not answer.
        """
        if not await self._lock_namesrv.acquire(ROUTE_LOCK_TIMEOUT):
            return False
        try:
            wanted = AUTO_CREATE_TOPIC_KEY_TOPIC if auto_create else topic
            route = await self.api.get_topic_route_info(wanted, ROUTE_TIMEOUT)
            if auto_create:
                route = _with_queue_nums(route, DEFAULT_TOPIC_QUEUE_NUMS)
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
            if topic in consumer.subscription_inner:
                consumer.topic_subscribe_info_table[topic] = queues
        self.topic_route_table[topic] = route
        return True

    def _is_need_update(self, topic: str) -> bool:
        for producer in self.producer_table.values():
            info = producer.topic_publish_info_table.get(topic)
            if info is None or not info.ok():
                return True
        return any(
            topic in consumer.subscription_inner and topic not in consumer.topic_subscribe_info_table
            for consumer in self.consumer_table.values()
        )

    async def clean_offline_broker(self) -> None:
        """Forget the addresses that no route names any more."""
        if not await self._lock_namesrv.acquire(ROUTE_LOCK_TIMEOUT):
            return
        brokers = [broker for route in self.topic_route_table.values() for broker in route.broker_datas]
        known = {addr for broker in brokers for addr in broker.broker_addrs.values()}
        left = {
            name: {broker_id: addr for broker_id, addr in table.items() if addr in known}
            for name, table in self.broker_addr_table.items()
        }
        self.broker_addr_table = {name: table for name, table in left.items() if table}
        self._lock_namesrv.release()

    # ---- brokers

    def find_broker_address_in_publish(self, broker_name: str) -> str | None:
        """The master's address."""
        return self.broker_addr_table.get(broker_name, {}).get(MASTER_ID)

    def require_broker_address_in_publish(self, broker_name: str) -> str:
        """The master's address.

        Raises:
            MQClientError: a broker that no route names.
        """
        addr = self.find_broker_address_in_publish(broker_name)
        if addr is None:
            raise MQClientError(f"The broker[{broker_name}] not exist")
        return addr

    def find_broker_address_in_admin(self, broker_name: str) -> str | None:
        """The address of the broker with the lowest id."""
        table = self.broker_addr_table.get(broker_name)
        return table[min(table)] if table else None

    def find_broker_address_in_subscribe(self, broker_name: str, broker_id: int) -> tuple[str, bool, int] | None:
        """The broker of that id; failing that a slave's next id; failing that the one with the lowest.

        Address, whether it is a slave, and its version (0 until a heartbeat was answered).
        """
        table = self.broker_addr_table.get(broker_name, {})
        slaves = () if broker_id == MASTER_ID else (broker_id + 1,)
        for candidate in (broker_id, *slaves, *sorted(table)):
            if candidate in table:
                version = self.broker_version_table.get(broker_name, {}).get(table[candidate], 0)
                return table[candidate], candidate != MASTER_ID, version
        return None

    async def learn_broker(self, queue: MessageQueue, find: Callable[[str], _Found | None]) -> _Found:
        """Ask for a queue's route, and return what `find` says of its broker then; without one `MQClientError`."""
        await self.update_topic_route_info_from_name_server(queue.topic)
        broker = find(queue.broker_name)
        if broker is None:
            raise MQClientError(f"The broker[{queue.broker_name}] not exist")
        return broker

    def find_broker_addr_by_topic(self, topic: str) -> str | None:
        """A random broker of the topic (a choice point when there are several): its master, or one of its slaves."""
        route = self.topic_route_table.get(topic)
        if route is None or not route.broker_datas:
            return None
        addrs = route.broker_datas[self.runtime.choose("broker_of_topic", len(route.broker_datas))].broker_addrs
        if MASTER_ID in addrs:
            return addrs[MASTER_ID]
        slaves = [addr for _, addr in sorted(addrs.items())]
        return slaves[self.runtime.choose("slave_of_broker", len(slaves))]


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
