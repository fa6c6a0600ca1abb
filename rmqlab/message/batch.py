"""Batches: several messages of one topic in the body of one request (`MessageBatch`, `MessageDecoder`)."""

from __future__ import annotations

import struct
from copy import copy
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Self

from rmqlab.errors import BadInput
from rmqlab.message.java import from_utf8, to_utf8
from rmqlab.message.message import Message
from rmqlab.message.properties import in_hash_map_order, properties_to_string, string_to_properties
from rmqlab.message.record import RecordError, body_crc, message_length, pack_record
from rmqlab.message.sysflag import BORNHOST_V6_FLAG, STOREHOSTADDRESS_V6_FLAG
from rmqlab.message.topics import is_retry_topic

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from rmqlab.message.message import MessageExt
    from rmqlab.message.record import Data

_HEAD = struct.Struct(">iiiii")  # size, magic 0, CRC 0, flag, body length
_SHORT = struct.Struct(">h")
_FIXED = _HEAD.size + _SHORT.size


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
    size = _FIXED + len(message.body) + wrapped
    if wrapped != len(properties):
        java_error = "IllegalArgumentException" if size < 0 else "BufferOverflowException"
        raise RecordError(java_error, f"message of topic {message.topic!r}: {len(properties)} > 32767 property bytes")
    head = _HEAD.pack(size, 0, 0, message.flag, len(message.body))
    return b"".join((head, message.body, wrapped.to_bytes(2), properties))


def encode_messages(messages: Iterable[Message]) -> bytes:
    """Return the body of a batch."""
    return b"".join(map(encode_message, messages))


def _read(data: Data, offset: int) -> tuple[int, bytes, bytes, int]:
    """Return flag, body and properties at `offset`, and where they end."""
    where = f"batch body at byte {offset}"
    try:
        _, _, _, flag, body_length = _HEAD.unpack_from(data, offset)
        if body_length < 0:
            raise RecordError("NegativeArraySizeException", f"{where}: the body length is {body_length}")
        position = offset + _HEAD.size + body_length
        (properties_length,) = _SHORT.unpack_from(data, position)
    except struct.error as error:
        raise RecordError("BufferUnderflowException", f"{where}: {error}") from error
    if properties_length < 0:
        raise RecordError("NegativeArraySizeException", f"{where}: the properties length is {properties_length}")
    end = position + 2 + properties_length
    if end > len(data):
        raise RecordError("BufferUnderflowException", f"{where}: it ends in the properties")
    return flag, bytes(data[position - body_length : position]), bytes(data[position + 2 : end]), end


def decode_messages(data: Data) -> list[Message]:
    """Return the messages of a batch body, without topics; raise `RecordError` if the bytes end before one does."""
    messages = []
    position = 0
    while position < len(data):
        flag, body, properties, position = _read(data, position)
        messages.append(Message("", body, flag, string_to_properties(from_utf8(properties))))
    return messages


def encode_batch(batch: MessageExt, max_message_size: int) -> list[bytes]:
    """Return a record for each message in the body of `batch`, with queue and commit log offset still 0.

    The batch's own properties are written behind those of every message. Raises `RecordError` where Java
    (`CommitLog.MessageExtBatchEncoder`) throws: a body that ends too early, records above `max_message_size` bytes
    together, an IPv6 address without its flag.
    """
    body = batch.body or b""
    topic, own = to_utf8(batch.topic), to_utf8(properties_to_string(in_hash_map_order(batch.properties)))
    template = copy(batch)
    template.queue_offset = template.commit_log_offset = template.prepared_transaction_offset = 0
    records: list[bytes] = []
    position = total = 0
    while position < len(body):
        try:
            template.flag, part, properties, position = _read(body, position)
        except RecordError as error:
            raise RecordError("BufferUnderflowException", str(error)) from error
        properties += own
        size = message_length(batch.sys_flag, len(part), len(topic), len(properties))
        total += size
        if total > max_message_size:
            raise RecordError("RuntimeException", "message size exceeded")
        for host, bit in ((batch.born_host, BORNHOST_V6_FLAG), (batch.store_host, STOREHOSTADDRESS_V6_FLAG)):
            if host.is_v6 and not batch.sys_flag & bit:
                raise RecordError(
                    "BufferOverflowException", f"batch from {host.text}: an IPv6 address needs its bit in the sys flag"
                )
        template.body_crc = body_crc(part)
        records.append(pack_record(template, size, part, topic, properties))
    return records
