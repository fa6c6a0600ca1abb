"""A send that its caller does not wait for (`DefaultMQProducerImpl.send` with a callback)."""

from __future__ import annotations

import logging
from functools import partial
from typing import TYPE_CHECKING, Protocol

from rmqlab.client.client_error import MQBrokerError, MQClientError, RemotingTooMuchRequestError, check_message
from rmqlab.client.runtime import RemotingConnectError, RemotingError, RemotingSendRequestError
from tests.proof.clients.picked_send import queue_picked

if TYPE_CHECKING:
    from rmqlab.client.mq_client_api import SendResult, TopicPublishInfo
    from rmqlab.client.producer import DefaultMQProducer
    from rmqlab.message.message import Message
    from rmqlab.message.topics import MessageQueue
    from tests.proof.clients.picked_send import MessageQueueSelector

logger = logging.getLogger(__name__)


class SendCallback(Protocol):
    """Hears how one send ended, exactly once. What it raises is logged and changes nothing."""

    def on_success(self, result: SendResult) -> None:
        """The broker answered."""

    def on_exception(self, error: Exception) -> None:
        """It was not sent, or refused, or nobody answered in time."""


def send_async(
    producer: DefaultMQProducer,
    message: Message,
    callback: SendCallback,
    queue: MessageQueue | None = None,
    *,
    selector: MessageQueueSelector | None = None,
    arg: object = None,
    timeout_ms: int | None = None,
) -> None:
    """Send beside the caller; `callback` hears of the answer, or of the error, `MQClientError` and the like.

    Without an answer it tries again (`retry_times_when_send_async_failed`); what a broker refuses is not tried again.
    Batches cannot be sent so.
    """
    sending = AsyncSend(producer, callback, producer.config.send_msg_timeout if timeout_ms is None else timeout_ms)
    producer.instance.runtime.spawn(sending.run(message, queue, selector, arg), "AsyncSenderExecutor_")


class AsyncSend:
    """One message on its way. Times in ms."""

    def __init__(self, producer: DefaultMQProducer, callback: SendCallback, timeout_ms: int) -> None:
        """The time counts from here."""
        self._producer = producer
        self._callback = callback
        self._timeout = timeout_ms
        self._begin = producer.instance.runtime.now()

    async def run(
        self, message: Message, queue: MessageQueue | None, selector: MessageQueueSelector | None, arg: object
    ) -> None:
        """Send, and tell the callback."""
        producer = self._producer
        if self._left() <= 0:
            self._failed(RemotingTooMuchRequestError("DEFAULT ASYNC send call timeout"))
            return
        try:
            producer.make_sure_state_ok()
            check_message(message, producer.config.max_message_size)
            if queue is None and selector is None:
                attempt = partial(self._attempts, message)
                await producer.send_default(message, self._left(), producer.instance.runtime.now(), attempt, 1)
                return
            if queue is None:
                queue = await queue_picked(producer, message, selector, arg)
            await self._to(message, queue)
        except (MQClientError, MQBrokerError, RemotingError) as error:
            self._failed(error)

    async def _to(self, message: Message, queue: MessageQueue) -> None:
        if queue.topic != message.topic:
            raise MQClientError("Topic of the message does not match its target message queue")
        if self._left() < 0:
            raise RemotingTooMuchRequestError("call timeout")
        await self._attempts(message, queue, None, self._left())

    def _left(self) -> int:
        return self._timeout - (self._producer.instance.runtime.now() - self._begin)

    async def _attempts(
        self, message: Message, queue: MessageQueue, info: TopicPublishInfo | None, timeout_ms: int
    ) -> SendResult | None:
        """Try until there is an answer: the same request, with `info` at the broker of the next queue in turn.

        Without `info` the queue was given, and its broker is asked again. Raises `RemotingConnectError` when the first
        broker cannot be reached at all: that is a failure of the sender, and no retry.
        """
        producer, instance = self._producer, self._producer.instance
        addr, body, header = await producer.prepare(message, queue)
        broker = queue.broker_name
        tried = 0
        while True:
            begin = instance.runtime.now()
            failure: Exception
            try:
                result = await instance.api.send_message(addr, broker, message, body, header, timeout_ms)
            except MQBrokerError as error:
                self._failed(error)
                return None
            except RemotingConnectError as error:
                if tried == 0:
                    raise
                failure = error
            except RemotingSendRequestError:
                failure = MQClientError("send request failed")
                timeout_ms -= instance.runtime.now() - begin
            except RemotingError:
                failure = MQClientError(f"wait response timeout {timeout_ms}ms")
                timeout_ms -= instance.runtime.now() - begin
            else:
                self._succeeded(result)
                return None
            tried += 1
            if tried > producer.config.retry_times_when_send_async_failed:
                self._failed(failure)
                return None
            if timeout_ms < 0:
                self._failed(RemotingTooMuchRequestError("invokeAsync call timeout"))
                return None
            if info is not None:
                broker = info.select_one_message_queue(instance.runtime, broker).broker_name
            addr = instance.find_broker_address_in_publish(broker) or addr

    def _succeeded(self, result: SendResult) -> None:
        try:
            self._callback.on_success(result)
        except Exception:
            logger.exception("a callback failed")

    def _failed(self, error: Exception) -> None:
        try:
            self._callback.on_exception(error)
        except Exception:
            logger.exception("a callback failed")
