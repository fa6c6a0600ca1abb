"""The explorer's benchmarks count what they say."""

from __future__ import annotations

from time import sleep

import pytest

from tests.proof.bench import explore as bench_explore
from tests.proof.bench.explore import BENCHMARKS, schedules, states, usual_runs

pytestmark = pytest.mark.slow


def test_schedules_states_and_runs_are_counted(monkeypatch):
    monkeypatch.setattr(bench_explore, "STEPS", 4)
    monkeypatch.setattr(bench_explore, "USUAL_RUNS", 2)
    assert schedules()[0] == 4
    read, seconds = states()
    assert read > 4
    assert seconds > 0
    assert usual_runs()[0] == 2


def test_with_helpers_the_clock_counts(monkeypatch):
    class Sleeper:
        runs, exhausted, closed = 0, False, False

        def __init__(self, *_what, helpers, **_more):
            assert helpers

        def step(self, _most):
            sleep(0.05)
            self.runs, self.exhausted = 7, True

        def close(self):
            self.closed = True

    monkeypatch.setattr(bench_explore, "OpenSearch", Sleeper)
    runs, seconds = bench_explore.all_schedules()
    assert runs == 7
    assert seconds >= 0.05


def test_the_whole_space_waits_to_be_named():
    assert [benchmark.name for benchmark in BENCHMARKS if benchmark.heavy] == ["explore-helpers", "explore-space"]
