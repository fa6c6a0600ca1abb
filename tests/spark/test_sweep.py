"""Sweeps: seeds of rows, results on disk, going on, rows and tasks that fail, and independence of partitioning."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from types import SimpleNamespace
from typing import NamedTuple

import msgspec
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rmqlab
from rmqlab.errors import BadInput
from rmqlab_tools.java_runtime import find_java
from rmqlab_tools.spark.sweeps.results import add_rows, open_folder, read_folder
from rmqlab_tools.spark.sweeps.runner import FEW_ROWS, run_sweep
from rmqlab_tools.spark.sweeps.sweep import RowOutcome, Sweep, grid, run_row


def counting(calls=None, *, fails=()):
    """A run that draws from its seed; made in a function, so that workers get it by value."""

    def run(seed, gap, queues):
        if calls is not None:
            calls.append((gap, queues))
        if (gap, queues) in fails:
            raise ValueError(f"gap {gap}")
        drawn = random.Random(seed)
        return {"lost": drawn.randrange(1_000), "share": drawn.random(), "at": [drawn.random() for _ in range(2)]}

    return run


AXES = grid(gap=[0, 500, 1_000], queues=[4, 8])


def test_a_grid_is_every_combination():
    assert AXES[:3] == [{"gap": 0, "queues": 4}, {"gap": 0, "queues": 8}, {"gap": 500, "queues": 4}]
    assert len(AXES) == 6
    assert grid() == [{}]


@given(st.permutations(AXES), st.integers())
def test_a_rows_seed_depends_on_its_parameters_alone(parameters, seed):
    rows = {row.id: row for row in Sweep("s", counting(), parameters, seed).rows()}
    assert rows == {row.id: row for row in Sweep("s", counting(), AXES, seed).rows()}
    assert len({row.seed for row in rows.values()}) == len(AXES)
    assert all(0 <= row.seed < 2**63 for row in rows.values())
    others = {row.seed for row in Sweep("s", counting(), AXES, seed + 1).rows()}
    assert others.isdisjoint(row.seed for row in rows.values())


def test_a_line_of_the_result_is_run_again_with_the_same_figures(tmp_path):
    sweep = Sweep("s", counting(), AXES, 7)
    for record in run_sweep(sweep, tmp_path).records:
        assert run_row(sweep.run, next(row for row in sweep.rows() if row.id == record["row"])).record() == record


@pytest.mark.parametrize(
    ("parameters", "problem"),
    [
        ([{"a": 1}, {"b": 1}], "row 1: it has b, the first a"),
        ([{"a": 1}, {"a": 1}], r"row 1: \{'a': 1\} is there twice; add an axis"),
        ([{"seed": 1}], "no parameter can be called seed"),
        ([{"a": object()}], "is no row"),
        ([{"a": float("nan")}], "is no row"),
    ],
)
def test_wrong_rows_are_told(parameters, problem):
    with pytest.raises(BadInput, match=problem):
        Sweep("s", counting(), parameters).rows()


def test_what_is_there_is_not_run_again(tmp_path):
    calls = []
    first = run_sweep(Sweep("s", counting(calls), AXES[:4]), tmp_path)
    assert (len(calls), len(first.good)) == (4, 4)
    whole = run_sweep(Sweep("s", counting(calls), AXES), tmp_path)
    assert calls == [(one["gap"], one["queues"]) for one in AXES]
    assert whole.records[:4] == first.records
    about = json.loads((tmp_path / "sweep.json").read_text())
    assert (about["name"], about["seed"], about["rows"]) == ("s", 0, 6)


def test_a_row_that_fails_is_a_row_and_is_tried_again(tmp_path):
    bad = Sweep("s", counting(fails=[(500, 8)]), AXES)
    result = run_sweep(bad, tmp_path)
    assert [one["lost"] is None for one in result.records] == [False, False, False, True, False, False]
    (failed,) = result.failed
    assert (failed["gap"], failed["queues"]) == (500, 8)
    assert failed["error"].startswith("ValueError: gap 500 (in run, line ")
    assert failed["lost"] is None
    calls = []
    assert run_sweep(Sweep("s", counting(calls), AXES), tmp_path).failed == []
    assert calls == [(500, 8)]


@pytest.mark.parametrize(
    ("figures", "error"),
    [({"gap": 1}, "the run returns gap"), ({"x": object()}, "a figure is a object"), (5, "TypeError")],
)
def test_figures_that_cannot_be_kept_are_an_error(figures, error):
    sweep = Sweep("s", lambda seed, gap: figures, [{"gap": 0}])
    assert error in run_row(sweep.run, sweep.rows()[0]).error


def test_figures_of_numpy_are_kept_as_numbers():
    numpy = pytest.importorskip("numpy")
    sweep = Sweep("s", lambda seed, gap: {"n": numpy.int64(3), "at": numpy.arange(2)}, [{"gap": 0}])
    assert run_row(sweep.run, sweep.rows()[0]).figures == {"n": 3, "at": [0, 1]}


def test_a_folder_holds_one_sweep(tmp_path):
    run_sweep(Sweep("s", counting(), AXES[:1]), tmp_path)
    for other in (Sweep("t", counting(), AXES), Sweep("s", counting(), AXES, 1), Sweep("s", counting(), AXES, 0, 2)):
        with pytest.raises(BadInput, match="holds another sweep"):
            run_sweep(other, tmp_path)
    (tmp_path / "sweep.json").write_text("{")
    with pytest.raises(BadInput, match="cannot hold the results of sweep 's'"):
        run_sweep(Sweep("s", counting(), AXES), tmp_path)
    with pytest.raises(BadInput, match="at least one row a task"):
        run_sweep(Sweep("s", counting(), AXES), tmp_path, rows_a_task=0)


def test_a_damaged_file_is_named(tmp_path):
    sweep = Sweep("s", counting(), AXES)
    run_sweep(sweep, tmp_path)
    part = tmp_path / "part-000003.parquet"
    part.write_bytes(part.read_bytes()[:40])
    with pytest.raises(BadInput, match=r"part-000003\.parquet is damaged .*: delete it"):
        run_sweep(sweep, tmp_path)
    part.unlink()
    assert len(run_sweep(sweep, tmp_path).good) == 6


def test_values_of_several_kinds_are_kept(tmp_path):
    sweep = Sweep("s", counting(), AXES[:3])
    open_folder(tmp_path, sweep)
    add_rows(tmp_path, [RowOutcome(row, {"x": x}) for row, x in zip(sweep.rows(), [1, "one", None], strict=True)])
    assert [record["x"] for record in read_folder(tmp_path).values()] == ["1", "one", None]
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []


def test_the_result_is_one_parquet_file(tmp_path):
    result = run_sweep(Sweep("s", counting(fails=[(0, 4)]), AXES), tmp_path / "parts")
    result.write(tmp_path / "all.parquet")
    table = pq.read_table(tmp_path / "all.parquet")
    assert table.column_names == ["row", "seed", "gap", "queues", "lost", "share", "at", "error"]
    assert table.to_pylist() == result.records


def test_progress_hears_what_is_done_was_there_and_failed(tmp_path, capsys):
    heard = []
    bad = Sweep("s", counting(fails=[(0, 4)]), AXES)
    run_sweep(bad, tmp_path, progress=lambda *told: heard.append(told))
    assert heard == [(done, 0, 0 if done == 0 else 1) for done in range(7)]
    heard.clear()
    run_sweep(bad, tmp_path, progress=lambda *told: heard.append(told))
    assert heard == [(5, 5, 0), (6, 5, 1)]
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize("rows_a_task", [1, 4])
def test_spark_finds_what_this_process_finds(tmp_path, spark, rows_a_task):
    sweep = Sweep("s", counting(fails=[(1_000, 4)]), grid(gap=[0, 500, 1_000], queues=[4, 8, 16]), 3)
    here = run_sweep(sweep, tmp_path / "here")
    there = run_sweep(sweep, tmp_path / "there", session=spark, rows_a_task=rows_a_task)
    assert there.records == here.records
    assert len(there.failed) == 1


def test_a_lost_session_blames_no_row(tmp_path):
    def refused(*_):
        raise ConnectionError("refused")

    frame = SimpleNamespace(collect=refused)
    frame.mapInArrow = lambda *_: frame
    lost = SimpleNamespace(range=lambda *_: frame, sparkContext=SimpleNamespace(defaultParallelism=2))
    with pytest.raises(BadInput, match="does not answer any more"):
        run_sweep(Sweep("s", counting(), AXES), tmp_path, session=lost)
    assert len(run_sweep(Sweep("s", counting(), AXES), tmp_path).good) == 6


def test_workers_without_a_package_blame_no_row(tmp_path):
    def missing(*_):
        raise RuntimeError("ModuleNotFoundError: No module named 'pyarrow'")

    fine = SimpleNamespace(collect=list, mapInArrow=lambda *_: SimpleNamespace(collect=missing))
    broken = SimpleNamespace(range=lambda *_: fine, sparkContext=SimpleNamespace(defaultParallelism=2))
    with pytest.raises(
        BadInput, match=r"cannot run a task of Python \(ModuleNotFoundError: .*'pyarrow'\): docs/how-to/spark.md"
    ):
        run_sweep(Sweep("s", counting(), AXES), tmp_path, session=broken)
    assert len(run_sweep(Sweep("s", counting(), AXES), tmp_path).good) == 6


def test_after_deaths_and_errors_only_what_is_missing_is_run(tmp_path, spark):
    """A worker that is killed and a row that raises: the others are kept, and a second sweep runs those two alone."""
    calls = tmp_path / "calls"
    calls.mkdir()

    def run(seed, number, *, healthy=False):
        (calls / f"{number}-{healthy}").touch()
        if number == 1 and not healthy:
            import os

            os._exit(9)
        if number == 4 and not healthy:
            raise ValueError("four")
        return {"twice": number * 2}

    def recovered(seed, number):
        return run(seed, number, healthy=True)

    first = run_sweep(Sweep("s", run, grid(number=range(6))), tmp_path / "kept", session=spark, rows_a_task=2)
    assert [record["twice"] for record in first.records] == [0, None, 4, 6, None, 10]
    assert [record["error"].split(":")[0] for record in first.failed] == ["the task died", "ValueError"]
    again = run_sweep(Sweep("s", recovered, grid(number=range(6))), tmp_path / "kept", session=spark)
    assert [record["twice"] for record in again.records] == [0, 2, 4, 6, 8, 10]
    assert sorted(path.name for path in calls.glob("*-True")) == ["1-True", "4-True"]


def test_ctrl_c_ends_a_sweep_on_spark_with_one_line(tmp_path, root):
    pytest.importorskip("pyspark", reason="PySpark is not installed: ./lab test installs it")
    if "JAVA_HOME" not in os.environ and find_java(os.environ) is None:
        pytest.skip("no Java 17 or newer here: ./lab test installs one")
    command = [sys.executable, "-m", "rmqlab", "sweep", "loss", "--spark", "local[1]", "--out", str(tmp_path / "rows")]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, cwd=root, start_new_session=True) as started:
        while not (tmp_path / "rows" / "sweep.json").exists() and started.poll() is None:
            time.sleep(0.1)
        time.sleep(2)  # its first rows are under way now
        os.killpg(started.pid, signal.SIGINT)
        told = started.stderr.read()
    assert started.returncode == 130
    assert [line for line in told.splitlines() if not line.startswith("WARNING: Using incubator")] == [
        "python -m rmqlab sweep: interrupted"
    ]


ROWS = 400  # 20 ms each, so that it is in the middle when the signal comes
SLOW = """
import sys, time
from rmqlab_tools.processes import ended_by_signals
from rmqlab_tools.spark.sweeps.runner import run_sweep
from rmqlab_tools.spark.sweeps.sweep import Sweep, grid

def run(seed, number):
    time.sleep(0.02)
    return {"twice": number * 2, "seed_of_row": seed}

with ended_by_signals():
    run_sweep(Sweep("slow", run, grid(number=range(400)), 7), sys.argv[1], rows_a_task=2)
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL], ids=lambda one: one.name)
def test_what_a_sweep_has_kept_when_it_was_ended_is_whole_and_gone_on_with(tmp_path, root, number):
    """A process that is killed puts nothing away: a part file may lie there, and is not read as rows."""
    folder = tmp_path / "kept"
    with subprocess.Popen([sys.executable, "-c", SLOW, str(folder)], cwd=root, stderr=subprocess.PIPE) as started:
        until = time.monotonic() + 60
        while len(list(folder.glob("part-*.parquet"))) < 5 and time.monotonic() < until:
            assert started.poll() is None, started.stderr.read()
            time.sleep(0.01)
        started.send_signal(number)
    before = read_folder(folder)
    assert 10 <= len(before) < ROWS
    assert all(record["twice"] == 2 * record["number"] and record["error"] is None for record in before.values())
    (folder / ".part-999999.parquet.1.part").write_bytes(b"PAR1 half of a file")
    calls = []

    def run(seed, number):
        calls.append(number)
        return {"twice": number * 2, "seed_of_row": seed}

    whole = run_sweep(Sweep("slow", run, grid(number=range(ROWS)), 7), folder, rows_a_task=100)
    assert [record["twice"] for record in whole.records] == [2 * number for number in range(ROWS)]
    assert sorted(calls) == sorted(set(range(ROWS)) - {record["number"] for record in before.values()})
    assert len({record["seed_of_row"] for record in whole.records}) == ROWS


def test_a_file_of_rows_that_was_cut_is_named_and_not_read(tmp_path):
    sweep = Sweep("s", counting(), AXES, 7)
    run_sweep(sweep, tmp_path)
    about = tmp_path / "sweep.json"
    about.write_text(about.read_text()[:20])
    with pytest.raises(BadInput, match="cannot hold the results of sweep"):
        run_sweep(sweep, tmp_path)


# `rmqlab.sweep`: a function of one's own.


class Share(NamedTuple):
    share: float
    of: int


class Kept(msgspec.Struct):
    share: float
    of: int


def shares(members, queues=4, *, form=dict):
    return form(share=queues // members / queues, of=queues)


@pytest.mark.parametrize("form", [dict, Share, Kept])
def test_a_function_of_named_parameters_is_swept(form):
    def run(members, queues):
        return shares(members, queues, form=form)

    result = rmqlab.sweep(run, {"members": [1, 2], "queues": [4, 8]})
    assert [(row["members"], row["queues"], row["share"], row["of"], row["error"]) for row in result.records] == [
        (1, 4, 1.0, 4, None), (1, 8, 1.0, 8, None), (2, 4, 0.5, 4, None), (2, 8, 0.5, 8, None),
    ]  # fmt: skip
    assert len({row["seed"] for row in result.records}) == 4
    rows = [{"members": 2, "queues": 8}]
    assert rmqlab.sweep(run, rows).records == [
        row for row in result.records if (row["members"], row["queues"]) == (2, 8)
    ]


def test_a_row_of_a_swept_function_is_run_again(tmp_path):
    result = rmqlab.sweep(counting(), {"gap": [0, 1], "queues": [4]}, seed=7, folder=tmp_path)
    assert all(figure.same for row in (0, 1, result.records[1]["row"]) for figure in result.rerun(row))
    result.records[0]["lost"] += 1
    assert [figure.name for figure in result.rerun("0") if not figure.same] == ["lost"]
    with pytest.raises(BadInput, match="row 2: none of the 2 rows has this id"):
        result.rerun(2)


def test_a_swept_function_goes_on_where_it_stopped_until_its_code_changes(tmp_path):
    calls = []
    run = counting(calls)
    rmqlab.sweep(run, {"gap": [0], "queues": [4, 8]}, folder=tmp_path)
    rmqlab.sweep(run, {"gap": [0, 500], "queues": [4, 8]}, folder=tmp_path)
    assert calls == [(0, 4), (0, 8), (500, 4), (500, 8)]
    about = json.loads((tmp_path / "sweep.json").read_text())
    assert (about["name"], about["seed"], about["rows"]) == ("run", 0, 4)

    def changed(gap, queues):
        return {"lost": 0}

    with pytest.raises(BadInput, match="holds another sweep"):
        rmqlab.sweep(changed, {"gap": [0], "queues": [4]}, folder=tmp_path, name="run")


@pytest.mark.parametrize(
    ("grid_given", "problem"),
    [
        ({"members": 4}, r"sweep 'shares': members is 4; right is a list of its values: \[4\]"),
        ({"members": "45"}, r"right is a list of its values: \['45'\]"),
        ({"member": [4]}, "sweep 'shares': .*member.*the rows have member, the function takes members, queues, form"),
        ({"queues": [4]}, "missing a required argument: 'members'"),
        ({"members": []}, "sweep 'shares' has no rows"),
        ([], "sweep 'shares' has no rows"),
    ],
)
def test_a_grid_that_does_not_fit_the_function_is_refused(grid_given, problem):
    with pytest.raises(BadInput, match=problem):
        rmqlab.sweep(shares, grid_given)


def test_more_than_a_few_rows_go_to_spark(spark, monkeypatch):
    """Few stay here; the figures are the same, whoever works them out."""
    asked = []
    monkeypatch.setattr("rmqlab_tools.spark.open_here", lambda: asked.append(1) or spark)
    grid_of = {"gap": range(FEW_ROWS), "queues": [4]}
    few = rmqlab.sweep(counting(), grid_of).records
    assert asked == []
    many = rmqlab.sweep(counting(), grid_of | {"queues": [4, 8]}, rows_a_task=8)
    assert asked == [1]
    figures = {row["gap"]: row["seed"] for row in many.records if row["queues"] == 4}
    assert figures == {row["gap"]: row["seed"] for row in few}
    assert [row["lost"] for row in many.records if row["queues"] == 4] == [row["lost"] for row in few]
