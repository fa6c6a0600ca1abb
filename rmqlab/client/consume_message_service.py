"""What calls a listener: the part both kinds share, and ConsumeMessageConcurrentlyService (same name)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import partial
from typing import TYPE_CHECKING, Any

from rmqlab.client.client_error import CALL_ERRORS, MQClientError
from rmqlab.client.executor import ScheduledExecutor, ThreadPool
from rmqlab.client.listener import ConsumeConcurrentlyContext, ConsumeConcurrentlyStatus
from rmqlab.message.message import Message
from rmqlab.message.properties import (
    PROPERTY_CONSUME_START_TIMESTAMP,
    PROPERTY_MAX_RECONSUME_TIMES,
    PROPERTY_RECONSUME_TIME,
    PROPERTY_RETRY_TOPIC,
    PROPERTY_TRANSACTION_PREPARED,
)
from rmqlab.message.topics import retry_topic
from rmqlab.protocol.heartbeat import MessageModel

if TYPE_CHECKING:
    from collections.abc import Callable

    from rmqlab.client.client_config import PushConsumerConfig
    from rmqlab.client.consumer import MQConsumer
    from rmqlab.client.listener import ConsumeOrderlyContext, MessageListener
    from rmqlab.client.process_queue import ProcessQueue
    from rmqlab.client.rebalance_impl import RebalanceImpl
    from rmqlab.message.message import MessageExt, MessageQueue

TRY_AGAIN_LATER = 5_000
EXPIRED_DELAY_LEVEL = 3
EXPIRED_AT_ONCE = 16
FIRST_DELAY_LEVEL = 3
SEND_BACK_TIMEOUT = 5_000
DEFAULT_MAX_RECONSUME_TIMES = 16


class ConsumeMessageService(ABC):
    """Hands pulled messages to the listener of a consumer, in a pool of threads."""

    def __init__(
        self, consumer: MQConsumer, config: PushConsumerConfig, rebalance_impl: RebalanceImpl, listener: MessageListener
    ) -> None:
        """Starts no thread yet."""
        self._consumer = consumer
        self._config = config
        self._rebalance_impl = rebalance_impl
        self._listener: Callable[..., Any] = listener
        self._runtime = consumer.instance.runtime
        self._pool = ThreadPool(self._runtime, config.consume_thread_min, "ConsumeMessageThread")
        self._later = ScheduledExecutor(self._runtime, "ConsumeMessageScheduledThread")

    @abstractmethod
    def start(self) -> None:
        """Start the timers."""

    @abstractmethod
    def submit(
        self, messages: list[MessageExt], process_queue: ProcessQueue, queue: MessageQueue, *, dispatch: bool
    ) -> None:
        """Hand messages to the pool; `dispatch`: nobody consumes the queue now (matters to orderly consumption)."""

    async def shutdown(self) -> None:
        """Begin nothing new."""
        self._later.shutdown()
        self._pool.shutdown_now()

    async def _call_listener(
        self, messages: list[MessageExt], context: ConsumeConcurrentlyContext | ConsumeOrderlyContext
    ) -> Any:
        """What the listener says; None when it raised."""
        consumer = self._consumer
        called = [hook(messages) for hook in consumer.consume_hooks]
        status, raised = None, False
        try:
            status = self._listener(messages, context)
        except Exception as error:  # noqa: BLE001 - whatever a listener raises means: later
            consumer.observe_listener_error(messages, error)
            raised = True
        if context.consume_ms > 0:
            await self._runtime.sleep(context.consume_ms)
        for done in called:
            if done is not None:
                done(status, raised)
        return status

    async def _send_message_back(self, message: MessageExt, delay_level: int, broker_name: str | None = None) -> bool:
        """Hand a message back to its broker for a later try; failing that, send it to the retry topic oneself.

        Level 0 leaves the delay to the broker, below 0 means dead letter. False when both fail.
        """
        instance, group = self._consumer.instance, self._consumer.group_name
        configured = self._config.max_reconsume_times
        maximum = DEFAULT_MAX_RECONSUME_TIMES if configured == -1 else configured
        try:
            addr: str | None = message.store_host.text
            if broker_name is not None:
                addr = instance.find_broker_address_in_publish(broker_name)
            if addr is None:
                raise MQClientError(f"The broker[{broker_name}] not exist")
            await instance.api.consumer_send_message_back(addr, message, group, delay_level, maximum, SEND_BACK_TIMEOUT)
        except CALL_ERRORS:
            return await self._send_to_retry_topic(message, message.reconsume_times + 1, maximum)
        return True

    async def _send_to_retry_topic(self, message: MessageExt, reconsume_times: int, maximum: int) -> bool:
        back = retry_message(message, self._consumer.group_name, reconsume_times, maximum)
        try:
            await self._consumer.instance.default_producer.send(back)
        except CALL_ERRORS:
            return False
        return True


class ConsumeMessageConcurrentlyService(ConsumeMessageService):
    """Consumes pulled messages in no order, in batches of at most `consume_message_batch_max_size`."""

    def __init__(
        self, consumer: MQConsumer, config: PushConsumerConfig, rebalance_impl: RebalanceImpl, listener: MessageListener
    ) -> None:
        """Starts no thread yet."""
        super().__init__(consumer, config, rebalance_impl, listener)
        self._cleaner = ScheduledExecutor(self._runtime, "CleanExpireMsgScheduledThread")

    def start(self) -> None:
        """Every consume timeout (15 min), messages that take longer go back to the broker."""
        period = self._config.consume_timeout
        self._cleaner.schedule_at_fixed_rate(self._clean_expired, period, period)

    async def shutdown(self) -> None:
        """Begin nothing new."""
        await super().shutdown()
        self._cleaner.shutdown()

    def submit(
        self, messages: list[MessageExt], process_queue: ProcessQueue, queue: MessageQueue, *, dispatch: bool
    ) -> None:
        """Hand messages to the pool."""
        size = self._config.consume_message_batch_max_size
        for start in range(0, len(messages), size):
            self._pool.submit(partial(self._consume, messages[start : start + size], process_queue, queue))

    async def _consume(self, messages: list[MessageExt], process_queue: ProcessQueue, queue: MessageQueue) -> None:
        if process_queue.dropped:
            return
        context = ConsumeConcurrentlyContext(queue, self._config.consume_ms)
        reset_retry_topic(messages, self._consumer.group_name)
        now = str(self._runtime.now())
        for message in messages:
            message.properties[PROPERTY_CONSUME_START_TIMESTAMP] = now
        status = await self._call_listener(messages, context)
        if not process_queue.dropped:
            await self._process_result(status, context, messages, process_queue)

    async def _process_result(
        self,
        status: ConsumeConcurrentlyStatus | None,
        context: ConsumeConcurrentlyContext,
        messages: list[MessageExt],
        process_queue: ProcessQueue,
    ) -> None:
        consumer, queue, level = self._consumer, context.message_queue, context.delay_level_when_next_consume
        success = status is ConsumeConcurrentlyStatus.CONSUME_SUCCESS
        failed = messages[context.ack_index + 1 :] if success else messages
        # broadcasting drops what failed
        if failed and consumer.message_model is MessageModel.CLUSTERING:
            again = [one for one in failed if not await self._send_message_back(one, level, queue.broker_name)]
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

    async def _clean_expired(self) -> None:
        timeout = self._config.consume_timeout
        for process_queue in list(self._rebalance_impl.process_queue_table.values()):
            for _ in range(min(EXPIRED_AT_ONCE, len(process_queue.messages))):
                message = process_queue.first_expired(self._runtime.now(), timeout)
                if message is None:
                    break
                if not await self._send_message_back(message, EXPIRED_DELAY_LEVEL):
                    continue
                if next(iter(process_queue.messages), None) == message.queue_offset:
                    process_queue.remove_message([message], self._runtime.now())


def reset_retry_topic(messages: list[MessageExt], group: str) -> None:
    """Show a message that came by the group's retry topic under the topic it was sent to."""
    group_topic = retry_topic(group)
    for message in messages:
        origin = message.properties.get(PROPERTY_RETRY_TOPIC)
        if origin is not None and message.topic == group_topic:
            message.topic = origin


def retry_message(message: MessageExt, group: str, reconsume_times: int, max_reconsume_times: int) -> Message:
    """The message a client sends to the retry topic itself, when the broker does not take `message` back.

    It shares the properties of `message`, as in Java: so the ORIGIN_MESSAGE_ID set a line earlier is lost there too.
    """
    properties = message.properties
    properties[PROPERTY_RETRY_TOPIC] = message.topic
    properties[PROPERTY_RECONSUME_TIME] = str(reconsume_times)
    properties[PROPERTY_MAX_RECONSUME_TIMES] = str(max_reconsume_times)
    properties.pop(PROPERTY_TRANSACTION_PREPARED, None)
    back = Message(retry_topic(group), message.body, message.flag, properties)
    back.delay_time_level = FIRST_DELAY_LEVEL + message.reconsume_times
    return back
