"""Batches as a client sends them (`MessageBatch`, `MessageDecoder.encodeMessages`, `DefaultMQProducerImpl.batch`)."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Self

from rmqlab.client.client_error import MQClientError, check_message
from rmqlab.errors import BadInput
from rmqlab.message.batch import BATCH_HEAD
from rmqlab.message.java import in_hash_map_order, to_utf8
from rmqlab.message.message import Message
from rmqlab.message.properties import properties_to_string
from rmqlab.message.record import RecordError
from rmqlab.message.topics import is_retry_topic

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from rmqlab.client.mq_client_api import SendResult, TopicPublishInfo
    from rmqlab.client.producer import DefaultMQProducer
    from rmqlab.message.topics import MessageQueue


class UnsupportedBatch(BadInput, ValueError):
    """Messages that cannot go in one batch (Java: UnsupportedOperationException)."""


@dataclass(slots=True)
class MessageBatch(Message):
    """Messages that are sent together."""

    messages: list[Message] = field(default_factory=list)

    @classmethod
    def generate_from_list(cls, messages: Iterable[Message]) -> Self:
        """Make a batch; raise `UnsupportedBatch` for delays, retry topics, mixed topics, mixed WAIT and no messages."""
        batch = cls(messages=list(messages))
        if not batch.messages:
            raise UnsupportedBatch("a batch needs at least one message")
        first = batch.messages[0]
        for message in batch.messages:
            if message.delay_time_level > 0:
                raise UnsupportedBatch("TimeDelayLevel is not supported for batching")
            if is_retry_topic(message.topic):
                raise UnsupportedBatch("Retry Group is not supported for batching")
            if message.topic != first.topic:
                raise UnsupportedBatch("The topic of the messages in one batch should be the same")
            if message.wait_store_msg_ok != first.wait_store_msg_ok:
                raise UnsupportedBatch("The waitStoreMsgOK of the messages in one batch should the same")
        batch.topic = first.topic
        batch.wait_store_msg_ok = first.wait_store_msg_ok
        return batch

    def encode(self) -> bytes:
        """Return the body of the request."""
        return encode_messages(self.messages)

    def __iter__(self) -> Iterator[Message]:
        """Go through the messages."""
        return iter(self.messages)


def encode_message(message: Message) -> bytes:
    """Return one message of a batch body: flag, body and properties, in the order of its dict.

    Raise `RecordError` where Java throws: no body, or property text above 32,767 bytes, whose length wraps.
    """
    if message.body is None:
        raise RecordError("NullPointerException", f"message of topic {message.topic!r}: a body is needed")
    properties = to_utf8(properties_to_string(message.properties))
    wrapped = (len(properties) + 0x8000) % 0x10000 - 0x8000
    size = BATCH_HEAD.size + 2 + len(message.body) + wrapped
    if wrapped != len(properties):
        java_error = "IllegalArgumentException" if size < 0 else "BufferOverflowException"
        raise RecordError(java_error, f"message of topic {message.topic!r}: {len(properties)} > 32767 property bytes")
    head = BATCH_HEAD.pack(size, 0, 0, message.flag, len(message.body))
    return b"".join((head, message.body, wrapped.to_bytes(2), properties))


def encode_messages(messages: Iterable[Message]) -> bytes:
    """Return the body of a batch."""
    return b"".join(map(encode_message, messages))


async def send_batch(
    producer: DefaultMQProducer, messages: Iterable[Message], queue: MessageQueue | None = None
) -> SendResult:
    """Send messages in one request, to `queue` or to the next one in turn; raises as `DefaultMQProducer.send`."""
    config, runtime = producer.config, producer.instance.runtime
    begin = runtime.now()
    batch = _initiated(producer, messages)
    producer.make_sure_state_ok()
    check_message(batch, config.max_message_size)

    async def attempt(to: MessageQueue, _: TopicPublishInfo | None, left_ms: int) -> SendResult | None:
        single = Message(batch.topic, batch.body, batch.flag, dict(batch.properties))
        addr, _body, header = await producer.prepare(single, to)
        # a batch has no id of its own, and its body is never compressed
        header.properties = properties_to_string(in_hash_map_order(batch.properties))
        header.sys_flag, header.batch = 0, True
        api = producer.instance.api
        result = await api.send_message(addr, to.broker_name, batch, batch.body or b"", header, left_ms)
        return replace(result, msg_id=",".join(str(message.unique_id) for message in batch))

    if queue is not None:
        result = await attempt(queue, None, config.send_msg_timeout)
    else:
        times = 1 + config.retry_times_when_send_failed
        result = await producer.send_default(batch, config.send_msg_timeout, begin, attempt, times)
    if result is None:
        raise RuntimeError("a send that waits for its answer has one")
    return result


def _initiated(producer: DefaultMQProducer, messages: Iterable[Message]) -> MessageBatch:
    try:
        batch = MessageBatch.generate_from_list(messages)
        for message in batch:
            check_message(message, producer.config.max_message_size)
            producer.instance.unique_ids.set_unique_id(message, producer.instance.runtime.now())
        batch.body = batch.encode()
    except (UnsupportedBatch, RecordError, MQClientError) as error:
        raise MQClientError("Failed to initiate the MessageBatch") from error
    return batch
