"""The checks of notebook 11: lost messages found, a plan to send again, a group repaired."""

from __future__ import annotations

import pytest

import rmqlab
from rmqlab.errors import BadInput
from rmqlab.protocol.subscription_data import build_subscription
from rmqlab.rules import DEFAULT_RULES
from rmqlab_tools.course.check import CheckFailed, judge
from rmqlab_tools.course.checks_11 import PLANNED, SEARCHED, _account, _ids, _lost, split_group
from rmqlab_tools.search.consistency import tell_apart
from tests.proof.recorded_store import RecordedStore

BOTH = "tagA || tagB"


def ids(group):
    known = _ids(group)
    return [known[one.queue, one.offset] for one in _lost(group)]


def test_right_answers():
    assert "76 messages" in repr(rmqlab.check("11-lost", {"ids": ids(SEARCHED), "by": "client"}))
    account = _account(PLANNED)
    lost = {(one.queue, one.offset) for one in _lost(PLANNED)}
    got = [one for one in account.fates if one.group == "G" and str(one.fate) == "delivered"]
    twice = sum((one.queue, one.offset) in lost for one in got)
    assert 0 < twice < len(lost)
    assert "right" in repr(rmqlab.check("11-plan", {"messages": ids(PLANNED), "duplicates": twice}))
    for change in ({"A": BOTH, "B": BOTH}, {"A": "*", "B": "*"}):
        assert "Nothing is lost any more" in repr(rmqlab.check("11-repair", change))


# An answer with ids is a function: the store is read when its test runs.
WRONG = [
    ("11-lost", 76, "Give {"),
    ("11-lost", lambda: {"ids": ids(SEARCHED), "by": "broker"}, "The ids are right"),
    ("11-lost", lambda: {"ids": ids(SEARCHED)[1:], "by": "client"}, "Messages are missing"),
    ("11-lost", lambda: {"ids": list(_ids(SEARCHED).values()), "by": "client"}, "reached a listener"),
    ("11-lost", lambda: {"ids": ids(PLANNED), "by": "client"}, "no offsetMsgId of a message in this topic"),
    ("11-lost", lambda: {"ids": ids(SEARCHED), "by": "the client"}, 'by": "broker" or'),
    ("11-plan", {"messages": []}, "Give {"),
    ("11-plan", {"messages": [], "duplicates": 0}, "are left out"),
    ("11-plan", lambda: {"messages": [*ids(PLANNED), "0"], "duplicates": 0}, "not lost by this group"),
    ("11-plan", lambda: {"messages": ids(PLANNED), "duplicates": 0}, "has the topic's other group"),
    ("11-repair", None, "Give {"),
    ("11-repair", {"C": "*"}, "Give {"),
    ("11-repair", {"A": "a > 3"}, "No client can subscribe"),
    ("11-repair", {}, "still lost"),
    ("11-repair", {"A": BOTH}, "still lost"),
    ("11-repair", {"B": BOTH}, "still lost"),
    ("11-repair", {"A": "tagB"}, "Nobody asks for tagA"),
    ("11-repair", dict.fromkeys("AB", "tagA,tagB"), "Nobody asks for tagA"),
    ("11-repair", dict.fromkeys("AB", "tagA | tagB"), "Nobody asks for tagA"),
]


@pytest.mark.parametrize(("name", "answer", "hint"), WRONG)
def test_wrong_answers_get_their_hint(name, answer, hint):
    with pytest.raises(CheckFailed) as caught:
        judge(name, answer() if callable(answer) else answer)
    assert hint in caught.value.hint
    assert not [one for one in ids(SEARCHED) if one in str(caught.value)]


@pytest.mark.slow
def test_only_the_same_repairs():
    for a in ("*", "tagA", BOTH, "tagB||tagA"):
        for b in ("*", "tagB", BOTH):
            result = split_group({"A": a, "B": b})
            began = min(event["t"] for event in result.run.events if event["ev"] == "subscribed")
            sent = {event["body"]: event["t"] for event in result.run.events if event["ev"] == "sent"}
            late = [
                one for one in result.fates() if one.lost and sent[one.body] > began + DEFAULT_RULES.longest_hold_ms
            ]
            same = tell_apart(build_subscription("order", a, "TAG"), build_subscription("order", b, "TAG")).same
            equal_here = {a, b} <= {"*", BOTH, "tagB||tagA"}  # no other tag is sent
            assert same <= equal_here
            assert (not late) == equal_here


def test_a_set_without_a_store_is_named(tmp_path):
    with pytest.raises(BadInput, match=r"no store to be had.*store\.tar\.gz"):
        RecordedStore("admin")
    recording = RecordedStore("lite")
    assert (recording.store / "commitlog").is_dir()
    recording.cleanup()
    assert not recording.store.exists()
