"""RemotingCommand: one request or response, and its frame on the wire in both serialisations.

Source: `RemotingCommand`, `RocketMQSerializable`, `NettyRemotingAbstract.processRequestCommand`.
"""

from __future__ import annotations

import struct
from enum import IntEnum
from typing import TYPE_CHECKING, Final

from rmqlab.protocol import json_header, rocketmq_header
from rmqlab.protocol.codes import VERSION_4_8_0
from rmqlab.protocol.header import CommandFields, CommandHeader, FrameError, HeaderT, header_from_ext_fields
from rmqlab.protocol.serializable import BodyT, RemotingSerializable

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

Body = bytes | RemotingSerializable | None
RESPONSE: Final = 1
ONEWAY: Final = 2


class SerializeType(IntEnum):
    """How the header of a frame is written."""

    JSON = 0
    ROCKETMQ = 1


class RemotingCommand(CommandFields):
    """A request or response.

    `header` holds the typed fields; `ext_fields` is their text, filled by `decode` only, so that a command that stays
    in the process never becomes text. `content` is the body, None when empty on the wire: bytes, or a structure that
    nobody changes any more and that becomes bytes when somebody asks for `body`.
    """

    header: CommandHeader | None = None
    content: bytes | RemotingSerializable | None = None
    serialize_type: SerializeType = SerializeType.JSON

    @classmethod
    def request(cls, code: int, header: CommandHeader | None = None, body: Body = None) -> RemotingCommand:
        """Return a request; the sender sets `opaque`."""
        return cls(code, "JAVA", VERSION_4_8_0, 0, 0, None, None, header, body)

    @classmethod
    def response(
        cls,
        code: int,
        remark: str | None = None,
        header: CommandHeader | None = None,
        body: Body = None,
    ) -> RemotingCommand:
        """Return a response; `reply_to` pairs it with its request. A header without values still gives `extFields`."""
        return cls(code, "JAVA", VERSION_4_8_0, 0, RESPONSE, remark, None, header, body)

    @property
    def body(self) -> bytes | None:
        """The body's bytes, None when there are none."""
        content = self.content
        if isinstance(content, RemotingSerializable):
            self.content = content = content.encode()
        return content

    @property
    def is_response(self) -> bool:
        """Whether this answers a request (bit 0 of `flag`)."""
        return bool(self.flag & RESPONSE)

    @property
    def is_oneway(self) -> bool:
        """Whether nobody waits for an answer (bit 1 of `flag`)."""
        return bool(self.flag & ONEWAY)

    def reply_to(self, request: RemotingCommand) -> RemotingCommand:
        """Make this the response to `request`, as the server does before it writes it; returns self.

        The serialisation stays this side's own: a 4.8.0 server answers in its own, whatever the request came in.
        """
        self.opaque = request.opaque
        self.flag |= RESPONSE
        return self

    def decode_header(self, cls: type[HeaderT]) -> HeaderT:
        """Return the typed header: the very object the sender attached, or one read from `ext_fields`.

        Raises RemotingCommandException when the header's own check refuses a field.
        """
        header = self.header
        if isinstance(header, cls):
            return header
        if header is not None and self.ext_fields is None:
            return header_from_ext_fields(cls, header.to_ext_fields())
        return header_from_ext_fields(cls, self.ext_fields)

    def decode_body(self, cls: type[BodyT]) -> BodyT:
        """Return the body as a structure: the very object the sender attached, not to be changed, or one read.

        Raises FrameError when it is no JSON object of this kind.
        """
        content = self.content
        return content if isinstance(content, cls) else cls.decode(self.body or b"")

    def all_ext_fields(self) -> Mapping[str, str | None] | None:
        """`ext_fields`, overlaid with the fields of `header`."""
        if self.header is None:
            return self.ext_fields
        return {**(self.ext_fields or {}), **self.header.to_ext_fields()}

    def encode(self) -> bytes:
        """Return the whole frame, its 4-byte length first."""
        write = rocketmq_header.write if self.serialize_type == SerializeType.ROCKETMQ else json_header.write
        header = write(self)
        body = self.body or b""
        length = 4 + len(header) + len(body)
        return struct.pack(">II", length, self.serialize_type << 24 | len(header)) + header + body

    @classmethod
    def decode(cls, payload: bytes, next_opaque: Callable[[], int] = int) -> RemotingCommand:
        """Read a frame without its 4-byte length.

        A JSON header may lack `opaque`; then `next_opaque` gives it, as the local counter does in 4.8.0 (0 unless
        told otherwise). Raises FrameError.
        """
        if len(payload) < 4:
            raise FrameError("BufferUnderflowException", f"a frame needs 4 bytes or more, this one has {len(payload)}")
        (head,) = struct.unpack_from(">I", payload)
        length = head & 0xFFFFFF
        end = 4 + length
        if len(payload) < end:
            raise FrameError("BufferUnderflowException", f"header of {length} bytes in a frame of {len(payload)}")
        kind = head >> 24
        if kind == SerializeType.JSON:
            command = cls(version=0, serialize_type=SerializeType.JSON)
            if not json_header.read(command, payload[4:end]):
                command.opaque = next_opaque()
        elif kind == SerializeType.ROCKETMQ:
            command = cls(serialize_type=SerializeType.ROCKETMQ)
            rocketmq_header.read(command, payload[4:end])
        else:
            raise FrameError("NullPointerException", f"serialize type {kind}: neither JSON (0) nor ROCKETMQ (1)")
        command.content = payload[end:] or None
        return command
