"""Strategies asked before and after a change: what moves, what is even, what has no owner."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rmqlab.client.allocate import AllocateMessageQueueAveragely
from rmqlab.errors import BadInput
from rmqlab.lab.groups.allotment import GROUP, STRATEGIES, Division, fewest_moves, joined, left

A, B, C = "10.0.0.20@A", "10.0.0.30@B", "10.0.0.40@C"
FIRST, SECOND, LAST = "10.0.0.10@N", "10.0.0.25@N", "10.0.0.99@N"
FAIR = ("averagely", "averagely by circle")
WHOLE = (*FAIR, "consistent hash")


def letters(allotment):
    return " ".join("".join(who.partition("@")[2] for who in owners) or "-" for owners in allotment.owners.values())


@pytest.mark.parametrize(
    ("strategy", "before", "after"),
    [
        ("averagely", "A A A B B B C C", "A A B B C C N N"),
        ("averagely by circle", "A B C A B C A B", "A B C N A B C N"),
        ("by config", "A A A B B B C C", "A A A B B B C C"),
        ("machine room", "A B C A - - - -", "A B C N - - - -"),
        ("machine room nearby", "A A C C B B B B", "A A C C B B N N"),
    ],
)
def test_what_a_newcomer_with_the_last_id_gets(strategy, before, after):
    pair = joined(Division(8, (A, B, C)), LAST, strategy)
    assert (letters(pair[0]), letters(pair[1])) == (before, after)


def test_the_place_of_the_newcomers_id_decides_how_many_queues_move():
    moved = {}
    for newcomer in (FIRST, SECOND, LAST):
        before, after = joined(Division(8, (A, B, C)), newcomer, "averagely")
        moved[newcomer] = len(before.moved(after))
    assert moved == {FIRST: 3, SECOND: fewest_moves(8, 3, 4), LAST: 5}


def test_fixed_lists_give_a_newcomer_nothing_and_leave_a_leavers_queues_alone():
    _, after = joined(Division(8, (A, B, C)), LAST, "by config")
    assert after.shares[LAST] == ()
    _, after = left(Division(8, (A, B, C)), C, "by config")
    assert letters(after) == "A A A B B B - -"
    assert not after.whole


@given(st.integers(1, 20), st.sets(st.integers(1, 250), min_size=1, max_size=8), st.integers(251, 254))
def test_laws_of_a_newcomer(queues, numbers, newcomer):
    """Every queue has one owner; even ones stay even and move no fewer than must; a ring moves only to the newcomer."""
    division = Division(queues, tuple(f"10.0.0.{number:03}@{number}" for number in numbers))
    new = f"10.0.0.{newcomer}@N"
    for strategy in WHOLE:
        before, after = joined(division, new, strategy)
        assert before.whole
        assert after.whole
        if strategy in FAIR:
            assert before.even
            assert after.even
            assert len(before.moved(after)) >= fewest_moves(queues, len(numbers), len(numbers) + 1)
        else:
            assert all(after.owners[queue] == (new,) for queue in before.moved(after))


@given(st.integers(1, 20), st.sets(st.integers(1, 250), min_size=2, max_size=8))
def test_laws_of_a_leaver(queues, numbers):
    division = Division(queues, tuple(f"10.0.0.{number:03}@{number}" for number in numbers))
    leaver = division.members[0]
    for strategy in WHOLE:
        before, after = left(division, leaver, strategy)
        moved = before.moved(after)
        assert set(before.shares[leaver]) <= set(moved)
        if strategy == "consistent hash":
            assert set(moved) == set(before.shares[leaver])


def test_members_of_two_minds_share_queues_and_leave_some():
    mixed = Division(5, (A, B, C)).mixed({A: "averagely", B: "averagely by circle", C: "averagely"})
    assert letters(mixed) == "A AB - - BC"
    assert mixed.strategy == "averagely + averagely by circle"
    assert not mixed.whole


def test_it_is_the_strategies_themselves_that_are_asked():
    division = Division(7, (C, A, B))
    strategy, ids = AllocateMessageQueueAveragely(), sorted((A, B, C))
    shares = division.allot("averagely").shares
    assert list(shares) == ids
    for who in ids:
        assert list(shares[who]) == strategy.allocate(GROUP, who, division.message_queues(), ids)


@pytest.mark.parametrize(
    ("division", "text"),
    [
        (Division(0, (A,)), "0 queues"),
        (Division(1, ()), "0 members"),
        (Division(1, (A, A)), "client ids must differ"),
        (Division(1, (A, "")), "none may be empty"),
    ],
)
def test_what_cannot_be_divided(division, text):
    with pytest.raises(BadInput, match=text):
        division.allot("averagely")
    with pytest.raises(BadInput, match="strategy is 'fair'; it is one of averagely"):
        Division(1, (A,)).allot("fair")
    with pytest.raises(BadInput, match="is no member; members are"):
        left(Division(1, (A, B)), C, "averagely")
    assert all(Division(4, (A, B)).allot(strategy).queues for strategy in STRATEGIES)
