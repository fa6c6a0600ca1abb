"""Benchmarks of sweeps: the plain loop and the compiled one are the same model, and every run is counted."""

from __future__ import annotations

import pytest

from tests.proof.bench import sweeps as bench_sweeps

pytestmark = pytest.mark.slow


def test_compiled_and_plain_loop_deliver_the_same(monkeypatch):
    monkeypatch.setattr(bench_sweeps, "PLAIN_RUNS", 5)
    monkeypatch.setattr(bench_sweeps, "RUNS", 2_000)
    runs, seconds = bench_sweeps.plain()
    assert (runs, seconds > 0) == (5, True)
    done, seconds = bench_sweeps.compiled()
    assert (done, seconds > 0) == (2_000, True)
    monkeypatch.setattr(bench_sweeps, "model_runs", lambda runs: -1)
    with pytest.raises(AssertionError, match="the compiled model -1"):
        bench_sweeps.plain()


def test_a_sweep_in_this_process_counts_every_run(monkeypatch):
    monkeypatch.setattr(bench_sweeps, "RUNS", 100)
    done, _ = bench_sweeps.on_one_core()
    assert done == bench_sweeps.TASKS * 500


def test_bare_processes_share_the_runs_out(monkeypatch):
    monkeypatch.setattr(bench_sweeps, "RUNS", 100)
    done, seconds = bench_sweeps.bare(2)
    assert (done, seconds > 0) == (bench_sweeps.TASKS * 500, True)


def test_rows_through_the_whole_core_are_the_same_on_spark(monkeypatch, spark):
    """What the benchmark compares is the same work; `spark` because the session that runs is used again."""
    monkeypatch.setattr(bench_sweeps, "ROWS_WHOLE", 3)
    monkeypatch.setattr(bench_sweeps, "ROW_RUNS", 1)
    monkeypatch.setattr(bench_sweeps, "RUNS", 100)
    assert bench_sweeps.whole_in_a_loop()[0] == bench_sweeps.whole_on_two_cores()[0] == 3
    runs, cpu = bench_sweeps.in_tasks()
    assert (runs, cpu > 0) == (bench_sweeps.TASKS * 500, True)
