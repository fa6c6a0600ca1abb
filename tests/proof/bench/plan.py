"""How long a plan takes: a four-member group from one tag to another, every procedure, both kinds of producers."""

from __future__ import annotations

import os
from functools import cache
from typing import TYPE_CHECKING

from rmqlab.sim.cluster import default_settings
from rmqlab.sim.simulate import simulate
from rmqlab_tools.search.plan.change import change_between, parse_subscription
from rmqlab_tools.search.plan.planner import plan
from rmqlab_tools.search.plan.procedures import PROCEDURES, Producers, Setting, course
from tests.proof.bench.benchmark import Benchmark
from tests.proof.bench.core import timed

if TYPE_CHECKING:
    from tests.proof.bench.benchmark import Measurement

OLD, NEW = "tagA", "tagB"
FOUR = Setting(4, 4)
FEW = 5


@cache
def _whole() -> tuple[float, float]:
    """Seconds by the clock, helpers on all processors included, and CPU seconds of all of them."""
    before = os.times()
    plan(OLD, NEW, setting=FOUR)
    after = os.times()
    return after.elapsed - before.elapsed, sum(after[:4]) - sum(before[:4])  # helpers have ended: they count


def _by_the_clock() -> Measurement:
    return 1, _whole()[0]


def _by_all_processors() -> Measurement:
    return 1, _whole()[1]


def _rolling() -> Measurement:
    """Schedules of the rolling restart, searched and drawn."""

    def work() -> float:
        tried = plan(
            OLD, NEW, setting=FOUR, budget=FEW, procedures=["one-by-one"], producers=[Producers.WAIT]
        ).tried[0]  # fmt: skip
        return tried.runs

    return timed(work)


def _one_run() -> Measurement:
    """The rolling restart once, with nothing open."""
    change = change_between(parse_subscription(OLD, "OLD"), parse_subscription(NEW, "NEW"))
    procedure = next(known for known in PROCEDURES if known.name == "one-by-one")
    scenario = course(procedure, change, FOUR, Producers.WAIT).scenario

    def work() -> float:
        simulate(scenario, cluster=default_settings())
        return 1

    return timed(work)


BENCHMARKS = (
    Benchmark(
        "plan-schedules", f"schedules of a rolling restart, {FOUR.members} members", "schedules/s",
        "plain runs of the same", _rolling, _one_run,
    ),
    Benchmark(
        "plan-four", f"a whole plan for a group of {FOUR.members}: every procedure, both kinds of producers", "s",
        "one plain run of a rolling restart", _by_the_clock, _one_run, heavy=True,
    ),
    Benchmark(
        "plan-four-cpu", f"the same plan for a group of {FOUR.members}: CPU seconds of all processors", "s",
        "one plain run of a rolling restart", _by_all_processors, _one_run, heavy=True,
    ),
)  # fmt: skip
