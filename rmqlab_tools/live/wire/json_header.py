"""The JSON serialisation of a command's header, as fastjson 1.2.69 writes and reads it for 4.8.0."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Annotated, Final

import msgspec

from rmqlab.message.java import INT_MAX, INT_MIN, hash_map_order, to_utf8
from rmqlab.protocol import fastjson
from rmqlab.protocol.codes import LANGUAGE_CODES
from rmqlab.protocol.header import FrameError
from rmqlab_tools.live.wire import lenient_json

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from rmqlab.protocol.header import CommandFields


def write(command: CommandFields) -> bytes:
    """The header's text; null values are left out, `extFields` come in java.util.HashMap order."""
    ext_fields = command.all_ext_fields()
    return _write_plain(command, ext_fields) or _write_with_care(command, ext_fields)


class _WrittenHeader(msgspec.Struct, rename="camel"):
    """A header in the order in which its fields are written."""

    code: int
    ext_fields: dict[str, str | None] | msgspec.UnsetType
    flag: int
    language: str | msgspec.UnsetType
    opaque: int
    remark: str | msgspec.UnsetType
    serialize_type: str = msgspec.field(name="serializeTypeCurrentRPC")
    version: int


def _write_plain(command: CommandFields, ext_fields: Mapping[str, str | None] | None) -> bytes | None:
    """The header's text when no character of it is escaped, as in nearly all; None for another, and with nulls."""
    unset = msgspec.UNSET
    fields: dict[str, str | None] | msgspec.UnsetType = unset
    if ext_fields is not None:
        fields = {name: ext_fields[name] for name, _ in _labels(ext_fields)}
    language, remark = command.language, command.remark
    try:
        text = _ENCODE(
            _WrittenHeader(
                int(command.code), fields, command.flag, unset if language is None else language, command.opaque,
                unset if remark is None else remark, "JSON", command.version,
            )
        )  # fmt: skip
    except UnicodeEncodeError:  # half a character
        return None
    is_plain = text.isascii() and b"\\" not in text and b":null" not in text and b"\x7f" not in text
    return text if is_plain else None


def _write_with_care(command: CommandFields, ext_fields: Mapping[str, str | None] | None) -> bytes:
    quoted = fastjson.quoted
    text = f'{{"code":{command.code:d},'
    if ext_fields is not None:
        fields = [
            label + quoted(value) for name, label in _labels(ext_fields) if (value := ext_fields[name]) is not None
        ]
        text += f'"extFields":{{{",".join(fields)}}},'
    text += f'"flag":{command.flag},'
    if command.language is not None:
        text += f'"language":{quoted(command.language)},'
    text += f'"opaque":{command.opaque},'
    if command.remark is not None:
        text += f'"remark":{quoted(command.remark)},'
    text += f'"serializeTypeCurrentRPC":"JSON","version":{command.version}}}'
    return to_utf8(text)


def _labels(ext_fields: Mapping[str, str | None]) -> tuple[tuple[str, str], ...]:
    """The names of fields in the order they are written, each with its quoted form and a colon."""
    names = tuple(ext_fields)
    remembered = len(names) <= _REMEMBERED_NAMES and len("".join(names)) <= _REMEMBERED_LENGTH
    return (_usual_labels if remembered else _labels_of)(names)


def _labels_of(names: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
    return tuple((name, f"{fastjson.quoted(name)}:") for name in hash_map_order(names))


_usual_labels = lru_cache(maxsize=1024)(_labels_of)
_REMEMBERED_NAMES = 16
_REMEMBERED_LENGTH = 256
_ENCODE: Final = msgspec.json.Encoder().encode
_SERIALIZE_TYPES: Final = ("JSON", "ROCKETMQ")


_Int = Annotated[int, msgspec.Meta(ge=INT_MIN, le=INT_MAX)]


class _PlainHeader(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """A header as Java clients write it."""

    code: _Int
    flag: _Int
    language: str
    opaque: _Int
    version: _Int
    serialize_type: str = msgspec.field(name="serializeTypeCurrentRPC")
    ext_fields: dict[str, str] | msgspec.UnsetType = msgspec.UNSET
    remark: str | msgspec.UnsetType = msgspec.UNSET


_PLAIN: Final = msgspec.json.Decoder(_PlainHeader)
_QUOTES = 16  # around six names and two texts


def _read_plain(command: CommandFields, header: bytes) -> bool:
    """Fill `command` from a header without anything unusual; False when it has to be read with care.

    Counting the quotes finds fields that come twice, and null.
    """
    try:
        plain = _PLAIN.decode(header)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return False
    ext_fields, remark = plain.ext_fields, plain.remark
    quotes = _QUOTES
    if ext_fields is not msgspec.UNSET:
        quotes += 2 + 4 * len(ext_fields)
    if remark is not msgspec.UNSET:
        quotes += 4
    if header.count(b'"') != quotes or plain.language not in _LANGUAGES:
        return False
    command.code, command.flag, command.opaque, command.version = plain.code, plain.flag, plain.opaque, plain.version
    command.language = plain.language
    if ext_fields is not msgspec.UNSET:
        command.ext_fields = ext_fields
    if remark is not msgspec.UNSET:
        command.remark = remark
    return True


def read(command: CommandFields, header: bytes) -> bool:
    """Fill `command` from the header's text and tell whether it named an `opaque`.

    Raises:
        FrameError: what cannot be read.
    """
    return _read_plain(command, header) or _read_with_care(command, header)


def _read_with_care(command: CommandFields, header: bytes) -> bool:
    pairs = lenient_json.read_pairs(header)
    if not isinstance(pairs, fastjson.Pairs):
        if pairs is None or pairs in ([], ""):
            raise FrameError("NullPointerException", "the header holds no object")
        raise FrameError("JSONException", f"the header must be an object, not {pairs!r}")
    named_opaque = False
    for name, value in _fields(pairs):
        match name:
            case "code":
                command.code = fastjson.to_int(value) or 0
            case "language":
                command.language = _enum(LANGUAGE_CODES, value)
            case "version":
                command.version = fastjson.to_int(value) or 0
            case "opaque":
                opaque = fastjson.to_int(value)
                if opaque is not None:
                    command.opaque, named_opaque = opaque, True
            case "flag":
                command.flag = fastjson.to_int(value) or 0
            case "remark":
                command.remark = fastjson.to_text(value)
            case "extFields":
                command.ext_fields = _ext_fields(value)
            case "serializeTypeCurrentRPC":
                _enum(_SERIALIZE_TYPES, value)  # the frame's first byte decides, yet the value must be possible
            case "body":
                _check_body(value)
    return named_opaque


def _fields(pairs: fastjson.Pairs) -> Iterator[tuple[str, object]]:
    """The fields that count, under their own names.

    fastjson walks twice through its sorted fields, taking exact names as long as they come in that order. From the
    first name that fits neither walk, it also takes names that differ in case, `_` and `-`, but no field once more.
    """
    walk, at = 0, 0
    seen: set[str] = set()
    for name, value in pairs:
        if not isinstance(name, str):
            raise FrameError("JSONException", f"{name!r} is no field name")
        if name == "@type":
            raise FrameError("JSONException", f"autoType is not support. {value}")
        index = _INDEX.get(name, -1)
        if walk == 0 and index < at:
            walk, at = 1, 0
        if walk == 1 and index < at:
            walk = 2
        field = name
        if walk == 2:
            field = name if index >= 0 else _SMART.get(name.lower().replace("_", "").replace("-", ""), "")
            if not field or field in seen:
                continue
        at = index + 1
        seen.add(field)
        yield field, value


def _enum(names: tuple[str, ...], value: object) -> str | None:
    """The name in any case, or by number; None for another text."""
    if value is None:
        return None
    if isinstance(value, str):
        return value.upper() if value.upper() in names else None
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < len(names):
        return names[value]
    raise FrameError("JSONException", f"{value!r} is none of {', '.join(names)}, nor a number below {len(names)}")


def _ext_fields(value: object) -> dict[str, str | None] | None:
    if value is None:
        return None
    if not isinstance(value, fastjson.Pairs):
        raise FrameError("JSONException", f"extFields must be an object, not {value!r}")
    if not all(isinstance(name, str) for name, _ in value):
        raise FrameError("JSONException", "the names of extFields must be texts")
    return {name: fastjson.to_text(item) for name, item in value}


def _check_body(value: object) -> None:
    if not (value is None or isinstance(value, str) or value.__class__ is list):
        raise FrameError("JSONException", f"a body in the header must be base64 or a list, not {value!r}")


_INDEX: Final = {
    name: index
    for index, name in enumerate(
        ("body", "code", "extFields", "flag", "language", "opaque", "remark", "serializeTypeCurrentRPC", "version"),
    )
}
_LANGUAGES: Final = frozenset(LANGUAGE_CODES)
_SMART: Final = {name.lower(): name for name in _INDEX}
