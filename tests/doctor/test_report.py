"""The page and its pictures: what they say of a group, and that text from a cluster stays text."""

from __future__ import annotations

import re

import pytest

from rmqlab.errors import BadInput
from rmqlab_tools.doctor.diagnosis import diagnose
from rmqlab_tools.doctor.report import report_page, write_report
from tests.doctor.conftest import STARTED, M, look, passed

TWO_TAGS = [M("A", {"T": "tagA"}, STARTED), M("B", {"T": "tagB"}, STARTED + 60_000)]


def test_the_picture_says_who_asks_what_is_held_and_what_is_lost():
    picture = diagnose(passed(look(TWO_TAGS), ["tagA", "tagB"])).picture()
    assert "A asks: tagA" in picture.alt
    assert "broker-a holds tagB" in picture.alt
    assert re.search(r"6 of 8 messages read were asked for and dropped", picture.alt)
    assert [row[3] for row in picture.table.rows] == ["2 of 2 lost"] * 2 + ["1 of 2 lost"] * 2


def test_what_was_not_read_is_not_known():
    seen = look([M("A"), M("B", silent=True)])
    seen.groups["G"].offsets.clear()
    picture = diagnose(seen).picture("G")
    assert "B asks: not known" in picture.alt
    assert {row[3] for row in picture.table.rows} == {"not known"}


def test_a_group_without_a_topic_has_no_picture():
    with pytest.raises(BadInput, match="no member asks for any topic"):
        diagnose(look([])).picture("G")
    with pytest.raises(BadInput, match="no group 'H' was looked at"):
        diagnose(look(TWO_TAGS)).picture("H")


def test_the_page_has_every_group_and_loads_nothing(tmp_path):
    seen = look(TWO_TAGS)
    odd = "<script>alert(1)</script>"
    seen.groups[odd] = look([M("<b>")], group=odd).groups[odd]
    page = report_page(diagnose(seen))
    assert "G, T: at risk" in page
    assert "<script" not in page
    assert "<b>" not in page
    assert not re.search(r"(src|href)=[\"']?http", page)
    written = write_report(diagnose(seen), tmp_path)
    assert written.read_text(encoding="utf-8") == page


def test_many_members_and_queues_are_counted_where_they_are_not_drawn():
    picture = diagnose(look([M(f"C{number:02}") for number in range(20)], 40)).picture("G")
    assert "not shown: 12 members, 24 queues" in picture.svg
    assert len(picture.table.rows) == 40
