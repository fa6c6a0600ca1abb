"""A request on which 4.8.0 throws an unchecked exception."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rmqlab.protocol.header import CommandHeader

NULL_POINTER = "java.lang.NullPointerException"


class ProcessorError(Exception):
    """A request met what throws in Java; the text is the remark of the SYSTEM_ERROR answer.

    4.8.0 adds the line of its own source where it was thrown (`RemotingHelper.exceptionSimpleDesc`); we do not.
    """


def require(header: CommandHeader, names: tuple[str, ...]) -> None:
    """Raise ProcessorError when one of the fields is null: Java lets such a header in and fails on first use."""
    for name in names:
        if getattr(header, name) is None:
            raise ProcessorError(NULL_POINTER)


def named(name: str | None) -> str:
    """Return a name that is there, as a table of Java's that takes no null demands. Raises ProcessorError."""
    if name is None:
        raise ProcessorError(NULL_POINTER)
    return name
