"""A producer that waits for a consumer's answer (`DefaultMQProducer.request`, `MessageUtil`, request 326)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rmqlab.client.client_error import ClientErrorCode, MQClientError
from rmqlab.message.message import Host, Message, MessageExt
from rmqlab.message.properties import (
    PROPERTY_CLUSTER,
    PROPERTY_CORRELATION_ID,
    PROPERTY_MESSAGE_REPLY_TO_CLIENT,
    PROPERTY_MESSAGE_TTL,
    PROPERTY_MESSAGE_TYPE,
    PROPERTY_REPLY_MESSAGE_ARRIVE_TIME,
    string_to_properties,
)
from rmqlab.message.sysflag import COMPRESSED_FLAG, uncompress
from rmqlab.message.topics import reply_topic
from rmqlab.protocol.codes import RequestCode, ResponseCode
from rmqlab.protocol.command import RemotingCommand
from rmqlab.protocol.producer_headers import ReplyMessageRequestHeader
from tests.proof.clients.async_send import send_async

if TYPE_CHECKING:
    from rmqlab.client.mq_client_api import SendResult
    from rmqlab.client.producer import DefaultMQProducer
    from rmqlab.client.runtime import Runtime

REPLY = "reply"
COPIED = (PROPERTY_CORRELATION_ID, PROPERTY_MESSAGE_REPLY_TO_CLIENT, PROPERTY_MESSAGE_TTL)


def create_reply_message(request: MessageExt, body: bytes) -> Message:
    """The answer to a request, for any producer to send; raises `MQClientError` for what is no request."""
    cluster = request.properties.get(PROPERTY_CLUSTER)
    if cluster is None:
        text = f"create reply message fail, requestMessage error, property[{PROPERTY_CLUSTER}] is null."
        raise MQClientError(text, ClientErrorCode.CREATE_REPLY_MESSAGE_EXCEPTION)
    message = Message.of(reply_topic(cluster), body)
    message.properties[PROPERTY_MESSAGE_TYPE] = REPLY
    for name in COPIED:
        if name in request.properties:
            message.properties[name] = request.properties[name]
    return message


class Request:
    """One request under way: whether it was sent, and its answer."""

    def __init__(self, runtime: Runtime) -> None:
        self.answer: MessageExt | None = None
        self.error: Exception | None = None
        self.sent = False
        self.done = runtime.event()

    def on_success(self, result: SendResult) -> None:
        """The request is stored: from now on it waits for the consumer."""
        self.sent = True

    def on_exception(self, error: Exception) -> None:
        """It never left, or was refused."""
        self.error = error
        self.done.set()


class RequestReply:
    """The requests of one producer; `waiting` are those under way, by correlation id."""

    def __init__(self, producer: DefaultMQProducer) -> None:
        """Takes the answers that brokers push to the producer's instance."""
        self._producer = producer
        self._instance = producer.instance
        self.waiting: dict[str, Request] = {}
        self._instance.processors[RequestCode.PUSH_REPLY_MESSAGE_TO_CLIENT] = self._take_reply

    async def request(self, message: Message, timeout_ms: int) -> MessageExt:
        """Send, and wait for the answer. The broker must know the producer by a heartbeat, so one goes first.

        Raises `MQClientError`, code 10006 when no answer came within `timeout_ms`.
        """
        instance, producer = self._instance, self._producer
        begin = instance.runtime.now()
        correlation_id = instance.unique_ids.create(begin)
        message.properties[PROPERTY_CORRELATION_ID] = correlation_id
        message.properties[PROPERTY_MESSAGE_REPLY_TO_CLIENT] = instance.client_id
        message.properties[PROPERTY_MESSAGE_TTL] = str(timeout_ms)
        if message.topic not in instance.topic_route_table:
            await producer.find_topic_publish_info(message.topic)
            await instance.send_heartbeat_to_all_broker_with_lock()
        waiting = self.waiting[correlation_id] = Request(instance.runtime)
        try:
            send_async(producer, message, waiting, timeout_ms=timeout_ms - (instance.runtime.now() - begin))
            await waiting.done.wait(max(0, timeout_ms - (instance.runtime.now() - begin)))
        finally:
            self.waiting.pop(correlation_id, None)
        if waiting.answer is not None:
            return waiting.answer
        if waiting.sent:
            text = f"send request message to <{message.topic}> OK, but wait reply message timeout, {timeout_ms} ms."
            raise MQClientError(text, ClientErrorCode.REQUEST_TIMEOUT_EXCEPTION)
        raise MQClientError(f"send request message to <{message.topic}> fail") from waiting.error

    def _take_reply(self, addr: str, request: RemotingCommand) -> RemotingCommand:
        """An answer that the broker pushes (326); one that nobody waits for is dropped."""
        try:
            message = _reply_of(request)
        except Exception:  # noqa: BLE001 - whatever it is, Java says the same
            return RemotingCommand.response(ResponseCode.SYSTEM_ERROR, "process reply message fail")
        message.properties[PROPERTY_REPLY_MESSAGE_ARRIVE_TIME] = str(self._instance.runtime.now())
        waiting = self.waiting.pop(message.properties.get(PROPERTY_CORRELATION_ID, ""), None)
        if waiting is not None:
            waiting.answer = message
            waiting.done.set()
        return RemotingCommand.response(ResponseCode.SUCCESS)


def _reply_of(command: RemotingCommand) -> MessageExt:
    header = command.decode_header(ReplyMessageRequestHeader)
    body = command.body or b""
    return MessageExt(
        topic=header.topic,
        queue_id=header.queue_id,
        body=uncompress(body) if header.sys_flag & COMPRESSED_FLAG else body,
        flag=header.flag,
        properties=string_to_properties(header.properties),
        born_timestamp=header.born_timestamp,
        born_host=Host.parse(header.born_host.lstrip("/")),
        store_timestamp=header.store_timestamp,
        store_host=Host.parse(header.store_host.lstrip("/")),
        reconsume_times=header.reconsume_times or 0,
    )
