"""The bloom map: what follows from its cells and their intervals, that its counts can be made again, and bad files."""

from __future__ import annotations

import json

import pytest

from rmqlab.checkout import checkout_path
from rmqlab.errors import BadInput
from tests.proof.bloom.map import BloomMap, ProfileCell, Turn, read_map, stored_map, write_map
from tests.proof.bloom.measure import PROCESSES, map_workloads
from tests.proof.bloom.stages import StageCounts, Stages, counted
from tests.proof.bloom.workload import Workload
from tests.proof.interval import Interval


def cell(share, *ratios, properties=True):
    workload = Workload(10, 1, share, "8 tags", user_properties=properties)
    stages = tuple(Stages(4.0, 2.0, 1.0, 1.0, 1.0, 10.0, 10.0 * ratio - 5.0) for ratio in ratios)
    return ProfileCell(workload, StageCounts(0, 0, 0.0), {"ours": stages})


def cells(*ratios):
    return BloomMap(tuple(cell(share, *each) for share, each in zip((0.0, 0.5, 1.0), ratios, strict=True)))


def test_an_interval_is_the_median_with_the_lowest_and_the_highest_process():
    profiled = cell(0.5, 1.2, 0.75, 1.5)
    assert profiled.interval("ours") == Interval(1.2, 0.75, 1.5)
    assert str(profiled.interval("ours")) == "1.20 (0.75 to 1.50)"
    assert profiled.middle("ours").ratio() == 1.2
    assert (profiled.interval("ours").below(1), profiled.interval("ours").above(1)) == (False, False)
    assert cell(0.5, 0.75, 0.8).interval("ours").below(1)
    assert cell(0.5, 1.25, 1.5).interval("ours").above(1)
    assert Interval.of([9.0, 1.0, 2.0, 3.0, 0.0], outer=1) == Interval(2.0, 1.0, 3.0)
    assert Interval(2.0, 1.0, 3.0).scaled(2).plus(-1) == Interval(3.0, 1.0, 5.0)
    with pytest.raises(BadInput, match="without the real jars"):
        profiled.interval("java")


@pytest.mark.row("F-92")
@pytest.mark.parametrize(
    ("ratios", "turn", "words"),
    [
        (((0.5, 0.6), (0.75, 0.8), (1.25, 1.5)), Turn(0.5, 1.0), "50% to 100%"),
        (((0.5, 0.6), (0.75, 1.2), (1.25, 1.5)), Turn(0.0, 1.0), "0% to 100%"),
        (((0.75, 1.2), (0.75, 0.8), (1.25, 1.5)), Turn(None, 1.0), "below 100%?"),
        (((1.1, 1.2), (1.1, 1.3), (1.25, 1.5)), Turn(None, 0.0), "nowhere"),
        (((0.5, 0.6), (0.75, 0.8), (0.8, 0.9)), Turn(1.0, None), "above 100%?"),
        (((0.5, 1.6), (0.75, 1.8), (0.8, 1.9)), Turn(None, None), "not decided"),
    ],
)
def test_a_crossover_is_told_as_far_as_the_intervals_allow(ratios, turn, words):
    crossover = cells(*ratios).turn(1, "8 tags", "ours")
    assert crossover == turn
    assert str(crossover) == words


def test_a_cell_that_was_not_measured():
    with pytest.raises(BadInput, match=r"no cell with selectivity 0.3, 1 groups, '8 tags'; measured are .*0.5"):
        cells((1,), (1,), (1,)).cell(0.3, 1, "8 tags")


def test_a_map_survives_its_file(tmp_path):
    path = tmp_path / "map.jsonl"
    grid, bare = cell(0.5, 0.5, 1.25), cell(1.0, 2.0, properties=False)
    write_map(path, [grid, bare])
    assert read_map(path) == BloomMap((grid,), bare)
    path.write_text(path.read_text() + "{}\n")
    with pytest.raises(BadInput, match=r"map\.jsonl, line 3: no bloom map \(KeyError"):
        read_map(path)
    path.write_text(json.dumps({**grid.as_json(), "ours": [[1, 2]]}) + "\n")
    with pytest.raises(BadInput, match=r"map\.jsonl, line 1: no bloom map \(TypeError"):
        read_map(path)
    path.write_text("")
    with pytest.raises(BadInput, match="is empty"):
        read_map(path)
    with pytest.raises(BadInput, match="line 0: no bloom map"):
        read_map(tmp_path / "none")


@pytest.mark.row("F-91", "F-92")
def test_the_stored_map_is_what_the_verb_measures():
    stored = stored_map()
    assert [*(cell.workload for cell in stored.cells), stored.bare.workload] == map_workloads()
    assert stored.sides == ["ours", "java"]
    assert {len(each) for cell in (*stored.cells, stored.bare) for each in cell.processes.values()} == {PROCESSES}
    assert sum(path.stat().st_size for path in (checkout_path("data") / "bloom_profile").iterdir()) < 300_000


@pytest.mark.row("F-82", "F-91")
@pytest.mark.parametrize(("share", "groups"), [(0.25, 8), (0.75, 64), (0.5, 128)])
def test_a_stored_cell_can_be_made_again_from_its_seed(share, groups):
    stored = stored_map().cell(share, groups, "8 tags")
    now = counted(stored.workload)
    assert (now.matched, now.passed) == (stored.counts.matched, stored.counts.passed)
    assert now.theory_rate == pytest.approx(stored.counts.theory_rate, abs=1e-5)


@pytest.mark.row("F-76", "F-77")
def test_false_hits_of_the_whole_map_are_as_theory_has_them():
    for groups, share, hits, others, theory in stored_map().false_hits():
        assert hits / others == pytest.approx(theory, abs=0.05), (groups, share)


@pytest.mark.row("F-91")
def test_the_direction_is_the_articles():
    """Dearer with the switch in every process: bitmap and layer 2 alone, and all stages."""
    stored = stored_map()
    for cell in (stored.cell(1.0, 1, "128 tags"), stored.bare):
        for side in stored.sides:
            assert cell.interval(side, Stages.as_the_article).above(1)
            assert cell.interval(side).above(1)
