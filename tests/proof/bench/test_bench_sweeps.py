"""Benchmarks of sweeps: what is compared is the same work, and every run is counted."""

from __future__ import annotations

import pytest

from tests.proof.bench import sweeps as bench_sweeps

pytestmark = pytest.mark.slow


def test_a_sweep_in_this_process_counts_every_run(monkeypatch):
    monkeypatch.setattr(bench_sweeps, "RUNS", 2)
    done, _ = bench_sweeps.on_one_core()
    assert done == bench_sweeps.TASKS * 2


def test_bare_processes_share_the_runs_out(monkeypatch):
    monkeypatch.setattr(bench_sweeps, "RUNS", 2)
    done, seconds = bench_sweeps.bare(2)
    assert (done, seconds > 0) == (bench_sweeps.TASKS * 2, True)


def test_rows_are_the_same_on_spark(monkeypatch, spark):
    """`spark` because the session that runs is used again."""
    monkeypatch.setattr(bench_sweeps, "RUNS", 1)
    there, _ = bench_sweeps._swept(bench_sweeps._sweep(), spark)
    here, _ = bench_sweeps._swept(bench_sweeps._sweep(), None)
    assert there.records == here.records
