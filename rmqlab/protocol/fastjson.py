"""JSON as fastjson 1.2.69 reads and writes it.

Written text is plain JSON, but for numbers and objects as keys of a map, which fastjson leaves unquoted. Read text may
also have unquoted and single-quoted names, any number of commas, comments and more escapes.
"""

from __future__ import annotations

import json
import re
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final

from rmqlab.message.java import boolean_text, from_utf8, hash_map_order, parse_int, parse_long, to_utf8
from rmqlab.protocol.header import FrameError

if TYPE_CHECKING:
    from collections.abc import Callable

_COMMENT = r"/\*.*?(?:\*/|\Z)|//[^\n]*(?:\n|\Z)"
_SPACE = re.compile(rf"(?:[\x00-\x20\x7f]+|{_COMMENT})*", re.DOTALL)
# After a value U+001A is fastjson's mark of the end: what follows it is not read.
_SPACE_AFTER_VALUE = re.compile(rf"(?:[\x00-\x19\x1b-\x20\x7f]+|\x1a.*|{_COMMENT})*", re.DOTALL)
# Before a name and its colon fewer characters are blanks (`skipWhitespace`).
_SPACE_AT_NAME = re.compile(rf"(?:[ \b\t\n\f\r]+|{_COMMENT})*", re.DOTALL)
_SPACE_AT_COLON = re.compile(r"[ \b\t\n\f\r]*")
_NUMBER = re.compile(r"([+-]?\d+(\.\d*)?([eE][+-]?\d+)?)[LSBFD]?")  # Java's letters for the type are passed over
# After a field of the outermost object fastjson passes over one token, unless it is an unknown word.
_STRAY = re.compile(r"[+-]?\d+(\.\d*)?|(?:null|true|false|undefined|new|TreeSet)(?![\w$])|[-+;.()\[\]{]")
_BYTE_ORDER_MARK = "\ufeff"
_MAX_PLACES = 100
_MAX_DIGITS = 4_300  # ours: as many as Python takes of an integer
_TRAILING_ZEROS = re.compile(r"\.0*$")
_PLAIN_IN = {quote: re.compile(f"[^{quote}\\\\]+") for quote in "\"'"}
_HEX = re.compile(r"[0-9a-fA-F]+")
_NAME = re.compile("[A-Za-z_$\u0100-\U0010ffff][A-Za-z0-9_$\u0100-\U0010ffff]*")
_WORDS: Final[dict[str, object]] = {
    "null": None,
    "NULL": None,
    "undefined": None,
    "NaN": None,
    "true": True,
    "false": False,
}
_ESCAPES = {"b": "\b", "t": "\t", "n": "\n", "v": "\v", "f": "\f", "F": "\f", "r": "\r", **{c: c for c in "\"'/\\"}}
_ESCAPES |= {str(digit): chr(digit) for digit in range(8)}
_SPECIAL = re.compile('["\\\\\x00-\x1f\x7f-\x9f\u2028\u2029]')
_SHORT = {'"': '\\"', "\\": "\\\\", "\b": "\\b", "\t": "\\t", "\n": "\\n", "\f": "\\f", "\r": "\\r"}


def write(value: object) -> bytes:
    """Return the UTF-8 text of dicts, lists, texts, numbers, booleans and None, without blanks."""
    return to_utf8(text(value))


class Pairs(list[tuple[Any, Any]]):
    """The fields of an object in the order they were written, repeated names included."""


def read(data: bytes, longest_odd: int | None = None) -> object:
    """Return the value of a text: dict, list, str, int, Decimal, bool or None; raises FrameError.

    A blank text is None. An object as the key of a map is a tuple of its (name, value) pairs. A text of more than
    `longest_odd` bytes is read as plain JSON only.
    """
    return _read(data, _PLAIN, dict, longest_odd)


def read_pairs(data: bytes, longest_odd: int | None = None) -> object:
    """Return the value of a text with `Pairs` for every object; raises FrameError.

    A text of more than `longest_odd` bytes is read as plain JSON only.
    """
    return _read(data, _PAIRED, Pairs, longest_odd)


def _read(
    data: bytes, decoder: json.JSONDecoder, make: Callable[[Pairs], Any], longest_odd: int | None = None
) -> object:
    if longest_odd is not None and len(data) > longest_odd:
        try:
            return _read_plain(data.decode(), decoder)
        except (ValueError, RecursionError):
            raise FrameError(
                "JSONException", f"{len(data)} bytes that are no plain JSON; at most {longest_odd} are read with care"
            ) from None
    text = from_utf8(data).removeprefix(_BYTE_ORDER_MARK)  # one of them, as `JSONScanner` does
    try:
        return _read_plain(text, decoder)
    except (ValueError, RecursionError):
        pass
    try:
        return _FastjsonParser(text, make).document()
    except RecursionError as error:
        raise FrameError("StackOverflowError", "the brackets go too deep") from error
    except (ValueError, ArithmeticError) as error:  # a number that Python does not take
        raise FrameError("JSONException", str(error)) from error


def _read_plain(text: str, decoder: json.JSONDecoder) -> object:
    """Read plain JSON, or plain JSON but for numbers and flat objects as names; raises ValueError.

    The odd names become marked texts for Python's fast parser: tables of queues are read in a twentieth of the time.
    """
    try:
        return decoder.decode(text)
    except ValueError:
        if decoder is not _PLAIN or "\\u0000" in text:
            raise
    return _ODD_NAMES_MARKED.decode(_ODD_NAME.sub(_mark, text))


def _mark(match: re.Match[str]) -> str:
    """Mark a number or an object that stands for a name; a text stays as it is."""
    found = match[0]
    if found[0] == '"':
        return found
    return json.dumps(f"\0{found}", ensure_ascii=False) if found[0] == "{" else f'"\\u0000{found}"'


def _with_odd_names(fields: dict[str, Any]) -> dict[Any, Any]:
    for name in fields:
        if name[:1] == "\0":
            return {_odd_name(name) if name[:1] == "\0" else name: value for name, value in fields.items()}
    return fields


def _odd_name(name: str) -> object:
    return tuple(_PLAIN.decode(name[1:]).items()) if name[1] == "{" else int(name[1:])


_TEXT = r'"[^"\\]*+(?:\\.[^"\\]*+)*+"'
_ODD_NAME = re.compile(rf'{_TEXT}|\{{(?:[^{{}}"]++|{_TEXT})*+\}}(?=:)|(?<=[{{,])-?\d++(?=:)', re.DOTALL)


def _refuse(word: str) -> object:
    raise ValueError(word)


def _integer(text: str) -> int | Decimal:
    return Decimal(text) if text == "-0" else int(text)  # a text field keeps the sign


_PLAIN: Final = json.JSONDecoder(parse_float=Decimal, parse_constant=_refuse)
_ODD_NAMES_MARKED: Final = json.JSONDecoder(object_hook=_with_odd_names, parse_float=Decimal, parse_constant=_refuse)
_PAIRED: Final = json.JSONDecoder(
    object_pairs_hook=Pairs,
    parse_float=Decimal,
    parse_int=_integer,
    parse_constant=_refuse,
)


def quoted(text: str) -> str:
    """Return a text in quotes, escaped."""
    if text.isalnum() and text.isascii():
        return f'"{text}"'
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
    """Cut the fraction and keep the low bits; beyond a hundred places nothing is cut (`TypeUtils.intValue`)."""
    exponent, half = int(value.as_tuple().exponent), 1 << (bits - 1)
    if -_MAX_PLACES <= exponent <= _MAX_PLACES and value.adjusted() <= _MAX_DIGITS:
        return (int(value) + half & (1 << bits) - 1) - half
    number = 0 if not value else int(value) if value.adjusted() < bits else half  # 1e1000000000 is never written out
    if number != value or not -half <= number < half:
        raise FrameError("ArithmeticException", f"a number of {bits} bits is wanted exactly")
    return number


def to_long(value: Any) -> int | None:
    """Return what a 64-bit number field holds after reading `value`; raises FrameError."""
    return to_int(value, 64)


def to_float(value: Any) -> float | None:
    """Return what a fraction field holds after reading `value`; raises FrameError."""
    try:
        return None if value is None else float(value)
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
    int: to_long,
    bool: to_boolean,
    float: to_float,
}


def _hash_ordered(value: Any) -> Any:
    if isinstance(value, Pairs):
        value = dict(value)
    if isinstance(value, dict):
        return {name: _hash_ordered(value[name]) for name in hash_map_order(value) if value[name] is not None}
    if isinstance(value, list):
        return [_hash_ordered(item) for item in value]
    return value


class _FastjsonParser:
    """Reads what plain JSON does not allow."""

    def __init__(self, text: str, make: Callable[[Pairs], Any]) -> None:
        self._text = text
        self._make = make
        self._at = 0
        self._depth = 0

    def document(self) -> object:
        if not self._peek():
            return None
        value = self._value()
        if self._peek(_SPACE_AFTER_VALUE):
            raise self._error("the end")
        return value

    def _peek(self, blanks: re.Pattern[str] = _SPACE) -> str:
        """Pass over blanks and comments; return the next character, or nothing at the end."""
        match = blanks.match(self._text, self._at)
        if match:
            self._at = match.end()
        return self._text[self._at : self._at + 1]

    def _value(self) -> Any:
        mark = self._peek()
        if mark == "{":
            return self._object()
        if mark == "[":
            return self._list()
        if mark and mark in "\"'":
            return self._string()
        number = _NUMBER.match(self._text, self._at)
        if number:
            self._at = number.end()
            return Decimal(number[1]) if number[2] or number[3] else int(number[1])
        word = _NAME.match(self._text, self._at)
        if word and word[0] in _WORDS:
            self._at = word.end()
            return _WORDS[word[0]]
        raise self._error("a value")

    def _object(self) -> Any:
        pairs = Pairs()
        self._at += 1
        self._depth += 1
        while (mark := self._peek(_SPACE_AT_NAME)) != "}":
            if mark == ",":
                self._at += 1
                continue
            name = self._name(mark)
            if self._peek(_SPACE_AT_COLON if self._depth == 1 else _SPACE_AT_NAME) != ":":
                raise self._error("':'")
            self._at += 1
            value = self._value()
            pairs.append((name, value))
            if self._peek(_SPACE_AFTER_VALUE) not in {",", "}"}:
                self._pass_over_a_token(value)
        self._at += 1
        self._depth -= 1
        return self._make(pairs)

    def _pass_over_a_token(self, before: Any) -> None:
        is_possible = self._depth == 1 and before.__class__ is not list and before != self._make(Pairs())
        if is_possible and self._text[self._at : self._at + 1] in {'"', "'"}:
            self._string()
        elif is_possible and (stray := _STRAY.match(self._text, self._at)):
            self._at = stray.end()
        else:
            raise self._error("',' or '}'")

    def _name(self, mark: str) -> Any:
        if mark and mark in "\"'":
            return self._string()
        if mark == "{":
            return tuple(dict(self._object()).items())
        number = _NUMBER.match(self._text, self._at)
        if number:
            self._at = number.end()
            return Decimal(number[1]) if number[2] or number[3] else int(number[1])
        name = _NAME.match(self._text, self._at)
        if not name:
            raise self._error("a name")
        self._at = name.end()
        return name[0]

    def _list(self) -> list[Any]:
        result: list[Any] = []
        self._at += 1
        while (mark := self._peek()) != "]":
            if mark == ",":
                self._at += 1
                continue
            result.append(self._value())  # a missing comma is no fault here
        self._at += 1
        return result

    def _string(self) -> str:
        quote = self._text[self._at]
        plain = _PLAIN_IN[quote]
        self._at += 1
        parts: list[str] = []
        while (char := self._text[self._at : self._at + 1]) != quote:
            if not char:
                self._at += 1
                raise self._error("a closing quote")
            if char == "\\":
                self._at += 1
                parts.append(self._escape())
            elif found := plain.match(self._text, self._at):
                parts.append(found[0])
                self._at = found.end()
        self._at += 1
        return "".join(parts).encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")

    def _escape(self) -> str:
        char = self._text[self._at : self._at + 1]
        self._at += 1
        if char in _ESCAPES and char:
            return _ESCAPES[char]
        digits = {"u": 4, "x": 2}.get(char, 0)
        code = self._text[self._at : self._at + digits]
        self._at += digits
        if len(code) < max(digits, 1) or not _HEX.fullmatch(code):
            raise self._error("an escape")
        return chr(int(code, 16))

    def _error(self, wanted: str) -> FrameError:
        return FrameError("JSONException", f"{wanted} is missing at character {self._at}")


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
