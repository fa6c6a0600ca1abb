"""Benchmarks: medians and ratios from turns, their names, and what they measure."""

from __future__ import annotations

import sys

import pytest

from rmqlab.errors import BadInput
from rmqlab.events import HeartbeatSent
from rmqlab.scenario.scenario import parse_scenario
from rmqlab.sim.simulate import simulate
from tests.proof.bench import start as bench_start
from tests.proof.bench.benchmark import Benchmark, chosen, run_benchmark
from tests.proof.bench.core import BARE_STEPS, bare_scheduler, long_group
from tests.proof.bench.entries import benchmarks


def turns(*measurements):
    left = iter(measurements)
    return lambda: next(left)


def test_rates_are_medians_of_turns_without_the_first():
    benchmark = Benchmark(
        "x", "things", "things/s", "idle",
        turns((1, 100), (10, 1), (40, 1), (90, 1)),
        turns((1, 1), (20, 1), (20, 1), (30, 1)),
    )  # fmt: skip
    result = run_benchmark(benchmark, runs=3)
    assert (result.value, result.low, result.high, result.reference) == (40, 10, 90, 20)
    assert (result.ratio, result.ratio_low, result.ratio_high) == (2.0, 0.5, 3.0)
    record = result.as_json()
    assert {"value", "unit", "ratio_to", "low", "high", "runs"} <= set(record)
    assert (record["unit"], record["ratio_to"], record["runs"]) == ("things/s", "idle", 3)


@pytest.mark.parametrize(("unit", "value"), [("ms", 250.0), ("s", 0.25)])
def test_times_are_of_one_doing(unit, value):
    benchmark = Benchmark("x", "waiting", unit, "pass", turns((1, 9), (2, 0.5)), turns((1, 1), (1, 0.125)))
    result = run_benchmark(benchmark, runs=1)
    assert result.value == value
    assert result.ratio == 2.0


def test_what_must_be_measured_is_there():
    known = benchmarks()
    assert {
        "events",
        "eight",
        "explore-schedules",
        "explore-states",
        "explore-space",
        "import",
        "reproduce",
        "conform",
        "replay",
    } <= set(known)
    assert [benchmark.name for benchmark in chosen(["import", "events"], known)] == ["import", "events"]
    with pytest.raises(BadInput, match=r"no benchmark 'evnts'; did you mean events\?"):
        chosen(["evnts"], known)


def test_the_bare_scheduler_counts_its_steps():
    done, seconds = bare_scheduler()
    assert done == BARE_STEPS
    assert seconds > 0


def test_a_program_that_fails_is_no_measurement():
    with pytest.raises(bench_start.subprocess.CalledProcessError):
        bench_start.process(sys.executable, "-c", "raise SystemExit(3)")


def test_thirty_minutes_of_four_clients_take_few_steps():
    # Of frames there are, for each member: a beat every 30 s, a pull held for 15 s to 20 s, offsets every 5 s, members
    # every 20 s, routes every 30 s. How many seconds they take is told by the benchmark.
    scenario = long_group()
    assert parse_scenario(scenario.to_json()) == scenario
    run = simulate(scenario)
    assert run.events[-1]["t"] > 30 * 60_000
    assert 10_000 < run.steps < 30_000
    beats = [fact for fact in run.facts.of(HeartbeatSent) if fact.source == "A"]
    assert 60 <= len(beats) <= 70
    assert len(run.outcome().consumed) == 8
    assert {fate.fate for fate in run.fates} == {"delivered"}
