"""JSON as fastjson 1.2.69 reads and writes it.

Written text is plain JSON, but for numbers and objects as keys of a map, which fastjson leaves unquoted. Bodies are
read so; headers and files may have more.
"""

from __future__ import annotations

import json
import math
import re
from decimal import Decimal, InvalidOperation
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from rmqlab.message.java import (
    Long,
    boolean_text,
    from_utf8,
    hash_map_order,
    hash_set_order,
    parse_int,
    parse_long,
    signed,
    string_hash,
    to_utf8,
)
from rmqlab.protocol.header import FrameError

if TYPE_CHECKING:
    from collections.abc import Callable

_MAX_PLACES = 100
_TRAILING_ZEROS = re.compile(r"\.0*$")
_SPECIAL = re.compile('["\\\\\x00-\x1f\x7f-\x9f\u2028\u2029]')
_SHORT = {'"': '\\"', "\\": "\\\\", "\b": "\\b", "\t": "\\t", "\n": "\\n", "\f": "\\f", "\r": "\\r"}


def write(value: object) -> bytes:
    """The UTF-8 text of dicts, lists, texts, numbers, booleans and None, without blanks."""
    return to_utf8(text(value))


class Pairs(list[tuple[Any, Any]]):
    """The fields of an object in the order they were written, repeated names included."""


def read(data: bytes) -> object:
    """The value of a body: dict, list, str, int, Decimal, bool or None.

    A blank text is None. An object as the key of a map is a tuple of its (name, value) pairs. Python's own parser reads
    it: names that are numbers or objects become marked texts on the way.

    Raises:
        FrameError: what cannot be read.
    """
    text = from_utf8(data)
    if not text.strip():
        return None
    try:
        return _PLAIN.decode(text)
    except (ValueError, RecursionError):
        pass
    try:
        return _ODD_NAMES_MARKED.decode(ODD_NAME.sub(mark, text))
    except (ValueError, RecursionError) as error:
        raise FrameError("JSONException", str(error)) from error


TEXT = r'"[^"\\]*+(?:\\.[^"\\]*+)*+"'
ODD_NAME = re.compile(rf'{TEXT}|\{{(?:[^{{}}"]++|{TEXT})*+\}}(?=:)|(?<=[{{,])\s*+-?\d++(?=\s*+:)', re.DOTALL)


def mark(match: re.Match[str]) -> str:
    """Mark a number or an object that stands for a name, after its blanks; a text stays as it is."""
    text = match[0]
    name = text.lstrip()
    return text if name[0] == '"' else text[: -len(name)] + json.dumps(f"\0{name}", ensure_ascii=False)


def with_odd_names(fields: dict[str, Any]) -> dict[Any, Any]:
    """An object the names that were marked on the way: numbers, or tuples of pairs for objects."""
    return {_odd_name(name) if name[:1] == "\0" else name: value for name, value in fields.items()}


def _odd_name(name: str) -> object:
    value = _PLAIN.decode(name[1:])
    if not isinstance(value, dict):
        return value
    if any(isinstance(item, dict | list) for item in value.values()):
        raise ValueError("an object that is a name has an object or a list in it")
    return tuple(value.items())


def refuse(word: str) -> object:
    """Take no NaN and no Infinity: fastjson does not either."""
    raise ValueError(word)


def read_decimal(text: str) -> Decimal:
    """Read a number with a fraction or an exponent.

    Raises:
        ValueError: an exponent that no BigDecimal has.
    """
    try:
        return Decimal(text)
    except InvalidOperation as error:
        raise ValueError(f"the exponent of {text[:30]} is too large") from error


_PLAIN: Final = json.JSONDecoder(parse_float=read_decimal, parse_constant=refuse)
_ODD_NAMES_MARKED: Final = json.JSONDecoder(object_hook=with_odd_names, parse_float=read_decimal, parse_constant=refuse)


def quoted(text: str) -> str:
    """A text in quotes, escaped."""
    if text.isascii() and text.isprintable() and '"' not in text and "\\" not in text:
        return f'"{text}"'
    return f'"{_SPECIAL.sub(_escaped, text)}"'


def text(value: object) -> str:
    """The text of dicts, lists, texts, numbers, booleans and None, without blanks."""
    if isinstance(value, str):
        return quoted(value)
    if value is None:
        return "null"
    if isinstance(value, bool):
        return boolean_text(value)
    if isinstance(value, dict):
        return "{" + ",".join(f"{text(name)}:{text(item)}" for name, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(text, value)) + "]"
    if isinstance(value, tuple):
        return text(dict(value))
    return str(value)


def _escaped(match: re.Match[str]) -> str:
    return _SHORT.get(match[0]) or f"\\u{ord(match[0]):04X}"


def to_text(value: Any) -> str | None:
    """What a text field holds after reading `value`: objects and lists as JSON, objects in HashMap order."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, dict | list):
        return text(_hash_ordered(value))
    return boolean_text(value) if isinstance(value, bool) else str(value)


def to_int(value: Any, bits: int = 32) -> int | None:
    """What a number field holds after reading `value`: texts are parsed, fractions cut.

    Raises:
        FrameError: what cannot be read.
    """
    if value.__class__ is int or value.__class__ is bool:
        number = int(value)
        if -(1 << (bits - 1)) <= number < 1 << (bits - 1):
            return number
    elif value is None or value in ("", "null", "NULL"):
        return None
    elif isinstance(value, Decimal):
        return _of_decimal(value, bits)
    elif isinstance(value, str):
        try:
            return (parse_int if bits == 32 else parse_long)(_TRAILING_ZEROS.sub("", value.replace(",", "")))
        except ValueError:
            pass
    raise FrameError("JSONException", f"{value!r} is not a number of {bits} bits")


def _of_decimal(value: Decimal, bits: int) -> int:
    """Cut the fraction and keep the low bits (`TypeUtils.intValue`); numbers of absurd length are refused unwritten."""
    if abs(int(value.as_tuple().exponent)) > _MAX_PLACES or value.adjusted() > _MAX_PLACES:
        raise FrameError("ArithmeticException", f"a number of {bits} bits is wanted exactly")
    return signed(int(value), bits)


def to_float(value: Any) -> float | None:
    """What a fraction field holds after reading `value`.

    Raises:
        FrameError: what cannot be read.
    """
    try:
        return None if value is None else float(value)
    except OverflowError:  # as Java makes a double of a number of 400 digits
        return math.inf if value > 0 else -math.inf
    except (TypeError, ValueError) as error:
        raise FrameError("JSONException", f"{value!r} is not a number") from error


def to_boolean(value: Any) -> bool | None:
    """What a yes-or-no field holds after reading `value`: numbers other than 1 are false.

    Raises:
        FrameError: what cannot be read.
    """
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        word = value.lower() if len(value) > 1 else value
        if word in {"", "null"}:
            return None
        if word in {"true", "1", "Y", "T"}:
            return True
        if word in {"false", "0", "N", "F"}:
            return False
    elif isinstance(value, int | Decimal):
        return value == 1
    raise FrameError("JSONException", f"{value!r} is neither true nor false")


CASTS: Final[dict[object, Callable[[Any], Any]]] = {
    str: to_text,
    int: to_int,
    Long: partial(to_int, bits=64),
    bool: to_boolean,
    float: to_float,
}


def _hash_ordered(value: Any) -> Any:
    """Objects in the order of a HashMap whose names are texts, numbers or objects.

    Raises:
        FrameError: what cannot be read.
    """
    if isinstance(value, Pairs):
        try:
            value = {tuple(name) if isinstance(name, Pairs) else name: item for name, item in value}
        except TypeError as error:
            raise FrameError("JSONException", "an object that is a name has an object or a list in it") from error
    if isinstance(value, dict):
        is_usual = all(isinstance(name, str) for name in value)
        names = hash_map_order(value) if is_usual else hash_set_order(value, _name_hash)
        return {name: _hash_ordered(value[name]) for name in names if value[name] is not None}
    if isinstance(value, list):
        return [_hash_ordered(item) for item in value]
    return value


def _name_hash(name: Any) -> int:
    if isinstance(name, int):
        return int(name if -(1 << 31) <= name < 1 << 31 else name ^ name >> 32)
    return 0 if name is None else string_hash(name if isinstance(name, str) else text(name))


def pretty(value: object, indent: str = "") -> str:
    """Write as fastjson does with `PrettyFormat`: tabs, objects over several lines, arrays of numbers in one.

    A map with numbers for keys stands in one line up to its closing brace.
    """
    if not isinstance(value, dict) or not value:
        return write(value).decode("utf-8")
    if all(isinstance(name, int) for name in value):
        return f"{write(value).decode()[:-1]}\n{indent}}}"
    inner = f"{indent}\t"
    lines = (f"{inner}{write(name).decode()}:{pretty(item, inner)}" for name, item in value.items())
    return "{\n" + ",\n".join(lines) + f"\n{indent}}}"
