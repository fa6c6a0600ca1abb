"""The two strips: what they say in words, and that a difference is marked."""

from __future__ import annotations

from rmqlab.lab.recorded.matched_runs import NOMINAL, matched_runs
from rmqlab.show.recordings import recording_tables
from rmqlab.show.recordings.strips import strips


def test_an_agreement_is_said():
    picture = strips(matched_runs("p-article-000"))
    assert (
        "A consumed 2 there and 2 here; B consumed 0 there and 0 here. All 3 things that must agree do." in picture.alt
    )
    assert "got 2: the same" in picture.svg
    assert "tagA, tagB, tagA" in picture.table.text()


def test_a_difference_is_marked():
    picture = strips(matched_runs("p-article-000", NOMINAL))
    assert "Different: consumed by A, consumed by B." in picture.alt
    assert "NOT the same" in picture.svg
    marked = [line for line in picture.table.text().splitlines() if line.endswith("<")]
    assert marked[0].startswith("consumed by A")


def test_tables():
    wire = recording_tables.frames("p-article-000", 0, 6).text()
    assert "A → broker" in wire
    assert "HEART_BEAT (34)" in wire
    assert "tagA @ " in wire
    summed = recording_tables.summary("p-article-000").text()
    assert "2 subscription_not_latest" in summed
    guessed = recording_tables.guessed(["noprop"], 2, {"noprop": 1}).rows
    assert guessed == [("noprop", 3, 1, 3, guessed[0][4], 3 - guessed[0][4])]
    said = recording_tables.tool_ages(60, 121).text()
    assert "(when it was recorded)  same" in said
    assert "NOT same" in said
