"""Batches: several messages of one topic in the body of one request (`MessageDecoder`, `CommitLog`)."""

from __future__ import annotations

import struct
from copy import copy
from typing import TYPE_CHECKING

from rmqlab.message.java import from_utf8, in_hash_map_order, to_utf8
from rmqlab.message.message import Message
from rmqlab.message.properties import properties_to_string, string_to_properties
from rmqlab.message.record import RecordError, body_crc, message_length, pack_record
from rmqlab.message.sysflag import BORNHOST_V6_FLAG, STOREHOST_V6_FLAG

if TYPE_CHECKING:
    from rmqlab.message.message import MessageExt
    from rmqlab.message.record import Data

BATCH_HEAD = struct.Struct(">iiiii")
"""Before the body of each message: its size, magic 0, CRC 0, flag, the body's length."""
_SHORT = struct.Struct(">h")


def _read(data: Data, offset: int) -> tuple[int, bytes, bytes, int]:
    """Flag, body and properties at `offset`, and where they end."""
    where = f"batch body at byte {offset}"
    try:
        _, _, _, flag, body_length = BATCH_HEAD.unpack_from(data, offset)
        if body_length < 0:
            raise RecordError("NegativeArraySizeException", f"{where}: the body length is {body_length}")
        position = offset + BATCH_HEAD.size + body_length
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
    """The messages of a batch body, without topics.

    Raises:
        RecordError: if the bytes end before one does.
    """
    messages = []
    position = 0
    while position < len(data):
        flag, body, properties, position = _read(data, position)
        messages.append(Message("", body, flag, string_to_properties(from_utf8(properties))))
    return messages


def encode_batch(batch: MessageExt, max_message_size: int, capacity: int = 16) -> list[bytes]:
    """A record for each message in the body of `batch`, with queue and commit log offset still 0.

    The batch's own properties, in the order of a map of this `capacity`, are written after those of every message.

    Raises:
        RecordError: where Java (`CommitLog.MessageExtBatchEncoder`) throws: a body that ends too early, records above
            `max_message_size` bytes together, an IPv6 address without its flag.
    """
    body = batch.body or b""
    topic, own = to_utf8(batch.topic), to_utf8(properties_to_string(in_hash_map_order(batch.properties, capacity)))
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
        for host, bit in ((batch.born_host, BORNHOST_V6_FLAG), (batch.store_host, STOREHOST_V6_FLAG)):
            if host.is_v6 and not batch.sys_flag & bit:
                raise RecordError(
                    "BufferOverflowException", f"batch from {host.text}: an IPv6 address needs its bit in the sys flag"
                )
        template.body_crc = body_crc(part)
        records.append(pack_record(template, size, part, topic, properties))
    return records
