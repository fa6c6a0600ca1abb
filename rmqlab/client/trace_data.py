"""Message trace as text (4.8.0 `TraceDataEncoder`): entries end with U+0002, their fields are parted by U+0001."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, ClassVar

FIELD, ENTRY = "\x01", "\x02"


class TraceError(ValueError):
    """A trace that cannot be read."""


@dataclass(slots=True)
class Pub:
    """A message was sent. Times in epoch ms, `cost` in ms; `message_type` 0 normal, 1 half, 2 commit, 3 delayed."""

    kind: ClassVar[str] = "Pub"
    timestamp: int
    region: str | None
    group: str
    topic: str
    msg_id: str | None
    tags: str | None
    keys: str | None
    store_host: str
    body_length: int
    cost: int
    message_type: int
    offset_msg_id: str | None
    success: bool
    client_host: str


@dataclass(slots=True)
class SubBefore:
    """A listener is about to get a message; `request_id` is the same for all messages of one call."""

    kind: ClassVar[str] = "SubBefore"
    timestamp: int
    region: str | None
    group: str
    request_id: str
    msg_id: str | None
    retry_times: int
    keys: str | None
    client_host: str


@dataclass(slots=True)
class SubAfter:
    """It has had it; `context_code` 0 success, 1 too slow, 2 it raised, 3 it returned nothing, 4 it wants it later."""

    kind: ClassVar[str] = "SubAfter"
    request_id: str
    msg_id: str | None
    cost: int
    success: bool
    keys: str | None
    context_code: int
    timestamp: int
    group: str


Trace = Pub | SubBefore | SubAfter
KINDS: dict[str, type[Trace]] = {kind.kind: kind for kind in (Pub, SubBefore, SubAfter)}


def return_code(*, nothing: bool, raised: bool, slow: bool, failed: bool) -> int:
    """How a listener returned (4.8.0 `ConsumeReturnType`): nothing goes before slow, slow before what it said."""
    if nothing:
        return 2 if raised else 3
    if slow:
        return 1
    return 4 if failed else 0


def encode(entry: Trace) -> str:
    """One entry, its end mark included; what is not there is written as null, as Java does."""
    values = (_text(getattr(entry, field.name)) for field in fields(entry))
    return FIELD.join((entry.kind, *values)) + ENTRY


def _text(value: object) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case _:
            return str(value)


def decode(text: str) -> list[Trace]:
    """The entries of a text as 4.8.0 writes it; raises TraceError for another one."""
    return [_entry(row) for row in text.split(ENTRY) if row]


def _entry(row: str) -> Trace:
    name, *values = row.split(FIELD)
    kind = KINDS.get(name)
    if kind is None:
        raise TraceError(f"no trace of kind {name!r}; there are {', '.join(KINDS)}")
    wanted = fields(kind)
    if len(values) != len(wanted):
        raise TraceError(f"{name} has {len(wanted)} fields, not {len(values)}")
    read: list[Any] = [_value(str(field.type), value) for field, value in zip(wanted, values, strict=True)]
    return kind(*read)


def _value(kind: str, text: str) -> str | int | bool | None:
    if kind == "int":
        try:
            return int(text)
        except ValueError as error:
            raise TraceError(f"{text!r} stands where a number is wanted") from error
    if kind == "bool":
        return text == "true"
    return None if text == "null" and "None" in kind else text
