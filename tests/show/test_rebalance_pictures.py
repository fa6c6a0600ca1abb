"""Pictures and tables of notebook 07 say what the runs say."""

from __future__ import annotations

import pytest

from rmqlab.errors import BadInput
from rmqlab.lab.groups.allotment import Division
from rmqlab.lab.groups.group_life import JOINING, GroupLife, Happening
from rmqlab.show.palette import VERMILLION
from rmqlab.show.play.rebalance import LEAVERS, NEWCOMERS, WAYS, change, members, story
from rmqlab.show.rebalance import rebalance_tables
from rmqlab.show.rebalance.allotment_grid import allotment_grid
from rmqlab.show.rebalance.ownership_ribbons import MOST_TOLD, ownership_ribbons, summary

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def untold():
    return GroupLife(notify=False, per_s=5).run()


def test_ribbons_say_who_owned_what_and_mark_two_owners_and_none(untold):
    picture = ownership_ribbons(untold)
    assert "nobody is told anything" in picture.svg
    assert ">nobody<" in picture.svg
    assert VERMILLION.lower() in picture.svg.lower()
    assert summary(untold) in picture.alt
    assert "queue 4: C" in picture.alt
    rows = picture.table.rows
    assert len(rows) == len(untold.stretches)
    for number, row in enumerate(rows):
        assert (number in picture.table.marked) == (row[1] == "nobody" or " and " in row[1])


def test_ribbons_of_a_group_that_is_told_have_neither():
    life = GroupLife((*JOINING, Happening(30, "B", "pauses", 20)), 60).run()
    picture = ownership_ribbons(life)
    assert ">nobody<" not in picture.svg
    assert "consumed twice" not in picture.alt
    assert "B pauses at 30 s" in picture.alt
    assert len(life.told) < MOST_TOLD


def test_the_same_run_gives_the_same_picture():
    assert ownership_ribbons(GroupLife().run()).svg == ownership_ribbons(GroupLife().run()).svg


@pytest.mark.parametrize("what", [*NEWCOMERS.values(), *LEAVERS.values()])
def test_the_grid_says_what_moved(what):
    pairs = change(Division(8, members(3)), what)
    picture = allotment_grid(pairs, "a change")
    for row, (strategy, (before, after)) in zip(picture.table.rows, pairs.items(), strict=True):
        assert row[0] == strategy
        assert row[3] == len(before.moved(after))
        assert f"{strategy}: {row[3]} moved" in picture.alt
        assert f"{row[3]} moved" in picture.svg
    assert {4} <= picture.table.marked  # machine room: the west is nobody's


def test_changes_that_cannot_be():
    with pytest.raises(BadInput, match="change is 'middle'; it is one of first"):
        change(Division(4, members(2)), "middle")
    with pytest.raises(BadInput, match="only one member"):
        change(Division(4, members(1)), "A")


@pytest.mark.parametrize("way", WAYS.values())
def test_every_way_of_the_controls_can_be_played(way):
    assert story(way, count=2, queues=2, per_s=0).scenario().steps[-1].at > 45_000


def test_more_members_than_queues_and_other_strategies():
    life = story("leaves", count=4, queues=2, strategy="circle", other="hash", per_s=0).run()
    held = life.owners_at(44_000)
    assert held[0] == ("A",)
    assert life.members == list("ABCD")


def test_storms_grow_as_the_square(untold):
    rows = rebalance_tables.storms(8).rows
    assert [row[1] for row in rows] == [size * (size + 1) // 2 for size in (2, 4, 8)]
    assert [row[3] for row in rows] == [2 * size - 1 for size in (2, 4, 8)]


def test_a_restart_moves_only_ones_own_queues_on_a_ring():
    table = rebalance_tables.flaps({"averagely": "avg", "consistent hash": "hash"}, 8, 4)
    ring = [row for row in table.rows if row[0] == "consistent hash"]
    assert [row[2] for row in ring] == [row[3] for row in ring]
    assert any(row[2] > row[3] for row in table.rows)


def test_tables(untold):
    guess = rebalance_tables.guessed(untold, {"A": 2, "B": 9, "C": 1}, 35, 1)
    assert [row[:3] for row in guess.rows[:3]] == [("A", 2, 2), ("B", 9, 2), ("C", 1, 1)]
    assert guess.rows[3] == ("changed hands when C came", 1, 2, [2, 4])
    assert guess.marked == {1, 3}
    off = rebalance_tables.set_off(untold)
    assert [row[2] for row in off.rows] == [[], [], [], []]
    assert off.rows[1][3] == off.rows[1][4] == ["B"]
    ids = rebalance_tables.order_of_ids(8, members(3), ("10.0.0.25@N", "10.0.0.99@N"))
    assert [ids.rows[number][0] for number in sorted(ids.marked)] == ["averagely"]
    mixed = rebalance_tables.disagreement(5, dict(zip(members(2), ("averagely", "averagely by circle"), strict=True)))
    assert mixed.marked
