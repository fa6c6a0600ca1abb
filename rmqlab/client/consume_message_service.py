"""What calls a listener: ConsumeMessageConcurrentlyService, ConsumeMessageOrderlyService (same names)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import partial
from typing import TYPE_CHECKING, Any

from rmqlab.client.client_error import CALL_ERRORS
from rmqlab.client.executor import ScheduledExecutor, ThreadPool
from rmqlab.client.listener import (
    ConsumeConcurrentlyContext,
    ConsumeConcurrentlyStatus,
    ConsumeOrderlyContext,
    ConsumeOrderlyStatus,
)
from rmqlab.client.lock import Lock
from rmqlab.client.process_queue import REBALANCE_LOCK_INTERVAL
from rmqlab.events import ListenerError
from rmqlab.message.java import to_int32
from rmqlab.message.message import Message
from rmqlab.message.properties import (
    PROPERTY_CONSUME_START_TIMESTAMP,
    PROPERTY_MAX_RECONSUME_TIMES,
    PROPERTY_RECONSUME_TIME,
    PROPERTY_RETRY_TOPIC,
    PROPERTY_TRANSACTION_PREPARED,
)
from rmqlab.message.topics import retry_topic
from rmqlab.protocol.codes import RequestCode
from rmqlab.protocol.consumer_headers import ConsumerSendMsgBackRequestHeader
from rmqlab.protocol.heartbeat import MessageModel

if TYPE_CHECKING:
    from collections.abc import Callable

    from rmqlab.client.client_config import PushConsumerConfig
    from rmqlab.client.consumer import MQConsumer
    from rmqlab.client.listener import MessageListener
    from rmqlab.client.process_queue import ProcessQueue
    from rmqlab.client.rebalance_impl import RebalanceImpl
    from rmqlab.message.message import MessageExt
    from rmqlab.message.topics import MessageQueue

TRY_AGAIN_LATER = 5_000
FIRST_DELAY_LEVEL = 3
SEND_BACK_TIMEOUT = 5_000
MAX_RECONSUME_TIMES = 16
MAX_TIME_CONSUME_CONTINUOUSLY = 60_000


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

    def start(self) -> None:  # noqa: B027 - consuming in no order needs none
        """Start the timers."""

    @abstractmethod
    def submit(
        self, messages: list[MessageExt], process_queue: ProcessQueue, queue: MessageQueue, *, dispatch: bool
    ) -> None:
        """Hand messages to the pool; `dispatch`: no listener consumes the queue now (for orderly consumption)."""

    async def shutdown(self) -> None:
        """Begin nothing new."""
        self._later.shutdown()
        self._pool.shutdown_now()

    async def _call_listener(
        self, messages: list[MessageExt], context: ConsumeConcurrentlyContext | ConsumeOrderlyContext
    ) -> Any:
        """What the listener says; None when it raised."""
        status = None
        try:
            status = self._listener(messages, context)
        except Exception as error:  # noqa: BLE001 - whatever a listener raises means: later
            consumer, instance = self._consumer, self._consumer.instance
            instance.observe(ListenerError(instance.client_id, consumer.group_name, messages, error))
        if context.consume_ms > 0:
            await self._runtime.sleep(context.consume_ms)
        return status

    async def _listen(
        self, messages: list[MessageExt], queue: MessageQueue
    ) -> tuple[ConsumeConcurrentlyStatus | None, ConsumeConcurrentlyContext]:
        """What the listener says of a batch that is consumed in no order, and what it set besides."""
        context = ConsumeConcurrentlyContext(queue, self._config.consume_ms)
        reset_retry_topic(messages, self._consumer.group_name)
        now = str(self._runtime.now())
        for message in messages:
            message.properties[PROPERTY_CONSUME_START_TIMESTAMP] = now
        status = await self._call_listener(messages, context)
        return status, context

    async def _send_message_back(self, message: MessageExt, delay_level: int, broker_name: str) -> bool:
        """Hand a message back to its broker for a later try; failing that, send it to the retry topic oneself.

        Level 0 leaves the delay to the broker, below 0 means dead letter. False when both fail.
        """
        instance, group = self._consumer.instance, self._consumer.group_name
        header = ConsumerSendMsgBackRequestHeader(
            offset=message.commit_log_offset,
            group=group,
            delay_level=delay_level,
            origin_msg_id=message.client_msg_id,
            origin_topic=message.topic,
            max_reconsume_times=MAX_RECONSUME_TIMES,
        )
        try:
            addr = instance.require_broker_address_in_publish(broker_name)
            await instance.api.call(addr, RequestCode.CONSUMER_SEND_MSG_BACK, header, SEND_BACK_TIMEOUT)
        except CALL_ERRORS:
            back = retry_message(message, group)
            try:
                await instance.default_producer.send(back)
            except CALL_ERRORS:
                return False
        return True


class ConsumeMessageConcurrentlyService(ConsumeMessageService):
    """Consumes pulled messages in no order, in batches of at most `consume_message_batch_max_size`."""

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
        status, context = await self._listen(messages, queue)
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
            again = [
                failed_message
                for failed_message in failed
                if not await self._send_message_back(failed_message, level, queue.broker_name)
            ]
            messages = [message for message in messages if message not in again]
            self._try_again(again, process_queue, queue)
        offset = process_queue.remove_message(messages, self._runtime.now())
        if offset >= 0 and not process_queue.dropped:
            consumer.offset_store.update_offset(queue, offset, increase_only=True)

    def _try_again(self, messages: list[MessageExt], process_queue: ProcessQueue, queue: MessageQueue) -> None:
        """What no broker took back is consumed once more here."""
        if messages:
            for message in messages:
                message.reconsume_times = to_int32(message.reconsume_times + 1)
            self._later.schedule(partial(self.submit, messages, process_queue, queue, dispatch=True), TRY_AGAIN_LATER)


class ConsumeMessageOrderlyService(ConsumeMessageService):
    """Consumes each queue in order; in clustering mode only while the broker's lock on it is fresh (30 s)."""

    def __init__(
        self, consumer: MQConsumer, config: PushConsumerConfig, rebalance_impl: RebalanceImpl, listener: MessageListener
    ) -> None:
        """Starts no thread yet."""
        super().__init__(consumer, config, rebalance_impl, listener)
        self._clustering = self._consumer.message_model is MessageModel.CLUSTERING
        self._queue_locks: dict[MessageQueue, Lock] = {}
        self._stopped = False

    def start(self) -> None:
        """Renew the locks after 1 s and then every 20 s."""
        if self._clustering:
            self._later.schedule_at_fixed_rate(self._lock_all, 1_000, REBALANCE_LOCK_INTERVAL)

    async def shutdown(self) -> None:
        """Begin nothing new and give all locks back."""
        self._stopped = True
        await super().shutdown()
        if self._clustering:
            await self._rebalance_impl.unlock_all()

    def submit(
        self, messages: list[MessageExt], process_queue: ProcessQueue, queue: MessageQueue, *, dispatch: bool
    ) -> None:
        """Let a thread consume the queue, if `dispatch` says that none does."""
        if dispatch:
            self._pool.submit(partial(self._consume, process_queue, queue))

    async def _lock_all(self) -> None:
        if not self._stopped:
            await self._rebalance_impl.lock_all()

    def _submit_later(self, process_queue: ProcessQueue, queue: MessageQueue, delay_ms: int) -> None:
        self._later.schedule(partial(self.submit, [], process_queue, queue, dispatch=True), delay_ms)

    def _try_lock_later_and_reconsume(self, process_queue: ProcessQueue, queue: MessageQueue, delay_ms: int) -> None:
        async def lock() -> None:
            locked = not self._stopped and await self._rebalance_impl.lock(queue)
            self._submit_later(process_queue, queue, 10 if locked else 3_000)

        self._later.schedule(lock, delay_ms)

    def _may_consume(self, process_queue: ProcessQueue) -> bool:
        fresh = process_queue.locked and not process_queue.is_lock_expired(self._runtime.now())
        return not self._clustering or fresh

    async def _consume(self, process_queue: ProcessQueue, queue: MessageQueue) -> None:
        if process_queue.dropped:
            return
        queue_lock = self._queue_locks.setdefault(queue, Lock(self._runtime))
        await queue_lock.acquire()
        try:
            if not self._may_consume(process_queue):
                self._try_lock_later_and_reconsume(process_queue, queue, 100)
                return
            begin = self._runtime.now()
            while not process_queue.dropped:
                if not self._may_consume(process_queue):
                    self._try_lock_later_and_reconsume(process_queue, queue, 10)
                    return
                if self._runtime.now() - begin > MAX_TIME_CONSUME_CONTINUOUSLY:
                    self._submit_later(process_queue, queue, 10)
                    return
                if not await self._consume_batch(process_queue, queue):
                    return
        finally:
            queue_lock.release()

    async def _consume_batch(self, process_queue: ProcessQueue, queue: MessageQueue) -> bool:
        size = self._config.consume_message_batch_max_size
        messages = process_queue.take_messages(size, self._runtime.now())
        if not messages:
            return False
        reset_retry_topic(messages, self._consumer.group_name)
        context = ConsumeOrderlyContext(queue, self._config.consume_ms)
        lock = process_queue.lock_consume
        await lock.acquire()
        try:
            if process_queue.dropped:
                return False
            status = await self._call_listener(messages, context)
        finally:
            lock.release()
        if status is not ConsumeOrderlyStatus.SUCCESS:
            for message in messages:
                message.reconsume_times = to_int32(message.reconsume_times + 1)
            process_queue.make_message_to_consume_again(messages)
            self._submit_later(process_queue, queue, self._config.suspend_current_queue_time_millis)
            return False
        offset = process_queue.commit()
        if offset >= 0 and not process_queue.dropped:
            self._consumer.offset_store.update_offset(queue, offset, increase_only=False)
        return True


def reset_retry_topic(messages: list[MessageExt], group: str) -> None:
    """Show a message that came by the group's retry topic under the topic it was sent to."""
    group_topic = retry_topic(group)
    for message in messages:
        origin = message.properties.get(PROPERTY_RETRY_TOPIC)
        if origin is not None and message.topic == group_topic:
            message.topic = origin


def retry_message(message: MessageExt, group: str) -> Message:
    """The message a client sends to the retry topic itself, when the broker does not take `message` back.

    It shares the properties of `message`, as in Java: so the ORIGIN_MESSAGE_ID set a line earlier is lost there too.
    """
    properties = message.properties
    properties[PROPERTY_RETRY_TOPIC] = message.topic
    properties[PROPERTY_RECONSUME_TIME] = str(to_int32(message.reconsume_times + 1))
    properties[PROPERTY_MAX_RECONSUME_TIMES] = str(MAX_RECONSUME_TIMES)
    properties.pop(PROPERTY_TRANSACTION_PREPARED, None)
    back = Message(retry_topic(group), message.body, message.flag, properties)
    back.delay_time_level = to_int32(FIRST_DELAY_LEVEL + message.reconsume_times)
    return back
