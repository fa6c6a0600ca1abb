"""Sweeps of a group through the whole core against bare cores.

Two cores of a machine need not do twice what one does: they may share a physical core, or other programs may run. So
`sweep-cores` (Spark on two cores against one) stands beside `sweep-ceiling` (two bare processes against one) and
`sweep-share` (Spark on two cores against two bare processes).
"""

from __future__ import annotations

import multiprocessing
import tempfile
from time import perf_counter
from typing import TYPE_CHECKING, Any, Final

from tests.proof.bench.benchmark import Benchmark, Measurement

if TYPE_CHECKING:
    from multiprocessing.queues import Queue
    from multiprocessing.synchronize import Barrier

    from pyspark.sql import SparkSession

    from rmqlab_tools.spark.sweeps.results import SweepResult
    from rmqlab_tools.spark.sweeps.sweep import Sweep

RUNS: Final = 80  # of a task
TASKS: Final = 8
CORES: Final = 2
PATIENCE_S: Final = 120  # for bare processes to be ready
GROUP: Final[dict[str, Any]] = {
    "members": 2,
    "queues": 4,
    "shared": 0,
    "gap_ms": 1_000,
    "delay_us": 1_000,
    "traffic": "settled",
}


def group_runs(runs: int, first: int = 0) -> int:
    """So many runs of a group of two through the whole core in this process; what was lost in all of them."""
    from rmqlab_tools.course.sweeps_12 import loss_run

    return sum(fate.lost for number in range(first, first + runs) for fate in loss_run(1, number, **GROUP).fates)


def _task(*, seed: int, first: int, runs: int) -> dict[str, float]:  # noqa: ARG001 - the numbers of the runs are their seeds
    return {"lost": group_runs(runs, first)}


def _sweep() -> Sweep:
    from rmqlab_tools.spark.sweeps.sweep import Sweep, grid

    return Sweep("bench", _task, grid(first=[number * RUNS for number in range(TASKS)], runs=[RUNS]))


def _swept(sweep: Sweep, session: SparkSession | None) -> tuple[SweepResult, float]:
    from rmqlab_tools.spark.sweeps.runner import run_sweep

    with tempfile.TemporaryDirectory(prefix="rmqlab-bench-") as kept:
        begin = perf_counter()
        result = run_sweep(sweep, kept, session=session)
        seconds = perf_counter() - begin
    if result.failed:
        raise AssertionError(f"{len(result.failed)} tasks of the sweep failed: {result.failed[0]['error']}")
    return result, seconds


def _session() -> SparkSession:
    from rmqlab_tools.spark.session import open_session

    return open_session(f"local[{CORES}]")


def on_two_cores() -> Measurement:
    """A sweep of `TASKS` tasks on Spark, two at a time; the session is there, its workers start with the sweep."""
    result, seconds = _swept(_sweep(), _session())
    return sum(row["runs"] for row in result.good), seconds


def on_one_core() -> Measurement:
    """The same sweep in this process, without Spark."""
    result, seconds = _swept(_sweep(), None)
    return sum(row["runs"] for row in result.good), seconds


def bare(processes: int) -> Measurement:
    """The runs of that sweep shared out among so many bare processes at once, without Spark, once all are ready."""
    context = multiprocessing.get_context("spawn")
    together, answers = context.Barrier(processes + 1), context.Queue()
    a_process = TASKS * RUNS // processes
    started = [
        context.Process(target=_bare, args=(a_process, number * a_process, together, answers), daemon=True)
        for number in range(processes)
    ]
    for process in started:
        process.start()
    together.wait(PATIENCE_S)
    begin = perf_counter()
    for _ in started:
        answers.get()
    seconds = perf_counter() - begin
    for process in started:
        process.join()
    return processes * a_process, seconds


def _bare(runs: int, first: int, together: Barrier, answers: Queue[int]) -> None:
    """What a bare process does: import, wait for the others, run."""
    group_runs(1)
    together.wait(PATIENCE_S)
    answers.put(group_runs(runs, first))


SWEEP_BENCHMARKS: Final = (
    Benchmark(
        "sweep-cores", "a sweep on Spark, two cores", "runs/s", "the same sweep in this process, one core, no Spark",
        on_two_cores, on_one_core, heavy=True,
    ),
    Benchmark(
        "sweep-ceiling", "two bare processes with half of these runs each, at once", "runs/s",
        "one bare process with all of them", lambda: bare(CORES), lambda: bare(1), heavy=True,
    ),
    Benchmark(
        "sweep-share", "a sweep on Spark, two cores", "runs/s", "two bare processes at once: this machine's ceiling",
        on_two_cores, lambda: bare(CORES), heavy=True,
    ),
)  # fmt: skip
