"""Recordings of the real broker read as runs, beside simulated runs of the same scenarios."""

from __future__ import annotations

from collections import Counter

import pytest

import rmqlab
from rmqlab.errors import BadInput
from tests.recordings.recorded_runs import GOLDEN, ended_alike, recorded

pytestmark = pytest.mark.slow


def beats(run):
    """Heartbeats of each consumer until the end of the scenario is near."""
    until = run.events().where(ev="offset")[0].t - 500
    return Counter(row.who for row in run.heartbeats() if row.t < until)


def silence_ms(run):
    """From the freeze until the last message was consumed."""
    return max(row.t for row in run.consumed()) - run.events().where(ev="control")[0].t


def test_frames_give_what_the_observer_saw_and_more():
    """The observer asked every 50 ms; the flip in between is in the heartbeats."""
    run = recorded("p-article-000")
    assert [row.expression for row in run.subscriptions()] == ["tagA", "tagA", "tagB", "tagB", "tagA"]
    assert [run.outcome().bodies_of(who) for who in "AB"] == [["MsgStr2", "MsgStr3"], []]
    began, sent = run.events().where(ev="starting")[0].t, run.messages()[0].t
    consumed = run.consumed()[0].t
    assert began + 10_000 < sent < consumed < sent + 1_000
    assert all(row.t > began - 100 for row in run.heartbeats())


@pytest.mark.parametrize(
    ("of", "name"),
    [("base", "p-article-000"), ("base", "p-cut-066"), ("bitmap", "p-bmlate-004"), ("noprop", "p-npmix-001")],
)
def test_a_simulated_run_ends_as_the_recorded_one(of, name):
    there, here = recorded(name, of), ended_alike(name, of)
    assert there.outcome() == here.outcome()
    assert [(fate.body, fate.group, fate.lost) for fate in there.fates()] == [
        (fate.body, fate.group, fate.lost) for fate in here.fates()
    ]


def test_a_run_that_ended_the_other_way_is_told_apart():
    """With nominal times B's tag comes through; on the real machine A's did."""
    nominal = rmqlab.simulate(f"{GOLDEN / 'base' / 'scenarios.jsonl'}#p-article-000").outcome()
    assert nominal.bodies_of("A") == []
    assert nominal.committed == recorded("p-article-000").outcome().committed


@pytest.mark.row("H-40", "H-41", "H-44", "H-48")
def test_a_frozen_member_costs_the_same_silence_on_both_sides_and_beats_as_often():
    there, here = recorded("p-freeze-067"), ended_alike("p-freeze-067")
    assert 120_000 < silence_ms(there) < 150_000
    assert abs(silence_ms(there) - silence_ms(here)) < 2_000
    assert beats(there) == beats(here)
    assert set(beats(there)) == {"A", "B"}


def test_unknown_scenarios_are_named():
    with pytest.raises(BadInput, match="no scenario 'p-nothing'"):
        recorded("p-nothing")
