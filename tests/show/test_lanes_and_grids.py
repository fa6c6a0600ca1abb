"""General forms of time and shares: the clock lane, the grid of allotments, the flow of frames."""

from __future__ import annotations

import re

import pytest

import rmqlab
from rmqlab.errors import BadInput

ROWS = [
    ("A", -5_000, "heartbeat"),
    ("A", 0, "gone"),
    ("A", 125_000, "forgotten"),
    ("B", 10_000, "heartbeat"),
    {"lane": "B", "t": 20_000, "what": "pauses", "until": 60_000},
]


def lane(**options):
    return rmqlab.show.clock_lane(ROWS, **options)


def test_every_mark_is_drawn_named_and_in_the_table():
    picture = lane(title="A goes", limit_ms=120_000)
    assert picture.title == "A goes"
    assert [row[1:] for row in picture.table.rows] == [
        ("A", "heartbeat"), ("A", "gone"), ("B", "heartbeat"), ("B", "pauses"), ("A", "forgotten"),
    ]  # fmt: skip
    for words in ("heartbeat", "gone", "forgotten", "pauses", "limit 120 s", "<title>A, 0 s: gone</title>"):
        assert words in picture.svg
    assert "A: heartbeat, gone, forgotten; B: heartbeat, pauses." in picture.alt


def test_only_lanes_that_are_reset_have_a_clock():
    assert lane(limit_ms=120_000).svg.count("limit 120 s") == 2
    assert "limit" not in lane().svg


def test_a_cut_leaves_out_what_is_not_in_it():
    picture = lane(start=-1_000)
    assert [row[2] for row in picture.table.rows] == ["gone", "heartbeat", "pauses", "forgotten"]


def test_marks_that_would_cover_each_other_stand_apart():
    close = [("A", 0, "one"), ("A", 5, "two"), ("A", 10_000, "three")]
    picture = rmqlab.show.clock_lane(close)
    one, two = (re.search(rf"<title>A, [^<]* s: {what}</title>", picture.svg) for what in ("one", "two"))
    assert one
    assert two
    spots = re.findall(r'<circle cx="([\d.]+)" cy="([\d.]+)"', picture.svg)
    assert spots
    assert len(picture.table.rows) == 3


def test_named_kinds_look_the_same_in_each_picture():
    def look(rows, **options):
        svg = rmqlab.show.clock_lane(rows, **options).svg
        (mark,) = re.findall(r"<(\w+)[^>]* stroke=\"(#\w+)\"[^>]*>\s*<title>A, 1 s: gone</title>", svg)[-1:]
        return mark

    alone, later = [("A", 1_000, "gone")], [("A", 0, "comes"), ("A", 1_000, "gone")]
    assert look(alone) != look(later)
    assert look(alone, kinds=["comes", "gone"]) == look(later, kinds=["comes", "gone"]) == look(later)
    assert "comes" not in rmqlab.show.clock_lane(alone, kinds=["comes", "gone"]).svg


@pytest.mark.parametrize(
    ("rows", "text"),
    [
        ([], "no mark lies in the time"),
        ([("A", 1)], r"\('A', 1\) is no mark; right is lane, t, what"),
        ([("A", "soon", "beat")], "is no number of ms"),
        ([("A", 1, "held", "soon")], "is no number of ms"),
    ],
)
def test_rows_that_cannot_be_drawn(rows, text):
    with pytest.raises(BadInput, match=text):
        rmqlab.show.clock_lane(rows)


def test_what_ends_at_zero_ends_there():
    band = [("A", -5_000, "held", 0), ("A", -9_000, "beat")]
    assert "-5 to 0" in str(rmqlab.show.clock_lane(band, start=-1_000).table)


@pytest.mark.parametrize("row", [(1, "A", "B"), {"t": 1, "source": "A", "target": "B", "why": "x"}])
def test_a_row_that_is_no_frame(row):
    with pytest.raises(BadInput, match="is no frame; right is t, source, target, what"):
        rmqlab.show.frame_flow([row])
    with pytest.raises(BadInput, match="is no number of ms"):
        rmqlab.show.frame_flow([("now", "A", "B", "HEART_BEAT")])


GRID = [
    {"name": "blocks", "before": list("AABB"), "after": ["A", "N", "", "A+B"]},
    {"name": "the same", "before": list("AABB"), "after": list("AABB")},
]


def test_the_grid_says_and_frames_what_moved():
    picture = rmqlab.show.allotment_grid(GRID, title="N joins")
    assert (
        picture.alt
        == "N joins: 4 queues. blocks: A A B B, then A N – A+B; 3 moved. the same: A A B B, then A A B B; 0 moved."
    )
    assert list(map(list, picture.table.rows)) == [
        ["blocks before", "A", "A", "B", "B"],
        ["blocks after: 3 moved", "A", "N", "–", "A+B"],
        ["the same before", "A", "A", "B", "B"],
        ["the same after: 0 moved", "A", "A", "B", "B"],
    ]
    assert picture.svg.count('fill="none"') == 3
    assert "<title>queue 2, blocks after: 3 moved: –</title>" in picture.svg


def test_a_grid_needs_lists_of_one_length():
    with pytest.raises(BadInput, match="all lists with one owner for each queue"):
        rmqlab.show.allotment_grid([{"name": "x", "before": ["A"], "after": []}])
    with pytest.raises(BadInput, match="no column 'after'"):
        rmqlab.show.allotment_grid([{"name": "x", "before": ["A"]}])


def test_frames_of_a_lab_are_drawn_in_their_order():
    lab = rmqlab.Lab(topics={"T": 1})
    lab.consumer("A", group="G", subscribe={"T": "*"})
    frames = lab.frames()
    picture = rmqlab.show.frame_flow(frames)
    assert len(picture.table.rows) == len(frames)
    assert picture.alt.startswith(
        "Who sends what to whom. A to 127.0.0.1:9876: GET_ROUTEINFO_BY_TOPIC; 127.0.0.1:9876 to A: "
    )
    assert "answer" not in picture.alt
    with pytest.raises(BadInput, match="there is no frame"):
        rmqlab.show.frame_flow([])
    with pytest.raises(BadInput, match="parties lacks 127"):
        rmqlab.show.frame_flow(frames[:1], parties=["A"])
