"""Pictures of labs with several groups and topics: each shows its own group, and what its members ask for."""

from __future__ import annotations

import re

import pytest

import rmqlab
from rmqlab_tools.show import slot_timeline
from rmqlab_tools.show.canvas import WIDTH, legend, text_width
from rmqlab_tools.show.palette import LOOKS


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


def test_a_timeline_says_how_many_columns_it_leaves_out(lab, monkeypatch):
    assert ">time, s<" in lab.timeline(group="G", topic="T").svg
    monkeypatch.setattr(slot_timeline, "MAX_COLUMNS", 4)
    left_out = re.search(r">time, last 4 of (\d+)<", lab.timeline(group="G", topic="T").svg)
    assert left_out
    assert int(left_out[1]) == 6
    assert ">time, s<" in lab.timeline(group="H", topic="T").svg


def test_moments_are_those_of_one_group(lab):
    for group, members in (("G", {"A", "B", "A, B", "–"}), ("H", {"C", "–"})):
        assert {row[1] for row in lab.swimlane(group=group, topic="T").table.rows} <= members


def test_who_asks_later_has_a_lane_and_a_ribbon(lab):
    assert "A asks for tagA → tagB, B asks for tagA." in lab.swimlane().alt
    assert "B writes tagA" in lab.timeline().alt
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


def test_each_member_of_a_broadcasting_group_has_its_copy():
    lab = rmqlab.Lab(topics={"T": 2})
    for who, tag in (("A", "tagA"), ("B", "tagB")):
        lab.consumer(who, group="G", subscribe={"T": tag}, mode="broadcasting")
        lab.run(seconds=10)
    lab.send("T", ["tagA", "tagB"] * 2)
    lab.run(seconds=30)
    grid, fates = lab.grid(), lab.fates()
    delivered, lost = len(fates.where(fate="delivered")), len(fates.where(lost=True))
    assert grid.alt.startswith(f"{delivered} of 8 copies delivered, {lost} lost; each member gets its own copies. ")
    assert "A owns queues 0, 1; B owns queues 0, 1. 8 copies: " in grid.alt
    assert "broker drops it for A" in grid.svg
    assert "A, B own it" in grid.svg
    assert "lag" not in grid.svg  # the broker has no offsets of such a group
    assert "Of 8 copies:" in lab.swimlane().alt
    ribbons = lab.ribbons()
    assert "each member takes all queues" in ribbons.alt
    assert not ribbons.table.marked


def test_two_owners_at_once_are_both_named():
    greedy = rmqlab.RULES["4.8.0"].replace(allocate=lambda current, queues, everybody: list(queues))
    lab = rmqlab.Lab(topics={"T": 2}, rules=greedy)
    lab.consumer("A", group="G", subscribe={"T": "*"})
    lab.consumer("B", group="G", subscribe={"T": "*"})
    lab.run(seconds=30)
    assert "A, B own it" in lab.grid().svg
    assert "A owns queues 0, 1; B owns queues 0, 1." in lab.grid().alt
    assert "each member takes all queues" not in lab.ribbons().alt
    assert lab.ribbons().table.marked


def test_queues_that_come_later_have_their_columns():
    lab = rmqlab.Lab(topics={"T": 1})
    lab.consumer("A", group="G", subscribe={"T": "*"})
    lab.resize("T", 3)
    lab.run(seconds=40)
    lab.send("T", ["x"] * 3)
    lab.run(seconds=5)
    grid = lab.grid()
    assert "Grid of 3 queues" in grid.alt
    assert all(f">queue {queue}<" in grid.svg for queue in range(3))


def test_a_legend_of_many_fates_stays_in_the_picture():
    words = [f"{look.mark} 1 {look.words}" for look in LOOKS.values()]
    places, height = legend(words, 0.08, WIDTH + 0.2, room=0.44)
    assert len({y for _, y in places}) == 5
    assert height == pytest.approx(5 * 0.24)
    assert all(x + 0.24 + text_width(text) <= WIDTH for (x, _), text in zip(places, words, strict=True))


def test_a_grid_of_no_messages_says_so():
    lab = rmqlab.Lab(topics={"T": 1})
    lab.consumer("A", group="G", subscribe={"T": "*"})
    assert ">no message was sent<" in lab.grid().svg
