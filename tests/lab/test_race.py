"""The rule for races: what does not depend on one, what does, and schedules that prove it."""

from __future__ import annotations

import json

import pytest

from rmqlab.lab.explorer.race import RACE_TIMING, RaceChooser, survey
from rmqlab.lab.scenario import parse_scenario
from rmqlab.lab.simulate import simulate
from rmqlab.runtime.network import Timing
from rmqlab.runtime.schedule import ScheduledChooser


def two(first, second):
    def start(who, at, expr):
        subscribe = {"T": {"type": "TAG", "expr": expr}}
        return {"at": at, "do": "start", "who": who, "group": "G", "subscribe": subscribe}

    messages = [{"body": f"m{i}", "tag": "ab"[i // 4], "queue": i % 4} for i in range(8)]
    send = {"at": 9000, "do": "send", "topic": "T", "messages": messages}
    steps = [start("A", 0, first), start("B", 2000, second), send]
    text = {"id": "x", "topics": {"T": 4}, "steps": [*steps, {"at": 40_000, "do": "offsets"}]}
    return parse_scenario(json.dumps(text))


@pytest.mark.row("S-03", "S-84")
def test_a_group_of_one_mind_does_not_depend_on_a_race_and_one_of_two_does():
    same = survey(two("a || b", "b || a"), seeds=15)
    assert not same.depends_on_race
    assert same.runs == 16
    other = survey(two("a", "b"), seeds=15)
    assert other.depends_on_race
    assert sum(one.runs for one in other.reached.values()) == 16
    assert {tuple(outcome.bodies_of("A") or outcome.bodies_of("B")) for outcome in other.reached} == {
        ("m0", "m1"), ("m6", "m7"),
    }  # fmt: skip


def test_each_outcome_comes_with_a_schedule_that_reaches_it():
    found = survey(two("a", "b"), seeds=15)
    assert found.nominal == next(iter(found.reached))
    for outcome, reached in found.reached.items():
        schedule = reached.schedule
        repeated = simulate(found.scenario, chooser=ScheduledChooser(schedule), timing=schedule.timing)
        assert repeated.outcome() == outcome == reached.outcome
    assert next(iter(found.reached.values())).seed is None


def test_the_nominal_times_are_the_usual_ones():
    scenario = two("a", "b")
    usual, first = simulate(scenario), simulate(scenario, timing=RACE_TIMING)
    assert usual.lines() == first.lines()
    nominal = Timing()
    for name in ("delays_us", "wake_us", "uptime_ms", "shutdown_ms", "consume_ms"):
        assert getattr(RACE_TIMING, name)[0] == getattr(nominal, name)[0]


def test_the_search_ends_when_the_wanted_outcome_and_a_race_are_found():
    everything = survey(two("a", "b"), seeds=15)
    nominal, other = list(everything.reached)[:2]
    seed = everything.reached[other].seed
    assert survey(two("a", "b"), seeds=15, wanted=other).runs == seed + 2
    assert survey(two("a", "b"), seeds=15, wanted=nominal).runs == seed + 2


def test_frames_are_moved_by_share_and_all_else_is_drawn_evenly():
    chooser = RaceChooser(1)
    frames = [chooser.choose("delay A c2s 11", 5) for _ in range(2000)]
    others = [chooser.choose("broker uptime", 5) for _ in range(2000)]
    assert 0.7 < frames.count(0) / 2000 < 0.8
    assert 0.15 < others.count(0) / 2000 < 0.25
