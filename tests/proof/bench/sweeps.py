"""Sweeps against the plain Python loop and against bare cores.

Two cores of a machine need not do twice what one does: they may share a physical core, or other programs may run. So
`sweep-cores` (Spark on two cores against one) stands beside `sweep-ceiling` (two bare processes against one) and
`sweep-share` (Spark on two cores against two bare processes), and `sweep-task` asks what a run costs in CPU time.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import subprocess
import sys
import tempfile
from time import perf_counter, process_time
from typing import TYPE_CHECKING, Final

from rmqlab.spark.session import PACKAGE
from tests.proof.bench.benchmark import Benchmark, Measurement

if TYPE_CHECKING:
    from multiprocessing.queues import Queue
    from multiprocessing.synchronize import Barrier

    from pyspark.sql import SparkSession

    from rmqlab.spark.sweeps.results import SweepResult
    from rmqlab.spark.sweeps.sweep import Sweep

RUNS: Final = 200_000
PLAIN_RUNS: Final = 200
TASKS: Final = 8
CORES: Final = 2
PATIENCE_S: Final = 120  # for bare processes to be ready
ROW_RUNS, ROWS_WHOLE = 20, 32  # of the sweep through the whole core
_PLAIN = """
import json, sys
from time import process_time
from rmqlab.spark.sweeps.tag_group import GroupStart
from rmqlab.spark.sweeps.reduced_group import group_runs
runs = int(sys.argv[1])
begin = process_time()
total = int(group_runs(GroupStart(jitter=1.0), 1, 0, runs)[:, 1].sum())
print(json.dumps([process_time() - begin, total]))
"""


def model_runs(runs: int, first: int = 0) -> int:
    """So many runs of the reduced model in this process; what was delivered in all of them."""
    from rmqlab.spark.sweeps.reduced_group import group_runs
    from rmqlab.spark.sweeps.tag_group import GroupStart

    return int(group_runs(GroupStart(jitter=1.0), 1, first, runs)[:, 1].sum())


def compiled() -> Measurement:
    """Runs of the model on one core, in CPU time; the first of all compiles."""
    model_runs(1)
    begin = process_time()
    model_runs(RUNS)
    return RUNS, process_time() - begin


def plain() -> Measurement:
    """The same loop in plain Python: numba leaves it as it is.

    Raises:
        AssertionError: it found other figures than the compiled one.
    """
    environ = {**os.environ, "NUMBA_DISABLE_JIT": "1", "PYTHONPATH": str(PACKAGE.parent)}
    told = subprocess.run(  # noqa: S603 - our own interpreter
        [sys.executable, "-c", _PLAIN, str(PLAIN_RUNS)], env=environ, capture_output=True, text=True, check=True
    )
    seconds, total = json.loads(told.stdout)
    if total != model_runs(PLAIN_RUNS):
        raise AssertionError(f"plain Python delivers {total} messages, the compiled model {model_runs(PLAIN_RUNS)}")
    return PLAIN_RUNS, seconds


def _task(*, seed: int, first: int, runs: int) -> dict[str, float]:  # noqa: ARG001 - the model's seed is fixed here
    begin = process_time()
    return {"delivered": model_runs(runs, first), "cpu_s": process_time() - begin}


def _model_sweep() -> Sweep:
    from rmqlab.spark.sweeps.sweep import Sweep, grid

    return Sweep("bench", _task, grid(first=[number * 5 * RUNS for number in range(TASKS)], runs=[5 * RUNS]))


def _whole_sweep() -> Sweep:
    """Rows of one cost: a group of two, settled, through the whole core."""
    from rmqlab.spark.sweeps.sweep import Sweep, grid
    from rmqlab.spark.sweeps.whole_group import loss_whole

    rows = grid(
        members=[2], queues=[4], shared=[0], gap_ms=list(range(ROWS_WHOLE)), delay_us=[1_000], traffic=["settled"],
        runs=[ROW_RUNS],
    )  # fmt: skip
    return Sweep("bench-whole", loss_whole, rows)


def _swept(sweep: Sweep, session: SparkSession | None) -> tuple[SweepResult, float]:
    from rmqlab.spark.sweeps.running import run_sweep

    with tempfile.TemporaryDirectory(prefix="rmqlab-bench-") as kept:
        begin = perf_counter()
        result = run_sweep(sweep, kept, session=session)
        seconds = perf_counter() - begin
    if result.failed:
        raise AssertionError(f"{len(result.failed)} tasks of the sweep failed: {result.failed[0]['error']}")
    return result, seconds


def _session() -> SparkSession:
    from rmqlab.spark.session import open_session

    return open_session(f"local[{CORES}]")


def on_two_cores() -> Measurement:
    """A sweep of `TASKS` tasks on Spark, two at a time; the session is there, its workers start with the sweep."""
    result, seconds = _swept(_model_sweep(), _session())
    return sum(one["runs"] for one in result.good), seconds


def on_one_core() -> Measurement:
    """The same sweep in this process, without Spark."""
    result, seconds = _swept(_model_sweep(), None)
    return sum(one["runs"] for one in result.good), seconds


def in_tasks() -> Measurement:
    """Runs of that sweep by the CPU time of its tasks, two at a time: what other programs take does not count."""
    result, _ = _swept(_model_sweep(), _session())
    return sum(one["runs"] for one in result.good), sum(one["cpu_s"] for one in result.good)


def bare(processes: int) -> Measurement:
    """The runs of that sweep shared out among so many bare processes at once, without Spark, once all are ready."""
    context = multiprocessing.get_context("spawn")
    together, answers = context.Barrier(processes + 1), context.Queue()
    a_process = TASKS * 5 * RUNS // processes
    started = [
        context.Process(target=_bare, args=(a_process, number * a_process, together, answers), daemon=True)
        for number in range(processes)
    ]
    for one in started:
        one.start()
    together.wait(PATIENCE_S)
    begin = perf_counter()
    for _ in started:
        answers.get()
    seconds = perf_counter() - begin
    for one in started:
        one.join()
    return processes * a_process, seconds


def _bare(runs: int, first: int, together: Barrier, answers: Queue[int]) -> None:
    """What a bare process does: import and compile, wait for the others, run."""
    model_runs(1)
    together.wait(PATIENCE_S)
    answers.put(model_runs(runs, first))


def whole_on_two_cores() -> Measurement:
    """A sweep through the whole core on Spark, two rows at a time."""
    result, seconds = _swept(_whole_sweep(), _session())
    return len(result.good), seconds


def whole_in_a_loop() -> Measurement:
    """The same rows in a plain Python loop: no Spark, and nothing kept.

    Raises:
        AssertionError: a row failed.
    """
    from rmqlab.spark.sweeps.sweep import run_row

    sweep = _whole_sweep()
    begin = perf_counter()
    found = [run_row(sweep.run, row) for row in sweep.rows()]
    seconds = perf_counter() - begin
    if failed := [one for one in found if one.error is not None]:
        raise AssertionError(f"{len(failed)} rows failed: {failed[0].error}")
    return len(found), seconds


SWEEP_BENCHMARKS: Final = (
    Benchmark(
        "sweep-model", "the reduced model of a group, compiled, one core", "runs/s",
        "the same loop in plain Python", compiled, plain,
    ),
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
    Benchmark(
        "sweep-task", "a sweep on Spark, two tasks at a time, by the CPU time of the tasks", "runs/s",
        "the same runs in one process, by its CPU time", in_tasks, compiled, heavy=True,
    ),
    Benchmark(
        "sweep-whole", "a sweep through the whole core on Spark, two cores", "rows/s",
        "the same rows in a plain Python loop", whole_on_two_cores, whole_in_a_loop, heavy=True,
    ),
)  # fmt: skip
