"""The catalogue of sweeps: what rows measure, that a row alone gives the same figures, and the verb that runs them."""

from __future__ import annotations

import json

import pytest

from rmqlab.errors import BadInput
from rmqlab_tools.cli.cli import main
from rmqlab_tools.course.sweeps_12 import SWEEPS, heartbeats, loss, stored_sweep, storm
from rmqlab_tools.spark import session
from rmqlab_tools.spark.sweeps import runner as running
from rmqlab_tools.spark.sweeps.runner import run_sweep
from rmqlab_tools.spark.sweeps.sweep import Sweep, grid

ROWS = grid(members=[1, 2, 3], queues=[4], shared=[0, 1], gap_ms=[100], delay_us=[1_000], traffic=["settled"], runs=[3])


def test_unknown_traffic_is_named():
    with pytest.raises(BadInput, match="traffic is 'never'; it is one of starting, settled"):
        loss(1, members=2, queues=4, shared=0, gap_ms=1, delay_us=1_000, traffic="never", runs=1)


def test_heartbeats_at_the_defaults():
    found = heartbeats(1, clients=30_000, period_ms=30_000, expiry_ms=120_000, scan_ms=10_000, lost=0.0)
    assert found["beats_a_second"] == 1_000
    assert 90_000 < found["detection_min_ms"] < found["detection_mean_ms"] < found["detection_max_ms"] <= 130_001
    assert found["false_expiries_an_hour"] == 0


def test_storm_notifies_everybody_of_everybody():
    found = storm(1, members=4, queues=8, strategy="avg", gap_ms=500)
    assert found["notifications"] == 1 + 2 + 3 + 4
    assert found["moved"] > 0
    hashed = storm(1, members=8, queues=32, strategy="hash", gap_ms=500)
    assert hashed["moved"] < storm(1, members=8, queues=32, strategy="avg", gap_ms=500)["moved"]


@pytest.mark.parametrize("name", SWEEPS)
def test_grids_are_whole(name):
    rows = SWEEPS[name].sweep(name).rows()
    assert len({row.id for row in rows}) == len(rows) >= 30


def test_partitions_do_not_matter(spark, tmp_path):
    sweep = Sweep("loss", loss, ROWS, seed=4)
    here = run_sweep(sweep, tmp_path / "here").records
    assert run_sweep(sweep, tmp_path / "ones", session=spark).records == here
    assert run_sweep(sweep, tmp_path / "threes", session=spark, rows_a_task=3).records == here


def test_verb_lists_runs_and_goes_on(tmp_path, capsys):
    assert main(["sweep"]) == 0
    assert "heartbeats" in capsys.readouterr().out
    axes = ["--set", "members=2", "--set", "gap_ms=0,100", "--set", "delay_us=200"]
    given = ["sweep", "loss", "--runs", "1", *axes, "--out", str(tmp_path / "kept"), "--spark", "none"]
    assert main([*given, "--json", str(tmp_path / "first.json")]) == 0
    assert main([*given, "--json", str(tmp_path / "second.json"), "--table", str(tmp_path / "all.parquet")]) == 0
    first, second = (json.loads((tmp_path / name).read_text()) for name in ("first.json", "second.json"))
    assert first == second
    assert len(first["rows"]) == 4 * 3 * 2 * 2  # queues, shared, gap_ms, traffic
    assert (tmp_path / "all.parquet").is_file()


def test_verb_refuses_what_it_does_not_know(capsys):
    assert main(["sweep", "nothing"]) == 2
    assert "there is no sweep 'nothing'; there are loss" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["loss", "--set", "queues=-1"], "sweep 'loss': queues is -1; it lies between 1 and 1024"),
        (["loss", "--set", "queus=4"], "sweep 'loss' has no axis 'queus'; did you mean queues?"),
        (["loss", "--set", "queues=1.5"], "--set queues=1.5: this axis takes a whole number, not '1.5'"),
        (["loss", "--set", "traffic=none"], "traffic is 'none'; it is one of starting, settled"),
        (["loss", "--set", "members=0"], "members is 0; it lies between 1 and 32"),
        (["schedules", "--set", "gap_ms=-1"], "gap_ms is -1; the least is 0"),
        (["schedules", "--runs", "1", "--set", "budget=0"], "budget is 0; the least is 1"),
        (["schedules", "--set", "queues=0"], "queues"),
        (["storms", "--set", "queues=0"], "queues is 0; the least is 1"),
        (["storms", "--set", "strategy=foo"], "strategy"),
        (["heartbeats", "--set", "lost=1"], "lost is 1.0; it lies between 0 and 0.99"),
        (["heartbeats", "--set", "lost=nan"], "lost is nan"),
        (["--set", "queues=-1"], "--set is for one sweep, and none is named; there are loss, "),
        (["losss"], "there is no sweep 'losss'; did you mean loss?"),
        (["loss", "--table", "none/rows.parquet"], "there is no folder"),
    ],
)
def test_what_an_axis_cannot_have_is_refused_before_any_row_is_run(arguments, said, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(running, "run_sweep", None)
    monkeypatch.setattr(session, "open_session", None)
    assert main(["sweep", *arguments]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert said in err
    assert err.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", SWEEPS)
def test_the_usual_grid_of_each_sweep_passes_its_own_check(name):
    assert len(SWEEPS[name].sweep(name).rows()) > 1


def test_a_sweep_without_rows_is_refused(tmp_path):
    with pytest.raises(BadInput, match="sweep 's' has no rows: nothing would be run"):
        running.run_sweep(Sweep("s", dict, []), tmp_path)


@pytest.mark.parametrize(
    ("name", "number"),
    [
        ("loss", 7),
        ("loss", 400),
        ("loss", 1_300),
        ("heartbeats", 5),
        ("storms", 2),
        ("schedules", 0),
    ],
)
def test_kept_rows_come_out_again(name, number):
    """The committed files are what the code says today; `./lab sweep NAME --table` makes them anew when it changes."""
    found = stored_sweep(name).rerun(number)
    assert [one.name for one in found if not one.same] == []
    assert len(found) > 5


@pytest.mark.parametrize("name", SWEEPS)
def test_ids_and_seeds_are_those_of_stored_rows(name):
    """So a folder that an earlier version has begun goes on, and no row is run twice."""
    stored = {record["row"]: record["seed"] for record in stored_sweep(name).records}
    assert {row.id: row.seed for row in SWEEPS[name].sweep(name).rows()} == stored
