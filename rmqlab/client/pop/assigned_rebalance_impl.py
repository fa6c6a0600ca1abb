"""Rebalance of a consumer that asks the broker for its queues: it pops some and pulls others.

Source: `RebalanceImpl.getRebalanceResultFromBroker`, `updateMessageQueueAssignment`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rmqlab.client.client_error import CALL_ERRORS
from rmqlab.client.pop.pop_api import query_assignment
from rmqlab.client.pop.pop_process_queue import PopProcessQueue, PopRequest
from rmqlab.client.rebalance_impl import RebalancePushImpl
from rmqlab.events import Rebalance
from rmqlab.protocol.assignment import MessageRequestMode, QueryAssignmentRequestBody
from rmqlab.protocol.heartbeat import ConsumeFromWhere
from rmqlab.protocol.pop_headers import ConsumeInitMode

if TYPE_CHECKING:
    from rmqlab.client.client_config import PushConsumerConfig
    from rmqlab.client.rebalance_impl import RebalancedConsumer
    from rmqlab.message.topics import MessageQueue
    from rmqlab.protocol.assignment import MessageQueueAssignment


class AssignedRebalanceImpl(RebalancePushImpl):
    """`pop_process_queue_table`: {queue: what is popped of it}, for the queues that the broker gave us to pop."""

    def __init__(self, consumer: RebalancedConsumer, config: PushConsumerConfig) -> None:
        """`config` is the consumer's."""
        super().__init__(consumer, config)
        self.pop_process_queue_table: dict[MessageQueue, PopProcessQueue] = {}

    async def do_rebalance(self) -> bool:
        """Go over all topics, then drop the queues of topics no longer subscribed."""
        balanced = await super().do_rebalance()
        for queue in list(self.pop_process_queue_table):
            if queue.topic not in self.consumer.subscription_inner:
                self.pop_process_queue_table.pop(queue).dropped = True
        return balanced

    async def _rebalance_by_topic(self, topic: str) -> bool:
        assignments = await self._query_assignment(topic)
        if assignments is None:
            return False
        pulled = [assigned.message_queue for assigned in assignments if assigned.mode is MessageRequestMode.PULL]
        popped = [assigned.message_queue for assigned in assignments if assigned.mode is MessageRequestMode.POP]
        changed = self._drop_popped(topic, popped)
        changed |= await self._update_process_queue_table(topic, pulled)
        changed |= self._pop(popped)
        if changed:
            queue_ids = sorted(queue.queue_id for queue in self._working(topic))
            self.instance.observe(Rebalance(self.instance.client_id, self.group, topic, queue_ids))
            await self.message_queue_changed(topic, [], [*pulled, *popped])
        return {*pulled, *popped} == self._working(topic)

    async def _query_assignment(self, topic: str) -> list[MessageQueueAssignment] | None:
        instance = self.instance
        body = QueryAssignmentRequestBody(
            topic, self.group, instance.client_id, self.consumer.allocate_strategy.name, self.consumer.message_model
        )
        try:
            addr = instance.find_broker_addr_by_topic(topic)
            if addr is None:
                await instance.update_topic_route_info_from_name_server(topic)
                addr = instance.find_broker_addr_by_topic(topic)
            return None if addr is None else await query_assignment(instance.api, addr, body)
        except CALL_ERRORS:
            return None

    def _drop_popped(self, topic: str, popped: list[MessageQueue]) -> bool:
        """Drop the queues of a topic that are no longer ours to pop, and those whose pop is stuck."""
        now, table = self.instance.runtime.now(), self.pop_process_queue_table
        dropped = [
            queue
            for queue, process_queue in table.items()
            if queue.topic == topic and (queue not in popped or process_queue.is_pull_expired(now))
        ]
        for queue in dropped:
            table.pop(queue).dropped = True
        return bool(dropped)

    def _pop(self, queues: list[MessageQueue]) -> bool:
        """Begin to pop the queues that became ours."""
        instance, table = self.instance, self.pop_process_queue_table
        first = self.consumer.consume_from_where is ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET
        init_mode = ConsumeInitMode.MIN if first else ConsumeInitMode.MAX
        new = [queue for queue in queues if queue not in table]
        for queue in new:
            process_queue = table[queue] = PopProcessQueue(instance.runtime.now())
            request = PopRequest(self.group, queue, process_queue, init_mode)
            instance.pull_message_service.execute_pull_request_later(request, instance.rules.first_pull_delay_ms)
        return bool(new)

    def _working(self, topic: str) -> set[MessageQueue]:
        tables = (self.process_queue_table, self.pop_process_queue_table)
        return {
            queue
            for table in tables
            for queue, process_queue in table.items()
            if queue.topic == topic and not process_queue.dropped
        }
