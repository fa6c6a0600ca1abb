"""JSON that is not plain: what fastjson 1.2.69 takes in headers, in files of `config/` and in what somebody pasted.

Names may be unquoted or in single quotes, commas as many as there are, comments and more escapes are allowed.
"""

from __future__ import annotations

import json
import re
from decimal import Decimal
from enum import Enum
from typing import Any, Final

from rmqlab.message.java import from_utf8
from rmqlab.protocol.fastjson import ODD_NAME, TEXT, Pairs, mark, read_decimal, refuse, with_odd_names
from rmqlab.protocol.header import FrameError

_BYTE_ORDER_MARK = "\ufeff"
_IGNORED = "".join(map(chr, range(0x21))) + "\x7f"


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
    """The value of a file of `config/`, or of JSON that somebody pasted.

    As fastjson 1.2.69 does with a whole text: one byte order mark in front, and control characters after the value,
    are passed over; so are single quotes, names without quotes and comments. A blank text is None.

    >>> read_file_text('{"offsetTable":{"T@G":{0:5}}}')
    {'offsetTable': {'T@G': {0: 5}}}

    Raises:
        TextDamage: where the text is damaged.
    """
    begin = len(text) - len(text.removeprefix(_BYTE_ORDER_MARK))
    body = text[begin:].rstrip(_IGNORED)
    if not body.strip():
        if text.strip():
            raise TextDamage(Damage.ZEROS, 0)
        return None
    try:
        return _LOOSE.decode(ODD_NAME.sub(mark, body))
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
    return body[position : position + 1] == '"' and re.match(TEXT, body[position:], re.DOTALL) is None


def _unmarked(text: str, position: int) -> int:
    """The place in a text of a place in the same text with its odd names marked."""
    longer = 0
    for match in ODD_NAME.finditer(text):
        start = match.start() + longer
        if position < start:
            break
        length = len(mark(match))
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
    """The value of a header's text with `Pairs` for every object.

    Raises:
        FrameError: what cannot be read.
    """
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


def _integer(text: str) -> int | Decimal:
    return Decimal(text) if text == "-0" else int(text)  # a text field keeps the sign


_LOOSE: Final = json.JSONDecoder(
    object_hook=with_odd_names, parse_float=read_decimal, parse_constant=refuse, strict=False
)
_PAIRED: Final = json.JSONDecoder(
    object_pairs_hook=Pairs,
    parse_float=read_decimal,
    parse_int=_integer,
    parse_constant=refuse,
)
_SINGLE_QUOTED = TEXT.replace('"', "'")
_NUMBER = r"[+-]?\d+(?:\.\d*)?(?:[eE][+-]?\d+)?[LSBFD]?"  # Java's letters for the type are passed over
_NAME = re.compile("[A-Za-z_$\u0100-\U0010ffff][A-Za-z0-9_$\u0100-\U0010ffff]*")
_TOKEN = re.compile(
    r"(?:[\x00-\x20\x7f]|/\*.*?(?:\*/|\Z)|//[^\n]*)*"
    rf"({TEXT}|{_SINGLE_QUOTED}|{_NUMBER}|{_NAME.pattern}|.|\Z)",
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
            return int(number) if number.lstrip("+-").isdecimal() else read_decimal(number)
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
