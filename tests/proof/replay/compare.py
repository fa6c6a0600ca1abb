"""Where our answer differs from the recorded one, field by field."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING

from rmqlab.message.record import decode_records
from rmqlab.protocol import fastjson
from rmqlab.protocol.codes import PULLS, RequestCode
from rmqlab.protocol.header import FrameError
from tests.proof.replay.tolerated_differences import (
    Tolerated,
    Uses,
    settle_body,
    settle_config,
    settle_max_offset,
    settle_version,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from rmqlab.message.message import MessageExt
    from rmqlab.protocol.command import RemotingCommand

# A field's path, what was recorded, what we answered.
FieldDifference = tuple[str, object, object]
_MISSING = "(missing)"

# Lists in bodies that Java fills from a table keyed by connections, or of objects without a hash code of their own.
_UNORDERED: dict[int, str] = {
    RequestCode.GET_CONSUMER_LIST_BY_GROUP: "consumerIdList",
    RequestCode.GET_CONSUMER_CONNECTION_LIST: "connectionSet",
    RequestCode.GET_PRODUCER_CONNECTION_LIST: "connectionSet",
}
# Bodies of `name=value` lines.
_SETTINGS = {RequestCode.GET_BROKER_CONFIG, RequestCode.GET_NAMESRV_CONFIG}
_RECORD_BODIES = {*PULLS, RequestCode.POP_MESSAGE, RequestCode.VIEW_MESSAGE_BY_ID, RequestCode.QUERY_MESSAGE}
_RECORD_FIELDS = (
    "topic", "queue_id", "queue_offset", "commit_log_offset", "body", "properties", "flag", "sys_flag", "body_crc",
    "born_timestamp", "born_host", "store_timestamp", "store_host", "reconsume_times", "prepared_transaction_offset",
    "store_size", "msg_id",
)  # fmt: skip


def compare(
    request_code: int, expected: RemotingCommand, got: RemotingCommand, uses: Uses | None = None
) -> list[FieldDifference]:
    """Return all differences between two answers to a request, or between two requests of the broker's own.

    Every part of the command counts: code, flag, language, version, remark, serialisation, header fields (an absent
    header is not an empty one) and body. `opaque` is not looked at. `uses` counts what was let pass.
    """
    uses = Uses() if uses is None else uses
    differences: list[FieldDifference] = [
        (name, left, right)
        for name, left, right in (
            ("code", int(expected.code), int(got.code)),
            ("flag", expected.flag, got.flag),
            ("language", expected.language, got.language),
            ("version", expected.version, got.version),
            ("remark", expected.remark, got.remark),
            ("serializeType", expected.serialize_type.name, got.serialize_type.name),
        )
        if left != right
    ]
    differences.extend(_ext_fields(request_code, expected, got, uses))
    if expected.body != got.body:
        differences.extend(_bodies(request_code, expected.body or b"", got.body or b"", uses))
    return differences


def _ext_fields(
    request_code: int, expected: RemotingCommand, got: RemotingCommand, uses: Uses
) -> Iterator[FieldDifference]:
    left, right = expected.all_ext_fields(), got.all_ext_fields()
    if request_code == RequestCode.GET_BROKER_CONFIG and left is not None and right is not None:
        right = {**right, "version": settle_version(left.get("version"), right.get("version"), uses)}
    if request_code in PULLS and left is not None and right is not None:
        right = settle_max_offset(left, right, uses)
    if left is None or right is None:
        if left is not right:
            yield "extFields", None if left is None else dict(left), None if right is None else dict(right)
        return
    yield from _entries(left, right, "extFields")


def _entries(expected: Mapping[str, str | None], got: Mapping[str, str | None], path: str) -> Iterator[FieldDifference]:
    for name in sorted({*expected, *got}):
        if expected.get(name) != got.get(name):
            yield f"{path}.{name}", expected.get(name, _MISSING), got.get(name, _MISSING)


def _bodies(request_code: int, expected: bytes, got: bytes, uses: Uses) -> Iterator[FieldDifference]:
    if request_code in _RECORD_BODIES:
        yield from _records(expected, got)
        return
    if request_code in _SETTINGS:
        yield from _lines(_text(expected), settle_config(_text(expected), _text(got), uses))
        return
    try:
        left, right = fastjson.read(expected), fastjson.read(got)
    except FrameError:
        yield "body", _text(expected), _text(got)
        return
    settle_body(request_code, left, right, uses)
    name = _UNORDERED.get(request_code)
    if name is not None and isinstance(left, dict) and isinstance(right, dict):
        mine, theirs = left.get(name), right.get(name)
        if mine != theirs and _sorted(mine) == _sorted(theirs):
            right[name] = mine
            uses[Tolerated.MEMBER_ORDER] += 1
    yield from _json(left, right, "body")


def _lines(expected: str, got: str) -> Iterator[FieldDifference]:
    """Compare `name=value` lines: every value, then the order."""
    left, right = (dict(line.partition("=")[::2] for line in text.splitlines()) for text in (expected, got))
    yield from _entries(left, right, "body")
    if left == right and expected != got:
        yield "body.order", list(left), list(right)


def _sorted(items: object) -> list[str]:
    return sorted(map(repr, items)) if isinstance(items, list) else []


def _json(expected: object, got: object, path: str) -> Iterator[FieldDifference]:
    if isinstance(expected, dict) and isinstance(got, dict):
        for name in sorted({*expected, *got}, key=str):
            yield from _json(expected.get(name, _MISSING), got.get(name, _MISSING), f"{path}.{_key(name)}")
    elif isinstance(expected, list) and isinstance(got, list) and len(expected) == len(got):
        for index, (left, right) in enumerate(zip(expected, got, strict=True)):
            yield from _json(left, right, f"{path}[{index}]")
    elif expected != got or type(expected) is not type(got):
        yield path, _plain(expected), _plain(got)


def _key(name: object) -> str:
    """A key of a JSON map as part of a path; fastjson knows maps whose keys are objects."""
    return "{" + ",".join(f"{key}={value}" for key, value in name) + "}" if isinstance(name, tuple) else str(name)


def _records(expected: bytes, got: bytes) -> Iterator[FieldDifference]:
    left, right = decode_records(expected), decode_records(got)
    if len(left) != len(right):
        yield "body.records", [_name(message) for message in left], [_name(message) for message in right]
        return
    found = False
    for index, (one, other) in enumerate(zip(left, right, strict=True)):
        for name in _RECORD_FIELDS:
            if getattr(one, name) != getattr(other, name):
                found = True
                yield f"body.records[{index}].{name}", _plain(getattr(one, name)), _plain(getattr(other, name))
    if not found:
        yield "body", expected.hex(), got.hex()


def _name(message: MessageExt) -> str:
    return f"{message.topic}/{message.queue_id}/{message.queue_offset}"


def _plain(value: object) -> object:
    """Return a value that can be written as JSON."""
    if isinstance(value, bytes):
        return _text(value)
    if isinstance(value, Decimal):
        return float(value)
    return value if isinstance(value, str | int | None) else str(value)


def _text(body: bytes) -> str:
    return body.decode("utf-8", "backslashreplace")
