"""The whole notebook suite on the clock: every lesson under papermill, on two cores."""

from __future__ import annotations

import multiprocessing
import os
import sys
from concurrent.futures import ProcessPoolExecutor
from importlib import import_module
from pathlib import Path
from time import perf_counter
from typing import Final

from rmqlab.checkout import checkout_path
from rmqlab_tools.spark.session import ADDRESS_SETTING
from tests.proof.bench.benchmark import Benchmark, Measurement
from tests.proof.bench.start import process
from tests.proof.class_archive import make_archive
from tests.proof.notebook_files import kernel_environment
from tests.proof.warm_kernels import use_warm_kernels, warm_kernels

LIMIT_S: Final = 120
AT_ONCE: Final = 3  # one more than there are cores: a lesson waits for a JVM or a broker now and then
# The longest ones first, or one of them runs alone at the end. Those that begin need no Connect server, which starts
# meanwhile; one waits most of its time for a broker.
FIRST: Final = ("14", "08", "10", "11", "12", "15", "05", "01", "09", "06", "07", "04")


class SuiteTooSlowError(AssertionError):
    """The notebooks took longer than they may."""


def lessons() -> list[Path]:
    """The lessons in the order in which they run."""
    paths = sorted(checkout_path("notebooks").glob("*.ipynb"))
    places = {number: place for place, number in enumerate(FIRST)}
    return sorted(paths, key=lambda path: places.get(path.name[:2], len(places)))


def notebook_suite(limit_s: float = LIMIT_S) -> Measurement:
    """Every lesson by papermill, Spark's sessions on one Connect server; its start counts.

    The archive of Spark's classes is made before the clock starts: that happens once on a machine.

    Raises:
        SuiteTooSlowError: it took longer than `limit_s`.
    """
    from tests.proof.spark_servers import ConnectServer

    make_archive()
    paths = lessons()
    begin = perf_counter()
    with (
        kernel_environment() as environ,
        warm_kernels(environ),
        ProcessPoolExecutor(AT_ONCE, multiprocessing.get_context("spawn"), _begin, (environ,)) as pool,
    ):
        waiting = [pool.submit(_run_lesson, str(path), "") for path in paths[:AT_ONCE]]
        with ConnectServer("local[2]") as server:
            waiting += [pool.submit(_run_lesson, str(path), server.address) for path in paths[AT_ONCE:]]
            for future in waiting:
                future.result()
    seconds = perf_counter() - begin
    if seconds > limit_s:
        raise SuiteTooSlowError(f"{len(paths)} notebooks took {seconds:.0f} s; {limit_s:.0f} s are allowed")
    return 1.0, seconds


def _begin(environ: dict[str, str]) -> None:
    """What a process of the pool does first."""
    os.environ.update(environ)
    use_warm_kernels()


def _run_lesson(path: str, address: str) -> None:
    """What a process of the pool does with one notebook."""
    papermill = import_module("papermill")  # it has no types
    if address:
        os.environ[ADDRESS_SETTING] = address
    # Without a path to write to: papermill would write the notebook anew before and after each cell.
    papermill.execute_notebook(
        path, None, cwd=str(Path(path).parent), kernel_name="python3", progress_bar=False, log_output=False
    )


NOTEBOOK_BENCHMARKS: Final = (
    Benchmark(
        "notebooks", f"every lesson under papermill, {AT_ONCE} at a time, kernels forked, one Connect server", "s",
        "python -c pass", notebook_suite, lambda: process(sys.executable, "-c", "pass"), heavy=True,
    ),
)  # fmt: skip
