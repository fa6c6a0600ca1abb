"""Mutated frames by the million: how fast a broker deals with them, and that none of its rules fails."""

from __future__ import annotations

from itertools import count
from random import Random
from time import perf_counter
from typing import Final

from tests.proof.bench.benchmark import Benchmark, Measurement
from tests.proof.real.clusters import BenchError
from tests.proof.stress.frame_fuzz import fuzz, mutated, recorded_requests

FRAMES: Final = 250_000
_seeds = count(1)


def _taken() -> Measurement:
    """Every turn has a seed of its own. Raises BenchError when a rule failed."""
    seed = next(_seeds)
    begin = perf_counter()
    result = fuzz(FRAMES, seed)
    taken = perf_counter() - begin
    if result.wrong:
        raise BenchError(f"seed {seed}: {len(result.wrong)} rules failed: {result.wrong.most_common(3)}")
    return result.frames, taken


def _made() -> Measurement:
    """Make as many and give them to nobody."""
    requests, choose = recorded_requests(), Random(0)
    begin = perf_counter()
    for _ in range(FRAMES):
        mutated(choose.choice(requests), choose, requests)
    return FRAMES, perf_counter() - begin


BENCHMARKS: Final = (
    Benchmark(
        "fuzz", "mutated frames given to a broker and a name server, none of whose rules may fail", "frames/s",
        "making them", _taken, _made,
    ),
)  # fmt: skip
