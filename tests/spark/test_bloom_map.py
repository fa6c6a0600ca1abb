"""The bloom map as a sweep: its rows are those of the stored map, and Spark counts what this process counts."""

from __future__ import annotations

import json

import pytest

from rmqlab.cli import main
from rmqlab.lab.bloom.stored_map import BloomMap, Cell, stored_map
from rmqlab.spark.sweeps.bloom_map import bloom_map, workload_of
from rmqlab.spark.sweeps.running import run_sweep

COUNTS = ("row", "seed", "selectivity", "groups", "messages", "matched", "passed", "false_hits", "theory_rate")


@pytest.mark.row("F-91", "F-92")
def test_the_stored_map_is_this_sweep():
    rows = {row.id: row for row in bloom_map().rows()}
    assert {cell.row for cell in stored_map().cells} == set(rows)
    for cell in stored_map().cells:
        row = rows[cell.row]
        assert (cell.seed, cell.groups, cell.selectivity) == (row.seed, row.parameters["groups"],
                                                              row.parameters["selectivity"])  # fmt: skip
    parameters = {name: value for name, value in row.parameters.items() if name != "real"}
    assert workload_of(row.seed, **parameters).messages == cell.messages


def test_spark_counts_what_this_process_counts(tmp_path, spark):
    sweep = bloom_map((0.0, 0.5), (64,), ("8 tags",), real=False)
    here = run_sweep(sweep, tmp_path / "here")
    there = run_sweep(sweep, tmp_path / "there", session=spark)
    assert there.failed == here.failed == []
    found = [[{name: one[name] for name in COUNTS} for one in result.good] for result in (here, there)]
    assert found[0] == found[1]
    cells = BloomMap(tuple(map(Cell.from_record, there.good)))
    assert cells.cells[0].sides == ["ours"]
    assert cells.cells[1].false_hits > 0


def test_the_map_is_a_sweep_by_name_and_a_row_counts_the_same_again(tmp_path, capsys):
    """Times differ from run to run and are told so; what is counted must come out as it was kept."""
    cell = ["--set", "selectivity=0.5", "--set", "groups=64", "--set", "expression=8 tags", "--set", "real=false"]
    where = ["--out", str(tmp_path / "kept"), "--spark", "none"]
    assert main(["sweep", "bloom-map", *cell, *where, "--json", str(tmp_path / "rows.json")]) == 0
    (row,) = json.loads((tmp_path / "rows.json").read_text())["rows"]
    assert row["matched"] > 0 <= row["false_hits"]
    capsys.readouterr()
    again = ["sweep", "bloom-map", "--row", "0", *where, "--json", str(tmp_path / "again.json")]
    assert main(again) == 0
    assert "5 are times and differ from run to run" in capsys.readouterr().out
    figures = json.loads((tmp_path / "again.json").read_text())["figures"]
    assert {name for name, figure in figures.items() if figure["exact"]} == {
        "messages", "matched", "passed", "false_hits", "false_rate", "theory_rate",
    }  # fmt: skip
    changed = [name for name, figure in figures.items() if figure["exact"] and figure["kept"] != figure["now"]]
    assert changed == []
