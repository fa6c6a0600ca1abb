"""Java's values: numbers read and printed (`Integer`, `Long`, `Double`), and what happens when two values meet.

Comparing converts first and then asks Java's `compareTo` (`ComparisonExpression`).
"""

from __future__ import annotations

import operator
import re
import struct
from typing import TYPE_CHECKING, Final

from rmqlab.filter.sql92.double_text import double_to_text
from rmqlab.filter.sql92.errors import (
    JavaError,
    class_cast_error,
    number_format_error,
    runtime_error,
    runtime_error_from,
)
from rmqlab.message import java
from rmqlab.message.java import INT_MAX, LONG_MAX, NumberFormatError, parse_boolean, parse_int, trim, utf16_key

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

MIN_DOUBLE_TEXT: Final = "4.9E-324"
MAX_DOUBLE_TEXT: Final = "1.7976931348623157E308"
_DECIMAL = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?[fFdD]?")
_HEX = re.compile(r"([+-]?0[xX](?:[0-9a-fA-F]+\.?|[0-9a-fA-F]*\.[0-9a-fA-F]+)[pP][+-]?[0-9]+)[fFdD]?")
_NAMED = re.compile(r"[+-]?(?:NaN|Infinity)")
_TWO_POINTS = re.compile(r"[+-]?[0-9]*\.[0-9]*\.")
_LONGEST = 19  # digits of Long.MAX_VALUE
_QUICK = 9  # digits that always fit into an Integer


class Long(int):
    """A `java.lang.Long`: another class than `Integer`, which is a plain int here, though equal in value."""

    __slots__ = ()


Value = bool | int | Long | float | str | None
Known = bool | int | float | str  # a value that is there; Long is an int
COMPARISON_TESTS: Final[Mapping[str, Callable[[int, int], bool]]] = {
    ">": operator.gt,
    ">=": operator.ge,
    "<": operator.lt,
    "<=": operator.le,
}


def parse_integer(text: str) -> int:
    """`Integer.valueOf(text)`.

    Raises:
        NumberFormatException: a text that is no number.
    """
    if len(text) <= _QUICK and text.isascii() and text.isdigit():
        return int(text)
    try:
        return parse_int(text)
    except NumberFormatError as error:
        raise number_format_error(str(error)) from error


def parse_long(text: str) -> Long:
    """`Long.valueOf(text)`.

    Raises:
        NumberFormatException: a text that is no number.
    """
    try:
        return Long(java.parse_long(text))
    except NumberFormatError as error:
        raise number_format_error(str(error)) from error


def parse_double(text: str) -> float:
    """`Double.valueOf(text)`: trimmed, ASCII digits, hex floats, a trailing f or d, NaN and Infinity.

    Raises:
        NumberFormatException: a text that is no number.
    """
    trimmed = trim(text)
    if _DECIMAL.fullmatch(trimmed):
        return float(trimmed.rstrip("fFdD"))
    if _NAMED.fullmatch(trimmed):
        return float(trimmed)
    hexadecimal = _HEX.fullmatch(trimmed)
    if hexadecimal:
        return _from_hex(hexadecimal[1])
    if not trimmed:
        raise number_format_error("empty String")
    raise number_format_error("multiple points" if _TWO_POINTS.match(trimmed) else f'For input string: "{trimmed}"')


def decimal_literal(image: str) -> int:
    """The value of a decimal literal: `Integer` when it fits, else `Long`.

    Raises:
        NumberFormatException: one beyond `Long`.
    """
    digits = image.rstrip("lL")
    if len(digits) > _LONGEST or int(digits) > LONG_MAX:
        raise number_format_error(f'For input string: "{digits}"')
    value = int(digits)
    return value if value <= INT_MAX else Long(value)


def float_literal(image: str) -> float:
    """The value of a floating point literal.

    Raises:
        RuntimeException: beyond `Double`; 4.8.0 refuses zero as well, as smaller than `Double.MIN_VALUE`.
    """
    value = float(image)
    if value == float("inf"):
        raise runtime_error(f"{image} is greater than {MAX_DOUBLE_TEXT}")
    if value == 0.0:
        raise runtime_error(f"{image} is less than {MIN_DOUBLE_TEXT}")
    return value


def java_text(value: Value) -> str:
    """`String.valueOf(value)` of Java."""
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case float():
            return double_to_text(value)
    return str(value)


def class_name(value: Value) -> str:
    """The Java class of a value, for people."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "Boolean"
    if isinstance(value, int):
        return "Long" if isinstance(value, Long) else "Integer"
    return "Double" if isinstance(value, float) else "String"


def _from_hex(text: str) -> float:
    try:
        return float.fromhex(text)
    except OverflowError:
        return float("-inf" if text[0] == "-" else "inf")


def compare(left: Known, right: Known) -> int:
    """A number below, at or above 0, as 4.8.0's `__compare` does with string conversion on.

    A text is converted to the other side's class; numbers go up from Integer over Long to Double; anything else
    of two classes is -1.

    Raises:
        RuntimeException: a text that cannot be converted (around the `NumberFormatException`).
        ClassCastException: a Boolean at the left of a text.
    """
    if isinstance(left, str) != isinstance(right, str):
        left, right = _convert(left, right)
    if isinstance(left, bool) or isinstance(right, bool):
        return left - right if isinstance(left, bool) and isinstance(right, bool) else -1
    if isinstance(left, str) or isinstance(right, str):
        return _order(utf16_key(str(left)), utf16_key(str(right)))
    if isinstance(left, float) or isinstance(right, float):
        return compare_doubles(float(left), float(right))
    return _order(left, right)


def compare_doubles(left: float, right: float) -> int:
    """`Double.compare`: NaN is equal to itself and above everything, -0.0 is below 0.0."""
    if left < right:
        return -1
    if left > right:
        return 1
    return _order(_rank(left), _rank(right))


def is_ordered(symbol: str, left: Value, right: Value) -> bool | None:
    """Answer `left symbol right` for `>`, `>=`, `<`, `<=`; null when a side is null.

    Two texts are compared as doubles. Raises as `compare`.
    """
    if left is None or right is None:
        return None
    if isinstance(left, str) and isinstance(right, str):
        try:
            left, right = parse_double(left), parse_double(right)
        except JavaError as error:
            text = f"It's illegal to compare string by '>=', '>', '<', '<='. lv={left}, rv={right}"
            raise runtime_error_from(error, text) from error
    return COMPARISON_TESTS[symbol](compare(left, right), 0)


def is_equal(left: Value, right: Value) -> bool | None:
    """Answer `left = right`: null when only the left is null, false when only the right is, true when both are."""
    if left is None:
        return True if right is None else None
    if right is None:
        return False
    return compare(left, right) == 0


def _convert(left: Known, right: Known) -> tuple[Known, Known]:
    if isinstance(left, str):
        return _as_class_of(right, left), right
    if isinstance(left, bool):
        # 4.8.0 casts the Boolean itself to a String here, which cannot work.
        raise class_cast_error()
    return left, _as_class_of(left, str(right))


def _as_class_of(sample: Known, text: str) -> Known:
    if isinstance(sample, bool):
        return parse_boolean(text)
    try:
        if isinstance(sample, float):
            return parse_double(text)
        return parse_long(text) if isinstance(sample, Long) else parse_integer(text)
    except JavaError as error:
        raise runtime_error_from(error) from error


def _rank(number: float) -> int:
    """Put what neither < nor > distinguishes into order: -0.0, the numbers, NaN."""
    if number != number:  # noqa: PLR0124 - NaN
        return 1
    return -1 if number == 0 and struct.pack(">d", number)[0] else 0


def _order(left: int | bytes, right: int | bytes) -> int:
    return (left > right) - (left < right)  # type: ignore[operator]
