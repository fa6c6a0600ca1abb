"""RebalancePushImpl: where a push consumer begins, and the new stamp on its subscription (4.8.0, same name)."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING

from rmqlab.client.client_error import CALL_ERRORS, MQClientError
from rmqlab.client.offset_store import NO_OFFSET, ReadOffsetType
from rmqlab.client.rebalance_impl import RebalanceImpl
from rmqlab.message.topics import is_retry_topic
from rmqlab.protocol.heartbeat import ConsumeFromWhere, ConsumeType, MessageModel

if TYPE_CHECKING:
    from rmqlab.client.process_queue import ProcessQueue, PullRequest
    from rmqlab.client.push_consumer import DefaultMQPushConsumer
    from rmqlab.message.message import MessageQueue

UNLOCK_DELAY_TIME = 20_000
ADMIN_TIMEOUT = 6_000


class RebalancePushImpl(RebalanceImpl):
    """Rebalance of a push consumer."""

    consume_type = ConsumeType.CONSUME_PASSIVELY

    def __init__(self, consumer: DefaultMQPushConsumer) -> None:
        """Works on the consumer's settings, offsets and pull loop."""
        config = consumer.config
        super().__init__(consumer.instance, consumer.group_name, config.message_model, config.allocate_strategy)
        self._consumer = consumer

    async def message_queue_changed(self, topic: str, all_queues: list[MessageQueue], ours: list[MessageQueue]) -> None:
        """Stamp the topic's subscription with the client's clock and send a heartbeat (rows S-84..S-86).

        The higher stamp wins the group's slot in the broker, whoever started first.
        """
        subscription = self.subscription_inner.get(topic)
        if subscription is None:
            return  # unsubscribed meanwhile: 4.8.0 runs into a null here
        old, subscription.sub_version = subscription.sub_version, self.instance.runtime.now()
        observe = self.instance.observe
        if observe is not None:
            fields = {"who": self.instance.client_id, "group": self.group, "topic": topic, "old": old}
            observe("restamp", fields | {"version": subscription.sub_version})
        config, count = self._consumer.config, len(self.process_queue_table)
        if count:
            if config.pull_threshold_for_topic != -1:
                config.pull_threshold_for_queue = max(1, config.pull_threshold_for_topic // count)
            if config.pull_threshold_size_for_topic != -1:
                config.pull_threshold_size_for_queue = max(1, config.pull_threshold_size_for_topic // count)
        await self.instance.send_heartbeat_to_all_broker_with_lock()

    async def remove_unnecessary_message_queue(self, queue: MessageQueue, process_queue: ProcessQueue) -> bool:
        """Commit and forget the offset; an orderly consumer gives the lock back, if its listener lets go within 1 s."""
        store = self._consumer.offset_store
        await store.persist(queue)
        store.remove_offset(queue)
        lock = process_queue.lock_consume
        if not self._consumer.consume_orderly or self.message_model is not MessageModel.CLUSTERING or lock is None:
            return True
        if not await lock.acquire(1_000):
            process_queue.try_unlock_times += 1
            return False
        try:
            if process_queue.has_temp_message():
                self.instance.scheduled.schedule(partial(self.unlock, queue, oneway=True), UNLOCK_DELAY_TIME)
            else:
                await self.unlock(queue, oneway=True)
        finally:
            lock.release()
        return True

    def remove_dirty_offset(self, queue: MessageQueue) -> None:
        """Forget an old offset of a queue that is about to become ours."""
        self._consumer.offset_store.remove_offset(queue)

    async def compute_pull_from_where(self, queue: MessageQueue) -> int:
        """The committed offset; without one what `consume_from_where` says (row S-96); -1 when it cannot be told."""
        committed = await self._consumer.offset_store.read_offset(queue, ReadOffsetType.READ_FROM_STORE)
        if committed >= 0:
            return committed
        if committed != NO_OFFSET:
            return NO_OFFSET  # the question failed: the queue waits for the next rebalance
        where, retry = self._consumer.config.consume_from_where, is_retry_topic(queue.topic)
        if where is ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET:
            return 0
        try:
            if where is ConsumeFromWhere.CONSUME_FROM_TIMESTAMP:
                return await self._max_offset(queue) if retry else await self._search_offset(queue)
            return 0 if retry else await self._max_offset(queue)
        except CALL_ERRORS:
            return NO_OFFSET

    async def _max_offset(self, queue: MessageQueue) -> int:
        return await self.instance.api.get_max_offset(await self._master_of(queue), queue, ADMIN_TIMEOUT)

    async def _search_offset(self, queue: MessageQueue) -> int:
        timestamp = self._consumer.consume_timestamp
        return await self.instance.api.search_offset(await self._master_of(queue), queue, timestamp, ADMIN_TIMEOUT)

    async def _master_of(self, queue: MessageQueue) -> str:
        addr = self.instance.find_broker_address_in_publish(queue.broker_name)
        if addr is None:
            await self.instance.update_topic_route_info_from_name_server(queue.topic)
            addr = self.instance.find_broker_address_in_publish(queue.broker_name)
        if addr is None:
            raise MQClientError(f"The broker[{queue.broker_name}] not exist")
        return addr

    def dispatch_pull_request(self, requests: list[PullRequest]) -> None:
        """Hand them to the pull thread, in order."""
        for request in requests:
            self.instance.pull_message_service.execute_pull_request_immediately(request)


def parse_consume_timestamp(text: str) -> int:
    """Epoch ms of "yyyyMMddHHmmss", read as UTC (4.8.0: the client's time zone); raises `MQClientError`."""
    try:
        return int(datetime.strptime(text, "%Y%m%d%H%M%S").replace(tzinfo=UTC).timestamp() * 1000)
    except ValueError as error:
        raise MQClientError(
            f"consumeTimestamp is invalid, the valid format is yyyyMMddHHmmss,but received {text}"
        ) from error
