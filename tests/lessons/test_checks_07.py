"""The checks of notebook 07: right answers pass, wrong ones are told why."""

from __future__ import annotations

import pytest

import rmqlab
from rmqlab.lab.groups.allotment import Division, joined
from rmqlab.lab.groups.handover import HANDOVERS
from rmqlab.lessons.check import CheckFailed, judge
from rmqlab.lessons.checks_07 import CASES, MEMBERS, QUEUES, ids_of

A, B, C, N = "10.0.0.20@A", "10.0.0.30@B", "10.0.0.40@C", "10.0.0.25@N"


def computed():
    return [[len(s) for s in Division(q, ids_of(m)).allot(name).shares.values()] for name, m, q in CASES]


def test_shares():
    assert "as you said" in repr(rmqlab.check("07-shares", computed()))
    for number in range(len(CASES)):
        wrong = computed()
        wrong[number] = [*wrong[number][:-1], wrong[number][-1] + 1]
        with pytest.raises(CheckFailed, match=f"{CASES[number][0]}, {CASES[number][1]} members"):
            judge("07-shares", wrong)
    for malformed in (None, [], "2 2 1", [1, 2, 3, 4, 5]):
        with pytest.raises(CheckFailed):
            judge("07-shares", malformed)


def test_fewest_accepts_whatever_moves_no_more_than_must():
    right = {"strategy": "averagely", "ids": [A, B, C], "newcomer": N}
    assert "2 of 8 queues move" in repr(rmqlab.check("07-fewest", right))
    ring = next(
        found
        for seed in range(10_000)
        if _good(
            found := {"strategy": "consistent hash", "ids": [f"{seed}@{x}" for x in "ABC"], "newcomer": f"{seed}@N"}
        )
    )
    assert "consistent hash" in repr(rmqlab.check("07-fewest", ring))


def _good(choice):
    before, after = joined(Division(QUEUES, tuple(choice["ids"])), choice["newcomer"], choice["strategy"])
    return before.even and after.even


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"newcomer": "10.0.0.99@N"}, "5 queues move, and 2 would do"),
        ({"strategy": "by config"}, "shares are not even"),
        ({"strategy": "machine room"}, "A queue has no owner"),
        ({"strategy": "fair"}, "That cannot be divided"),
        ({"newcomer": A}, "client ids must differ"),
        ({"ids": [A, B]}, f"Give {MEMBERS} ids"),
        ({"extra": 1}, "Give a dict with the keys"),
    ],
)
def test_fewest_says_what_is_wrong(changes, text):
    with pytest.raises(CheckFailed, match=text):
        judge("07-fewest", {"strategy": "averagely", "ids": [A, B, C], "newcomer": N} | changes)


def test_handovers_need_every_name_and_known_words():
    with pytest.raises(CheckFailed, match="Give a dict with the keys 'D joins'"):
        judge("07-handover", {"D joins": "neither"})
    with pytest.raises(CheckFailed, match="'maybe' is none of"):
        judge("07-handover", dict.fromkeys(HANDOVERS, "maybe"))
    with pytest.raises(CheckFailed, match="D joins: not both") as failed:
        judge("07-handover", dict.fromkeys(HANDOVERS, "both"))
    assert "nobody checks the sum" in str(failed.value)
