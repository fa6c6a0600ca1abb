"""ConsumeMessageOrderlyService: one queue at a time, under the broker's lock (same name)."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from rmqlab.client.consume_message_service import ConsumeMessageService, reset_retry_topic
from rmqlab.client.executor import Lock
from rmqlab.client.listener import ConsumeOrderlyContext, ConsumeOrderlyStatus
from rmqlab.client.process_queue import REBALANCE_LOCK_INTERVAL
from rmqlab.message.java import INT_MAX
from rmqlab.message.properties import PROPERTY_RECONSUME_TIME
from rmqlab.protocol.heartbeat import MessageModel

if TYPE_CHECKING:
    from rmqlab.client.client_config import PushConsumerConfig
    from rmqlab.client.consumer import MQConsumer
    from rmqlab.client.listener import MessageListener
    from rmqlab.client.process_queue import ProcessQueue
    from rmqlab.client.rebalance_impl import RebalanceImpl
    from rmqlab.message.message import MessageExt, MessageQueue

MAX_TIME_CONSUME_CONTINUOUSLY = 60_000
SUSPEND = ConsumeOrderlyStatus.SUSPEND_CURRENT_QUEUE_A_MOMENT


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
            await self._rebalance_impl.unlock_all(oneway=False)

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
        delay = self._config.suspend_current_queue_time_millis if delay_ms == -1 else delay_ms
        self._later.schedule(partial(self._submit, process_queue, queue), min(max(delay, 10), 30_000))

    async def _submit(self, process_queue: ProcessQueue, queue: MessageQueue) -> None:
        self.submit([], process_queue, queue, dispatch=True)

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
        return await self._process_result(messages, status or SUSPEND, context, process_queue)

    async def _process_result(
        self,
        messages: list[MessageExt],
        status: ConsumeOrderlyStatus,
        context: ConsumeOrderlyContext,
        process_queue: ProcessQueue,
    ) -> bool:
        queue, commit_offset, go_on = context.message_queue, -1, True
        suspend = context.suspend_current_queue_time_millis
        if status is SUSPEND:
            if await self._check_reconsume_times(messages):
                process_queue.make_message_to_consume_again(messages)
                self._submit_later(process_queue, queue, suspend)
                go_on = False
            elif context.auto_commit:
                commit_offset = process_queue.commit()
        elif context.auto_commit or status is ConsumeOrderlyStatus.COMMIT:
            # with auto commit ROLLBACK and COMMIT count as SUCCESS (Java logs that they are not meant here)
            commit_offset = process_queue.commit()
        elif status is ConsumeOrderlyStatus.ROLLBACK:
            process_queue.rollback()
            self._submit_later(process_queue, queue, suspend)
            go_on = False
        if commit_offset >= 0 and not process_queue.dropped:
            self._consumer.offset_store.update_offset(queue, commit_offset, increase_only=False)
        return go_on

    async def _check_reconsume_times(self, messages: list[MessageExt]) -> bool:
        configured = self._config.max_reconsume_times
        maximum = INT_MAX if configured == -1 else configured
        suspend = False
        for message in messages:
            if message.reconsume_times >= maximum:
                message.properties[PROPERTY_RECONSUME_TIME] = str(message.reconsume_times)
                # the broker finds the count used up and files the message as a dead letter
                if await self._send_to_retry_topic(message, message.reconsume_times, maximum):
                    continue
            suspend = True
            message.reconsume_times += 1
        return suspend
