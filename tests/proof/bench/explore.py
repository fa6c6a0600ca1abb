"""How fast the explorer is: schedules and states a second a core, and the time for every order of the eight messages.

The reference runs the same scenario in its usual order and looks at no state: what is above it is the search.
"""

from __future__ import annotations

from contextlib import closing
from time import perf_counter
from typing import TYPE_CHECKING

from rmqlab.scenario.schedule import Timing
from rmqlab.sim.cluster import default_settings
from rmqlab.sim.simulate import simulate
from rmqlab_tools.search.explorer.open_search import OpenSearch
from rmqlab_tools.search.partial_order_reduction import PartialOrderReduction
from tests.proof.bench.benchmark import Benchmark, Measurement
from tests.proof.bench.core import timed
from tests.proof.rare_outcomes import eight

if TYPE_CHECKING:
    from collections.abc import Callable

    from rmqlab.run.run import Outcome, Run

STEPS = 60
USUAL_RUNS = 20
MANY = 1_000_000  # steps that are wanted: the search ends before


def _outcome(run: Run) -> Outcome:
    return run.outcome()


def _search() -> OpenSearch:
    return OpenSearch(eight(), _outcome, cluster=default_settings())


def _first_steps(count: Callable[[OpenSearch], int]) -> Measurement:
    search = _search()

    def work() -> float:
        for _ in range(STEPS):
            search.step()
        return count(search)

    return timed(work)


def schedules() -> Measurement:
    """Each step of a search makes one schedule that no step before it made."""
    return _first_steps(lambda search: search.runs)


def states() -> Measurement:
    """States that were read: new ones, and known ones at which a run was given up."""
    return _first_steps(lambda search: len(search.graph.nodes) + search.graph.merged)


def space() -> Measurement:
    """The whole space, once."""
    search = _search()

    def work() -> float:
        while not search.exhausted:
            search.step()
        return 1

    return timed(work)


def all_schedules() -> Measurement:
    """The whole space as `rmqlab explore` searches it, by the clock: with helpers, their start included."""
    begin = perf_counter()  # the CPU seconds of this process would leave the helpers' out
    with closing(OpenSearch(eight(), _outcome, cluster=default_settings(), helpers=True)) as search:
        while not search.exhausted:
            search.step(MANY)
    return search.runs, perf_counter() - begin


def usual_runs() -> Measurement:
    """The scenario in its usual order."""
    scenario, cluster, timing = eight(), default_settings(), Timing(open_orders=True)

    def work() -> float:
        for _ in range(USUAL_RUNS):
            simulate(scenario, timing=timing, cluster=cluster, reduction=PartialOrderReduction)
        return USUAL_RUNS

    return timed(work)


BENCHMARKS = (
    Benchmark(
        "explore-schedules", f"the eight messages: distinct schedules a second, the first {STEPS} of a search",
        "schedules/s", "whole runs in the usual order", schedules, usual_runs,
    ),
    Benchmark(
        "explore-states", f"the eight messages: states read a second, the first {STEPS} schedules of a search",
        "states/s", "whole runs in the usual order", states, usual_runs,
    ),
    Benchmark(
        "explore-helpers", "the eight messages: distinct schedules a second, the whole space, with helpers",
        "schedules/s", "whole runs in the usual order", all_schedules, usual_runs, heavy=True,
    ),
    Benchmark(
        "explore-space", "every order of the eight messages, 103,767,872 schedules", "s",
        "a whole run in the usual order", space, usual_runs, heavy=True,
    ),
)  # fmt: skip
