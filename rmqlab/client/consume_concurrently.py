"""ConsumeMessageConcurrentlyService: a pool of threads and a listener, in no order (4.8.0, same name)."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from rmqlab.client.client_error import CALL_ERRORS
from rmqlab.client.executor import ScheduledExecutor, ThreadPool
from rmqlab.client.listener import ConsumeConcurrentlyContext, ConsumeConcurrentlyStatus
from rmqlab.client.retry import reset_retry_topic
from rmqlab.client.trace_data import return_code
from rmqlab.message.properties import PROPERTY_CONSUME_START_TIMESTAMP
from rmqlab.protocol.heartbeat import MessageModel

if TYPE_CHECKING:
    from rmqlab.client.listener import MessageListenerConcurrently
    from rmqlab.client.process_queue import ProcessQueue
    from rmqlab.client.push_consumer import DefaultMQPushConsumer
    from rmqlab.message.message import MessageExt, MessageQueue

TRY_AGAIN_LATER = 5_000
EXPIRED_DELAY_LEVEL = 3
EXPIRED_AT_ONCE = 16


class ConsumeMessageConcurrentlyService:
    """Consumes pulled messages in batches of at most `consume_message_batch_max_size`."""

    def __init__(self, consumer: DefaultMQPushConsumer, listener: MessageListenerConcurrently) -> None:
        """Starts no thread yet."""
        self._consumer = consumer
        self._listener = listener
        self._runtime = consumer.instance.runtime
        self._pool = ThreadPool(self._runtime, consumer.config.consume_thread_min, "ConsumeMessageThread")
        self._later = ScheduledExecutor(self._runtime, "ConsumeMessageScheduledThread")
        self._cleaner = ScheduledExecutor(self._runtime, "CleanExpireMsgScheduledThread")

    def start(self) -> None:
        """Every consume timeout (15 min), messages that take longer go back to the broker."""
        period = self._consumer.config.consume_timeout
        self._cleaner.schedule_at_fixed_rate(self._clean_expired, period, period)

    async def shutdown(self) -> None:
        """Begin nothing new."""
        self._later.shutdown()
        self._pool.shutdown_now()
        self._cleaner.shutdown()

    def submit(
        self, messages: list[MessageExt], process_queue: ProcessQueue, queue: MessageQueue, *, dispatch: bool
    ) -> None:
        """Hand messages to the pool; `dispatch` matters to orderly consumption only."""
        size = self._consumer.config.consume_message_batch_max_size
        for start in range(0, len(messages), size):
            self._pool.submit(partial(self._consume, messages[start : start + size], process_queue, queue))

    async def _consume(self, messages: list[MessageExt], process_queue: ProcessQueue, queue: MessageQueue) -> None:
        if process_queue.dropped:
            return
        consumer, runtime = self._consumer, self._runtime
        context = ConsumeConcurrentlyContext(queue, consumer.config.consume_ms)
        reset_retry_topic(messages, consumer.group_name)
        now = str(runtime.now())
        for message in messages:
            message.properties[PROPERTY_CONSUME_START_TIMESTAMP] = now
        traced = None if consumer.trace is None else consumer.trace.consuming(consumer.group_name, messages)
        began, raised = runtime.now(), False
        try:
            status = self._listener(messages, context)
        except Exception as error:  # noqa: BLE001 - whatever a listener raises means: later
            consumer.observe_listener_error(messages, error)
            status, raised = None, True
        if context.consume_ms > 0:
            await runtime.sleep(context.consume_ms)
        if consumer.trace is not None and traced is not None:
            success = status is ConsumeConcurrentlyStatus.CONSUME_SUCCESS
            slow = runtime.now() - began >= consumer.config.consume_timeout
            failed = status is ConsumeConcurrentlyStatus.RECONSUME_LATER
            code = return_code(nothing=status is None, raised=raised, slow=slow, failed=failed)
            consumer.trace.consumed(consumer.group_name, traced, len(messages), code, success=success)
        if not process_queue.dropped:
            await self._process_result(status, context, messages, process_queue)

    async def _process_result(
        self,
        status: ConsumeConcurrentlyStatus | None,
        context: ConsumeConcurrentlyContext,
        messages: list[MessageExt],
        process_queue: ProcessQueue,
    ) -> None:
        consumer, queue = self._consumer, context.message_queue
        success = status is ConsumeConcurrentlyStatus.CONSUME_SUCCESS
        failed = messages[context.ack_index + 1 :] if success else messages
        # broadcasting drops what failed
        if failed and consumer.message_model is MessageModel.CLUSTERING:
            again = [message for message in failed if not await self._send_back(message, context)]
            if again:
                for message in again:
                    message.reconsume_times += 1
                messages = [message for message in messages if message not in again]
                self._later.schedule(partial(self._submit_later, again, process_queue, queue), TRY_AGAIN_LATER)
        offset = process_queue.remove_message(messages, self._runtime.now())
        if offset >= 0 and not process_queue.dropped:
            consumer.offset_store.update_offset(queue, offset, increase_only=True)

    async def _submit_later(self, messages: list[MessageExt], process_queue: ProcessQueue, queue: MessageQueue) -> None:
        self.submit(messages, process_queue, queue, dispatch=True)

    async def _send_back(self, message: MessageExt, context: ConsumeConcurrentlyContext) -> bool:
        level, broker = context.delay_level_when_next_consume, context.message_queue.broker_name
        try:
            await self._consumer.send_message_back(message, level, broker)
        except CALL_ERRORS:
            return False
        return True

    async def _clean_expired(self) -> None:
        consumer = self._consumer
        timeout = consumer.config.consume_timeout
        for process_queue in list(consumer.rebalance_impl.process_queue_table.values()):
            for _ in range(min(EXPIRED_AT_ONCE, len(process_queue.messages))):
                message = process_queue.first_expired(self._runtime.now(), timeout)
                if message is None:
                    break
                try:
                    await consumer.send_message_back(message, EXPIRED_DELAY_LEVEL)
                except CALL_ERRORS:
                    continue
                if next(iter(process_queue.messages), None) == message.queue_offset:
                    process_queue.remove_message([message], self._runtime.now())
