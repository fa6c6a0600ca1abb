"""The bytes of a stored message: one commit log record, as `CommitLog` writes and `MessageDecoder` reads it.

All numbers are big endian. `RECORD_FIELDS` come first, then the body, the topic's length in 1 byte and the topic, the
length of the properties in 2 and the properties. This layout is written down here alone: the check of a record before
dispatch and the compiled reader of store files take it from here.
"""

from __future__ import annotations

import struct
import zlib
from contextlib import suppress
from functools import lru_cache
from typing import Final, NamedTuple

from rmqlab.errors import BadInput
from rmqlab.message.ids import create_message_id
from rmqlab.message.java import from_utf8, signed, to_utf8
from rmqlab.message.message import Host, HostError, MessageExt
from rmqlab.message.properties import properties_to_string, string_to_properties
from rmqlab.message.sysflag import (
    BORNHOST_V6_FLAG,
    COMPRESSED_FLAG,
    STOREHOST_V6_FLAG,
    CompressionError,
    compress,
    uncompress,
)

MESSAGE_MAGIC_CODE: Final = -626843481  # 0xDAA320A7
BLANK_MAGIC_CODE: Final = -875286124  # 0xCBD43194, fills the end of a commit log file
RECORD_FIELDS: Final = {
    "total_size": "i",
    "magic_code": "i",
    "body_crc": "i",
    "queue_id": "i",
    "flag": "i",
    "queue_offset": "q",
    "commit_log_offset": "q",
    "sys_flag": "i",
    "born_timestamp": "q",
    "born_address": "{born}s",
    "born_port": "i",
    "store_timestamp": "q",
    "store_address": "{store}s",
    "store_port": "i",
    "reconsume_times": "i",
    "prepared_transaction_offset": "q",
    "body_length": "i",
}
"""Name and `struct` format of each field before the body; an address has 4 bytes, or 16 if sys flag says so."""
Data = bytes | bytearray | memoryview


class RecordLayout:
    """The fields before the body for addresses of so many bytes: `fields` packs and reads them.

    `formats` and `offsets` have the `struct` format and the place of each by its name.
    """

    def __init__(self, born: int, store: int) -> None:
        self.formats = {name: text.format(born=born, store=store) for name, text in RECORD_FIELDS.items()}
        sizes = [struct.calcsize(f">{text}") for text in self.formats.values()]
        self.fields = struct.Struct(">" + "".join(self.formats.values()))
        self.offsets = {name: sum(sizes[:number]) for number, name in enumerate(RECORD_FIELDS)}
        self.size = self.fields.size
        """Bytes before the body."""


LAYOUTS: Final = {(born, store): RecordLayout(born, store) for born in (4, 16) for store in (4, 16)}
SYSFLAG_POSITION: Final = LAYOUTS[4, 4].offsets["sys_flag"]  # before the addresses: the same in all of them
_INT = struct.Struct(">i")
_SHORT = struct.Struct(">h")
_BYTE = struct.Struct("b")


class RecordError(BadInput, ValueError):
    """A message or bytes that make no record. `java_error` is the simple name of what Java throws there."""

    def __init__(self, java_error: str, problem: str) -> None:
        super().__init__(problem)
        self.java_error = java_error


class Decoded(NamedTuple):
    """What was read: the message, or None if Java rejects the bytes, and where reading stopped.

    After a rejection that is the end of the bytes. `has_properties` distinguishes an empty property map from none.
    """

    message: MessageExt | None
    position: int
    has_properties: bool


def body_crc(body: bytes | None) -> int:
    """The CRC32 of `body` without its sign bit, 0 for None (row S-28; `UtilAll.crc32`)."""
    return 0 if body is None else zlib.crc32(body) & 0x7FFFFFFF


def address_sizes(sys_flag: int) -> tuple[int, int]:
    """How many bytes the born and the store address take in a record with `sys_flag`: 4 or 16 each."""
    return 16 if sys_flag & BORNHOST_V6_FLAG else 4, 16 if sys_flag & STOREHOST_V6_FLAG else 4


_BY_FLAGS = {flags: LAYOUTS[address_sizes(flags)] for flags in range(BORNHOST_V6_FLAG + STOREHOST_V6_FLAG + 1)}


def layout_at(data: Data, offset: int = 0) -> RecordLayout:
    """The layout of the record at `offset` of `data`, by its sys flag.

    Raises:
        struct.error: if that is cut.
    """
    (sys_flag,) = _INT.unpack_from(data, offset + SYSFLAG_POSITION)
    return _BY_FLAGS[sys_flag & (BORNHOST_V6_FLAG | STOREHOST_V6_FLAG)]


def message_length(sys_flag: int, body_length: int, topic_length: int, properties_length: int) -> int:
    """The size of a record in bytes (row S-27; `CommitLog.calMsgLength`): 91 and the variable parts."""
    fixed = _BY_FLAGS[sys_flag & (BORNHOST_V6_FLAG | STOREHOST_V6_FLAG)].size
    return fixed + max(body_length, 0) + 1 + topic_length + 2 + max(properties_length, 0)


def pack_record(message: MessageExt, size: int, body: bytes, topic: bytes, properties: bytes) -> bytes:
    """A record of the given parts, which says it has `size` bytes, filled up with zeros; nothing is checked.

    The lengths are written in 4, 1 and 2 bytes and wrap as Java's casts do.
    """
    born, store = message.born_host.address, message.store_host.address
    fields = LAYOUTS[len(born), len(store)].fields.pack(
        size,
        MESSAGE_MAGIC_CODE,
        message.body_crc,
        message.queue_id,
        message.flag,
        message.queue_offset,
        message.commit_log_offset,
        message.sys_flag,
        message.born_timestamp,
        born,
        message.born_host.port,
        message.store_timestamp,
        store,
        message.store_host.port,
        message.reconsume_times,
        message.prepared_transaction_offset,
        len(body),
    )
    lengths = bytes((len(topic) & 0xFF,)), (len(properties) & 0xFFFF).to_bytes(2)
    return b"".join((fields, body, lengths[0], topic, lengths[1], properties)).ljust(size, b"\0")


def encode_record(message: MessageExt, *, need_compress: bool = False) -> bytes:
    """The record of `message` (`MessageDecoder.encode`); properties in the order of its dict.

    A `store_size` above 0 is taken as the size, zeros fill it up. With `need_compress` a body whose sys flag says so is
    compressed.

    Raises:
        RecordError: where Java throws: no body, or parts that do not fit the size.
    """
    body = message.body
    if body is None:
        raise RecordError("NullPointerException", f"message of topic {message.topic!r}: a body is needed")
    if need_compress and message.sys_flag & COMPRESSED_FLAG:
        body = compress(body)
    topic, properties = to_utf8(message.topic), to_utf8(properties_to_string(message.properties))
    size = message.store_size
    if size <= 0:
        lengths = len(body) + signed(len(topic), 8) + signed(len(properties), 16)
        size = message_length(message.sys_flag, 0, 0, 0) + lengths
    if size < 0:
        raise RecordError(
            "IllegalArgumentException", f"message of topic {message.topic!r}: its lengths make {size} bytes"
        )
    record = pack_record(message, size, body, topic, properties)
    if len(record) > size:
        raise RecordError(
            "BufferOverflowException", f"message of topic {message.topic!r}: {len(record)} > {size} bytes"
        )
    return record


def read_record(data: Data, offset: int = 0, *, read_body: bool = True, decompress_body: bool = True) -> Decoded:
    """Read the record at `offset` of `data` (`MessageDecoder.decode`).

    The fields are read one after the other; neither magic nor total size nor CRC is checked. Rejected are bytes that
    end too early, a port above 65535, a negative topic length and a body that cannot be restored.
    """
    try:
        return Decoded(*_read(data, offset, read_body, decompress_body))
    except _REJECTED:
        return Decoded(None, len(data), has_properties=False)


_REJECTED = (struct.error, IndexError, HostError, CompressionError)


def _read(data: Data, offset: int, read_body: bool, decompress_body: bool) -> tuple[MessageExt, int, bool]:
    layout = layout_at(data, offset)
    (
        size, _, crc, queue_id, flag, queue_offset, log_offset, sys_flag, born_time, born_ip, born_port, store_time,
        store_ip, store_port, reconsumed, prepared, body_length,
    ) = layout.fields.unpack_from(data, offset)  # fmt: skip
    position = offset + layout.size
    body = None
    if body_length > 0:
        raw, position = _cut(data, position, body_length)
        if read_body:
            body = uncompress(raw) if decompress_body and sys_flag & COMPRESSED_FLAG else raw
    (topic_length,) = _BYTE.unpack_from(data, position)
    topic, position = _cut(data, position + 1, topic_length)
    (properties_length,) = _SHORT.unpack_from(data, position)
    position += 2
    properties: dict[str, str] = {}
    if properties_length > 0:
        text, position = _cut(data, position, properties_length)
        properties = string_to_properties(from_utf8(text))
    store_host = _host(store_ip, store_port)
    message = MessageExt(
        from_utf8(topic),
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
        create_message_id(store_host, log_offset).ljust(2 * (len(store_ip) + 12), "0"),
        log_offset,
        crc,
        reconsumed,
        prepared,
    )
    return message, position, properties_length > 0


def _cut(data: Data, position: int, length: int) -> tuple[bytes, int]:
    end = position + length
    if length < 0 or end > len(data):
        raise IndexError(end)
    return bytes(data[position:end]), end


@lru_cache(maxsize=1024)
def _host(address: bytes, port: int) -> Host:
    return Host.of_address(address, port)


def decode_record(data: Data, *, read_body: bool = True, decompress_body: bool = True) -> MessageExt | None:
    """The message of a record at the start of `data`, or None if Java rejects it; see `read_record`."""
    return read_record(data, read_body=read_body, decompress_body=decompress_body).message


def decode_records(data: Data, *, read_body: bool = True) -> list[MessageExt]:
    """The messages of a pull body, up to the first record that is rejected (`MessageDecoder.decodes`)."""
    messages = []
    position = 0
    with suppress(*_REJECTED):
        while position < len(data):
            message, position, _ = _read(data, position, read_body, decompress_body=True)
            messages.append(message)
    return messages


def decode_properties(data: Data) -> dict[str, str] | None:
    """Only the properties of the record that fills `data`, None if it has none (the same name in Java).

    Raises:
        RecordError: if the bytes end before they are found.
    """
    try:
        layout = layout_at(data)
        (body_length,) = _INT.unpack_from(data, layout.offsets["body_length"])
        position = _within(data, layout.size + body_length)
        position = _within(data, position + 1 + signed(data[position], 8))
        (length,) = _SHORT.unpack_from(data, position)
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
    """`position`.

    Raises:
        IndexError: a negative one, which Python would count from the end.
    """
    if not 0 <= position < len(data):
        raise IndexError(position)
    return position
