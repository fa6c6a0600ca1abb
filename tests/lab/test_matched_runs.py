"""Recordings of the real broker read as strips, beside the simulated runs that ended alike."""

from __future__ import annotations

import pytest

from rmqlab.errors import BadInput
from rmqlab.lab.recorded.consumer_status import found_consistent, recorded_consumer_status
from rmqlab.lab.recorded.matched_runs import NOMINAL, matched_runs
from rmqlab.lab.recorded.run_timeline import recorded_timeline, set_of

pytestmark = pytest.mark.slow


def test_frames_give_what_the_observer_saw_and_more():
    """The observer asked every 50 ms; the flip in between is in the heartbeats."""
    strip = recorded_timeline("p-article-000")
    assert [slot.expression for slot in strip.slots] == ["tagA", "tagB", "tagA"]
    assert strip.bodies("A") == ["MsgStr2", "MsgStr3"]
    assert strip.asked == {"A": "tagA", "B": "tagB"}
    assert strip.count(strip.beats) == {"A": 6, "B": 4}
    assert strip.slot_at(-1) is None
    assert strip.slot_at(strip.sent[0].t) == "tagA"
    sent, consumed = strip.sent[0].t, strip.consumed[0].t
    assert 10_000 < sent < consumed < sent + 1_000
    assert all(-100 < mark.t <= strip.end for mark in strip.beats + strip.told + strip.pulls)


@pytest.mark.parametrize("scenario", ["p-article-000", "p-cut-066", "p-bmlate-004", "p-npmix-001", "p-lite-000"])
def test_what_must_agree_does(scenario):
    pair = matched_runs(scenario)
    exact = [one for one in pair.pairs() if one.exact]
    assert exact
    assert not [one for one in exact if one.differs]
    notices = [one for one in pair.pairs() if one.what.startswith("notices")]
    assert notices
    assert not [one for one in notices if one.differs]


def test_a_run_that_ended_the_other_way_is_told_apart():
    """With nominal times B's tag comes through; on the real machine A's did."""
    pair = matched_runs("p-article-000", NOMINAL)
    assert not pair.agrees("A")
    assert [one.what for one in pair.pairs() if one.exact and one.differs] == ["consumed by A", "consumed by B"]


@pytest.mark.row("H-41", "H-48")
def test_a_frozen_member_costs_the_same_silence_on_both_sides():
    pair = matched_runs("p-freeze-067")
    waits = [
        max(mark.t for mark in strip.consumed) - strip.broken[0].t for strip in (pair.recorded, pair.simulated)
    ]  # fmt: skip
    assert abs(waits[0] - waits[1]) < 2_000
    assert 120_000 < waits[0] < 150_000


@pytest.mark.row("S-94")
def test_the_real_tool_was_asked_too_early():
    said = recorded_consumer_status()
    assert "Same subscription in the same group of consumer" in said.lines
    assert 60_000 < said.age_ms < 120_000
    assert found_consistent(said.age_ms)
    assert not found_consistent(120_001)


def test_unknown_scenarios_are_named():
    with pytest.raises(BadInput, match="no recorded scenario 'p-nothing'"):
        set_of("p-nothing")


@pytest.mark.row("H-40", "H-41", "H-44")
def test_a_frozen_member_comes_back_on_both_sides_and_beats_as_often():
    pair = matched_runs("p-freeze-067")
    counts = {one.what: (one.recorded, one.simulated) for one in pair.pairs()}
    for what in ("heartbeats of A", "heartbeats of B", "notices (code 40) of A", "notices (code 40) of B"):
        assert counts[what][0] == counts[what][1] > 0, what
