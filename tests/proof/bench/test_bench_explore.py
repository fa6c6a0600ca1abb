"""The explorer's benchmarks count what they say."""

from __future__ import annotations

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


def test_the_whole_space_waits_to_be_named():
    assert [benchmark.name for benchmark in BENCHMARKS if benchmark.heavy] == ["explore-helpers", "explore-space"]
