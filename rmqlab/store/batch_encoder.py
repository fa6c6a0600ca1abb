"""From the body of a batch to commit log records (4.8.0 `CommitLog.MessageExtBatchEncoder`)."""

from __future__ import annotations

import struct
from dataclasses import fields

from rmqlab.message.java import to_utf8
from rmqlab.message.message import MessageExt
from rmqlab.message.properties import in_hash_map_order, properties_to_string
from rmqlab.message.record import RecordError, body_crc, message_length, pack_record
from rmqlab.message.sysflag import BORNHOST_V6_FLAG, STOREHOSTADDRESS_V6_FLAG

_HEAD = struct.Struct(">5i")  # size, magic, CRC, flag, body length: only the last two are read
_SHORT = struct.Struct(">h")


def encode_batch(batch: MessageExt, max_message_size: int) -> list[bytes]:
    """Return a record for each message in the body of `batch`, with queue and commit log offset still 0.

    The batch's own properties are written behind those of every message. Raises `RecordError` where 4.8.0 throws: a
    body that ends too early, records above `max_message_size` bytes together, an IPv6 address without its flag.
    """
    body = batch.body or b""
    topic, own = to_utf8(batch.topic), to_utf8(properties_to_string(in_hash_map_order(batch.properties)))
    template = MessageExt(**{item.name: getattr(batch, item.name) for item in fields(MessageExt)})
    template.queue_offset = template.commit_log_offset = template.prepared_transaction_offset = 0
    records: list[bytes] = []
    position = total = 0
    while position < len(body):
        flag, part, properties, position = _read(body, position)
        properties += own
        size = message_length(batch.sys_flag, len(part), len(topic), len(properties))
        total += size
        if total > max_message_size:
            raise RecordError("RuntimeException", "message size exceeded")
        _check_hosts(batch)
        template.flag, template.body_crc = flag, body_crc(part)
        records.append(pack_record(template, size, part, topic, properties).ljust(size, b"\0"))
    return records


def _read(body: bytes, position: int) -> tuple[int, bytes, bytes, int]:
    try:
        _, _, _, flag, body_length = _HEAD.unpack_from(body, position)
        body_end = position + _HEAD.size + body_length
        (properties_length,) = _SHORT.unpack_from(body, body_end)
    except struct.error as error:
        raise RecordError("BufferUnderflowException", f"batch body at byte {position}: {error}") from error
    end = body_end + _SHORT.size + properties_length
    if body_length < 0 or properties_length < 0 or end > len(body):
        raise RecordError("BufferUnderflowException", f"batch body at byte {position}: its lengths lead out of it")
    return flag, body[body_end - body_length : body_end], body[body_end + _SHORT.size : end], end


def _check_hosts(batch: MessageExt) -> None:
    for host, bit in ((batch.born_host, BORNHOST_V6_FLAG), (batch.store_host, STOREHOSTADDRESS_V6_FLAG)):
        if host.is_v6 and not batch.sys_flag & bit:
            raise RecordError(
                "BufferOverflowException", f"batch from {host.text}: an IPv6 address needs its bit in the sys flag"
            )
