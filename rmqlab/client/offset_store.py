"""Where a consumer's progress is kept: at the broker (clustering) or on the client's disk (broadcasting).

Source: `RemoteBrokerOffsetStore`, `LocalFileOffsetStore`. Offsets are queue offsets.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rmqlab.client.client_error import CALL_ERRORS, MQBrokerError
from rmqlab.events import OffsetPersist
from rmqlab.message.topics import message_queue_order
from rmqlab.protocol.codes import RequestCode
from rmqlab.protocol.consumer_headers import QueryConsumerOffsetRequestHeader, UpdateConsumerOffsetRequestHeader
from rmqlab.protocol.header import WithOffset

if TYPE_CHECKING:
    from collections.abc import Collection

    from rmqlab.client.mq_client_instance import MQClientInstance
    from rmqlab.message.topics import MessageQueue

OFFSET_TIMEOUT = 5_000
NO_OFFSET = -1
UNKNOWN_OFFSET = -2


class OffsetStore:
    """A consumer's progress by queue, in memory until it is written down."""

    def __init__(self, instance: MQClientInstance, group: str) -> None:
        self._instance = instance
        self._group = group
        self.offset_table: dict[MessageQueue, int] = {}

    def update_offset(self, queue: MessageQueue, offset: int, *, increase_only: bool) -> None:
        """Note progress in memory; with `increase_only` a lower offset than the present one is ignored."""
        if not increase_only or offset > self.offset_table.get(queue, -1 << 63):
            self.offset_table[queue] = offset

    async def read_offset(self, queue: MessageQueue, *, memory_first: bool) -> int:
        """The offset written down, or the one noted if `memory_first`; -1: none, -2: no broker could be asked."""
        if memory_first and queue in self.offset_table:
            return self.offset_table[queue]
        offset = await self._stored(queue)
        if offset >= 0:
            self.offset_table[queue] = offset
        return offset

    async def _stored(self, queue: MessageQueue) -> int:
        """The offset written down; -1 when there is none, -2 when no broker could be asked."""
        raise NotImplementedError

    async def persist_all(self, queues: Collection[MessageQueue]) -> None:
        """Write down the progress of these queues; others are forgotten or left out. Without queues nothing happens."""

    async def persist(self, queue: MessageQueue) -> None:
        """Write down the progress of one queue."""

    def remove_offset(self, queue: MessageQueue) -> None:
        """Forget a queue in memory."""


class RemoteBrokerOffsetStore(OffsetStore):
    """Progress at the broker: asked when a queue is new, committed one-way every 5 s and when a queue is given up."""

    async def _stored(self, queue: MessageQueue) -> int:
        instance = self._instance
        header = QueryConsumerOffsetRequestHeader(self._group, queue.topic, queue.queue_id)
        try:
            find = instance.find_broker_address_in_admin
            known = find(queue.broker_name)
            addr = await instance.learn_broker(queue, find) if known is None else known
            answer = await instance.api.call(addr, RequestCode.QUERY_CONSUMER_OFFSET, header, OFFSET_TIMEOUT)
            return answer.decode_header(WithOffset).offset
        except MQBrokerError:
            return NO_OFFSET
        except CALL_ERRORS:
            return UNKNOWN_OFFSET

    async def persist_all(self, queues: Collection[MessageQueue]) -> None:
        """Commit the offsets of these queues and forget all others; without queues nothing happens."""
        if not queues:
            return
        for queue in message_queue_order(self.offset_table):
            if queue in queues:
                await self.persist(queue)
            else:
                self.offset_table.pop(queue, None)

    async def persist(self, queue: MessageQueue) -> None:
        """Commit the offset of one queue; a failure is ignored."""
        offset = self.offset_table.get(queue)
        if offset is None:
            return
        instance = self._instance
        header = UpdateConsumerOffsetRequestHeader(self._group, queue.topic, queue.queue_id, offset)
        request = instance.api.request(RequestCode.UPDATE_CONSUMER_OFFSET, header)
        try:
            find = instance.find_broker_address_in_admin
            known = find(queue.broker_name)
            addr = await instance.learn_broker(queue, find) if known is None else known
            await instance.runtime.invoke_oneway(addr, request)
        except CALL_ERRORS:
            return
        instance.observe(OffsetPersist(instance.client_id, self._group, queue.topic, queue.queue_id, offset))

    def remove_offset(self, queue: MessageQueue) -> None:
        """Forget a queue in memory."""
        self.offset_table.pop(queue, None)


class LocalFileOffsetStore(OffsetStore):
    """Progress on the client's own machine: what Java's file holds, for the life of the client."""

    def __init__(self, instance: MQClientInstance, group: str) -> None:
        super().__init__(instance, group)
        self.file: dict[MessageQueue, int] = {}

    async def _stored(self, queue: MessageQueue) -> int:
        return self.file.get(queue, NO_OFFSET)

    async def persist_all(self, queues: Collection[MessageQueue]) -> None:
        """Write the offsets of these queues, and only them; the file is written as a whole."""
        if queues:
            self.file = {q: offset for q, offset in self.offset_table.items() if q in queues}

    # one queue is neither written nor forgotten: Java keeps the offset of a queue it gave up
