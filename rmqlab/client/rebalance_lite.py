"""RebalanceLitePullImpl: hands queues to the consumer's pull tasks, with no new stamp (4.8.0, same name)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rmqlab.client.offset_store import ReadOffsetType
from rmqlab.client.rebalance_impl import RebalanceImpl
from rmqlab.protocol.heartbeat import ConsumeType, MessageModel

if TYPE_CHECKING:
    from rmqlab.client.lite_pull_consumer import DefaultLitePullConsumer
    from rmqlab.client.process_queue import ProcessQueue, PullRequest
    from rmqlab.message.message import MessageQueue


class RebalanceLitePullImpl(RebalanceImpl):
    """Rebalance of a lite pull consumer."""

    consume_type = ConsumeType.CONSUME_ACTIVELY
    read_offset_type = ReadOffsetType.MEMORY_FIRST_THEN_STORE

    def __init__(self, consumer: DefaultLitePullConsumer) -> None:
        """Works on the consumer's pull tasks."""
        super().__init__(consumer)
        self._lite = consumer

    async def message_queue_changed(self, topic: str, all_queues: list[MessageQueue], ours: list[MessageQueue]) -> None:
        """Pull what is ours; the subscription keeps its stamp and brokers hear nothing."""
        broadcasting = self.consumer.message_model is MessageModel.BROADCASTING
        self._lite.assign_topic(topic, all_queues if broadcasting else ours)

    async def remove_unnecessary_message_queue(self, queue: MessageQueue, process_queue: ProcessQueue) -> bool:
        """Commit and forget the offset."""
        await self.consumer.offset_store.persist(queue)
        self.consumer.offset_store.remove_offset(queue)
        return True

    def dispatch_pull_request(self, requests: list[PullRequest]) -> None:
        """Nothing: the pull tasks find their queues themselves."""
