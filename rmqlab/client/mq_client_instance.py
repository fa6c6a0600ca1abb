"""MQClientInstance: what all producers and consumers of one client id share: routes, timers, heartbeats.

Rows H-11..H-25, H-53, S-85, S-97.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from rmqlab.client.client_config import ServiceState
from rmqlab.client.client_error import CALL_ERRORS, MQBrokerError, MQClientError
from rmqlab.client.executor import PullMessageService, RebalanceService, ScheduledExecutor
from rmqlab.client.lock import Lock
from rmqlab.client.mq_client_api import ADMIN_TIMEOUT
from rmqlab.client.runtime import RemotingError
from rmqlab.client.topic_routes import ROUTE_LOCK_TIMEOUT, TopicRoutes
from rmqlab.events import HeartbeatSent
from rmqlab.message.java import hash_map_order
from rmqlab.protocol.admin_headers import ResetOffsetRequestHeader
from rmqlab.protocol.bodies import CheckClientRequestBody, ResetOffsetBody
from rmqlab.protocol.codes import RequestCode
from rmqlab.protocol.command import RemotingCommand
from rmqlab.protocol.consumer_headers import (
    GetMaxOffsetRequestHeader,
    SearchOffsetRequestHeader,
    UnregisterClientRequestHeader,
)
from rmqlab.protocol.header import WithOffset
from rmqlab.protocol.heartbeat import ConsumerData, HeartbeatData, ProducerData
from rmqlab.protocol.namesrv import MASTER_ID

if TYPE_CHECKING:
    from rmqlab.client.client_config import ClientConfig
    from rmqlab.client.process_queue import MessageRequest
    from rmqlab.client.runtime import Runtime
    from rmqlab.client.topic_routes import MQConsumerInner, MQProducerInner
    from rmqlab.events import Observer
    from rmqlab.message.ids import UniqueIdMaker
    from rmqlab.message.topics import MessageQueue
    from rmqlab.protocol.header import CommandHeader
    from rmqlab.protocol.subscription_data import SubscriptionData
    from rmqlab.rules import Rules


Processor = Callable[[str, RemotingCommand], RemotingCommand | None]
"""Handles a request of the broker at an address; gives the answer, or None where RocketMQ gives none."""

_Client = TypeVar("_Client")
HEARTBEAT_TIMEOUT = 3_000


class MQClientInstance(TopicRoutes):
    """One client id's connections, routes and timers; made by `MQClientManager`, which gives it `default_producer`.

    `processors` handle what brokers ask, by request code; extras add theirs.
    """

    default_producer: MQProducerInner

    def __init__(
        self,
        runtime: Runtime,
        config: ClientConfig,
        client_id: str,
        unique_ids: UniqueIdMaker,
        observe: Observer,
        rules: Rules,
    ) -> None:
        """An instance that has not started; `unique_ids` makes the UNIQ_KEY of messages sent from here."""
        super().__init__(runtime, rules.wire)
        self.rules = rules
        self.config = config
        self.client_id = client_id
        self.unique_ids = unique_ids
        self.observe = observe
        self.state = ServiceState.CREATE_JUST
        if config.namesrv_addr is not None:
            self.api.name_servers = config.namesrv_addr.split(";")
        self.processors: dict[int, Processor] = {
            RequestCode.NOTIFY_CONSUMER_IDS_CHANGED: self._notify_consumer_ids_changed,
            RequestCode.RESET_CONSUMER_CLIENT_OFFSET: self._reset_offset,
        }
        self.heartbeats_sent = 0
        self._lock_heartbeat = Lock(runtime)
        self.scheduled = ScheduledExecutor(runtime, "MQClientFactoryScheduledThread")
        self.pull_message_service = PullMessageService(runtime, self._pull_message)
        self.rebalance_service = RebalanceService(runtime, self.do_rebalance, config.rebalance_wait_interval, rules)
        runtime.on_request(self.process_request)

    def process_request(self, addr: str, request: RemotingCommand) -> RemotingCommand | None:
        """Handle a request from the broker at `addr`; one that no processor knows gets no answer."""
        processor = self.processors.get(request.code)
        answer = None if processor is None else processor(addr, request)
        if answer is not None:
            answer.version = self.rules.wire.version_number
        return answer

    def _notify_consumer_ids_changed(self, _addr: str, _request: RemotingCommand) -> None:
        """All consumers of the instance rebalance: none asks which group it was (row S-84)."""
        self.rebalance_service.wakeup()

    def _reset_offset(self, _addr: str, request: RemotingCommand) -> None:
        """A push consumer goes on at the offsets that the broker says."""
        header = request.decode_header(ResetOffsetRequestHeader)
        offsets = ResetOffsetBody.decode(request.body).offset_table if request.body else {}
        consumer = self.consumer_table.get(header.group)
        if consumer is not None:
            self.runtime.spawn(consumer.reset_offset(header.topic, offsets), "ResetOffset")

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
        timer.schedule_at_fixed_rate(self.update_all_routes, 10, config.poll_name_server_interval)
        timer.schedule_at_fixed_rate(self._heartbeat_job, 1_000, config.heartbeat_broker_interval)
        timer.schedule_at_fixed_rate(self.persist_all_consumer_offset, 10_000, config.persist_consumer_offset_interval)
        # Java has a fifth timer, every minute: its bodies (incCorePoolSize, decCorePoolSize) are commented out (H-15)
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
        await self.pull_message_service.shutdown()
        self.scheduled.shutdown()
        self.runtime.close_connections()
        self.rebalance_service.shutdown()

    async def _fetch_name_server_addr(self) -> None:
        fetch = self.config.fetch_namesrv_addr
        addresses = None if fetch is None else fetch()
        if addresses:
            self.api.name_servers = addresses.split(";")

    def register_consumer(self, group: str | None, consumer: MQConsumerInner | None) -> bool:
        """Add a consumer; False when the group has one in this client id already (row S-97), or something is None."""
        return _put_if_absent(self.consumer_table, group, consumer)

    def register_producer(self, group: str | None, producer: MQProducerInner | None) -> bool:
        """Add a producer; False when the group has one in this client id already, or something is None."""
        return _put_if_absent(self.producer_table, group, producer)

    async def unregister_consumer(self, group: str) -> None:
        """Forget a consumer and tell every broker."""
        self.consumer_table.pop(group, None)
        await self._unregister_client(UnregisterClientRequestHeader(self.client_id, None, group))

    async def unregister_producer(self, group: str) -> None:
        """Forget a producer and tell every broker."""
        self.producer_table.pop(group, None)
        await self._unregister_client(UnregisterClientRequestHeader(self.client_id, group, None))

    async def _unregister_client(self, header: UnregisterClientRequestHeader) -> None:
        if not await self._lock_heartbeat.acquire(ROUTE_LOCK_TIMEOUT):
            return
        try:
            names = hash_map_order(self.broker_addr_table)
            for addr in [addr for name in names for addr in self.broker_addr_table[name].values()]:
                try:
                    await self.api.call(addr, RequestCode.UNREGISTER_CLIENT, header, 3_000)
                except CALL_ERRORS:
                    continue
        finally:
            self._lock_heartbeat.release()

    # ---- heartbeats

    async def _heartbeat_job(self) -> None:
        await self.clean_offline_broker()
        await self.send_heartbeat_to_all_broker_with_lock()

    async def send_heartbeat_to_all_broker_with_lock(self) -> bool:
        """Send a heartbeat to all brokers; False when one is under way already: then nothing is sent (row H-16)."""
        if not self._lock_heartbeat.try_acquire():
            return False
        try:
            await self._send_heartbeat_to_all_broker()
        finally:
            self._lock_heartbeat.release()
        return True

    async def _send_heartbeat_to_all_broker(self) -> None:
        heartbeat = self.prepare_heartbeat_data()
        if not (heartbeat.producer_data_set or heartbeat.consumer_data_set) or not self.broker_addr_table:
            return
        self.heartbeats_sent += 1
        for name in hash_map_order(self.broker_addr_table):
            for broker_id, addr in sorted(self.broker_addr_table.get(name, {}).items()):
                # a client without consumers has nothing to say to a slave (row H-21)
                if not heartbeat.consumer_data_set and broker_id != MASTER_ID:
                    continue
                self.observe(HeartbeatSent(self.client_id, name, addr, heartbeat))
                try:
                    answer = await self.api.call(
                        addr, RequestCode.HEART_BEAT, None, HEARTBEAT_TIMEOUT, heartbeat.as_sent()
                    )
                except CALL_ERRORS:
                    continue
                self.broker_version_table.setdefault(name, {})[addr] = answer.version  # the broker's (row H-24)

    def prepare_heartbeat_data(self) -> HeartbeatData:
        """All consumers with their subscriptions, and all producer groups (row H-13)."""
        consumers = [self.consumer_table[group] for group in hash_map_order(self.consumer_table)]
        v2 = self.rules.knows_heartbeat_v2  # known, and not used: `ClientConfig.useHeartbeatV2` is off
        return HeartbeatData(
            client_id=self.client_id,
            consumer_data_set=[
                ConsumerData(
                    group_name=consumer.group_name,
                    consume_type=consumer.consume_type,
                    message_model=consumer.message_model,
                    consume_from_where=consumer.consume_from_where,
                    subscription_data_set=consumer.subscriptions(),
                )
                for consumer in consumers
            ],
            producer_data_set=[ProducerData(group_name=group) for group in hash_map_order(self.producer_table)],
            heartbeat_fingerprint=0 if v2 else None,
            without_sub=False if v2 else None,
        )

    async def check_client_in_broker(self) -> None:
        """Let brokers compile the subscriptions that are not tags.

        Raises:
            MQClientError: if one refuses (row F-98).
        """
        for group in hash_map_order(self.consumer_table):
            subscriptions = self.consumer_table[group].subscriptions()
            if not subscriptions:
                return  # Java leaves the whole check here, the other groups included
            for subscription in subscriptions:
                if subscription.is_tag:
                    continue
                addr = self.find_broker_addr_by_topic(str(subscription.topic))
                if addr is not None:
                    await self._check_subscription(addr, group, subscription)

    async def _check_subscription(self, addr: str, group: str, subscription: SubscriptionData) -> None:
        body = CheckClientRequestBody(client_id=self.client_id, group=group, subscription_data=subscription)
        try:
            await self.api.call(addr, RequestCode.CHECK_CLIENT_CONFIG, None, 3_000, body.encode())
        except MQBrokerError as refused:
            raise MQClientError(refused.error_message, refused.response_code, self.rules.wire) from refused
        except RemotingError as error:
            raise MQClientError(
                f"Check client in broker error, maybe because you use {subscription.expression_type} to filter "
                "message, but server has not been upgraded to support!This error would not affect the launch "
                "of consumer, but may has impact on message receiving if you have use the new features which "
                "are not supported by server, please check the log!"
            ) from error

    # ---- offsets of a queue, asked of its broker's master

    async def max_offset(self, queue: MessageQueue) -> int:
        """The offset the next message of a queue will get.

        Raises:
            MQClientError: whatever goes wrong.
        """
        header = GetMaxOffsetRequestHeader(queue.topic, queue.queue_id)
        return await self._offset(queue, RequestCode.GET_MAX_OFFSET, header)

    async def search_offset(self, queue: MessageQueue, timestamp: int) -> int:
        """The offset of the first message stored at `timestamp` (epoch ms) or later; raises as `max_offset`."""
        header = SearchOffsetRequestHeader(queue.topic, queue.queue_id, timestamp)
        return await self._offset(queue, RequestCode.SEARCH_OFFSET_BY_TIMESTAMP, header)

    async def _offset(self, queue: MessageQueue, code: int, header: CommandHeader) -> int:
        find = self.find_broker_address_in_publish
        known = find(queue.broker_name)
        addr = await self.learn_broker(queue, find) if known is None else known
        try:
            return (await self.api.call(addr, code, header, ADMIN_TIMEOUT)).decode_header(WithOffset).offset
        except CALL_ERRORS as error:
            raise MQClientError(f"Invoke Broker[{addr}] exception") from error

    # ---- consumers

    async def do_rebalance(self) -> bool:
        """Let every consumer rebalance (row H-53); whether each has all the queues that it wants."""
        balanced = True
        for group in hash_map_order(self.consumer_table):
            if group in self.consumer_table:  # else it was unregistered meanwhile
                balanced &= await self.consumer_table[group].do_rebalance()
        return balanced

    def rebalance_later(self, delay_ms: int) -> None:
        """Rebalance `delay_ms` from now (`rebalanceLater`)."""
        self.scheduled.schedule(self._wake_rebalance, delay_ms)

    async def _wake_rebalance(self) -> None:
        self.rebalance_service.wakeup()

    async def persist_all_consumer_offset(self) -> None:
        """Let every consumer commit its offsets."""
        for group in hash_map_order(self.consumer_table):
            if group in self.consumer_table:
                await self.consumer_table[group].persist_consumer_offset()

    async def _pull_message(self, request: MessageRequest) -> None:
        consumer = self.consumer_table.get(request.consumer_group)
        if consumer is not None:
            await consumer.pull_message(request)


def _put_if_absent(table: dict[str, _Client], group: str | None, client: _Client | None) -> bool:
    if group is None or client is None or group in table:
        return False
    table[group] = client
    return True
