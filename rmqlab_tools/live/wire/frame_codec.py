"""The frame of a command on the wire, in both serialisations (`RemotingCommand`, `RocketMQSerializable`)."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Final

from rmqlab.protocol.command import RemotingCommand, SerializeType
from rmqlab.protocol.header import FrameError
from rmqlab_tools.live.wire import json_header, rocketmq_header

if TYPE_CHECKING:
    from collections.abc import Callable

_HEAD: Final = struct.Struct(">II")
_JSON, _ROCKETMQ = SerializeType.JSON, SerializeType.ROCKETMQ
_BINARY: Final = _ROCKETMQ << 24


def encode_frame(command: RemotingCommand) -> bytes:
    """The whole frame, its 4-byte length first."""
    is_binary = command.serialize_type is _ROCKETMQ
    header = rocketmq_header.write(command) if is_binary else json_header.write(command)
    body, length = command.body, len(header)
    kind = _BINARY if is_binary else 0
    if body is None:
        return _HEAD.pack(4 + length, kind | length) + header
    return b"".join((_HEAD.pack(4 + length + len(body), kind | length), header, body))


def decode_frame(payload: bytes, next_opaque: Callable[[], int] = int) -> RemotingCommand:
    """Read a frame without its 4-byte length.

    A JSON header may lack `opaque`; then `next_opaque` gives it, as the local counter does in 4.8.0 (0 unless it says
    otherwise).

    Raises:
        FrameError: what cannot be read.
    """
    if len(payload) < 4:
        raise FrameError("BufferUnderflowException", f"a frame needs 4 bytes or more, this one has {len(payload)}")
    head = int.from_bytes(payload[:4])
    length = head & 0xFFFFFF
    end = 4 + length
    if len(payload) < end:
        raise FrameError("BufferUnderflowException", f"header of {length} bytes in a frame of {len(payload)}")
    kind = head >> 24
    if kind == 0:
        command = RemotingCommand(version=0, serialize_type=_JSON)
        if not json_header.read(command, payload[4:end]):
            command.opaque = next_opaque()
    elif kind == 1:
        command = RemotingCommand(serialize_type=_ROCKETMQ)
        rocketmq_header.read(command, payload[4:end])
    else:
        raise FrameError("NullPointerException", f"serialize type {kind}: neither JSON (0) nor ROCKETMQ (1)")
    command.content = payload[end:] or None
    return command
