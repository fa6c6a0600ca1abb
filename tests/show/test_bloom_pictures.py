"""What the pictures and tables of notebook 05 say."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import pytest

from rmqlab.errors import BadInput
from rmqlab.lab.bloom.stored_map import stored_map, stored_profile
from rmqlab.lab.bloom.workload import Workload
from rmqlab.show.bloom import tables as bloom_tables
from rmqlab.show.bloom.cost import bloom_cost, cell_cost
from rmqlab.show.bloom.false_hits import bloom_false_hits
from rmqlab.show.bloom.map import bloom_map
from rmqlab.show.play.bloom import _draw, play_bloom


def words(picture):
    return [text.text for text in ET.fromstring(picture.svg).iter("{http://www.w3.org/2000/svg}text")]


@pytest.mark.row("F-91")
def test_the_articles_bars_stand_beside_ours():
    profile, real = stored_profile()
    picture = bloom_cost(profile, real)
    rows = {(who, stage): cost for who, stage, cost in picture.table.rows}
    assert rows["article, with", "build bitmap"] == "0.80"
    assert rows["article, with", "sum"] == "1.30"
    assert float(rows["our stages, with", "sum"]) == pytest.approx(profile.all_stages(), abs=0.006)
    assert float(rows["the real classes, with", "sum"]) == pytest.approx(real[len(real) // 2].ratio(), abs=0.006)
    assert "1.30" in words(picture)
    assert [text for text in words(picture) if text.endswith(", with")] == [
        "article, with", "our stages, with", "the real classes, with",
    ]  # fmt: skip
    without = bloom_cost(profile, [])
    assert "the real classes, with" not in words(without)


@pytest.mark.row("F-92")
def test_the_map_says_where_the_switch_pays():
    found = stored_map()
    cell = found.cell(1.0, 1, "128 tags")
    picture = bloom_map(found, "128 tags", here=cell)
    assert words(picture).count(f"{cell.ratio('java'):.2f}") >= 1
    assert picture.alt.startswith("By our stages the switch pays with 1 group never")
    assert len(picture.table.rows) == 2 * len(found.axis("selectivity"))
    at = found.crossover(32, "128 tags", "java")
    assert f"32 groups below {at:.0%}" in picture.alt


def test_the_line_lies_between_the_cells_that_it_divides():
    from rmqlab.show.bloom.map import _place

    shares = [0.0, 0.5, 1.0]
    assert [_place(at, shares) for at in (None, 0.0, 0.25, 0.5, 0.75, 1.0)] == [-0.5, 0, 0.5, 1, 1.5, 2.5]


@pytest.mark.row("F-76", "F-77")
def test_false_hits_are_told_beside_theory():
    picture = bloom_false_hits(stored_map())
    assert "configured: 32 groups" in words(picture)
    assert all(row[1] not in {"0%", "100%"} for row in picture.table.rows)
    assert "128 groups of which 75% match" in picture.alt


@pytest.mark.row("F-82", "F-91")
def test_tables():
    profile, real = stored_profile()
    found = stored_map()
    guessed = bloom_tables.guessed(0.5, profile, real)
    assert guessed.rows[:2] == [("your guess", "0.5"), ("article: (4.2 % + 2.66 %) / 5.28 %", "1.30")]
    assert [row[0] for row in bloom_tables.layer_2(profile, real).rows] == ["article", "our stages", "the real classes"]
    assert bloom_tables.layer_2(profile, real).rows[0][1] == "0.50"
    assert bloom_tables.parts(profile, []).rows[0][3] is None
    calls = bloom_tables.calls(Workload(messages=20, groups=3, selectivity=0.0)).rows
    assert calls[-1] == ("pull", "expressions evaluated", "3", "0")
    assert bloom_tables.counted_again(found.cell(0.5, 32, "8 tags")).caption.endswith(": the same counts")
    assert sum(sum(row[2:]) for row in bloom_tables.advice(found, "java").rows) == len(found.cells)
    assert all(len(row) == 3 + len(found.axis("groups")) for row in bloom_tables.crossovers(found).rows)
    told = bloom_tables.worst(found).caption
    assert 2 * int(told.split(": ")[1].split(" of ")[0]) > int(told.split(" of ")[-1].split()[0])


def test_the_control_takes_measured_cells_only(capsys):
    play_bloom(mode="static", selectivity=0.5, groups=8)
    with pytest.raises(BadInput, match=r"no cell with selectivity 0\.3"):
        play_bloom(mode="static", selectivity=0.3)
    shown = _draw(selectivity=0.05, groups=64, expression="8 tags")
    assert shown.title == cell_cost(stored_map().cell(0.05, 64, "8 tags")).title
    assert "Cost with the switch / without: 8 tags" in words(shown)
