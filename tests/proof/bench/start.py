"""How long one waits for a beginning: importing the package, and the table of ./lab reproduce."""

from __future__ import annotations

import os
import subprocess
import sys
from time import perf_counter
from typing import TYPE_CHECKING

from rmqlab.checkout import ROOT
from tests.proof.bench.benchmark import Benchmark, Measurement

if TYPE_CHECKING:
    from collections.abc import Callable

IMPORT = "import rmqlab, rmqlab_tools.cli.cli"


def process(*command: str) -> Measurement:
    """Run a program to its end; its output is not shown.

    Raises:
        subprocess.CalledProcessError: it ended with another status than 0.
    """
    begin = perf_counter()
    subprocess.run(command, check=True, capture_output=True, cwd=ROOT)  # noqa: S603 - our own interpreter and script
    return 1.0, perf_counter() - begin


def _python(code: str) -> Callable[[], Measurement]:
    return lambda: process(sys.executable, "-c", code)


def reproduce_command() -> list[str]:
    """How a person asks for the table: ./lab when it is set up, else this interpreter."""
    if (ROOT / ".venv" / "lab-stamp").is_file() and os.access(ROOT / "lab", os.X_OK):
        return [str(ROOT / "lab"), "reproduce"]
    return [sys.executable, "-m", "rmqlab", "reproduce"]


def _reproduce() -> Measurement:
    return process(*reproduce_command())


BENCHMARKS = (
    Benchmark("import", "a process that imports rmqlab", "ms", "python -c pass", _python(IMPORT), _python("pass")),
    Benchmark(
        "reproduce", "from ./lab reproduce to its table, every run but the first", "s", "python -c pass",
        _reproduce, _python("pass"),
    ),
)  # fmt: skip
