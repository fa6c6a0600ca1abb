"""What push and lite pull consumers share: group, subscriptions, offsets, a pull and the tag check of its answer.

Source: `DefaultMQPushConsumerImpl`, `DefaultLitePullConsumerImpl`, `PullAPIWrapper` (rows F-93..F-100).
"""

from __future__ import annotations

from abc import abstractmethod
from functools import partial
from typing import TYPE_CHECKING

from rmqlab.client.client_config import ServiceState
from rmqlab.client.client_error import MQClientError, check_consumer_group
from rmqlab.client.mq_client_api import PullStatus
from rmqlab.client.offset_store import LocalFileOffsetStore, RemoteBrokerOffsetStore
from rmqlab.client.topic_routes import MQConsumerInner
from rmqlab.events import ClientFiltered
from rmqlab.filter.filter import Filter
from rmqlab.message.java import hash_map_order, parse_boolean
from rmqlab.message.properties import (
    PROPERTY_MAX_OFFSET,
    PROPERTY_MIN_OFFSET,
    PROPERTY_TAGS,
    PROPERTY_TRANSACTION_PREPARED,
)
from rmqlab.message.record import decode_records
from rmqlab.message.topics import is_retry_topic
from rmqlab.protocol.consumer_headers import FLAG_CLASS_FILTER, FLAG_COMMIT_OFFSET
from rmqlab.protocol.heartbeat import MessageModel
from rmqlab.protocol.namesrv import MASTER_ID
from rmqlab.protocol.subscription_data import EmptyExpressionError, SubscriptionSplitError, build_subscription

if TYPE_CHECKING:
    from collections.abc import Collection

    from rmqlab.client.client_config import ConsumerConfig
    from rmqlab.client.mq_client_api import PullResult
    from rmqlab.client.mq_client_instance import MQClientInstance
    from rmqlab.client.offset_store import OffsetStore
    from rmqlab.client.process_queue import ProcessQueue
    from rmqlab.client.rebalance_impl import RebalanceImpl
    from rmqlab.message.message import MessageExt
    from rmqlab.message.topics import MessageQueue
    from rmqlab.protocol.consumer_headers import PullMessageRequestHeader
    from rmqlab.protocol.subscription_data import SubscriptionData


HALF_AN_HOUR = 30 * 60 * 1_000
V4_1_0_SNAPSHOT = 232
"""The first broker version that filters by SQL92 (ordinal in `MQVersion`)."""

PULL_TIME_DELAY_WHEN_FLOW_CONTROL = 50  # ms
CONSUMER_TIMEOUT_WHEN_SUSPEND = 30_000  # ms that a client waits for the answer to a pull


class MQConsumer(MQConsumerInner):
    """A member of a consumer group on the instance of its client id.

    `process_queue_table`: {queue: what is held of it}, for the queues that are ours; `pull_from_which_node_table`:
    {queue: the id of the broker that the last answer named for the next pull}, a master where there is none.
    """

    kind: str
    rebalance_impl: RebalanceImpl

    def __init__(self, group: str, instance: MQClientInstance, config: ConsumerConfig) -> None:
        """Not started."""
        self.group_name = group
        self.instance = instance
        self.state = ServiceState.CREATE_JUST
        self.paused = False
        self.message_model = config.message_model
        self.consume_from_where = config.consume_from_where
        self.allocate_strategy = config.allocate_strategy
        self.subscription_inner = {}
        self.topic_subscribe_info_table = {}
        self.process_queue_table: dict[MessageQueue, ProcessQueue] = {}
        self.pull_from_which_node_table: dict[MessageQueue, int] = {}
        self.offset_store: OffsetStore
        if config.message_model is MessageModel.BROADCASTING:
            self.offset_store = LocalFileOffsetStore(instance, group)
        else:
            self.offset_store = RemoteBrokerOffsetStore(instance, group)
        self.consume_timestamp = instance.runtime.now() - HALF_AN_HOUR  # where CONSUME_FROM_TIMESTAMP begins

    def __repr__(self) -> str:
        """Who it is, what it asks for, which queues it has."""
        wanted = (
            f"{topic} {data.expression_type} {data.sub_string}"
            for topic, data in self.subscription_inner.items()
            if not is_retry_topic(topic)
        )
        queue_ids: dict[str, list[int]] = {}
        for queue in self.process_queue_table:
            if not is_retry_topic(queue.topic):
                queue_ids.setdefault(queue.topic, []).append(queue.queue_id)
        owns = "; ".join(f"queues {', '.join(map(str, sorted(ids)))} of {topic}" for topic, ids in queue_ids.items())
        name = self.instance.client_id.partition("@")[2] or self.instance.client_id
        subscriptions = "; ".join(wanted) or "nothing"
        return f"<{type(self).__name__} {name} of group {self.group_name}: {subscriptions}; owns {owns or 'nothing'}>"

    # ---- life

    async def start(self) -> None:
        """Register, start the timers, ask for routes, have expressions checked.

        When a broker refuses an expression the error comes after the timers have begun: the consumer goes on beating
        and pulling (row F-98).

        Raises:
            MQClientError: the client is not ready for it, or no broker takes it.
        """
        if self.state is not ServiceState.CREATE_JUST:
            state = f"{self.state}{self.instance.rules.wire.suggest_todo}"
            raise MQClientError(f"The {self.kind} service state not OK, maybe started once, {state}")
        self.state = ServiceState.START_FAILED
        check_consumer_group(self.group_name, self.instance.rules.wire)
        self.register()
        await self.instance.start()
        self.state = ServiceState.RUNNING
        await self.update_routes()
        await self.instance.check_client_in_broker()

    async def shutdown(self) -> None:
        """Commit, unregister at the brokers, stop the instance when no other client uses it."""
        if self.state is not ServiceState.RUNNING:
            return
        await self.stop_consuming()
        await self.persist_consumer_offset()
        await self.instance.unregister_consumer(self.group_name)
        await self.instance.shutdown()
        for process_queue in self.process_queue_table.values():
            process_queue.dropped = True
        self.process_queue_table.clear()
        self.state = ServiceState.SHUTDOWN_ALREADY

    @abstractmethod
    async def stop_consuming(self) -> None:
        """Begin nothing new."""

    def register(self) -> None:
        """Join the instance; `MQClientError` when the client id has a consumer of the group: it may start later."""
        if not self.instance.register_consumer(self.group_name, self):
            self.state = ServiceState.CREATE_JUST
            raise MQClientError(
                f"The consumer group[{self.group_name}] has been created before, specify another name please."
                f"{self.instance.rules.wire.suggest_todo}"
            )

    def put_subscription(
        self, topic: str, expression: str | None, expression_type: str | None = None
    ) -> SubscriptionData:
        """Subscribe, stamped with the client's clock (row S-81).

        Raises:
            MQClientError: if it cannot be read.
        """
        try:
            built = build_subscription(topic, expression, expression_type, self.instance.runtime.now())
        except (SubscriptionSplitError, EmptyExpressionError) as error:
            raise MQClientError("subscription exception") from error
        self.subscription_inner[topic] = built
        return built

    async def subscribe(self, topic: str, expression: str | None = "*", expression_type: str | None = None) -> None:
        """Subscribe, stamped with the client's clock (row S-81); a running consumer sends a heartbeat at once (H-17).

        Brokers check SQL92 at the start only.

        Raises:
            MQClientError: an expression that cannot be read.
        """
        self.put_subscription(topic, expression, expression_type)
        if self.state is not ServiceState.CREATE_JUST:
            await self.instance.send_heartbeat_to_all_broker_with_lock()

    def unsubscribe(self, topic: str) -> None:
        """Forget a topic, silently: brokers learn it with the next heartbeat, which takes it from the whole group.

        What is held of its queues goes with the next rebalance, uncommitted (row H-17).
        """
        self.subscription_inner.pop(topic, None)

    @property
    def queues(self) -> Collection[MessageQueue]:
        """The queues it reads now."""
        return self.process_queue_table

    async def update_routes(self) -> None:
        """Ask the name server for the route of every topic subscribed."""
        for topic in hash_map_order(self.subscription_inner):
            await self.instance.update_topic_route_info_from_name_server(topic)

    async def persist_consumer_offset(self) -> None:
        """Commit the offsets of the queues held."""
        if self.state is ServiceState.RUNNING:
            await self.offset_store.persist_all(set(self.process_queue_table))

    async def do_rebalance(self) -> bool:
        """Look again which queues are ours, unless suspended; whether we have them all."""
        return not self.paused and await self.rebalance_impl.do_rebalance()

    # ---- pulls

    async def find_pull_address(
        self, queue: MessageQueue, subscription: SubscriptionData, header: PullMessageRequestHeader
    ) -> str:
        """The address to pull from; a slave is not asked to commit, that flag goes out of `header`.

        Raises:
            MQClientError: when there is no broker, no filter server, or the broker is too old for the type.
        """
        instance, broker_id = self.instance, self.pull_from_which_node_table.get(queue, MASTER_ID)
        find = partial(instance.find_broker_address_in_subscribe, broker_id=broker_id)
        known = find(queue.broker_name)
        addr, slave, version = await instance.learn_broker(queue, find) if known is None else known
        if not subscription.is_tag and version < V4_1_0_SNAPSHOT:
            raise MQClientError(
                f"The broker[{queue.broker_name}, {version}] does not upgrade to support for filter "
                f"message by {subscription.expression_type}"
            )
        if slave:
            header.sys_flag &= ~FLAG_COMMIT_OFFSET
        if header.sys_flag & FLAG_CLASS_FILTER:
            return self._filter_server(queue.topic, addr)
        return addr

    def _filter_server(self, topic: str, broker_addr: str) -> str:
        route = self.instance.topic_route_table.get(topic)
        servers = None if route is None else route.filter_server_table.get(broker_addr)
        if not servers:
            raise MQClientError(f"Find Filter Server Failed, Broker Addr: {broker_addr} topic: {topic}")
        return servers[self.instance.runtime.choose("filter_server", len(servers))]

    def process_pull_result(self, queue: MessageQueue, result: PullResult, subscription: SubscriptionData) -> None:
        """Decode what was found and keep what this consumer's own tags want; fills `msg_found_list`."""
        self.pull_from_which_node_table[queue] = result.suggest_which_broker_id
        if result.pull_status is not PullStatus.FOUND:
            return
        messages = decode_records(result.message_binary or b"")
        result.message_binary = None
        messages = self._filter_again(queue, messages, subscription)
        min_offset, max_offset = str(result.min_offset), str(result.max_offset)
        for message in messages:
            properties = message.properties
            prepared = properties.get(PROPERTY_TRANSACTION_PREPARED)
            if prepared is not None and parse_boolean(prepared):
                message.transaction_id = message.unique_id
            properties[PROPERTY_MIN_OFFSET] = min_offset
            properties[PROPERTY_MAX_OFFSET] = max_offset
            message.broker_name = queue.broker_name
        result.msg_found_list = messages

    def _filter_again(
        self, queue: MessageQueue, messages: list[MessageExt], subscription: SubscriptionData
    ) -> list[MessageExt]:
        kept: list[MessageExt] = []
        observe, own = self.instance.observe, Filter(subscription, self.instance.rules)
        for message in messages:
            if own.client_keeps(message.properties.get(PROPERTY_TAGS)):
                kept.append(message)
            else:
                observe(
                    ClientFiltered(
                        self.instance.client_id, self.group_name, queue.topic, queue.queue_id, message.queue_offset,
                        message.tags, subscription.sub_string, subscription.sub_version,
                    )
                )  # fmt: skip
        return kept
