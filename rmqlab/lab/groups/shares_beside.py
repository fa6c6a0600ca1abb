"""Shares that two ways of running a group deliver, side by side: means over runs, and whether they differ by chance.

Messages of one run share its fate, so runs are what is counted, not messages: the interval of a mean is that of a
sample of runs (1.96 standard errors on either side).
"""

from __future__ import annotations

from math import sqrt
from typing import TYPE_CHECKING, Any, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

SURE: Final = 1.96  # standard errors on either side of a mean: 95 of 100 such intervals hold the true one


class Mean(NamedTuple):
    """A mean share of ``runs`` runs, and half of the width of its interval."""

    share: float
    half: float
    runs: int


class Beside(NamedTuple):
    """The same cell by the whole core and by the reduced model."""

    whole: Mean
    model: Mean

    @property
    def difference(self) -> float:
        """Whole less model."""
        return self.whole.share - self.model.share

    @property
    def agrees(self) -> bool:
        """Whether the difference lies within 95 of 100 differences that chance alone makes."""
        return abs(self.difference) <= sqrt(self.whole.half**2 + self.model.half**2) + 1e-12


def mean_of(counts: Sequence[int], sent: int) -> Mean:
    """The mean of runs of which ``counts[n]`` delivered ``n`` of the ``sent`` messages."""
    runs = sum(counts)
    mean = sum(number * count for number, count in enumerate(counts)) / runs
    spread = sum(count * (number - mean) ** 2 for number, count in enumerate(counts)) / max(1, runs - 1)
    return Mean(mean / sent, SURE * sqrt(spread / runs) / sent, runs)


def histogram(each: Sequence[int], sent: int) -> list[int]:
    """How many runs delivered 0, 1, 2, ... ``sent`` messages."""
    found = [0] * (sent + 1)
    for delivered in each:
        found[delivered] += 1
    return found


def beside(record: Mapping[str, Any]) -> Beside:
    """Both means of a row of the sweep `loss_whole`: its runs by the whole core, and those of the model."""
    sent = record["sent"]
    return Beside(mean_of(histogram(record["each"], sent), sent), mean_of(record["model_each"], sent))
