"""Sweeps of a starting group: the law of the shares, what a row tells, and that its runs come again from it alone."""

from __future__ import annotations

import json

import pytest

from rmqlab.errors import BadInput
from rmqlab.scenario.schedule import Schedule
from rmqlab.sim.cluster import default_settings
from rmqlab_tools.cli.cli import main
from rmqlab_tools.course.sweeps_12 import (
    SWEEPS,
    counts,
    loss,
    loss_run,
    schedules,
    searched_scenario,
    weighted_median,
    winner_of,
)
from rmqlab_tools.search.explorer.deviations import replay_schedule
from rmqlab_tools.spark.sweeps.results import row_of, table_rows
from rmqlab_tools.spark.sweeps.runner import run_sweep
from rmqlab_tools.spark.sweeps.sweep import run_row

WHOLE = {
    "members": [3], "queues": [4], "shared": [0, 1], "gap_ms": [100], "delay_us": [1_000], "traffic": ["starting"],
}  # fmt: skip
SEARCHED = {"members": [2], "queues": [1, 4], "shared": [0], "gap_ms": [0], "lag_ms": [0], "traffic": ["starting"]}


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    """Two small sweeps of the whole core, run through the verb in this process; the tables of their rows."""
    folder = tmp_path_factory.mktemp("kept")
    for name, axes, runs in (("loss", WHOLE, 5), ("schedules", SEARCHED, 12)):
        given = [f"--set={axis}={','.join(map(str, values))}" for axis, values in axes.items()]
        where = ["--out", str(folder / name), "--table", str(folder / f"{name}.parquet")]
        assert main(["sweep", name, "--runs", str(runs), "--spark", "none", *given, *where]) == 0
    return {name: folder / f"{name}.parquet" for name in ("loss", "schedules")}


@pytest.mark.parametrize(("members", "queues", "shared"), [(1, 8, 0), (2, 8, 0), (3, 12, 0), (3, 8, 1), (4, 2, 0)])
def test_a_settled_group_delivers_what_two_checks_let_pass(members, queues, shared):
    """Shared tags all arrive; of the members' own the last starter's, in its own queues."""
    group = {"members": members, "queues": queues, "shared": shared, "gap_ms": 1_000, "delay_us": 1_000}
    found = loss(3, traffic="settled", runs=3, **group)
    assert found["last_wins"] == 1
    assert found["delivered"] == pytest.approx((shared + queues // members / queues) / (members + shared))
    assert found["dropped_by_broker_tag"] == pytest.approx((members - 1) / (members + shared))


def test_early_messages_still_reach_the_first_member():
    given = {"members": 2, "queues": 4, "shared": 0, "gap_ms": 60_000, "delay_us": 1_000, "runs": 3}
    early, late = loss(1, traffic="starting", **given), loss(1, traffic="settled", **given)
    assert early["delivered"] > late["delivered"] + 0.1


def test_a_row_of_the_whole_core_tells_its_distribution(kept):
    for record in table_rows(kept["loss"]):
        assert record["error"] is None
        lost = [record["sent"] - one for one in record["each"]]  # nothing waits at the end, and all are wanted
        assert record["waiting"] == record["other_fates"] == 0
        assert (record["lost_min"], record["lost_max"]) == (min(lost), max(lost))
        assert lost[record["worst_run"]] == max(lost)
        assert lost[record["best_run"]] == min(lost)
        assert record["delivered"] == sum(record["each"]) / (5 * record["sent"])
        assert 1 <= record["endings"] <= 5


def test_each_run_of_a_row_comes_again(kept):
    for record in table_rows(kept["loss"]):
        parameters = SWEEPS["loss"].sweep("loss").parameters_of(record)
        del parameters["runs"]
        runs = [loss_run(record["seed"], number, **parameters) for number in range(5)]
        assert [counts(run)["delivered"] for run in runs] == record["each"]
        for which, lost in (("worst", "lost_max"), ("best", "lost_min")):
            assert sum(fate.lost for fate in runs[record[f"{which}_run"]].fates) == record[lost]


def test_the_schedules_of_a_searched_row_lose_what_it_says(kept):
    for record in table_rows(kept["schedules"]):
        assert record["outcomes"] == len(record["lost_counts"]) == len(record["lost_shares"])
        assert sum(record["lost_shares"]) == pytest.approx(1)
        for which, count in (("worst", record["lost_max"]), ("best", record["lost_min"])):
            schedule = Schedule.from_json(record[f"{which}_schedule"])
            scenario = searched_scenario(**{axis: record[axis] for axis in SEARCHED if axis != "lag_ms"})
            run = replay_schedule(scenario, schedule, cluster=default_settings())
            assert sum(fate.lost for fate in run.fates) == count
    lost = [(record["queues"], record["lost_min"], record["lost_max"]) for record in table_rows(kept["schedules"])]
    assert lost[0][1] <= lost[0][2] <= 2
    assert lost[1][1] < lost[1][2]  # with messages that come while the group starts the order decides


@pytest.mark.parametrize("name", ["loss", "schedules"])
def test_the_verb_runs_a_row_again(kept, name, tmp_path, capsys):
    record = table_rows(kept[name])[1]
    given = ["sweep", name, "--row", record["row"], "--table", str(kept[name])]
    assert main([*given, "--json", str(tmp_path / "again.json")]) == 0
    told = capsys.readouterr().out
    assert f"row {record['row']}, seed {record['seed']}: members " in told
    again = json.loads((tmp_path / "again.json").read_text())
    assert again["differing"] == []
    assert all(figure["kept"] == figure["now"] for figure in again["figures"].values())


def test_a_row_that_was_changed_is_told(kept, tmp_path, capsys):
    import pyarrow as pa
    import pyarrow.parquet as pq

    records = table_rows(kept["loss"])
    records[0]["lost_max"] += 1
    pq.write_table(pa.Table.from_pylist(records), tmp_path / "changed.parquet")
    given = ["sweep", "loss", "--row", "0", "--table", str(tmp_path / "changed.parquet")]
    assert main([*given, "--json", str(tmp_path / "again.json")]) == 1
    assert "differs" in capsys.readouterr().out
    assert json.loads((tmp_path / "again.json").read_text())["differing"] == ["lost_max"]


def test_spark_finds_what_this_process_finds(kept, spark, tmp_path):
    for name, axes, runs in (("loss", WHOLE, 5), ("schedules", SEARCHED, 12)):
        sweep = SWEEPS[name].sweep(name, runs=runs, axes=axes)
        there = run_sweep(sweep, tmp_path / name, session=spark, rows_a_task=1).records
        assert there == table_rows(kept[name])


def test_a_storm_comes_again_by_its_seed():
    sweep = SWEEPS["storms"].sweep("storms", axes={"members": [3], "queues": [4]})
    record = run_row(sweep.run, sweep.rows()[0]).record()
    assert [one for one in sweep.rerun(record) if not one.same] == []


def test_winner_is_the_one_whose_tag_arrives():
    run = loss_run(3, 0, members=2, queues=4, shared=0, gap_ms=1_000, delay_us=1_000, traffic="settled")
    passed = {fate.tag for fate in run.fates if fate.fate.value != "dropped_by_broker_tag"}
    assert passed == {f"tag{winner_of(run)}"}


def test_what_is_no_row_is_refused(kept, capsys):
    records = table_rows(kept["loss"])
    with pytest.raises(BadInput, match="row 7: none of the 2 rows has this id"):
        row_of(records, "7")
    with pytest.raises(BadInput, match="this is no row of sweep 'storms': it has no strategy"):
        SWEEPS["storms"].sweep("storms").parameters_of(records[0])
    with pytest.raises(BadInput, match="runs is 0; the least is 1"):
        loss(1, members=2, queues=4, shared=0, gap_ms=0, delay_us=1, traffic="settled", runs=0)
    with pytest.raises(BadInput, match="traffic is 'never'; it is one of starting, settled"):
        schedules(1, members=2, queues=4, shared=0, gap_ms=0, lag_ms=0, traffic="never", budget=10)
    for given, told in (
        (["--set", "nothing=1"], "has no axis 'nothing'; there are members, queues"),
        (["--set", "members"], "--set members: write AXIS=VALUE,VALUE"),
        (["--set", "members=two"], "--set members=two: this axis takes a whole number, not 'two'"),
        (["--row", "0", "--table", "nowhere.parquet"], "nowhere.parquet cannot be read"),
        (["--row", "0", "--out", "nowhere"], "nowhere holds no sweep"),
        (["--row", "0", "--out", str(kept["schedules"].with_suffix(""))], "holds sweep 'schedules', and this is"),
        (["--rows-a-task", "0"], "--rows-a-task 0"),
    ):
        assert main(["sweep", "loss", *given]) == 2
        assert told in capsys.readouterr().err


def test_the_median_is_weighted():
    assert weighted_median([6, 4, 2], [0.25, 0.5, 0.25]) == 4
    assert weighted_median([6, 4], [1.0, 0.0]) == 6


def test_shares_that_nothing_measured_are_unknown():
    """Of a budget below four no run is drawn by chance, and three runs do not end this search."""
    found = schedules(1, members=2, queues=4, shared=0, gap_ms=0, lag_ms=0, traffic="starting", budget=3)
    assert found["exhausted"] is False
    assert set(found["lost_shares"]) == {None}
    assert found["lost_median"] is None
    assert found["lost_min"] <= found["lost_max"]
