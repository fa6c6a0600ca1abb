"""Custom headers: a command's typed fields, carried as text in `extFields` on the wire.

Source: `CommandCustomHeader`, `RemotingCommand.decodeCommandCustomHeader` and `makeCustomHeaderToNet`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, Final, TypeVar

import msgspec

from rmqlab.message.java import Long, boolean_text, parse_boolean, parse_int, parse_long
from rmqlab.protocol.wire import DEFAULT_WIRE

# A Java field that nobody has set yet. It is typed as its field, because 4.8.0 too finds out only on use.
NULL: Final[Any] = None


class FrameError(Exception):
    """A frame that 4.8.0 cannot read either; `java_error` is the simple name of what it throws there."""

    def __init__(self, java_error: str, reason: str) -> None:
        """Keep the name of the Java error and say in words what is wrong."""
        super().__init__(f"{java_error}: {reason}")
        self.java_error = java_error


class RemotingCommandException(Exception):
    """A header whose fields fail their own check (`RemotingCommandException`).

    `java_error` is the simple name of what 4.8.0 throws.
    """

    java_error = "RemotingCommandException"


# Where Java keeps what it throws at a frame, header or body; `java.lang` unless named here.
_PACKAGES: Final = {"JSONException": "com.alibaba.fastjson", "BufferUnderflowException": "java.nio"}


def remark_of(error: FrameError | RemotingCommandException) -> str:
    """The remark of the SYSTEM_ERROR that answers a request which throws: the exception's full name and text.

    Source: `RemotingHelper.exceptionSimpleDesc`, which adds the line of its own source where it was thrown; we do not.

    >>> remark_of(FrameError("NullPointerException", "the body is empty"))
    'java.lang.NullPointerException: the body is empty'
    """
    if isinstance(error, FrameError):
        return f"{_PACKAGES.get(error.java_error, 'java.lang')}.{error}"
    return f"org.apache.rocketmq.remoting.exception.RemotingCommandException: {error}"


class NullFieldError(RemotingCommandException):
    """A header's check met a number that is not there."""

    java_error = "NullPointerException"


class CommandHeader(msgspec.Struct, rename="camel"):
    """The base of all headers: fields in Python's spelling, `camelCase` (or a given name) on the wire.

    The annotation of a field says how its text is read: `str`, `int` (32 bits), `Long` (64 bits) or `bool`. A field
    that is absent, or whose text cannot be read, keeps its default: 4.8.0 marks fields as required but swallows its
    own complaint, so only `check_fields` can refuse a header.
    """

    def check_fields(self) -> None:
        """Refuse impossible values. Most headers accept everything.

        Raises:
            RemotingCommandException: a field that the header refuses.
        """

    def to_ext_fields(self) -> dict[str, str]:
        """Wire names and texts of all fields that are not null, in declaration order."""
        fields: dict[str, str] = {}
        for attribute, wire_name, _ in _plan(type(self)):
            value = getattr(self, attribute)
            if value is None:
                continue
            fields[wire_name] = boolean_text(value) if value.__class__ is bool else str(value)
        return fields


class WithTopic(CommandHeader):
    """A header with a topic."""

    topic: str = NULL


class WithQueue(WithTopic):
    """A header with a queue."""

    queue_id: int = NULL


class WithConsumerGroup(CommandHeader):
    """A header with a consumer group."""

    consumer_group: str = NULL


class WithOffset(CommandHeader):
    """A header with an offset."""

    offset: Long = NULL


class CommandFields(msgspec.Struct):
    """What the header of a frame says, in either serialisation.

    `ext_fields` is the text of the custom header; `language` is null when a peer named an unknown one. `opaque` pairs
    a response with its request and is chosen by the requester. `version` is that of who sends it, and
    written when the command goes out.
    """

    code: int = 0
    language: str | None = "JAVA"
    version: int = DEFAULT_WIRE.version_number
    opaque: int = 0
    flag: int = 0
    remark: str | None = None
    ext_fields: Mapping[str, str | None] | None = None

    def all_ext_fields(self) -> Mapping[str, str | None] | None:
        """What `extFields` holds on the wire."""
        return self.ext_fields


HeaderT = TypeVar("HeaderT", bound=CommandHeader)


def header_from_ext_fields(cls: type[HeaderT], ext_fields: Mapping[str, str | None] | None) -> HeaderT:
    """Read a header from wire texts; without any `ext_fields` not even `check_fields` is asked (4.8.0)."""
    if ext_fields is None:
        return cls()
    get = ext_fields.get
    try:
        # nearly all texts can be read
        header = cls(*[
            default if (text := get(wire_name)) is None else text if convert is None else convert(text)
            for wire_name, convert, default in _reading(cls)
        ])  # fmt: skip
    except ValueError:
        header = _header_of_what_can_be_read(cls, get)
    header.check_fields()
    return header


def _header_of_what_can_be_read(cls: type[HeaderT], get: Callable[[str], str | None]) -> HeaderT:
    values: dict[str, object] = {}
    for attribute, wire_name, convert in _plan(cls):
        text = get(wire_name)
        if text is None:
            continue
        if convert is None:
            values[attribute] = text
            continue
        try:
            values[attribute] = convert(text)
        except ValueError:
            continue
    return cls(**values)


_CONVERTERS: Final[dict[str, Callable[[str], object] | None]] = {
    "str": None,
    "int": parse_int,
    "Long": parse_long,
    "bool": parse_boolean,
}
_Plan = tuple[tuple[str, str, Callable[[str], object] | None], ...]
_PLANS: Final[dict[type[CommandHeader], _Plan]] = {}


@cache
def _reading(cls: type[CommandHeader]) -> tuple[tuple[str, Callable[[str], object] | None, object], ...]:
    """Wire name, converter and default of each field, in the order in which a header is made of them."""
    defaults = cls()
    return tuple((wire_name, convert, getattr(defaults, attribute)) for attribute, wire_name, convert in _plan(cls))


def _plan(cls: type[CommandHeader]) -> _Plan:
    plan = _PLANS.get(cls)
    if plan is None:
        kinds: dict[str, str] = {}
        for base in reversed(cls.__mro__):
            kinds |= getattr(base, "__annotations__", {})
        plan = _PLANS[cls] = tuple(
            (attribute, wire_name, _CONVERTERS[kinds[attribute].removesuffix(" | None")])
            for attribute, wire_name in zip(cls.__struct_fields__, cls.__struct_encode_fields__, strict=True)
        )
    return plan
