"""Batches: several messages of one topic in the body of one request (4.8.0 `MessageBatch`, `MessageDecoder`)."""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Self

from rmqlab.errors import BadInput
from rmqlab.message.java import from_utf8, to_utf8
from rmqlab.message.message import Message
from rmqlab.message.properties import properties_to_string, string_to_properties
from rmqlab.message.record import RecordError
from rmqlab.message.topics import is_retry_topic

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from rmqlab.message.record import Data

_HEAD = struct.Struct(">iiiii")  # size, magic 0, CRC 0, flag, body length
_FIXED = 22


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

    Raise `RecordError` where 4.8.0 throws: no body, or property text above 32,767 bytes, whose length wraps.
    """
    if message.body is None:
        raise RecordError("NullPointerException", f"message of topic {message.topic!r}: a body is needed")
    properties = to_utf8(properties_to_string(message.properties))
    wrapped = (len(properties) + 0x8000) % 0x10000 - 0x8000
    size = _FIXED + len(message.body) + wrapped
    if wrapped != len(properties):
        java_error = "IllegalArgumentException" if size < 0 else "BufferOverflowException"
        raise RecordError(java_error, f"message of topic {message.topic!r}: {len(properties)} > 32767 property bytes")
    head = _HEAD.pack(size, 0, 0, message.flag, len(message.body))
    return b"".join((head, message.body, wrapped.to_bytes(2), properties))


def encode_messages(messages: Iterable[Message]) -> bytes:
    """Return the body of a batch."""
    return b"".join(map(encode_message, messages))


def decode_message(data: Data, offset: int = 0) -> tuple[Message, int]:
    """Return the message at `offset` of a batch body and where it ends; raise `RecordError` if the bytes end before."""
    where = f"batch body at byte {offset}"
    try:
        _, _, _, flag, body_length = _HEAD.unpack_from(data, offset)
        if body_length < 0:
            raise RecordError("NegativeArraySizeException", f"{where}: the body length is {body_length}")
        position = offset + _HEAD.size + body_length
        (properties_length,) = struct.unpack_from(">h", data, position)
    except struct.error as error:
        raise RecordError("BufferUnderflowException", f"{where}: {error}") from error
    if properties_length < 0:
        raise RecordError("NegativeArraySizeException", f"{where}: the properties length is {properties_length}")
    end = position + 2 + properties_length
    if end > len(data):
        raise RecordError("BufferUnderflowException", f"{where}: it ends in the properties")
    body = bytes(data[position - body_length : position])
    return Message("", body, flag, string_to_properties(from_utf8(data[position + 2 : end]))), end


def decode_messages(data: Data) -> list[Message]:
    """Return the messages of a batch body, without topics; raise `RecordError` as `decode_message`."""
    messages = []
    position = 0
    while position < len(data):
        message, position = decode_message(data, position)
        messages.append(message)
    return messages
