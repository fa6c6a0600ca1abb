"""Bars, lines and heat maps from rows: every number is in the table, words fit, and bad rows get a clear error."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rmqlab
from rmqlab.errors import BadInput
from rmqlab_tools.show.canvas import WIDTH, text_width
from rmqlab_tools.show.charts import bars
from rmqlab_tools.show.heat_maps import ABOVE, BELOW, RAMP, heat_map
from rmqlab_tools.show.line_charts import lines
from rmqlab_tools.show.palette import WHITE, contrast, ink
from rmqlab_tools.show.tables import as_rows

ROWS = [
    {"way": "stop all", "lost": 0, "least": 0, "worst": 0},
    {"way": "one by one", "lost": 6, "least": 2, "worst": 9},
]
GRID = [{"queues": q, "gap": g, "lost": q * g} for q in (1, 4, 16) for g in (0, 100, 60_000)]


def letters(svg):
    """Each text with its size in pixels."""
    found = ET.fromstring(svg).iter("{http://www.w3.org/2000/svg}text")
    return [("".join(text.itertext()), float(text.get("font-size", "12"))) for text in found]


def test_bars_show_every_row_and_mark_one():
    picture = bars(ROWS, x="way", value="lost", low="least", high="worst", title="Lost", marked=lambda r: r["lost"] > 0)
    assert picture.alt == "Lost: stop all 0 (0 to 0), one by one 6 (2 to 9)."
    assert picture.table.rows == [["stop all", 0, 0, 0], ["one by one", 2, 6, 9]]
    assert picture.table.marked == {1}
    assert "▸ one by one" in picture.svg
    assert "<title>one by one: 6 (2 to 9)</title>" in picture.svg


@given(
    st.lists(st.tuples(st.text("abcdefgh ", min_size=1, max_size=30), st.integers(0, 10**9)), min_size=1, max_size=9)
)
@settings(max_examples=30, deadline=None)
def test_bars_stay_on_the_sheet(pairs):
    rows = [{"name": name, "n": n} for name, n in pairs]
    svg = bars(rows, x="name", value="n", title="t").svg
    for block in re.finditer(r'<rect x="([\d.]+)" y="[\d.]+" width="([\d.]+)"', svg):
        assert float(block[1]) + float(block[2]) <= WIDTH * 96
    for text in re.finditer(r'<text x="([\d.]+)"[^>]*text-anchor="start"[^>]*>([^<]*)', svg):
        assert float(text[1]) / 96 + text_width(text[2]) <= WIDTH + 0.5


def test_a_heat_map_has_a_cell_for_each_pair():
    picture = heat_map(GRID, x="queues", y="gap", value="lost", title="Lost")
    assert picture.alt == "Lost: from 0 (queues 1, gap 0) to 960,000 (queues 16, gap 60,000)."
    assert picture.table.headers == ["gap", "queues 1", "queues 4", "queues 16"]
    assert picture.table.rows[2] == [60_000, 60_000, 240_000, 960_000]
    assert "<title>queues 16, gap 100: 1600</title>" in picture.svg


def test_letters_on_every_ground_can_be_read():
    assert all(contrast(ink(colour), colour) >= 4.5 for colour in (*RAMP, *BELOW, *ABOVE, WHITE))


def test_lines_have_a_legend_and_a_panel_for_each_value():
    rows = [{**row, "tags": tags} for row in GRID for tags in ("same", "other")]
    picture = lines(
        rows, x="gap", value="lost", line="tags", panel="queues", title="Lost", names={"lost": "messages lost"},
        law=lambda row: row["gap"],
    )  # fmt: skip
    words = [text for text, _ in letters(picture.svg)]
    assert {"tags same", "tags other", "expected", "queues 1", "queues 4", "queues 16"} <= set(words)
    assert picture.table.headers == ["queues", "tags", "gap 0", "gap 100", "gap 60,000"]
    assert picture.alt == "Lost: messages lost over gap, from 0 to 960,000."


@pytest.mark.parametrize("form", [bars, heat_map, lines])
def test_the_same_rows_are_the_same_bytes(form):
    given_columns = {"x": "queues", "value": "lost", "title": "t"} | ({"y": "gap"} if form is heat_map else {})
    rows = GRID if form is heat_map else GRID[::3]
    assert form(rows, **given_columns).svg == form(rows, **given_columns).svg


def test_no_letter_of_a_diagram_is_smaller_than_eleven_pixels():
    for picture in (
        bars(ROWS, x="way", value="lost", title="t"),
        heat_map(GRID, x="queues", y="gap", value="lost", title="t"),
        lines(GRID[::3], x="queues", value="lost", title="t"),
    ):
        shown = 899 / float(re.search(r'viewBox="0 0 ([\d.]+)', picture.svg)[1])  # on a page of 1,024 px
        assert min(size for _, size in letters(picture.svg)) * shown >= 11


def test_rows_may_be_a_frame_or_the_records_of_a_lab():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(ROWS).set_index("way", drop=False)
    assert bars(frame, x="way", value="lost", title="t").svg == bars(ROWS, x="way", value="lost", title="t").svg
    lab = rmqlab.Lab(topics={"T": 2})
    lab.send("T", ["a", "b"])
    assert bars(lab.messages(), x="body", value="queue", title="t").table.rows == [["MsgStr0", 0], ["MsgStr1", 1]]


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: bars([], x="a", value="b", title="t"), "a chart needs rows; there are none"),
        (lambda: bars(ROWS, x="way", value="lots", title="t"), "no column 'lots'; did you mean lost"),
        (lambda: bars([{"a": 1, "b": -1}], x="a", value="b", title="t"), "a bar begins at 0"),
        (lambda: bars("text", x="a", value="b", title="t"), "rows are a str; right is a list of dicts"),
        (lambda: as_rows([(1, 2, 3)], ("a", "b")), "rows: (1, 2, 3) does not fit the headers a, b"),
        (lambda: as_rows(["ab"], ("a", "b")), "rows are a list; right is"),
        (lambda: heat_map(GRID + GRID, x="queues", y="gap", value="lost", title="t"), "18 rows for 9 cells"),
        (lambda: lines(GRID, x="gap", value="lost", title="t"), "9 rows for 3 places"),
    ],
)
def test_bad_rows_are_refused_in_words(call, words):
    with pytest.raises(BadInput, match=re.escape(words)):
        call()
