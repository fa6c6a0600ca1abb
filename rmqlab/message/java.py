"""What Java does with text and numbers, where it shows in ids, hash codes, orders and bytes.

A Java string is a row of UTF-16 units; ours are Python strings, in which a lone surrogate may stand as itself. Lengths,
hash codes and comparisons here count UTF-16 units; bytes are made and read as `String.getBytes(UTF_8)` and
`new String(bytes, UTF_8)` of OpenJDK 17 do it.
"""

from __future__ import annotations

import codecs
from functools import lru_cache
from typing import TYPE_CHECKING, Annotated, TypeAlias, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

Key = TypeVar("Key", bound="str | None")
T = TypeVar("T")

# A field of a header or of JSON that is a `long` in Java; `int` is 32 bits there: the two refuse different numbers.
Long: TypeAlias = Annotated[int, 64]
INT_MIN, INT_MAX = -(1 << 31), (1 << 31) - 1
LONG_MIN, LONG_MAX = -(1 << 63), (1 << 63) - 1
_MASK32 = 0xFFFFFFFF
_BMP_END = 0xFFFF
_LONG_DIGITS = 19
_SURE_INT, _SURE_LONG = 9, 18  # so many digits always fit
_VARIED = 8
_REMEMBERED = 64
"""Longest text whose hash code is remembered: what others send must not fill the memory."""
_TRIMMED = "".join(map(chr, range(0x21)))
_TREEIFY_THRESHOLD = 8
_MIN_TREEIFY_CAPACITY = 64
_SMALLEST_TABLE = 16
# Character.isWhitespace: the Unicode separators without the three no-break spaces, and some control characters
_WHITESPACE = "\t\n\x0b\x0c\r\x1c\x1d\x1e\x1f\u0020\u1680\u2028\u2029\u205f\u3000" + "".join(
    chr(unit) for unit in range(0x2000, 0x200B) if unit != 0x2007
)


_SMALL = {str(number): number for number in range(-1, 256)}


class NumberFormatError(ValueError):
    """Text that Java's `Integer.parseInt` or `Long.parseLong` refuses."""


def signed(value: int, bits: int) -> int:
    """`value` as Java's arithmetic wraps it in `bits` bits: the low ones, signed."""
    half = 1 << bits - 1
    return (value + half) % (2 * half) - half


def to_int32(value: int) -> int:
    """`value` as Java's `(int)` cast gives it: the low 32 bits, signed."""
    return ((value + 0x80000000) & _MASK32) - 0x80000000


def to_int64(value: int) -> int:
    """`value` as Java's `(long)` arithmetic wraps it: the low 64 bits, signed."""
    return signed(value, 64)


def parse_int(text: str | None) -> int:
    """What `Integer.parseInt(text)` returns.

    Raises:
        NumberFormatError: where it throws.
    """
    if text in _SMALL:
        return _SMALL[text]
    if text is not None and len(text) <= _SURE_INT and text.isdecimal() and text.isascii():
        return int(text)
    return _parse(text, INT_MIN, INT_MAX)


def parse_long(text: str | None) -> int:
    """What `Long.parseLong(text)` returns.

    Raises:
        NumberFormatError: where it throws.
    """
    if text is not None and len(text) <= _SURE_LONG and text.isdecimal() and text.isascii():
        return int(text)
    return _parse(text, LONG_MIN, LONG_MAX)


def _parse(text: str | None, low: int, high: int) -> int:
    # Character.digit takes the decimal digits of every script, as int() does, but looks at single UTF-16 units
    digits = text[1:] if text is not None and text[:1] in {"+", "-"} else text
    if text is None or not digits or not digits.isdecimal() or max(digits) > chr(_BMP_END):
        raise NumberFormatError("null" if text is None else f'For input string: "{text}"')
    # int() refuses thousands of digits; all but the last may be zeros
    head, tail = digits[:-_LONG_DIGITS], digits[-_LONG_DIGITS:]
    value = -int(tail) if text[0] == "-" else int(tail)
    if not low <= value <= high or any(map(int, set(head))):
        raise NumberFormatError(f'For input string: "{text}"')
    return value


def parse_boolean(text: str | None) -> bool:
    """What `Boolean.parseBoolean(text)` returns: true for "true" in any case, else false."""
    return text is not None and text.lower() == "true"


def text_of(value: object) -> str:
    """`String.valueOf` of a text or number: "null" for None."""
    return "null" if value is None else str(value)


def boolean_text(value: bool) -> str:
    """The text "true" or "false"."""
    return "true" if value else "false"


def string_hash(text: str) -> int:
    """`String.hashCode()` of `text`, a signed 32-bit number over its UTF-16 units."""
    return _short_hash(text) if len(text) <= _REMEMBERED else _hash(utf16_units(text))


def hash_of_varied_end(text: str) -> int:
    """`string_hash(text)` for texts that differ in their last characters only: what comes before is remembered."""
    tail = text[-_VARIED:]
    if len(text) > _REMEMBERED or not tail.isascii():
        return string_hash(text)
    result = _short_hash(text[:-_VARIED])
    for unit in tail.encode():
        result = 31 * result + unit
    return to_int32(result)


@lru_cache(maxsize=8192)
def _short_hash(text: str) -> int:
    return _hash(text.encode() if text.isascii() else utf16_units(text))


def _hash(units: Iterable[int]) -> int:
    result = 0
    for unit in units:
        result = (31 * result + unit) & _MASK32
    return to_int32(result)


def utf16_units(text: str) -> list[int]:
    """The UTF-16 units of `text`: one for each character, two for those above U+FFFF."""
    units = [ord(char) for char in text]
    if not units or max(units) <= _BMP_END:
        return units
    raw = text.encode("utf-16-le", "surrogatepass")
    return [raw[i] | raw[i + 1] << 8 for i in range(0, len(raw), 2)]


def utf16_length(text: str) -> int:
    """`String.length()` of `text`."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2


def utf16_key(text: str) -> bytes:
    """A sort key that orders texts as `String.compareTo` does."""
    return text.encode("utf-16-be", "surrogatepass")


def to_utf8(text: str) -> bytes:
    """The UTF-8 bytes of `text`; every lone surrogate becomes "?", as in Java."""
    try:
        return text.encode()
    except UnicodeEncodeError:
        # two surrogates put side by side by concatenation are a pair in Java
        joined = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
        return joined.encode("utf-8", "replace")


def from_utf8(data: bytes | bytearray | memoryview) -> str:
    """The text of UTF-8 `data`; malformed bytes become U+FFFD at the places Java puts them."""
    return str(data, "utf-8", "rmqlab.java")


def _malformed(error: UnicodeError) -> tuple[str, int]:
    """Replace malformed bytes; Java takes a whole encoded surrogate as one fault, Python each byte of it."""
    if not isinstance(error, UnicodeDecodeError):
        raise error
    data, start = error.object, error.start
    if data[start] == 0xED and data[start + 1 : start + 2] >= b"\xa0" and _continues(data, start + 1):
        return "\ufffd", start + (3 if _continues(data, start + 2) else 2)
    return "\ufffd", error.end


def _continues(data: bytes, index: int) -> bool:
    return index < len(data) and data[index] & 0xC0 == 0x80


codecs.register_error("rmqlab.java", _malformed)


@lru_cache(maxsize=1024)
def camel_case(name: str) -> str:
    """A field's name as Java spells it.

    >>> camel_case("next_begin_offset")
    'nextBeginOffset'
    """
    first, *others = name.split("_")
    return first + "".join(map(str.capitalize, others))


def split(text: str, separator: str) -> list[str]:
    """`text.split(separator)` of Java for a literal `separator`: empty texts at the end are left out."""
    parts = text.split(separator)
    if len(parts) == 1:
        return parts
    while parts and not parts[-1]:
        parts.pop()
    return parts


def trim(text: str) -> str:
    """`String.trim()`: characters up to U+0020 taken off both ends."""
    return text.strip(_TRIMMED)


def is_blank(text: str | None) -> bool:
    """Whether `text` is null, empty or only whitespace (`UtilAll.isBlank`)."""
    return text is None or not text.strip(_WHITESPACE)


def hash_map_order(keys: Iterable[Key], capacity: int = 16) -> list[Key]:
    """`keys` in the order in which a `java.util.HashMap` they were put into iterates.

    `capacity` is the table length the map starts with (a power of two). A key put twice keeps its first place. Eight
    colliding keys and more in a table of 64 become a tree in Java; its order is not followed here.
    """
    return list(_order_of(tuple(keys), capacity))


def _order_of(names: tuple[Key, ...], capacity: int) -> tuple[Key, ...]:
    if len(names) < 2:
        return names
    if len(names) <= capacity and None not in names and len("".join(names)) <= _REMEMBERED * 2:  # type: ignore[arg-type]
        return _short_order(names, capacity)
    return _order(names, capacity)


def in_hash_map_order(table: Mapping[Key, T], capacity: int = 16) -> dict[Key, T]:
    """A table in the order in which a `java.util.HashMap` with its keys iterates, as real ones are written."""
    return {key: table[key] for key in _order_of(tuple(table), capacity)}


def in_number_map_order(table: Mapping[int, T]) -> dict[int, T]:
    """A table in the order of a `java.util.HashMap<Integer, ...>`."""
    # so small ones hash to places of their own
    are_small = not table or (min(table) >= 0 and max(table) < _SMALLEST_TABLE)
    order = sorted(table) if are_small else hash_set_order(table, int)
    return dict(zip(order, map(table.__getitem__, order), strict=True))


def hash_set_order(items: Iterable[T], hash_code: Callable[[T], int], capacity: int = 16) -> list[T]:
    """`items` in the order in which a `java.util.HashSet` made for `capacity` of them iterates; see above."""
    spread = {}
    for item in items:
        hashed = hash_code(item) & _MASK32
        spread[item] = hashed ^ hashed >> 16
    mask = _table_length(spread.values(), 1 << max(capacity - 1, 0).bit_length()) - 1
    return sorted(spread, key=lambda item: spread[item] & mask)


def _order(keys: tuple[Key, ...], capacity: int) -> tuple[Key, ...]:
    return tuple(hash_set_order(keys, _key_hash, capacity))


def _key_hash(key: str | None) -> int:
    return 0 if key is None else string_hash(key)


_short_order = lru_cache(maxsize=1024)(_order)


def _table_length(hashes: Iterable[int], length: int) -> int:
    """How a `HashMap`'s table grows: at three quarters full, and early when one bucket gets a ninth key."""
    put: list[int] = []
    for hashed in hashes:
        put.append(hashed)
        if len(put) > _TREEIFY_THRESHOLD and length < _MIN_TREEIFY_CAPACITY:
            mask = length - 1
            if sum((other ^ hashed) & mask == 0 for other in put) > _TREEIFY_THRESHOLD:
                length *= 2
        if len(put) * 4 > length * 3:
            length *= 2
    return length
