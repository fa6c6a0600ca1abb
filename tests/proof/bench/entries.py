"""Every benchmark of the laboratory, by name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.proof.bench import core, doctor, explore, fuzz, hours, plan, serve, start, verbs

if TYPE_CHECKING:
    from tests.proof.bench.benchmark import Benchmark


def benchmarks() -> dict[str, Benchmark]:
    """All benchmarks of the laboratory by name, in the order in which they are run."""
    kinds = (core, explore, hours, plan, start, verbs, serve, doctor, fuzz)
    return {benchmark.name: benchmark for kind in kinds for benchmark in kind.BENCHMARKS}
