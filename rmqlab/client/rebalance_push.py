"""RebalancePushImpl: the new stamp on a subscription when queues come or go (4.8.0, same name; rows S-84..S-87)."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from rmqlab.client.offset_store import ReadOffsetType
from rmqlab.client.rebalance_impl import RebalanceImpl
from rmqlab.events import Restamp
from rmqlab.protocol.heartbeat import ConsumeType, MessageModel

if TYPE_CHECKING:
    from rmqlab.client.process_queue import ProcessQueue, PullRequest
    from rmqlab.client.push_consumer import DefaultMQPushConsumer
    from rmqlab.message.message import MessageQueue

UNLOCK_DELAY_TIME = 20_000


class RebalancePushImpl(RebalanceImpl):
    """Rebalance of a push consumer."""

    consume_type = ConsumeType.CONSUME_PASSIVELY
    read_offset_type = ReadOffsetType.READ_FROM_STORE

    def __init__(self, consumer: DefaultMQPushConsumer) -> None:
        """Works on the consumer's settings, offsets and pull loop."""
        super().__init__(consumer)
        self._push = consumer

    async def message_queue_changed(self, topic: str, all_queues: list[MessageQueue], ours: list[MessageQueue]) -> None:
        """Stamp the topic's subscription with the client's clock and send a heartbeat (rows S-84..S-86).

        The higher stamp wins the group's slot in the broker, whoever started first.
        """
        subscription = self.consumer.subscription_inner.get(topic)
        if subscription is None:
            return  # unsubscribed meanwhile: 4.8.0 runs into a null here
        old = subscription.sub_version
        subscription.sub_version = self.instance.rules.stamp_sub_version(old, self.instance.runtime.now())
        observe = self.instance.observe
        if observe is not None:
            observe(Restamp(self.instance.client_id, self.group, topic, old, subscription.sub_version))
        config, count = self._push.config, len(self.process_queue_table)
        if count:
            if config.pull_threshold_for_topic != -1:
                config.pull_threshold_for_queue = max(1, config.pull_threshold_for_topic // count)
            if config.pull_threshold_size_for_topic != -1:
                config.pull_threshold_size_for_queue = max(1, config.pull_threshold_size_for_topic // count)
        await self.instance.send_heartbeat_to_all_broker_with_lock()

    async def remove_unnecessary_message_queue(self, queue: MessageQueue, process_queue: ProcessQueue) -> bool:
        """Commit and forget the offset; an orderly consumer gives the lock back, if its listener lets go within 1 s."""
        store = self._push.offset_store
        await store.persist(queue)
        store.remove_offset(queue)
        lock = process_queue.lock_consume
        if not self._push.consume_orderly or self.consumer.message_model is not MessageModel.CLUSTERING or lock is None:
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

    def dispatch_pull_request(self, requests: list[PullRequest]) -> None:
        """Hand them to the pull thread, in order."""
        for request in requests:
            self.instance.pull_message_service.execute_pull_request_immediately(request)
