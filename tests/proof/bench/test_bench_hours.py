"""Hours of virtual time on the bench: children tell seconds and memory, heavy ones run only when they are named."""

from __future__ import annotations

import sys

import pytest

from rmqlab_tools.cli.cli import main
from tests.proof.bench import hours as bench_hours
from tests.proof.bench.benchmark import Benchmark, chosen, run_benchmark
from tests.proof.bench.entries import benchmarks
from tests.proof.bench.hours import child, hours
from tests.proof.real.clusters import BenchError

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="children tell their memory on Linux and macOS only")


@pytest.mark.parametrize("what", ["crowd", "large-group"])
def test_one_child_gives_both_figures(what):
    seconds, memory = (run_benchmark(benchmark) for benchmark in hours(what, "x", 12, 2))
    figures = child(what, 12, 2)
    assert (seconds.value, seconds.runs) == (figures.seconds, 1)
    assert (memory.value, memory.reference) == (figures.peak_mb, figures.idle_mb)
    assert 0 < figures.idle_mb <= figures.peak_mb
    assert figures.steps > 12 * 4  # four beats of each in two minutes


def test_a_child_that_does_not_serve_everybody_is_no_measurement(monkeypatch):
    monkeypatch.setitem(bench_hours.CHILDREN, "half", "steps, whole = 1, False\n")
    with pytest.raises(BenchError, match="half of 3 clients: not every client was there"):
        child("half", 3, 1)
    monkeypatch.setitem(bench_hours.CHILDREN, "broken", "raise ValueError('oh')\n")
    with pytest.raises(BenchError, match=r"(?s)ended with status 1: .*ValueError: oh"):
        child("broken", 3, 1)


def test_heavy_ones_run_only_when_they_are_named(capsys):
    known = benchmarks()
    heavy = {name for name, benchmark in known.items() if benchmark.heavy}
    assert heavy >= {f"{what}-hour-{of}" for what in ("crowd", "large-group") for of in ("seconds", "memory")}
    assert heavy.isdisjoint(benchmark.name for benchmark in chosen([], known))
    assert {benchmark.name for benchmark in chosen(["crowd-hour"], known)} == {
        "crowd-hour-seconds",
        "crowd-hour-memory",
    }
    assert "group-hour" in {benchmark.name for benchmark in chosen([], known)}
    assert main(["bench", "--list"]) == 0
    listed = capsys.readouterr().out
    assert listed.count("only by name") >= len(heavy)


def test_a_heavy_one_has_one_turn():
    turns = []

    def measure():
        turns.append(1)
        return 1.0, 2.0

    assert run_benchmark(Benchmark("x", "x", "s", "y", measure, measure, heavy=True), runs=5).runs == 1
    assert len(turns) == 2
