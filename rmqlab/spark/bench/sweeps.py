"""Sweeps against the plain Python loop and against one bare core, and the whole notebook suite on the clock."""

from __future__ import annotations

import json
import multiprocessing
import os
import subprocess
import sys
import tempfile
from concurrent.futures import ProcessPoolExecutor
from importlib import import_module
from pathlib import Path
from time import perf_counter, process_time
from typing import TYPE_CHECKING, Final

from rmqlab.checkout import folder
from rmqlab.lab.bench.benchmark import Benchmark, Measurement
from rmqlab.lab.bench.start import process
from rmqlab.spark.session import PACKAGE, SETTING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

RUNS: Final = 200_000
PLAIN_RUNS: Final = 200
TASKS: Final = 8
LIMIT_S: Final = 120
_PLAIN = """
import json, sys
from time import process_time
from rmqlab.spark.sweeps.reduced_group import GroupStart, group_runs
runs = int(sys.argv[1])
begin = process_time()
total = int(group_runs(GroupStart(jitter=1.0), 1, 0, runs)[:, 1].sum())
print(json.dumps([process_time() - begin, total]))
"""


class SuiteTooSlowError(AssertionError):
    """The notebooks took longer than they may."""


def model_runs(runs: int, first: int = 0) -> int:
    """So many runs of the reduced model in this process; what was delivered in all of them."""
    from rmqlab.spark.sweeps.reduced_group import GroupStart, group_runs

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


def _task(*, seed: int, first: int, runs: int) -> dict[str, int]:  # noqa: ARG001 - the model's seed is fixed here
    return {"delivered": model_runs(runs, first)}


def _swept(session: SparkSession | None) -> Measurement:
    from rmqlab.spark.sweeps.running import run_sweep
    from rmqlab.spark.sweeps.sweep import Sweep, grid

    a_task = 5 * RUNS
    sweep = Sweep("bench", _task, grid(first=[number * a_task for number in range(TASKS)], runs=[a_task]))
    with tempfile.TemporaryDirectory(prefix="rmqlab-bench-") as kept:
        begin = perf_counter()
        result = run_sweep(sweep, kept, session=session)
        seconds = perf_counter() - begin
    if len(result.good) != TASKS:
        raise AssertionError(f"{len(result.failed)} tasks of the sweep failed: {result.failed[0]['error']}")
    return TASKS * a_task, seconds


def on_two_cores() -> Measurement:
    """A sweep of `TASKS` tasks on Spark, two at a time."""
    from rmqlab.spark.session import open_session

    return _swept(open_session("local[2]"))


def on_one_core() -> Measurement:
    """The same sweep in this process, without Spark."""
    return _swept(None)


def notebook_suite(limit_s: float = LIMIT_S) -> Measurement:
    """Every lesson by papermill, two at a time, Spark's sessions on one Connect server; the server's start counts.

    Raises:
        SuiteTooSlowError: it took longer than `limit_s`.
    """
    from rmqlab.spark.servers import ConnectServer

    lessons = sorted(folder("notebooks").glob("*.ipynb"))
    # the longest ones first, or one of them runs alone at the end
    lessons.sort(key=lambda path: not path.name.startswith(("11", "13")))
    begin = perf_counter()
    context = multiprocessing.get_context("spawn")
    with ConnectServer("local[2]") as server, ProcessPoolExecutor(2, context) as pool:
        waiting = [pool.submit(_run_lesson, str(path), server.address) for path in lessons]
        for one in waiting:
            one.result()
    seconds = perf_counter() - begin
    if seconds > limit_s:
        raise SuiteTooSlowError(f"{len(lessons)} notebooks took {seconds:.0f} s; {limit_s:.0f} s are allowed")
    return 1.0, seconds


def _run_lesson(path: str, address: str) -> None:
    """What a process of the pool does with one notebook."""
    papermill = import_module("papermill")  # it has no types
    os.environ[SETTING] = address
    with tempfile.TemporaryDirectory(prefix="rmqlab-suite-") as written:
        papermill.execute_notebook(
            path, str(Path(written) / Path(path).name), cwd=str(Path(path).parent), kernel_name="python3",
            progress_bar=False, log_output=False,
        )  # fmt: skip


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
        "notebooks", "every lesson under papermill, two at a time, one Connect server", "s", "python -c pass",
        notebook_suite, lambda: process(sys.executable, "-c", "pass"), heavy=True,
    ),
)  # fmt: skip
