"""Benchmarks: a rate or a time beside a reference that is measured in the same run, turn by turn, with the spread.

A number of events a second says little, since machines differ and are busy with other things. So every benchmark has
a reference that does the least that could do (a bare scheduler, ``python -c pass``, reading the file): both are
measured in turns, and their ratio is what can be compared from machine to machine and from version to version.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING, Any

from rmqlab.errors import BadInput, there_are

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

RUNS = 5

Measurement = tuple[float, float]  # how much was done, in how many seconds


@dataclass(frozen=True, slots=True)
class Benchmark:
    """What is measured: ``measure`` and ``reference`` each do it once and tell how much was done in what time.

    ``unit`` is what the value counts: a rate "…/s" (more is better) or the time of one, "ms" or "s" (less is better);
    with "MB" that much memory stands in the place of the seconds (less is better). A ``heavy`` one takes minutes: it is
    run only when it is named, and in one turn.
    """

    name: str
    about: str
    unit: str
    reference_name: str
    measure: Callable[[], Measurement]
    reference: Callable[[], Measurement]
    heavy: bool = False


@dataclass(frozen=True, slots=True)
class BenchResult:
    """Medians of ``runs`` turns with the lowest and the highest; ``ratio`` is value / reference."""

    benchmark: Benchmark
    value: float
    low: float
    high: float
    reference: float
    ratio: float
    ratio_low: float
    ratio_high: float
    runs: int

    def as_json(self) -> dict[str, Any]:
        """Value, unit, what it is a ratio to, spread, runs; the ratio with its own spread."""
        return {
            "value": self.value,
            "unit": self.benchmark.unit,
            "ratio_to": self.benchmark.reference_name,
            "low": self.low,
            "high": self.high,
            "runs": self.runs,
            "reference": self.reference,
            "ratio": self.ratio,
            "ratio_low": self.ratio_low,
            "ratio_high": self.ratio_high,
        }


def run_benchmark(benchmark: Benchmark, runs: int = RUNS) -> BenchResult:
    """Measure in turns: reference, benchmark, reference, benchmark, ..., after one turn of each that does not count.

    A heavy benchmark has one turn, and it counts.
    """
    figure = _figure_of(benchmark.unit)
    values: list[float] = []
    references: list[float] = []
    first = 0 if benchmark.heavy else 1
    runs = 1 if benchmark.heavy else runs
    for turn in range(first + runs):
        reference = figure(*benchmark.reference())
        value = figure(*benchmark.measure())
        if turn >= first:
            references.append(reference)
            values.append(value)
    ratios = [value / reference for value, reference in zip(values, references, strict=True)]
    return BenchResult(
        benchmark,
        median(values),
        min(values),
        max(values),
        median(references),
        median(ratios),
        min(ratios),
        max(ratios),
        runs,
    )


def _figure_of(unit: str) -> Callable[[float, float], float]:
    if unit.endswith("/s"):
        return lambda done, seconds: done / seconds
    scale = {"ms": 1000.0, "s": 1.0, "MB": 1.0}[unit]
    return lambda done, seconds: scale * seconds / done


def chosen(names: Sequence[str], known: Mapping[str, Benchmark]) -> list[Benchmark]:
    """The benchmarks named, or all but the heavy ones; `spark-filter` stands for every `spark-filter-...`.

    Raises:
        BadInput: a name that is none of a benchmark.
    """
    benchmarks: dict[str, Benchmark] = {}
    for name in names:
        meant = [name] if name in known else [entry for entry in known if entry.startswith(f"{name}-")]
        if not meant:
            raise BadInput(f"no benchmark {name!r}{there_are(name, known)} (--list names all)")
        benchmarks |= {entry: known[entry] for entry in meant}
    return list(benchmarks.values()) if names else [benchmark for benchmark in known.values() if not benchmark.heavy]
