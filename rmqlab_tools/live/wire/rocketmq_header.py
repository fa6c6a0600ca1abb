"""The ROCKETMQ serialisation of a command's header: fixed binary fields, then remark and `extFields`.

Source: `RocketMQSerializable`.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

from rmqlab.message.java import from_utf8, hash_map_order, signed, to_utf8
from rmqlab.protocol.codes import LANGUAGE_CODES
from rmqlab.protocol.header import FrameError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rmqlab.protocol.header import CommandFields

_FIXED = struct.Struct(">hBhiii")


def write(command: CommandFields) -> bytes:
    """The header's bytes; code and version keep their low 16 bits only.

    Raises:
        FrameError: without language.
    """
    if command.language is None:
        raise FrameError("NullPointerException", "a ROCKETMQ header needs a language")
    remark = to_utf8(command.remark) if command.remark else b""
    fields = _write_map(command.all_ext_fields() or {})
    return b"".join(
        (
            _FIXED.pack(
                signed(command.code, 16),
                LANGUAGE_CODES.index(command.language),
                signed(command.version, 16),
                command.opaque,
                command.flag,
                len(remark),
            ),
            remark,
            struct.pack(">i", len(fields)),
            fields,
        )
    )


def read(command: CommandFields, header: bytes) -> None:
    """Fill `command` from the header's bytes. Lengths below zero mean empty.

    Raises:
        FrameError: what cannot be read.
    """
    reader = ByteReader(header)
    command.code, language, command.version, command.opaque, command.flag, length = _FIXED.unpack(
        reader.take(_FIXED.size),
    )
    command.language = LANGUAGE_CODES[language] if language < len(LANGUAGE_CODES) else None
    if length > 0:
        command.remark = from_utf8(reader.take(length))
    length = reader.number(4)
    if length > 0:
        command.ext_fields = _read_map(reader.take(length))


def _write_map(fields: Mapping[str, str | None]) -> bytes:
    parts: list[bytes] = []
    for name in hash_map_order(fields):
        value = fields[name]
        if value is None:
            continue
        name_bytes, value_bytes = to_utf8(name), to_utf8(value)
        parts += (struct.pack(">H", len(name_bytes) & 0xFFFF), name_bytes)
        parts += (struct.pack(">i", len(value_bytes)), value_bytes)
    return b"".join(parts)


def _read_map(data: bytes) -> dict[str, str | None]:
    fields: dict[str, str | None] = {}
    reader = ByteReader(data)
    while reader.rest:
        name = reader.take(reader.number(2))
        value = reader.take(reader.number(4))
        fields[from_utf8(name)] = from_utf8(value)
    return fields


class ByteReader:
    """Takes bytes from the front; what is too short is refused with Java's error."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    @property
    def rest(self) -> int:
        """How many bytes are left."""
        return len(self._data) - self._at

    def take(self, length: int) -> bytes:
        """The next bytes.

        Raises:
            FrameError: what cannot be read.
        """
        if length < 0:
            raise FrameError("NegativeArraySizeException", f"a length of {length} at byte {self._at}")
        if length > self.rest:
            raise FrameError("BufferUnderflowException", f"{length} bytes wanted, {self.rest} left")
        start = self._at
        self._at += length
        return self._data[start : self._at]

    def number(self, size: int) -> int:
        """The next number, signed, of `size` bytes.

        Raises:
            FrameError: what cannot be read.
        """
        return int.from_bytes(self.take(size), "big", signed=True)
