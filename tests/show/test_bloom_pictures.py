"""What the pictures and tables of notebook 05 say."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from dataclasses import replace

import pytest

from rmqlab.errors import BadInput
from rmqlab.lab.bloom.map import BloomMap, ProfileCell, stored_map
from rmqlab.lab.bloom.stages import StageCounts, Stages
from rmqlab.lab.bloom.workload import ARTICLE, Workload
from rmqlab.show.bloom import tables as bloom_tables
from rmqlab.show.bloom.cost import bloom_cost
from rmqlab.show.bloom.false_hits import bloom_false_hits
from rmqlab.show.bloom.map import bloom_map
from rmqlab.show.play.bloom import _draw, play_bloom

# Processes whose cost with / without is 0.8, 1.2 and 1.6.
STAGES = tuple(Stages(50.0, 30.0, 20.0, 10.0, 0.0, 100.0, more) for more in (20.0, 60.0, 100.0))


def words(picture):
    return [text.text for text in ET.fromstring(picture.svg).iter("{http://www.w3.org/2000/svg}text")]


def case(share=1.0, *, properties=True, stages=STAGES):
    return ProfileCell(
        Workload(selectivity=share, user_properties=properties), StageCounts(0, 0, None), {"ours": stages}
    )


@pytest.mark.row("F-91")
def test_the_articles_bars_stand_beside_ours():
    picture = bloom_cost(case(), article=True)
    rows = {(who, stage): cost for who, stage, cost in picture.table.rows}
    assert rows["article, with", "build bitmap"] == "0.80"
    assert rows["article, with", "sum"] == "1.30"
    assert rows["our classes, with", "sum"] == "1.20"
    assert rows["our classes, with", "extension: write, read"] == "0.30"
    assert "1.20, charged 1.70" in words(picture)
    assert "article, with" not in words(bloom_cost(case()))


@pytest.mark.row("F-92")
def test_the_map_says_where_the_switch_pays_and_where_processes_disagree():
    found = BloomMap((case(0.0, stages=STAGES[:1]), case(0.5), case(1.0, stages=STAGES[1:])))
    picture = bloom_map(found, "128 tags", here=found.cells[2])
    assert words(picture).count("1.20") == 1
    assert [row[2] for row in picture.table.rows] == [
        "0.80 (0.80 to 0.80)", "1.20 (0.80 to 1.60)", "1.40 (1.20 to 1.60)",
    ]  # fmt: skip
    assert "at these shares of matching messages: 1 group 0% to 100%." in picture.alt
    # a cell on which the processes disagree has the colour of no verdict
    pale, light = "fill: #f2f2f2", "fill: #56b4e9"
    assert picture.svg.count(pale) == picture.svg.count(light) == 1


@pytest.mark.row("F-76", "F-77")
def test_false_hits_are_told_beside_theory():
    picture = bloom_false_hits(stored_map())
    assert "configured: 32 groups" in words(picture)
    assert all(row[1] not in {"0%", "100%"} for row in picture.table.rows)
    assert "128 groups of which 75% match" in picture.alt


@pytest.mark.row("F-91")
def test_tables_tell_the_middle_process_and_both_ends():
    one = case()
    guessed = bloom_tables.guessed(0.5, one)
    assert guessed.rows == [
        ("your guess", "0.5"), ("article: (4.2 % + 2.66 %) / 5.28 %", "1.30"),
        ("our classes, the same two parts", "0.90 (0.50 to 1.30)"),
    ]  # fmt: skip
    assert bloom_tables.layer_2(one).rows == [("article", "0.50"), ("our classes", "0.60 (0.20 to 1.00)")]
    both = bloom_tables.parts(BloomMap((one,), case(properties=False)), one)
    assert both.headers[2:] == ("our classes, 8 properties", "our classes, 3 properties")
    assert both.rows[1][1:] == (None, "1.20 (0.80 to 1.60)", "1.20 (0.80 to 1.60)")
    points = bloom_tables.points(one).rows
    assert points[0] == ("article", "6.86 %", "+1.58")
    assert points[2] == ("our classes, all stages", "6.3 %", "+1.1 (-1.1 to +3.2)")


@pytest.mark.row("F-82", "F-91")
def test_tables_that_count():
    calls = bloom_tables.calls(Workload(messages=20, groups=3, selectivity=0.0)).rows
    assert calls[-1] == ("pull", "expressions evaluated", "3", "0")
    again = bloom_tables.counted_again(stored_map().cell(0.5, 32, "8 tags"))
    assert again.caption.endswith(": the same counts")
    assert again.rows[0][1] > 0


@pytest.mark.row("F-92")
def test_tables_of_the_map():
    found = stored_map()
    assert all(sum(row[2:]) == row[1] for row in bloom_tables.advice(found, "java").rows)
    assert sum(row[1] for row in bloom_tables.advice(found, "java").rows) == len(found.cells)
    assert all(len(row) == 2 + len(found.axis("groups")) for row in bloom_tables.turns(found).rows)
    made = BloomMap((case(0.0, stages=STAGES[:1]), case(0.5), case(1.0, stages=STAGES[1:])))
    assert bloom_tables.worst(made).rows == [("128 tags", "our classes", "50% to 100%")]
    assert bloom_tables.worst(made).caption.endswith("100 % alone in 0 of 1, among those that the intervals leave in 1")


@pytest.mark.row("F-91")
def test_what_is_measured_now_shows_counts_and_keeps_no_ratio(capsys):
    bloom_tables.measured_now([replace(ARTICLE, messages=40)], 1)
    told = capsys.readouterr().out
    assert "1 group, 100% match" in told
    assert "The ratios of this run appear here when the notebook runs." in told
    bloom_tables.measured_now([replace(ARTICLE, messages=40)], 1, mode="static")
    assert "appear here" not in capsys.readouterr().out


def test_the_control_takes_measured_cells_only(capsys):
    play_bloom(mode="static", selectivity=0.5, groups=8)
    with pytest.raises(BadInput, match=r"no cell with selectivity 0\.3"):
        play_bloom(mode="static", selectivity=0.3)
    shown = _draw(selectivity=0.05, groups=64, expression="8 tags")
    assert shown.title == bloom_cost(stored_map().cell(0.05, 64, "8 tags")).title
    assert "Cost with the switch / without: 8 tags" in words(shown)
