"""The ROCKETMQ serialisation of a command's header: fixed binary fields, then remark and `extFields`.

Source: 4.8.0 `RocketMQSerializable`.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

from rmqlab.message.java import from_utf8, hash_map_order, to_utf8
from rmqlab.protocol.frame_error import FrameError
from rmqlab.protocol.language import LANGUAGES

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rmqlab.protocol.command import RemotingCommand

_FIXED = struct.Struct(">hBhiii")


def write(command: RemotingCommand) -> bytes:
    """Return the header's bytes; code and version keep their low 16 bits only. Raises FrameError without language."""
    if command.language is None:
        raise FrameError("NullPointerException", "a ROCKETMQ header needs a language")
    remark = to_utf8(command.remark) if command.remark else b""
    fields = _write_map(command.all_ext_fields() or {})
    return b"".join(
        (
            _FIXED.pack(
                _short(command.code),
                LANGUAGES.index(command.language),
                _short(command.version),
                command.opaque,
                command.flag,
                len(remark),
            ),
            remark,
            struct.pack(">i", len(fields)),
            fields,
        )
    )


def read(command: RemotingCommand, header: bytes) -> None:
    """Fill `command` from the header's bytes; raises FrameError. Lengths below zero mean empty."""
    reader = _Reader(header)
    command.code, language, command.version, command.opaque, command.flag, length = _FIXED.unpack(
        reader.take(_FIXED.size),
    )
    command.language = LANGUAGES[language] if language < len(LANGUAGES) else None
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
    reader = _Reader(data)
    while reader.rest:
        name = reader.take(reader.number(2))
        value = reader.take(reader.number(4))
        fields[from_utf8(name)] = from_utf8(value)
    return fields


class _Reader:
    """Takes bytes from the front, refusing as Java's ByteBuffer does."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    @property
    def rest(self) -> int:
        return len(self._data) - self._at

    def take(self, length: int) -> bytes:
        if length < 0:
            raise FrameError("NegativeArraySizeException", f"a length of {length} at byte {self._at}")
        if length > self.rest:
            raise FrameError("BufferUnderflowException", f"{length} bytes wanted, {self.rest} left")
        start = self._at
        self._at += length
        return self._data[start : self._at]

    def number(self, size: int) -> int:
        return int.from_bytes(self.take(size), "big", signed=True)


def _short(number: int) -> int:
    return (number + 0x8000 & 0xFFFF) - 0x8000
