"""What happens when two values meet: conversions first, then Java's `compareTo` (4.8.0 `ComparisonExpression`)."""

from __future__ import annotations

import operator
import struct
from typing import TYPE_CHECKING, Final

from rmqlab.filter.sql92.errors import JavaError, class_cast_error, runtime_error_from
from rmqlab.filter.sql92.numbers import Long, parse_double, parse_integer, parse_long
from rmqlab.message.java import parse_boolean, utf16_key

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from rmqlab.filter.sql92.numbers import Value

Known = bool | int | float | str  # a value that is there; Long is an int
ANSWERS: Final[Mapping[str, Callable[[int, int], bool]]] = {
    ">": operator.gt,
    ">=": operator.ge,
    "<": operator.lt,
    "<=": operator.le,
}


def compare(left: Known, right: Known) -> int:
    """Give a number below, at or above 0, as 4.8.0's `__compare` does with string conversion on.

    A text is converted to the other side's class; numbers go up from Integer over Long to Double; anything else
    of two classes is -1. Raises a `RuntimeException` around the `NumberFormatException` of a text that cannot
    be converted, and the `ClassCastException` of a Boolean at the left of a text.
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
    """Give `Double.compare`: NaN is equal to itself and above everything, -0.0 is below 0.0."""
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
    return ANSWERS[symbol](compare(left, right), 0)


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
    """Put what neither < nor > tells apart into order: -0.0, the numbers, NaN."""
    if number != number:  # noqa: PLR0124 - NaN
        return 1
    return -1 if number == 0 and struct.pack(">d", number)[0] else 0


def _order(left: int | bytes, right: int | bytes) -> int:
    return (left > right) - (left < right)  # type: ignore[operator]
