"""The checks of the exercises: they take right answers, refuse wrong ones, name the rule and show the events."""

from __future__ import annotations

import pytest

import rmqlab
from rmqlab.errors import BadInput
from rmqlab.lab.articles.eight_messages import CLIENT_IP
from rmqlab.lessons.check import CheckFailed, checks, judge
from rmqlab.lessons.checks_01 import HUNTED, PREDICT
from rmqlab.lessons.mutants import MUTANTS

IDS = {"A": f"{CLIENT_IP}@4711", "B": f"{CLIENT_IP}@4902"}
SWAPPED = {"A": f"{CLIENT_IP}@5307", "B": f"{CLIENT_IP}@4902"}
FATES = {
    "delivered": ["MsgStr0", "MsgStr4"],
    "dropped by the broker": ["MsgStr1", "MsgStr3", "MsgStr5", "MsgStr7"],
    "dropped by a client": ["MsgStr2", "MsgStr6"],
}
BUGS = {name: MUTANTS[name].breaks for name in HUNTED}
RIGHT = {
    "01-predict": FATES,
    "01-two-for-a": {"start_order": ("B", "A"), "client_ids": SWAPPED},
    "01-ceiling": {"delivered": 2, "broker": 4, "clients": 2},
    "01-bug-hunt": BUGS,
}
# Every wrong answer with a piece of the problem, of the rule, and of an event that its message must have.
WRONG = [
    ("01-predict", {}, "Give a dict", "exactly one fate", ""),
    ("01-predict", FATES | {"delivered": ["MsgStr0"]}, "says nothing about MsgStr4", "exactly one fate", ""),
    ("01-predict", FATES | {"delivered": ["MsgStr0", "MsgStr4", "MsgStr2"]}, "stands twice", "one fate", ""),
    ("01-predict", FATES | {"delivered": ["MsgStr0", "MsgStr4", "MsgStr8"]}, "was never sent", "one fate", ""),
    (
        "01-predict",
        {"delivered": [f"MsgStr{n}" for n in range(8)], "dropped by the broker": [], "dropped by a client": []},
        'MsgStr1 (tagB) is not "delivered"',
        "one slot",
        "B sets the group's subscription",
    ),
    (
        "01-predict",
        FATES | {"dropped by the broker": [f"MsgStr{n}" for n in (1, 2, 3, 5, 6, 7)], "dropped by a client": []},
        'MsgStr2 (tagA) is not "dropped by the broker"',
        "again against its own tags",
        "stores MsgStr2 (tagA)",
    ),
    ("01-two-for-a", {"gap_ms": 5}, "Give a dict", "Only the start order", ""),
    ("01-two-for-a", {"start_order": ("A",), "client_ids": IDS}, "start_order", "start once", ""),
    (
        "01-two-for-a",
        {"start_order": ("A", "B"), "client_ids": SWAPPED},
        "The slot ends as tagB",
        "S-77",
        "B sets the group's subscription to tagB",
    ),
    (
        "01-two-for-a",
        {"start_order": ("B", "A"), "client_ids": IDS},
        "queues that A does not own",
        "order of their client ids",
        "owns queues 0, 1",
    ),
    ("01-ceiling", {"delivered": 8}, "Give a dict", "Three places", ""),
    ("01-ceiling", {"delivered": 4, "broker": 4, "clients": 0}, '"delivered" is not 4', "S-51", "its listener gets"),
    ("01-ceiling", {"delivered": 2, "broker": 6, "clients": 0}, '"broker" is not 6', "S-35", "not wanted by"),
    ("01-bug-hunt", {"amber": ""}, "Give a dict", "breaks one rule", ""),
    ("01-bug-hunt", BUGS | {"amber": "gravity"}, "amber: 'gravity' is not the name of a rule", "A bug", ""),
    (
        "01-bug-hunt",
        BUGS | {"basalt": "client-checks-its-own-tags"},
        "basalt: this run keeps the rule client-checks-its-own-tags",
        "drops what its own subscription",
        "in place of tagB",
    ),
]


def test_every_check_has_a_right_answer_and_a_wrong_one():
    assert set(checks("01")) == set(RIGHT) == {name for name, *_ in WRONG}


@pytest.mark.parametrize("name", RIGHT)
def test_right_answer(name):
    assert repr(rmqlab.check(name, RIGHT[name])).startswith(f"{name}: right. ")


@pytest.mark.parametrize(("name", "answer", "problem", "rule", "event"), WRONG)
def test_wrong_answer_gets_rule_and_evidence(name, answer, problem, rule, event):
    with pytest.raises(CheckFailed) as caught:
        judge(name, answer)
    failed = caught.value
    assert problem in str(failed)
    assert rule in failed.rule
    assert failed.rule in str(failed)
    assert any(event in str(line) for line in failed.lines) or not event
    assert bool(event) == bool(failed.lines)


def test_what_is_predicted_differs_from_the_lesson():
    assert PREDICT.start_order == ("B", "A")
    assert PREDICT.client_ids["B"] < PREDICT.client_ids["A"]


@pytest.mark.parametrize(
    ("name", "text"), [("01-guess", "01-predict"), ("99-x", "no checks for notebook '99'"), ("predict", "'predict'")]
)
def test_unknown_exercise_is_named(name, text):
    with pytest.raises(BadInput) as caught:
        rmqlab.check(name, None)
    assert text in str(caught.value)


def test_unknown_name_of_the_package():
    with pytest.raises(AttributeError, match="no attribute 'chekc'"):
        _ = rmqlab.chekc
