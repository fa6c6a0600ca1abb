"""How often a bloom filter says "may match" wrongly: by theory, and counted with the filter itself."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from rmqlab.errors import BadInput
from rmqlab.filter.bloom import BitsArray

if TYPE_CHECKING:
    from rmqlab.filter.bloom import BloomFilter

STRANGERS = 400  # groups that did not match, asked in each trial
TRIALS = 12
MAX_GROUPS = 2_000


class Rate(NamedTuple):
    """With so many matching groups: the share of false hits by theory, and as counted."""

    groups: int
    theory: float
    counted: float


def theory(bloom: BloomFilter, groups: int) -> float:
    """The textbook's rate after ``groups`` keys: the chance that all k bits of a stranger are set by them."""
    return float((1 - (1 - 1 / bloom.m) ** (bloom.k * groups)) ** bloom.k)


@lru_cache(maxsize=512)
def counted(bloom: BloomFilter, groups: int, trials: int = TRIALS) -> float:
    """The share of strangers whose bits are all set, over ``trials`` sets of matching groups with names of their own.

    Raises:
        BadInput: a number of groups that would take too long.
    """
    if not 0 <= groups <= MAX_GROUPS:
        raise BadInput(f"groups is {groups}; it must lie between 0 and {MAX_GROUPS}")
    hits = 0
    for trial in range(trials):
        bits = BitsArray.of_length(bloom.m)
        for number in range(groups):
            bloom.hash_to(f"CID_{trial}_{number}#SqlFilterTest", bits)
        hits += sum(bloom.is_hit(f"OTHER_{trial}_{number}#SqlFilterTest", bits) for number in range(STRANGERS))
    return hits / (trials * STRANGERS)


def rates(bloom: BloomFilter, groups: tuple[int, ...], trials: int = TRIALS) -> list[Rate]:
    """Both rates for each number of matching groups."""
    return [Rate(number, theory(bloom, number), counted(bloom, number, trials)) for number in groups]
