"""What calls the listener of a consumer that pops, acks what it took and puts off what it refused.

Source: `ConsumeMessagePopConcurrentlyService`.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from rmqlab.client.consume_message_service import ConsumeMessageService
from rmqlab.client.listener import ConsumeConcurrentlyStatus
from rmqlab.client.pop.pop_api import handle_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from rmqlab.client.client_config import PushConsumerConfig
    from rmqlab.client.consumer import MQConsumer
    from rmqlab.client.listener import MessageListener
    from rmqlab.client.pop.pop_process_queue import PopProcessQueue
    from rmqlab.client.process_queue import ProcessQueue
    from rmqlab.client.rebalance_impl import RebalanceImpl
    from rmqlab.message.message import MessageExt
    from rmqlab.message.topics import MessageQueue

    Ack = Callable[[MessageExt], None]
    Change = Callable[[MessageExt, int], None]

POP_DELAY_LEVEL = (10, 30, 60, 120, 180, 240, 300, 360, 420, 480, 540, 600, 1_200, 1_800, 3_600, 7_200)
"""How long (s) a message that was refused stays invisible, by how often it had come before."""
MAX_RECONSUME_TIMES = 16


class ConsumeMessagePopConcurrentlyService(ConsumeMessageService):
    """Consumes popped messages in no order; `ack` and `change` (invisible ms) send what becomes of each."""

    def __init__(
        self,
        consumer: MQConsumer,
        config: PushConsumerConfig,
        rebalance_impl: RebalanceImpl,
        listener: MessageListener,
        ack: Ack,
        change: Change,
    ) -> None:
        """Starts no thread yet."""
        super().__init__(consumer, config, rebalance_impl, listener)
        self._ack = ack
        self._change = change

    def submit(
        self, messages: list[MessageExt], process_queue: ProcessQueue, queue: MessageQueue, *, dispatch: bool
    ) -> None:
        """Pulled messages have a service of their own."""
        raise NotImplementedError

    def submit_popped(self, messages: list[MessageExt], process_queue: PopProcessQueue, queue: MessageQueue) -> None:
        """Hand popped messages to the pool."""
        size = self._config.consume_message_batch_max_size
        for start in range(0, len(messages), size):
            self._pool.submit(partial(self._consume, messages[start : start + size], process_queue, queue))

    def _is_over(self, process_queue: PopProcessQueue, messages: list[MessageExt]) -> bool:
        """Whether the queue was given up, or others may have popped these messages meanwhile: their time is over."""
        return process_queue.dropped or self._runtime.now() >= handle_of(messages[0]).visible_at

    async def _consume(self, messages: list[MessageExt], process_queue: PopProcessQueue, queue: MessageQueue) -> None:
        if process_queue.dropped:
            return
        if self._is_over(process_queue, messages):
            process_queue.wait_ack_counter -= len(messages)
            return
        status, context = await self._listen(messages, queue)
        process_queue.wait_ack_counter -= len(messages)
        if self._is_over(process_queue, messages):
            return
        taken = context.ack_index + 1 if status is ConsumeConcurrentlyStatus.CONSUME_SUCCESS else 0
        for message in messages[:taken]:
            self._ack(message)
        for message in messages[taken:]:
            self._put_off(message, context.delay_level_when_next_consume)

    def _put_off(self, message: MessageExt, delay_level: int) -> None:
        """Let a refused message come again, ever later; one refused too often is acked when it is very old."""
        last = len(POP_DELAY_LEVEL) - 1
        if message.reconsume_times < MAX_RECONSUME_TIMES:
            level = delay_level or message.reconsume_times
            self._change(message, POP_DELAY_LEVEL[min(level, last)] * 1_000)
            return
        age_ms = self._runtime.now() - message.born_timestamp
        if age_ms > POP_DELAY_LEVEL[last] * 2_000:
            self._ack(message)
            return
        level = sum(age_ms >= seconds * 1_000 for seconds in POP_DELAY_LEVEL)
        self._change(message, POP_DELAY_LEVEL[min(level, last)] * 1_000)
