"""An hour of virtual time: a group of four, a group of a thousand full clients, a hundred thousand that only beat.

The two large ones run in a child process each, which tells its CPU seconds and its highest memory; one child gives both
figures. They take minutes, so they are measured only when they are named, once.
"""

from __future__ import annotations

import json
import subprocess
import sys
from functools import cache, partial
from typing import TYPE_CHECKING, NamedTuple

from rmqlab.checkout import ROOT
from rmqlab.sim.simulate import Simulation
from tests.proof.bench.benchmark import Benchmark, Measurement
from tests.proof.bench.core import bare_scheduler, long_group, timed
from tests.proof.real.clusters import BenchError

if TYPE_CHECKING:
    from collections.abc import Callable

HOUR_MIN = 60.0
MINUTE_MS = 60_000
CROWD, GROUP = 100_000, 1_000
# What a child runs: the arguments are clients and minutes; every client must have been served to the end.
CHILDREN = {
    "crowd": (
        "from tests.proof.bench.crowd import crowd_beats\n"
        "count = crowd_beats(clients, minutes=minutes)\n"
        "steps, whole = count.events, count.online == clients and not count.refused\n"
    ),
    "large-group": (
        "from tests.proof.bench.large_group import LargeGroup\n"
        "count = LargeGroup(clients).run(minutes)\n"
        "steps, whole = count.steps, count.online == count.owned == clients and not count.failed\n"
    ),
}
_BEFORE = (
    "import json, resource, sys, time\n"
    "clients, minutes = int(sys.argv[1]), float(sys.argv[2])\n"
    "import rmqlab.sim.simulate\n"
    "def peak():\n"
    "    highest = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
    "    return highest / (2**20 if sys.platform == 'darwin' else 2**10)\n"
    "idle, begin = peak(), time.process_time()\n"
)
_AFTER = (
    "told = {'seconds': time.process_time() - begin, 'peak_mb': peak(), 'idle_mb': idle}\n"
    "print(json.dumps(told | {'steps': steps, 'whole': whole}))\n"
)


class Child(NamedTuple):
    """What a child process told: CPU seconds, highest memory (MiB) and that before it began, steps simulated."""

    seconds: float
    peak_mb: float
    idle_mb: float
    steps: int


@cache
def child(what: str, clients: int, minutes: float) -> Child:
    """Run one of ``CHILDREN`` in a process of its own, once for the same numbers.

    Raises:
        BenchError: it ended with an error, or not every client was served to the end.
    """
    code = _BEFORE + CHILDREN[what] + _AFTER
    command = [sys.executable, "-c", code, str(clients), str(minutes)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)  # noqa: S603 - our own code
    if done.returncode:
        raise BenchError(f"{what} of {clients} clients ended with status {done.returncode}: {done.stderr[-500:]}")
    record = json.loads(done.stdout)
    if not record.pop("whole"):
        raise BenchError(f"{what} of {clients} clients: not every client was there, or served, at the end")
    return Child(**record)


def _seconds(what: str, clients: int, minutes: float) -> Measurement:
    return 1.0, child(what, clients, minutes).seconds


def _bare(what: str, clients: int, minutes: float) -> Measurement:
    """As many steps of a bare scheduler as the child simulated."""
    steps, seconds = bare_scheduler()
    return 1.0, seconds * child(what, clients, minutes).steps / steps


def _peak(what: str, clients: int, minutes: float) -> Measurement:
    return 1.0, child(what, clients, minutes).peak_mb


def _idle(what: str, clients: int, minutes: float) -> Measurement:
    return 1.0, child(what, clients, minutes).idle_mb


def _hour_of_four() -> Measurement:
    simulation = Simulation(long_group(round(HOUR_MIN) * MINUTE_MS))

    def work() -> float:
        simulation.run()
        return 1.0

    return timed(work)


def _bare_hour_of_four() -> Measurement:
    steps, seconds = bare_scheduler()
    return 1.0, seconds * _steps_of_four() / steps


@cache
def _steps_of_four() -> int:
    return Simulation(long_group(round(HOUR_MIN) * MINUTE_MS)).run().steps


def hours(what: str, about: str, clients: int, minutes: float) -> tuple[Benchmark, Benchmark]:
    """Seconds and memory of one kind of child."""

    def of(measure: Callable[[str, int, float], Measurement]) -> Callable[[], Measurement]:
        return partial(measure, what, clients, minutes)

    return (
        Benchmark(
            f"{what}-hour-seconds", f"{about}: CPU seconds", "s", "as many steps of a bare scheduler",
            of(_seconds), of(_bare), heavy=True,
        ),
        Benchmark(
            f"{what}-hour-memory", f"{about}: highest memory", "MB", "the same process before it begins",
            of(_peak), of(_idle), heavy=True,
        ),
    )  # fmt: skip


BENCHMARKS = (
    Benchmark(
        "group-hour", "an hour of virtual time of a group of four", "s", "as many steps of a bare scheduler",
        _hour_of_four, _bare_hour_of_four,
    ),
    *hours("large-group", f"an hour of virtual time of a group of {GROUP:,} full clients", GROUP, HOUR_MIN),
    *hours("crowd", f"an hour of virtual time of a broker with {CROWD:,} clients that beat", CROWD, HOUR_MIN),
)  # fmt: skip
