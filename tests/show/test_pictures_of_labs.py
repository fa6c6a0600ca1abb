"""Pictures of labs with several groups and topics: each shows its own group, and what its members ask for."""

from __future__ import annotations

import re

import pytest

import rmqlab


@pytest.fixture(scope="module")
def lab():
    """G and H share a topic; B asks for it only later, A changes its mind."""
    lab = rmqlab.Lab(topics={"T": 2, "V": 1})
    lab.consumer("A", group="G", subscribe={"T": "tagA"})
    lab.consumer("B", group="G", subscribe={"V": "*"})
    lab.consumer("C", group="H", subscribe={"T": "*"})
    lab.run(seconds=35)
    lab.subscribe("B", "T", "tagA")
    lab.run(seconds=65)
    lab.subscribe("A", "T", "tagB")
    lab.run(seconds=65)
    lab.send("T", ["tagA", "tagB"] * 2)
    lab.run(seconds=30)
    return lab


def test_a_timeline_has_the_heartbeats_of_its_own_group(lab):
    for group, members in (("G", {"A", "B"}), ("H", {"C"})):
        rows = lab.timeline(group=group, topic="T").table.rows
        assert {row[1] for row in rows} == members
        beats = lab.heartbeats().where(group=group, topic="T")
        assert [(row[1], row[2]) for row in rows] == [(beat.who, beat.expression) for beat in beats]


def test_moments_are_those_of_one_group(lab):
    for group, members in (("G", {"A", "B", "A, B", "–"}), ("H", {"C", "–"})):
        assert {row[1] for row in lab.swimlane(group=group, topic="T").table.rows} <= members


def test_who_asks_later_has_a_lane_and_a_ribbon(lab):
    assert "A asks for tagA → tagB, B asks for tagA." in lab.swimlane().alt
    assert "B: tagA" in lab.timeline().svg
    assert re.search(r">B starts, \d+ ms later<", lab.swimlane().svg)
    owners = lab.owners(group="G", topic="T")
    assert {"A", "B"} <= {one.owners for one in owners}
    assert "B joins" in lab.ribbons().alt


def test_a_client_that_changed_its_mind_drops_by_what_it_asks_now(lab):
    dropped = lab.fates().where(group="G", fate="dropped_by_client")
    assert dropped
    told = [row[3] for row in lab.swimlane().table.rows if "itself wants only" in row[3]]
    assert len(told) == len(dropped)
    assert {fate.subscription for fate in dropped} == {text.rpartition(" ")[2] for text in told}
