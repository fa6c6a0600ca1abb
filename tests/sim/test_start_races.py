"""The rule for races: what does not depend on one, what does, and schedules that prove it."""

from __future__ import annotations

import json
from dataclasses import fields

import pytest

from rmqlab.checkout import checkout_path
from rmqlab.run.run import recorded_events
from rmqlab.scenario.scenario import parse_scenario, read_scenarios
from rmqlab.scenario.schedule import ScheduledChooser, Timing
from rmqlab.sim.simulate import simulate
from rmqlab_tools.search.explorer.timings import CHOICE_KINDS, LATE_TIMING, RACE_TIMING, RaceChooser
from tests.proof.recorded_outcomes import RecordedVerdict, compare, survey

pytestmark = pytest.mark.slow


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
    for outcome, reached in found.reached.items():
        schedule = reached.schedule
        repeated = simulate(found.scenario, chooser=ScheduledChooser(schedule), timing=schedule.timing)
        assert repeated.outcome() == outcome == reached.outcome
    assert next(iter(found.reached.values())).seed is None


@pytest.mark.parametrize("timing", [RACE_TIMING, LATE_TIMING], ids=["race", "late"])
def test_the_nominal_times_are_the_usual_ones(timing):
    scenario = two("a", "b")
    usual, first = simulate(scenario), simulate(scenario, timing=timing)
    assert usual.lines() == first.lines()
    nominal = Timing()
    for one in fields(Timing):
        if isinstance(getattr(nominal, one.name), tuple):
            assert getattr(timing, one.name)[:1] == getattr(nominal, one.name)[:1]


def test_even_seeds_have_nobody_late_and_odd_ones_leave_some_kinds_out():
    late = {seed: set() for seed in range(40)}
    for seed in late:
        run = simulate(two("a", "b"), chooser=RaceChooser(seed), timing=LATE_TIMING)
        late[seed] = {kind for kind in CHOICE_KINDS for choice in run.choices if choice.taken and kind in choice.label}
    assert not any(late[seed] for seed in late if seed % 2 == 0)
    assert set().union(*late.values()) == set(CHOICE_KINDS) - {"pop "}  # nobody pops here
    assert any(len(kinds) == 1 for kinds in late.values())


@pytest.mark.row("S-82", "S-86")
@pytest.mark.parametrize(("name", "scenario"), [("base-2", "h-loss-013"), ("lite-2", "h-lite-004")])
def test_a_late_start_or_thread_reaches_what_the_real_clients_did(name, scenario):
    """Three messages delivered, since the slot flipped between two of them; and a second pull thread that was first."""
    recorded = checkout_path("data") / "golden" / "broker-4.8.0" / name
    (one,) = [found for found in read_scenarios(recorded / "scenarios.jsonl") if found.id == scenario]
    (result,) = compare(recorded, [one])
    assert result.verdict is RecordedVerdict.REACHED
    labels = {label for label, _ in result.survey.reached[result.recorded].schedule.taken.values()}
    assert any(kind in label for kind in CHOICE_KINDS for label in labels)


def test_the_search_ends_when_the_wanted_outcome_and_a_race_are_found():
    everything = survey(two("a", "b"), seeds=15)
    nominal, other = list(everything.reached)[:2]
    seed = everything.reached[other].seed
    assert survey(two("a", "b"), seeds=15, wanted=other).runs == seed + 2
    assert survey(two("a", "b"), seeds=15, wanted=nominal).runs == seed + 2


def test_an_outcome_that_is_not_reached_is_looked_for_longer():
    everything = survey(two("a", "b"), seeds=15)
    other = list(everything.reached)[1]
    seed = everything.reached[other].seed
    assert survey(two("a", "b"), seeds=max(1, seed // 2), wanted=other).runs == seed + 2


def test_frames_are_moved_by_share_and_all_else_is_drawn_evenly():
    chooser = RaceChooser(1)
    frames = [chooser.choose("delay A c2s 11", 5) for _ in range(2000)]
    others = [chooser.choose("broker uptime", 5) for _ in range(2000)]
    assert 0.7 < frames.count(0) / 2000 < 0.8
    assert 0.15 < others.count(0) / 2000 < 0.25


def test_the_ranges_of_late_starts_and_threads_are_those_of_the_recordings():
    """What lesson 08 and ``race`` say of the recordings: 7 to 358 ms from "starting" to "started"."""
    took = {"push": [], "lite": []}
    for name in ("base", "base-2", "lite", "lite-2", "bitmap", "noprop"):
        for events in recorded_events(checkout_path("data") / "golden" / "broker-4.8.0" / name).values():
            began = {}
            for event in events:
                if event["ev"] == "starting":
                    began[event["who"]] = event
                elif event["ev"] == "started":
                    first = began[event["who"]]
                    took[first.get("kind", "push")].append(event["t"] - first["t"])
    assert (min(took["push"]), max(took["push"]), min(took["lite"]), max(took["lite"])) == (8, 358, 7, 159)
    longest = max(LATE_TIMING.start_ms)
    assert sum(ms > longest for each in took.values() for ms in each) <= 2
