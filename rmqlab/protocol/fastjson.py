"""JSON as fastjson 1.2.69 reads and writes it.

Written text is plain JSON, but for numbers and objects as keys of a map, which fastjson leaves unquoted. Bodies are
read so. Headers may also have unquoted and single-quoted names, any number of commas, comments and more escapes.
"""

from __future__ import annotations

import json
import math
import re
from decimal import Decimal, InvalidOperation
from enum import Enum
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from rmqlab.message.java import (
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

_BYTE_ORDER_MARK = "\ufeff"
_IGNORED = "".join(map(chr, range(0x21))) + "\x7f"
_MAX_PLACES = 100
_TRAILING_ZEROS = re.compile(r"\.0*$")
_SPECIAL = re.compile('["\\\\\x00-\x1f\x7f-\x9f\u2028\u2029]')
_SHORT = {'"': '\\"', "\\": "\\\\", "\b": "\\b", "\t": "\\t", "\n": "\\n", "\f": "\\f", "\r": "\\r"}


def write(value: object) -> bytes:
    """Return the UTF-8 text of dicts, lists, texts, numbers, booleans and None, without blanks."""
    return to_utf8(text(value))


class Pairs(list[tuple[Any, Any]]):
    """The fields of an object in the order they were written, repeated names included."""


def read(data: bytes) -> object:
    """Return the value of a body: dict, list, str, int, Decimal, bool or None; raises FrameError.

    A blank text is None. An object as the key of a map is a tuple of its (name, value) pairs. Python's own parser reads
    it: names that are numbers or objects become marked texts on the way.
    """
    text = from_utf8(data)
    if not text.strip():
        return None
    try:
        return _PLAIN.decode(text)
    except (ValueError, RecursionError):
        pass
    try:
        return _ODD_NAMES_MARKED.decode(_ODD_NAME.sub(_mark, text))
    except (ValueError, RecursionError) as error:
        raise FrameError("JSONException", str(error)) from error


class Damage(Enum):
    """How a text is no JSON."""

    ZEROS = "nothing but zero bytes"
    CUT = "it ends in the middle"
    MORE = "more text stands behind its end"
    OTHER = "no JSON"


class TextDamage(FrameError):
    """A text that fastjson could not read; `position` is the first character that is wrong."""

    def __init__(self, damage: Damage, position: int) -> None:
        """Keep where it is."""
        super().__init__("JSONException", damage.value)
        self.damage = damage
        self.position = position


def read_file_text(text: str) -> object:
    """Return the value of a file of `config/`, or of JSON that somebody pasted; raises TextDamage.

    As fastjson 1.2.69 does with a whole text: one byte order mark in front, and control characters behind the value,
    are passed over; so are single quotes, names without quotes and comments. A blank text is None.

    >>> read_file_text('{"offsetTable":{"T@G":{0:5}}}')
    {'offsetTable': {'T@G': {0: 5}}}
    """
    begin = len(text) - len(text.removeprefix(_BYTE_ORDER_MARK))
    body = text[begin:].rstrip(_IGNORED)
    if not body.strip():
        if text.strip():
            raise TextDamage(Damage.ZEROS, 0)
        return None
    try:
        return _LOOSE.decode(_ODD_NAME.sub(_mark, body))
    except json.JSONDecodeError as error:
        wrong = _unmarked(body, error.pos)
        at_end, more = wrong >= len(body.rstrip()), error.msg == "Extra data"
    except (ValueError, RecursionError) as error:
        raise TextDamage(Damage.OTHER, 0) from error
    try:
        return _plain(_LenientReader(body).document())
    except (FrameError, ValueError, RecursionError, TypeError, IndexError):
        pass
    is_open = _is_open_text(body, wrong)
    damage = Damage.CUT if at_end or is_open else Damage.MORE if more else Damage.OTHER
    raise TextDamage(damage, begin + (len(body) if is_open else wrong))


def _is_open_text(body: str, position: int) -> bool:
    """Whether a text that begins at `position` is not closed before the end of `body`."""
    return body[position : position + 1] == '"' and re.match(_TEXT, body[position:], re.DOTALL) is None


def _unmarked(text: str, position: int) -> int:
    """The place in a text of a place in the same text with its odd names marked."""
    longer = 0
    for match in _ODD_NAME.finditer(text):
        start = match.start() + longer
        if position < start:
            break
        length = len(_mark(match))
        if position < start + length:
            return match.start()
        longer += length - len(match[0])
    return position - longer


def _plain(value: Any) -> Any:
    """Dicts instead of `Pairs`; an object as a name is a tuple of its pairs, as `read` gives it."""
    if isinstance(value, Pairs):
        return {tuple(name) if isinstance(name, Pairs) else name: _plain(item) for name, item in value}
    return [_plain(item) for item in value] if isinstance(value, list) else value


def read_pairs(data: bytes) -> object:
    """Return the value of a header's text with `Pairs` for every object; raises FrameError."""
    text = from_utf8(data).removeprefix(_BYTE_ORDER_MARK)  # one of them, as `JSONScanner` does
    try:
        return _PAIRED.decode(text)
    except (ValueError, RecursionError):
        pass
    try:
        return _LenientReader(text).document()
    except RecursionError as error:
        raise FrameError("StackOverflowError", "the brackets go too deep") from error
    except ValueError as error:  # a number that Python does not take
        raise FrameError("JSONException", str(error)) from error


_TEXT = r'"[^"\\]*+(?:\\.[^"\\]*+)*+"'
_ODD_NAME = re.compile(rf'{_TEXT}|\{{(?:[^{{}}"]++|{_TEXT})*+\}}(?=:)|(?<=[{{,])-?\d++(?=:)', re.DOTALL)


def _mark(match: re.Match[str]) -> str:
    """Mark a number or an object that stands for a name; a text stays as it is."""
    found = match[0]
    return found if found[0] == '"' else json.dumps(f"\0{found}", ensure_ascii=False)


def _with_odd_names(fields: dict[str, Any]) -> dict[Any, Any]:
    return {_odd_name(name) if name[:1] == "\0" else name: value for name, value in fields.items()}


def _odd_name(name: str) -> object:
    value = _PLAIN.decode(name[1:])
    if not isinstance(value, dict):
        return value
    if any(isinstance(item, dict | list) for item in value.values()):
        raise ValueError("an object that is a name has an object or a list in it")
    return tuple(value.items())


def _refuse(word: str) -> object:
    raise ValueError(word)


def _integer(text: str) -> int | Decimal:
    return Decimal(text) if text == "-0" else int(text)  # a text field keeps the sign


def _decimal(text: str) -> Decimal:
    """Read a number with a fraction or an exponent. Raises ValueError for an exponent that no BigDecimal has."""
    try:
        return Decimal(text)
    except InvalidOperation as error:
        raise ValueError(f"the exponent of {text[:30]} is too large") from error


_PLAIN: Final = json.JSONDecoder(parse_float=_decimal, parse_constant=_refuse)
_ODD_NAMES_MARKED: Final = json.JSONDecoder(object_hook=_with_odd_names, parse_float=_decimal, parse_constant=_refuse)
_LOOSE: Final = json.JSONDecoder(
    object_hook=_with_odd_names, parse_float=_decimal, parse_constant=_refuse, strict=False
)
_PAIRED: Final = json.JSONDecoder(
    object_pairs_hook=Pairs,
    parse_float=_decimal,
    parse_int=_integer,
    parse_constant=_refuse,
)


def quoted(text: str) -> str:
    """Return a text in quotes, escaped."""
    if text.isascii() and text.isprintable() and '"' not in text and "\\" not in text:
        return f'"{text}"'
    return f'"{_SPECIAL.sub(_escaped, text)}"'


def text(value: object) -> str:
    """Return the text of dicts, lists, texts, numbers, booleans and None, without blanks."""
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
    """Return what a text field holds after reading `value`: objects and lists as JSON, objects in HashMap order."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, dict | list):
        return text(_hash_ordered(value))
    return boolean_text(value) if isinstance(value, bool) else str(value)


def to_int(value: Any, bits: int = 32) -> int | None:
    """Return what a number field holds after reading `value`: texts are parsed, fractions cut; raises FrameError."""
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
    """Return what a fraction field holds after reading `value`; raises FrameError."""
    try:
        return None if value is None else float(value)
    except OverflowError:  # as Java makes a double of a number of 400 digits
        return math.inf if value > 0 else -math.inf
    except (TypeError, ValueError) as error:
        raise FrameError("JSONException", f"{value!r} is not a number") from error


def to_boolean(value: Any) -> bool | None:
    """Return what a yes-or-no field holds after reading `value`: numbers other than 1 are false; raises FrameError."""
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
    int: partial(to_int, bits=64),
    bool: to_boolean,
    float: to_float,
}


def _hash_ordered(value: Any) -> Any:
    """Objects in the order of a HashMap whose names are texts, numbers or objects. Raises FrameError."""
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


_SINGLE_QUOTED = _TEXT.replace('"', "'")
_NUMBER = r"[+-]?\d+(?:\.\d*)?(?:[eE][+-]?\d+)?[LSBFD]?"  # Java's letters for the type are passed over
_NAME = re.compile("[A-Za-z_$\u0100-\U0010ffff][A-Za-z0-9_$\u0100-\U0010ffff]*")
_TOKEN = re.compile(
    r"(?:[\x00-\x20\x7f]|/\*.*?(?:\*/|\Z)|//[^\n]*)*"
    rf"({_TEXT}|{_SINGLE_QUOTED}|{_NUMBER}|{_NAME.pattern}|.|\Z)",
    re.DOTALL,
)
_WORDS: Final[dict[str, object]] = {
    "null": None,
    "NULL": None,
    "undefined": None,
    "NaN": None,
    "true": True,
    "false": False,
}
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2})|(.))", re.DOTALL)
_ESCAPES = {"b": "\b", "t": "\t", "n": "\n", "v": "\v", "f": "\f", "F": "\f", "r": "\r", **{c: c for c in "\"'/\\"}}
_ESCAPES |= {str(digit): chr(digit) for digit in range(8)}


class _LenientReader:
    """Reads what plain JSON does not allow, token by token."""

    def __init__(self, text: str) -> None:
        self._tokens: list[str] = _TOKEN.findall(text)[::-1]  # the last one, at the front, is empty: the end

    def document(self) -> object:
        value = self._value(self._tokens.pop(), is_outermost=True) if self._tokens[-1] else None
        if self._tokens[-1]:
            raise _missing("the end", self._tokens[-1])
        return value

    def _value(self, part: str, *, is_outermost: bool = False) -> Any:
        if part == "{":
            return self._object(is_outermost=is_outermost)
        if part == "[":
            return self._list()
        if part[:1] in {'"', "'"} and len(part) > 1:
            unescaped = _ESCAPE.sub(_unescaped, part[1:-1])
            return unescaped.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
        if re.fullmatch(_NUMBER, part):
            number = part.rstrip("LSBFD")
            return int(number) if number.lstrip("+-").isdecimal() else _decimal(number)
        if part in _WORDS:
            return _WORDS[part]
        raise _missing("a value", part)

    def _object(self, *, is_outermost: bool) -> Pairs:
        pairs, tokens = Pairs(), self._tokens
        while (part := tokens.pop()) != "}":
            if part == ",":
                continue
            name = part if _NAME.fullmatch(part) else self._value(part)
            if tokens.pop() != ":":
                raise _missing("':'", part)
            pairs.append((name, self._value(tokens.pop())))
            if tokens[-1] not in {",", "}"}:
                # after a field of the outermost object fastjson passes over one token that is no word
                stray = tokens.pop()
                if not is_outermost or not stray or _NAME.fullmatch(stray):
                    raise _missing("',' or '}'", stray)
        return pairs

    def _list(self) -> list[Any]:
        items: list[Any] = []
        while (part := self._tokens.pop()) != "]":
            if part != ",":
                items.append(self._value(part))  # a missing comma is no fault here
        return items


def _unescaped(match: re.Match[str]) -> str:
    code = match[1] or match[2]
    if not code and match[3] not in _ESCAPES:
        raise _missing("an escape", match[0])
    return chr(int(code, 16)) if code else _ESCAPES[match[3]]


def _missing(wanted: str, part: str) -> FrameError:
    return FrameError("JSONException", f"{wanted} is missing at {part[:20]!r}")


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
