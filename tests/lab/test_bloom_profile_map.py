"""The stored bloom map: what follows from its cells, that its counts can be made again, and files that are none."""

from __future__ import annotations

import json

import pytest

from rmqlab.errors import BadInput
from rmqlab.lab.bloom.cell import counted_cell
from rmqlab.lab.bloom.profile import DISPATCH, PULL
from rmqlab.lab.bloom.stored_map import BloomMap, Cell, data_folder, read_map, stored_map, stored_profile, write_map
from rmqlab.lab.bloom.workload import BloomBroker, Workload

RECORD = {
    "row": "r", "seed": 1, "selectivity": 0.0, "groups": 1, "expression": "8 tags", "expected": 32, "messages": 10,
    "matched": 0, "passed": 0, "false_hits": 0, "false_rate": 0.0, "theory_rate": 0.0, "floor": 5.0, "off": 10.0,
    "on_dispatch": 2.0, "on_pull": 3.0, "decode": 6.0,
}  # fmt: skip
JAVA = {
    "java_decode": 4.0, "java_build": 2.0, "java_write_extension": 1.0, "java_read_extension": 1.0, "java_check": 1.0,
    "java_layer_2": 10.0, "java_layer_2_passed": 5.0,
}  # fmt: skip


def cells(*ratios):
    shares = [0.0, 0.5, 1.0]
    return BloomMap(
        tuple(
            Cell.from_record({**RECORD, "selectivity": share, "on_pull": 10 * ratio - 2})
            for share, ratio in zip(shares, ratios, strict=True)
        )
    )


def test_ratios_of_a_cell_by_both_sides():
    cell = Cell.from_record({**RECORD, **JAVA})
    assert (cell.ratio("ours"), cell.ratio("ours", decode=True)) == (0.5, 1.1)
    assert (cell.ratio("java"), cell.ratio("java", decode=True)) == (1.0, 1.4)
    assert cell.real.as_the_article() == 0.7
    assert Cell.from_record(RECORD).sides == ["ours"]
    with pytest.raises(BadInput, match="without the real jars"):
        Cell.from_record(RECORD).ratio("java")


@pytest.mark.row("F-92")
@pytest.mark.parametrize(
    ("ratios", "at"), [((0.5, 0.75, 1.25), 0.75), ((0.5, 1.5, 2), 0.25), ((1, 2, 3), None), ((0.5, 0.6, 0.7), 1.0)]
)
def test_the_crossover_lies_where_the_cost_is_equal(ratios, at):
    assert cells(*ratios).crossover(1, "8 tags", "ours") == at


def test_a_cell_that_was_not_measured():
    with pytest.raises(BadInput, match=r"no cell with selectivity 0.3, 1 groups, '8 tags'; measured are .*0.5"):
        cells(1, 1, 1).cell(0.3, 1, "8 tags")


def test_a_map_survives_its_file(tmp_path):
    path = tmp_path / "map.jsonl"
    write_map(path, [{**RECORD, **JAVA, "selectivity": 1.0}, {**RECORD, **JAVA, "error": None}])
    assert [cell.selectivity for cell in read_map(path).cells] == [0.0, 1.0]
    assert read_map(path).cells[0] == Cell.from_record({**RECORD, **JAVA})
    path.write_text(json.dumps(RECORD) + "\n{}\n")
    with pytest.raises(BadInput, match=r"map\.jsonl, line 2: no bloom map \(KeyError"):
        read_map(path)
    path.write_text("")
    with pytest.raises(BadInput, match="is empty"):
        read_map(path)
    with pytest.raises(BadInput, match="line 0: no bloom map"):
        read_map(tmp_path / "none")


@pytest.mark.row("F-91", "F-92")
def test_the_stored_map_is_whole_and_small():
    found = stored_map()
    axes = [found.axis(name) for name in ("selectivity", "groups", "expression")]
    assert len(found.cells) == len(axes[0]) * len(axes[1]) * len(axes[2])
    assert {0.0, 1.0} <= set(axes[0])
    assert max(axes[1]) > 32 == found.cells[0].expected
    assert found.cells[0].sides == ["ours", "java"]
    assert sum(path.stat().st_size for path in data_folder().iterdir()) < 300_000


@pytest.mark.row("F-82", "F-91")
@pytest.mark.parametrize(("share", "groups"), [(0.25, 8), (0.75, 64), (0.5, 128)])
def test_a_stored_cell_can_be_made_again_from_its_seed(share, groups):
    cell = stored_map().cell(share, groups, "8 tags")
    workload = Workload(
        messages=cell.messages, groups=groups, selectivity=share, expression="8 tags", user_properties=True,
        seed=cell.seed,
    )  # fmt: skip
    broker = BloomBroker(workload, switch=True)
    broker.dispatch()
    figures, _ = counted_cell(broker)
    assert (figures["matched"], figures["passed"]) == (cell.matched, cell.passed)
    assert figures["theory_rate"] == pytest.approx(cell.theory_rate, abs=1e-5)


@pytest.mark.row("F-76", "F-77")
def test_false_hits_of_the_whole_map_are_as_theory_has_them():
    for groups, share, hits, others, theory in stored_map().false_hits():
        assert hits / others == pytest.approx(theory, abs=0.05), (groups, share)


@pytest.mark.row("F-91")
def test_the_stored_profile_is_of_the_articles_load_test():
    ours, java = stored_profile()
    assert (ours.workload.groups, ours.workload.selectivity, ours.workload.expression) == (1, 1.0, "128 tags")
    assert ours.calls[PULL, True]["CompiledSql92.evaluate"] == ours.calls[PULL, False]["CompiledSql92.evaluate"] == 1
    assert ours.calls[DISPATCH, True]["CompiledSql92.evaluate"] == 1
    # The direction is the article's: dearer with the switch, by our stages and by the real classes.
    assert min(ours.as_the_article(), ours.whole(), *(one.as_the_article() for one in java)) > 1
