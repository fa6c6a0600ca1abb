"""Java's numbers as texts become them and as they become texts: `Integer`, `Long`, `Double`."""

from __future__ import annotations

import re
from typing import Final

from rmqlab.filter.sql92.double_text import double_to_text
from rmqlab.filter.sql92.errors import number_format_error, runtime_error
from rmqlab.message import java
from rmqlab.message.java import INT_MAX, LONG_MAX, NumberFormatError, parse_int, trim

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


def parse_integer(text: str) -> int:
    """Give `Integer.valueOf(text)`. Raises the `NumberFormatException`."""
    if len(text) <= _QUICK and text.isascii() and text.isdigit():
        return int(text)
    try:
        return parse_int(text)
    except NumberFormatError as error:
        raise number_format_error(str(error)) from error


def parse_long(text: str) -> Long:
    """Give `Long.valueOf(text)`. Raises the `NumberFormatException`."""
    try:
        return Long(java.parse_long(text))
    except NumberFormatError as error:
        raise number_format_error(str(error)) from error


def parse_double(text: str) -> float:
    """Give `Double.valueOf(text)`: trimmed, ASCII digits, hex floats, a trailing f or d, NaN and Infinity.

    Raises the `NumberFormatException`.
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
    """Give the value of a decimal literal: `Integer` when it fits, else `Long`.

    Raises the `NumberFormatException` of one beyond `Long`.
    """
    digits = image.rstrip("lL")
    if len(digits) > _LONGEST or int(digits) > LONG_MAX:
        raise number_format_error(f'For input string: "{digits}"')
    value = int(digits)
    return value if value <= INT_MAX else Long(value)


def float_literal(image: str) -> float:
    """Give the value of a floating point literal.

    Raises a `RuntimeException` beyond `Double`; 4.8.0 refuses zero as well, as smaller than `Double.MIN_VALUE`.
    """
    value = float(image)
    if value == float("inf"):
        raise runtime_error(f"{image} is greater than {MAX_DOUBLE_TEXT}")
    if value == 0.0:
        raise runtime_error(f"{image} is less than {MIN_DOUBLE_TEXT}")
    return value


def java_text(value: Value) -> str:
    """Give `String.valueOf(value)` of Java."""
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case float():
            return double_to_text(value)
    return str(value)


def class_name(value: Value) -> str:
    """Give the Java class of a value, for people."""
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
