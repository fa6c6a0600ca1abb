"""The checks of notebook 11, the incident behind them, and the store that it leaves."""

from __future__ import annotations

import pytest

import rmqlab
from rmqlab.errors import BadInput
from rmqlab.lab.groups.incident import EVENTS, MESSAGES, STORE, Incident
from rmqlab.lab.recorded.store import RecordedStore
from rmqlab.lessons.check import CheckFailed, judge
from rmqlab.lessons.checks_11 import COUNTED, PLANNED, _account, _ids, _lost

BOTH = "tagA || tagB"


def ids(group):
    known = _ids(group)
    return [known[one.queue, one.offset] for one in _lost(group)]


def test_right_answers():
    assert "76 messages" in repr(rmqlab.check("11-count", {"lost": 76, "stage": "client"}))
    account = _account(PLANNED)
    lost = {(one.queue, one.offset) for one in _lost(PLANNED)}
    got = [one for one in account.fates if one.group == "G" and str(one.fate) == "delivered"]
    twice = sum((one.queue, one.offset) in lost for one in got)
    assert 0 < twice < len(lost)
    assert "right" in repr(rmqlab.check("11-plan", {"messages": ids(PLANNED), "duplicates": twice}))
    for change in ({"A": BOTH, "B": BOTH}, {"A": "*", "B": "*"}):
        assert "Nothing is lost any more" in repr(rmqlab.check("11-repair", change))


@pytest.mark.parametrize(
    ("name", "answer", "problem"),
    [
        ("11-count", 76, "Give {"),
        ("11-count", {"lost": 76, "stage": "layer 1"}, "Not 'layer 1'"),
        ("11-count", {"lost": 75, "stage": "client"}, "75 is not the number"),
        ("11-plan", {"messages": []}, "Give {"),
        ("11-plan", {"messages": [], "duplicates": 0}, "are left out"),
        ("11-plan", {"messages": [*ids(PLANNED), "0"], "duplicates": 0}, "not lost by this group"),
        ("11-plan", {"messages": ids(PLANNED), "duplicates": 0}, "0 is not how many"),
        ("11-repair", None, "Give {"),
        ("11-repair", {"C": "*"}, "Give {"),
        ("11-repair", {}, "still lost"),
        ("11-repair", {"A": BOTH}, "still lost"),
        ("11-repair", {"B": BOTH}, "still lost"),
        ("11-repair", {"A": "tagB"}, "Nobody asks for tagA"),
    ],
)
def test_wrong_answers_say_why(name, answer, problem):
    with pytest.raises(CheckFailed) as caught:
        judge(name, answer)
    assert problem in str(caught.value)


@pytest.mark.row("S-77", "S-83")
def test_a_change_of_one_member_loses_what_the_other_asks_for(tmp_path):
    run = Incident(change={"B": "tagB"}).run(tmp_path)
    lost = [fate for fate in run.fates if fate.lost]
    assert {fate.tag for fate in lost} == {"tagA"}
    assert len(lost) == MESSAGES // 4
    offsets = [event for event in run.events if event["ev"] == "offset"]
    assert all(event["committed"] == event["max"] for event in offsets)
    assert (tmp_path / EVENTS).read_text() == run.lines()
    assert sorted(path.name for path in (tmp_path / STORE).iterdir()) == ["commitlog", "config", "consumequeue", "lock"]


def test_an_incident_that_cannot_be_is_named():
    with pytest.raises(BadInput, match="A and B are the members"):
        Incident(before={"A": "*"}).scenario()
    with pytest.raises(BadInput, match=r"no client can subscribe 3"):
        Incident(change={"A": 3}).scenario()


def test_a_set_without_a_store_is_named(tmp_path):
    with pytest.raises(BadInput, match=r"no store to be had.*store\.tar\.gz"):
        RecordedStore("admin")
    recording = RecordedStore("lite")
    assert (recording.store / "commitlog").is_dir()
    recording.cleanup()
    assert not recording.store.exists()
    assert COUNTED.startswith("G_")
