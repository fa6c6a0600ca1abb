"""The checks of notebook 07: right answers pass, wrong ones get their hint, and evidence that proves them wrong."""

from __future__ import annotations

import zlib

import pytest

import rmqlab
from rmqlab_tools.course.checks_07 import SUSPECTS
from rmqlab_tools.course.mutants import WRONG_RULES

pytestmark = pytest.mark.slow

RULE = rmqlab.RULES["4.8.0"]


def judged(name, answer):
    return rmqlab.check(name, answer, show="evidence")


def highest(current_cid, mq_all, cid_all):
    """Rendezvous hashing."""
    return [q for q in mq_all if max(cid_all, key=lambda who: zlib.crc32(f"{who} {q}".encode())) == current_cid]


def test_a_strategy_that_moves_only_a_leavers_queues_passes():
    assert "every order" in repr(judged("07-rule", highest))


@pytest.mark.parametrize(
    ("rule", "hint", "problem"),
    [
        (RULE.allocate, "Let one member leave", "A leaves, and queue 1 of B moves"),
        (lambda cid, queues, ids: queues[ids.index(cid) :: len(ids)], "Let one member leave", "leaves, and queue"),
        (lambda cid, queues, ids: queues if cid == min(ids) else [], "Count the queues", "A 60, B 0"),
        (lambda _cid, queues, _ids: queues, "Put the shares", "queue 0 belongs to A and B"),
        (lambda *_: [], "Put the shares", "queue 0 belongs to nobody"),
        (lambda _cid, queues, _ids: queues[99:100] or 7, "The answer is a list", "it gives 7"),
        (lambda _cid, queues, _ids: queues[99], "by hand", "IndexError"),
        (lambda cid, queues, ids: queues * 2 if cid == ids[0] else [], "Put the shares", "A takes queue 0 twice"),
        (
            lambda cid, queues, ids: highest(cid, [q + 0 for q in queues], ids),
            "by hand",
            "In a run your function stops",
        ),
    ],
)
def test_wrong_strategies(rule, hint, problem):
    assert hint in rmqlab.check("07-rule", rule).hint
    found = judged("07-rule", rule)
    assert not found
    assert problem in found.problem


def test_evidence_is_a_picture_where_it_is_small():
    found = judged("07-rule", RULE.allocate)
    assert found.picture.title == "A leaves; framed: the queue moved"
    assert not judged("07-rule", ...)
    assert "Give the function itself" in judged("07-rule", 5).hint


@pytest.mark.parametrize(
    ("newcomer", "moved"), [("10.0.0.99@N", 5), ("10.0.0.1@N", 3), ("10.0.0.35@N", 3), ("10.0.0.30@C", 3)]
)
def test_newcomers_that_move_too_much(newcomer, moved):
    found = judged("07-newcomer", newcomer)
    assert not found
    assert found.problem == f"{moved} queues move."
    assert "Where must the newcomer's block lie" in found.hint
    assert found.picture.title == f"{newcomer} joins; framed: the queue moved"
    assert " N N" in found.picture.alt


def test_newcomers():
    for name in ("10.0.0.25@N", "10.0.0.20@B", "10.0.0.30@A"):
        assert "2 of 8 queues move" in repr(judged("07-newcomer", name))
    for nothing in ("", 25, "10.0.0.20@A"):
        assert "an id that no member has" in judged("07-newcomer", nothing).hint


def test_the_hunt():
    right = {name: next(iter(WRONG_RULES[name])) for name in ("olive", "poppy")}
    assert judged("07-hunt", right)
    for name, rule in right.items():
        for wrong in set(SUSPECTS) - {rule}:
            hint = rmqlab.check("07-hunt", right | {name: wrong})
            assert f"{name}: compare its ribbons" in hint.hint
            assert rule not in repr(hint)
    assert judged("07-hunt", right | {"olive": "is_expired"}).picture.title == "Who owns which queue"
    assert "is none of allocate" in judged("07-hunt", right | {"olive": "rain"}).hint
    assert "Give a dict" in judged("07-hunt", {}).hint
