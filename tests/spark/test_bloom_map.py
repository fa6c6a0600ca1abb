"""The bloom map as a sweep: its rows are those of the stored map, and Spark counts what this process counts."""

from __future__ import annotations

import pytest

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
