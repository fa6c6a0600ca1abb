"""The bytes of a stored message: one commit log record, as 4.8.0 `CommitLog` writes and `MessageDecoder` reads it.

All numbers are big endian: total size 4, magic 4, body CRC 4, queue id 4, flag 4, queue offset 8, commit log offset 8,
sys flag 4, born time 8, born address 4 or 16 and port 4, store time 8, store address 4 or 16 and port 4, reconsume
times 4, prepared transaction offset 8, body length 4 and body, topic length 1 and topic, properties length 2 and
properties.
"""

from __future__ import annotations

import struct
import zlib
from functools import lru_cache
from typing import NamedTuple

from rmqlab.errors import BadInput
from rmqlab.message.compression import CompressionError, compress, uncompress
from rmqlab.message.ids import create_message_id
from rmqlab.message.java import from_utf8, to_utf8
from rmqlab.message.message import Host, HostError, MessageExt
from rmqlab.message.properties import properties_to_string, string_to_properties
from rmqlab.message.sysflag import BORNHOST_V6_FLAG, COMPRESSED_FLAG, STOREHOST_V6_FLAG

MESSAGE_MAGIC_CODE = -626843481  # 0xDAA320A7
BLANK_MAGIC_CODE = -875286124  # 0xCBD43194, fills the end of a commit log file
SYSFLAG_POSITION = 36
_HEAD = struct.Struct(">iiiiiqqiq")
_TAILS = {(born, store): struct.Struct(f">{born}siq{store}siiqi") for born in (4, 16) for store in (4, 16)}
_ADDRESS_AND_TIME = struct.Struct(">iq")
_AFTER_HOSTS = struct.Struct(">iiqi")
_FIXED = 72  # all fields of fixed length, without the two addresses and ports and without topic and properties
Data = bytes | bytearray | memoryview


class RecordError(BadInput, ValueError):
    """A message or bytes that make no record. `java_error` is the simple name of what 4.8.0 throws there."""

    def __init__(self, java_error: str, problem: str) -> None:
        super().__init__(problem)
        self.java_error = java_error


class Decoded(NamedTuple):
    """What was read: the message, or None if 4.8.0 rejects the bytes, and where reading stopped.

    After a rejection that is the end of the bytes. `has_properties` tells an empty property map from none.
    """

    message: MessageExt | None
    position: int
    has_properties: bool


def body_crc(body: bytes | None) -> int:
    """Return the CRC32 of `body` without its sign bit, 0 for None (row S-28; 4.8.0 `UtilAll.crc32`)."""
    return 0 if body is None else zlib.crc32(body) & 0x7FFFFFFF


def address_sizes(sys_flag: int) -> tuple[int, int]:
    """Return how many bytes the born and the store address take in a record with `sys_flag`: 4 or 16 each."""
    return 16 if sys_flag & BORNHOST_V6_FLAG else 4, 16 if sys_flag & STOREHOST_V6_FLAG else 4


def message_length(sys_flag: int, body_length: int, topic_length: int, properties_length: int) -> int:
    """Return the size of a record in bytes (row S-27; 4.8.0 `CommitLog.calMsgLength`): 91 and the variable parts."""
    born, store = address_sizes(sys_flag)
    return _FIXED + born + 4 + store + 4 + max(body_length, 0) + 1 + topic_length + 2 + max(properties_length, 0)


def pack_record(message: MessageExt, size: int, body: bytes, topic: bytes, properties: bytes) -> bytes:
    """Return a record of the given parts, which says it has `size` bytes; nothing is checked.

    The lengths are written in 4, 1 and 2 bytes and wrap as Java's casts do.
    """
    head = _HEAD.pack(
        size,
        MESSAGE_MAGIC_CODE,
        message.body_crc,
        message.queue_id,
        message.flag,
        message.queue_offset,
        message.commit_log_offset,
        message.sys_flag,
        message.born_timestamp,
    )
    born, store = message.born_host, message.store_host
    return b"".join(
        (
            head,
            born.address,
            _ADDRESS_AND_TIME.pack(born.port, message.store_timestamp),
            store.address,
            _AFTER_HOSTS.pack(store.port, message.reconsume_times, message.prepared_transaction_offset, len(body)),
            body,
            bytes((len(topic) & 0xFF,)),
            topic,
            (len(properties) & 0xFFFF).to_bytes(2),
            properties,
        )
    )


def encode_record(message: MessageExt, *, need_compress: bool = False) -> bytes:
    """Return the record of `message` (4.8.0 `MessageDecoder.encode`); properties in the order of its dict.

    A `store_size` above 0 is taken as the size, zeros fill it up. With `need_compress` a body whose sys flag says so is
    compressed. Raise `RecordError` where 4.8.0 throws: no body, or parts that do not fit the size.
    """
    body = message.body
    if body is None:
        raise RecordError("NullPointerException", f"message of topic {message.topic!r}: a body is needed")
    if need_compress and message.sys_flag & COMPRESSED_FLAG:
        body = compress(body)
    topic, properties = to_utf8(message.topic), to_utf8(properties_to_string(message.properties))
    size = message.store_size
    if size <= 0:
        born, store = address_sizes(message.sys_flag)
        lengths = len(body) + _signed(len(topic), 8) + _signed(len(properties), 16)
        size = _FIXED + born + 4 + store + 4 + 1 + 2 + lengths
    if size < 0:
        raise RecordError(
            "IllegalArgumentException", f"message of topic {message.topic!r}: its lengths make {size} bytes"
        )
    record = pack_record(message, size, body, topic, properties)
    if len(record) > size:
        raise RecordError(
            "BufferOverflowException", f"message of topic {message.topic!r}: {len(record)} > {size} bytes"
        )
    return record.ljust(size, b"\0")


def _signed(length: int, bits: int) -> int:
    half = 1 << bits - 1
    return (length + half) % (2 * half) - half


def read_record(data: Data, offset: int = 0, *, read_body: bool = True, decompress_body: bool = True) -> Decoded:
    """Read the record at `offset` of `data` (4.8.0 `MessageDecoder.decode`).

    The fields are read one after the other; neither magic nor total size nor CRC is checked. Rejected are bytes that
    end too early, a port above 65535, a negative topic length and a body that cannot be restored.
    """
    try:
        return _read(data, offset, read_body, decompress_body)
    except (struct.error, IndexError, HostError, CompressionError):
        return Decoded(None, len(data), has_properties=False)


def _read(data: Data, offset: int, read_body: bool, decompress_body: bool) -> Decoded:
    size, _, crc, queue_id, flag, queue_offset, log_offset, sys_flag, born_time = _HEAD.unpack_from(data, offset)
    sizes = address_sizes(sys_flag)
    tail = _TAILS[sizes]
    born_ip, born_port, store_time, store_ip, store_port, reconsumed, prepared, body_length = tail.unpack_from(
        data, offset + _HEAD.size
    )
    position = offset + _HEAD.size + tail.size
    body = None
    if body_length > 0:
        raw, position = _cut(data, position, body_length)
        if read_body:
            body = uncompress(raw) if decompress_body and sys_flag & COMPRESSED_FLAG else raw
    topic, position = _cut(data, position + 1, _signed(data[position], 8))
    (properties_length,) = struct.unpack_from(">h", data, position)
    position += 2
    properties: dict[str, str] = {}
    if properties_length > 0:
        text, position = _cut(data, position, properties_length)
        properties = string_to_properties(from_utf8(text))
    store_host = _host(store_ip, store_port)
    message = MessageExt(
        _topic(topic),
        body,
        flag,
        properties,
        None,
        None,
        queue_id,
        size,
        queue_offset,
        sys_flag,
        born_time,
        _host(born_ip, born_port),
        store_time,
        store_host,
        # an IPv4 address mapped into 16 bytes makes a short id, in a buffer that has room for the long one
        create_message_id(store_host, log_offset).ljust(2 * (sizes[1] + 12), "0"),
        log_offset,
        crc,
        reconsumed,
        prepared,
    )
    return Decoded(message, position, properties_length > 0)


def _cut(data: Data, position: int, length: int) -> tuple[bytes, int]:
    end = position + length
    if length < 0 or end > len(data):
        raise IndexError(end)
    return bytes(data[position:end]), end


@lru_cache(maxsize=1024)
def _host(address: bytes, port: int) -> Host:
    return Host.of_address(address, port)


@lru_cache(maxsize=1024)
def _topic(data: bytes) -> str:
    return from_utf8(data)


def decode_record(data: Data, *, read_body: bool = True, decompress_body: bool = True) -> MessageExt | None:
    """Return the message of a record at the start of `data`, or None if 4.8.0 rejects it; see `read_record`."""
    return read_record(data, read_body=read_body, decompress_body=decompress_body).message


def decode_records(data: Data, *, read_body: bool = True) -> list[MessageExt]:
    """Return the messages of a pull body, up to the first record that is rejected (4.8.0 `MessageDecoder.decodes`)."""
    messages = []
    position = 0
    while position < len(data):
        message, position, _ = read_record(data, position, read_body=read_body)
        if message is None:
            break
        messages.append(message)
    return messages


def decode_properties(data: Data) -> dict[str, str] | None:
    """Return only the properties of the record that fills `data`, None if it has none (4.8.0, same name).

    Raise `RecordError` if the bytes end before they are found.
    """
    try:
        (sys_flag,) = struct.unpack_from(">i", data, SYSFLAG_POSITION)
        position = _HEAD.size + _TAILS[address_sizes(sys_flag)].size
        (body_length,) = struct.unpack_from(">i", data, position - 4)
        position = _within(data, position + body_length)
        position = _within(data, position + 1 + _signed(data[position], 8))
        (length,) = struct.unpack_from(">h", data, position)
    except (struct.error, IndexError) as error:
        raise RecordError("IndexOutOfBoundsException", f"record of {len(data)} bytes: {error}") from error
    if length <= 0:
        return None
    try:
        text, _ = _cut(data, position + 2, length)
    except IndexError as error:
        raise RecordError("BufferUnderflowException", f"record ends before its properties: {error}") from error
    return string_to_properties(from_utf8(text))


def _within(data: Data, position: int) -> int:
    """Return `position`; raise IndexError for a negative one, which Python would count from the end."""
    if not 0 <= position < len(data):
        raise IndexError(position)
    return position
