"""RemotingCommand: one request or response (`RemotingCommand`, `NettyRemotingAbstract.processRequestCommand`)."""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING, Final

from rmqlab.protocol.header import CommandFields, CommandHeader, HeaderT, header_from_ext_fields
from rmqlab.protocol.serializable import BodyT, RemotingSerializable
from rmqlab.protocol.wire import DEFAULT_WIRE, Wire

if TYPE_CHECKING:
    from collections.abc import Mapping

Body = bytes | RemotingSerializable | None
RESPONSE: Final = 1
ONEWAY: Final = 2
_VERSION: Final = DEFAULT_WIRE.version_number


class SerializeType(IntEnum):
    """How the header of a frame is written."""

    JSON = 0
    ROCKETMQ = 1


class RemotingCommand(CommandFields):
    """A request or response.

    `header` holds the typed fields; `ext_fields` is their text, filled from a frame only, so that a command that stays
    in the process never becomes text. `content` is the body, None when empty on the wire: bytes, or a structure that
    that does not change any more and becomes bytes on the first use of `body`.
    """

    header: CommandHeader | None = None
    content: bytes | RemotingSerializable | None = None
    serialize_type: SerializeType = SerializeType.JSON

    @classmethod
    def request(cls, code: int, header: CommandHeader | None = None, body: Body = None) -> RemotingCommand:
        """A request; the sender sets `opaque`."""
        return cls(code, "JAVA", _VERSION, 0, 0, None, None, header, body)

    @classmethod
    def response(
        cls,
        code: int,
        remark: str | None = None,
        header: CommandHeader | None = None,
        body: Body = None,
    ) -> RemotingCommand:
        """A response; `reply_to` pairs it with its request. A header without values still gives `extFields`."""
        return cls(code, "JAVA", _VERSION, 0, RESPONSE, remark, None, header, body)

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
        """Whether no caller waits for an answer (bit 1 of `flag`)."""
        return bool(self.flag & ONEWAY)

    def reply_to(self, request: RemotingCommand, wire: Wire = DEFAULT_WIRE) -> RemotingCommand:
        """Make this the response to `request`, as the server of a version does before it writes it; returns self.

        The serialisation stays this side's own: a 4.8.0 server answers in its own, whatever the request came in.
        """
        self.opaque = request.opaque
        self.version = wire.version_number
        self.flag |= RESPONSE
        return self

    def decode_header(self, cls: type[HeaderT]) -> HeaderT:
        """The typed header: the very object the sender attached, or one read from `ext_fields`.

        Raises:
            RemotingCommandException: when the header's own check refuses a field.
        """
        header = self.header
        if isinstance(header, cls):
            return header
        if header is not None and self.ext_fields is None:
            return header_from_ext_fields(cls, header.to_ext_fields())
        return header_from_ext_fields(cls, self.ext_fields)

    def decode_body(self, cls: type[BodyT]) -> BodyT:
        """The body as a structure: the very object the sender attached, not to be changed, or one read.

        Raises:
            FrameError: when it is no JSON object of this kind.
        """
        content = self.content
        return content if isinstance(content, cls) else cls.decode(self.body or b"")

    def all_ext_fields(self) -> Mapping[str, str | None] | None:
        """`ext_fields`, overlaid with the fields of `header`."""
        if self.header is None:
            return self.ext_fields
        return {**(self.ext_fields or {}), **self.header.to_ext_fields()}
