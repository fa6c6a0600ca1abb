"""A figure that was measured several times: its median, and between which values it lies."""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING, NamedTuple, Self

if TYPE_CHECKING:
    from collections.abc import Sequence


class Interval(NamedTuple):
    """The median, a lower and an upper bound.

    With the lowest and the highest of n values as bounds the median of all values that there could be lies outside with
    a chance of 2 in 2^n: 6 % for five. Example: ``str(Interval.of([3.0, 2.5, 4.0]))`` is ``3.00 (2.50 to 4.00)``.
    """

    median: float
    low: float
    high: float

    @classmethod
    def of(cls, values: Sequence[float], *, outer: int = 0) -> Self:
        """From measured values; ``outer`` of them are left out at either end."""
        ordered = sorted(values)[outer : len(values) - outer]
        return cls(median(ordered), ordered[0], ordered[-1])

    def scaled(self, factor: float) -> Interval:
        """Times a factor of 0 or more."""
        return Interval(*(factor * bound for bound in self))

    def plus(self, more: float) -> Interval:
        """With the same added to each."""
        return Interval(*(bound + more for bound in self))

    def below(self, limit: float) -> bool:
        """Whether all of it lies below."""
        return self.high < limit

    def above(self, limit: float) -> bool:
        """Whether all of it lies above."""
        return self.low > limit

    def __str__(self) -> str:
        """The median with two decimals, and the bounds in brackets."""
        return f"{self.median:.2f} ({self.low:.2f} to {self.high:.2f})"
