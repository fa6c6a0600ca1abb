"""Tables as HTML and as text."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import pytest

from rmqlab_tools.show.tables import Table

TABLE = Table("What <is>", ("name", "值"), [("a", 1), ("bb", None)], frozenset({1}))


def test_html_has_caption_and_headers_for_both_directions():
    root = ET.fromstring(TABLE.html())
    assert root.find("caption").text == "What <is>"
    assert [cell.get("scope") for cell in root.iter("th")] == ["col", "col", "row", "row"]
    assert [cell.text for cell in root.iter("td")] == ["1", "–"]


def test_marked_row_has_a_mark_as_well_as_a_ground():
    rows = ET.fromstring(TABLE.html()).find("tbody").findall("tr")
    assert rows[0].get("style") is None
    assert "background" in rows[1].get("style")
    assert rows[1].find("th").text == "▸ bb"


def test_text_is_aligned_and_counts_wide_characters():
    assert TABLE.text().splitlines() == ["What <is>", "name  值", "a     1", "bb    –  <"]
    assert repr(TABLE) == TABLE.text()


def test_folded_table_shows_its_caption():
    html = Table("Many", ("a",), [("1",)], folded=True).html()
    assert html.startswith("<details><summary>Many</summary><table><thead>")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1.0, "1"),
        ([], "none"),
        ([0, 1], "0, 1"),
        ([["a", "b"], ["c"]], "a, b; c"),
        ({"A": [0, 1], "B": []}, "A: 0, 1; B: none"),
    ],
)
def test_values_for_people(value, text):
    assert Table("t", ("a", "b"), [("x", value)]).text().splitlines()[-1] == f"x  {text}"


def test_row_of_another_length_is_refused():
    with pytest.raises(ValueError, match="row 1 has 1 cells for 2 headers"):
        Table("t", ("a", "b"), [("1", "2"), ("1",)])
