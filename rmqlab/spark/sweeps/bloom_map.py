"""The bloom map as a sweep: cost with the switch and without over selectivity, groups and the expression's cost.

A cell is measured by our own stages (`rmqlab.lab.bloom.cell`) and, where a JDK and Maven are, by the real
broker's classes on the same records (`rmqlab.lab.bloom.java`). Counts are the same in every run; times are what
the machine gave, ours and Java's in one task, one after the other.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from rmqlab.lab.bloom.cell import PAIRS, measured_cell, messages_for
from rmqlab.lab.bloom.java import NAMES, RealBloom
from rmqlab.lab.bloom.workload import EXPRESSIONS, BloomBroker, Workload
from rmqlab.spark.sweeps.sweep import Sweep, grid

if TYPE_CHECKING:
    from collections.abc import Sequence

SELECTIVITIES: Final = (0.0, 0.05, 0.1, 0.25, 0.5, 0.75, 1.0)
GROUPS: Final = (1, 2, 4, 8, 16, 32, 64, 128)
EXPECTED: Final = 32
SEED: Final = 5
# The figures that come out the same in every run of a row; all others are times.
COUNTS: Final = frozenset({"messages", "matched", "passed", "false_hits", "false_rate", "theory_rate"})
# Java warms up by pairs of message and group, so that every cell runs compiled code.
_WARM_PAIRS: Final = 30 * PAIRS
_ROUNDS: Final = 5


def workload_of(seed: int, selectivity: float, groups: int, expression: str, expected: int) -> Workload:
    """The workload of a cell: messages with five user properties, groups with expressions of that selectivity."""
    return Workload(
        messages=messages_for(groups), groups=groups, selectivity=selectivity, expression=expression,
        user_properties=True, expected=expected, seed=seed,
    )  # fmt: skip


def measure(
    seed: int,
    selectivity: float,
    groups: int,
    expression: str,
    expected: int,
    real: bool,
) -> dict[str, Any]:
    """One cell: counts and times of ours; with ``real`` also of the real classes, their names beginning with `java_`.

    Raises `RealFilterMissingError` where the jars cannot be had.
    """
    workload = workload_of(seed, selectivity, groups, expression, expected)
    figures = measured_cell(workload)
    if not real:
        return figures
    broker = BloomBroker(workload, switch=False)
    broker.dispatch()
    with RealBloom() as java:
        warm_up = max(5, _WARM_PAIRS // (workload.messages * groups))
        told = java.measure(workload, broker.records(), warm_up, _ROUNDS).as_json()
    if (told["matched"], told["passed"]) != (figures["matched"], figures["passed"]):
        raise ValueError(f"the real filters match {told['matched']} and pass {told['passed']}, ours {figures}")
    return {**figures, **{f"java_{name}": told[name] for name in NAMES}}


def bloom_map(
    selectivities: Sequence[float] = SELECTIVITIES,
    groups: Sequence[int] = GROUPS,
    expressions: Sequence[str] = tuple(EXPRESSIONS),
    *,
    expected: int = EXPECTED,
    real: bool = True,
) -> Sweep:
    """The sweep over these axes; ``expected`` is the number of groups the broker is configured for."""
    rows = grid(selectivity=selectivities, groups=groups, expression=expressions, expected=[expected], real=[real])
    return Sweep("bloom-map", measure, rows, seed=SEED)
