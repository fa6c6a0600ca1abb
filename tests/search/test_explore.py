"""Explorations: whole lists of outcomes with exact shares, state counts of small models, schedules that repeat them."""

from __future__ import annotations

import json
from collections import Counter

import pytest

import rmqlab
from rmqlab.checkout import checkout_path
from rmqlab.errors import BadInput
from rmqlab.run.run import Outcome, recorded_events
from rmqlab.scenario.scenario import convert_scenario, read_scenarios
from rmqlab.scenario.schedule import Schedule, SeededChooser, Timing
from rmqlab.sim.cluster import default_settings
from rmqlab.sim.simulate import simulate
from rmqlab_tools.search.explorer.deviations import replay_schedule
from rmqlab_tools.search.explorer.exploration_text import exploration_lines
from rmqlab_tools.search.explorer.explore import Explorer
from rmqlab_tools.search.explorer.timings import RACE_TIMING, RaceChooser
from rmqlab_tools.search.partial_order_reduction import PartialOrderReduction
from tests.search.explored_models import (
    BROADCASTING,
    ONE,
    TWO_AT_ONCE,
    TWO_ON_ONE_QUEUE,
    TWO_ON_TWO_QUEUES,
    model,
    start,
)

pytestmark = pytest.mark.slow

BASE = checkout_path("data") / "golden" / "broker-4.8.0" / "base"
KILLED = model(2, start("A", 0, "a"), start("B", 2_000, "b"), {"at": 6_000, "do": "kill", "who": "B", "within": 4_000})


@pytest.fixture(scope="module")
def two():
    return Explorer(TWO_ON_TWO_QUEUES, samples=20).explore()


def whole(explored):
    """All that is said of it, schedules and assumptions too."""
    return "\n".join(map(str, exploration_lines(explored, verbose=True)))


def got(found):
    return {who: found.outcome.bodies_of(who) for who in ("A", "B") if found.outcome.bodies_of(who)}


@pytest.mark.parametrize(
    ("scenario", "states", "merged", "schedules", "consumed"),
    [
        (ONE, 0, 0, 1, {"A": ["m0"]}),
        (BROADCASTING, 13, 12, 80, {"B": ["m1"]}),
        (TWO_ON_ONE_QUEUE, 83, 71, 16_731, {}),
    ],
    ids=["one", "broadcasting", "one queue"],
)
def test_the_states_of_small_models(scenario, states, merged, schedules, consumed):
    """With one queue for two members nobody gets anything: the owner never restamps, so the other's tag rules."""
    explored = Explorer(scenario, samples=10).explore()
    assert explored.exhausted
    assert (explored.states, explored.merged) == (states, merged)
    (found,) = explored.outcomes
    assert (found.share, found.schedules, got(found)) == (pytest.approx(1), schedules, consumed)


def test_a_state_with_a_variable_that_is_not_set_yet_can_be_read():
    """The message is refused once, and B stands still meanwhile: a task of its client waits before it sets one."""
    messages = [{"body": "m0"}, {"body": "m1", "tag": "c"}, {"body": "m2", "tag": "a"}]
    pause = {"at": 20_000, "do": "pause", "who": "B", "forMs": 130_000}
    sent = {"at": 20_001, "do": "send", "topic": "T", "messages": messages}
    steps = [start("B", 0, "a", laterTimes=1), pause, sent]
    explored = Explorer(
        convert_scenario({"id": "x", "topics": {"T": 3}, "steps": steps}), budget=8, samples=0
    ).explore()
    assert explored.runs >= 8
    assert {tuple(got(found)["B"]) for found in explored.outcomes} == {("m2",)}


@pytest.mark.row("S-03", "S-84")
def test_two_members_two_queues_two_outcomes(two):
    assert two.exhausted
    assert (two.states, two.merged) == (389, 351)
    assert [(got(found), found.schedules) for found in two.outcomes] == [
        ({"A": ["m0"]}, 7_716_709), ({"B": ["m3"]}, 141_284),
    ]  # fmt: skip
    assert sum(found.share for found in two.outcomes) == pytest.approx(1)
    assert sum(found.sampled for found in two.outcomes) == two.sampled == 20
    assert [sorted(found.lost) for found in two.outcomes] == [["m1", "m2", "m3"], ["m0", "m1", "m2"]]
    assert {len(found.schedule.taken) for found in two.outcomes} == {0, 1}


def test_each_schedule_leads_to_its_outcome_through_its_text_and_to_the_same_bytes(two):
    for found in two.outcomes:
        schedule = Schedule.from_json(found.schedule.to_json())
        runs = [replay_schedule(two.scenario, schedule) for _ in range(2)]
        assert runs[0].outcome() == found.outcome
        assert runs[0].lines() == runs[1].lines()


def test_no_run_with_other_frames_or_times_leaves_the_list(two):
    """The claim of an exhausted space, tried from outside: by orders drawn blindly, and by other delays."""
    known = {found.outcome for found in two.outcomes}
    orders = [
        simulate(
            two.scenario, chooser=SeededChooser(seed), timing=Timing(open_orders=True), reduction=PartialOrderReduction
        )
        for seed in range(12)
    ]
    times = [simulate(two.scenario, chooser=RaceChooser(seed), timing=RACE_TIMING) for seed in range(5_000, 5_012)]
    reached = Counter(run.outcome() for run in orders + times)
    assert set(reached) <= known
    assert set(reached) == known, "both outcomes are common"


def test_properties_come_with_the_shortest_schedule_that_breaks_or_shows_them(two):
    said = {verdict.property.name: verdict for verdict in two.verdicts}
    loss = said["no message that a member asked for is lost"]
    assert not loss.holds
    assert "3 lost" in loss.text
    assert loss.run.schedule.taken == {}
    receives = said["B receives a message"]
    assert receives.holds
    assert len(receives.run.schedule.taken) == 1
    assert said["no message is taken twice"].holds
    assert said["every queue has an owner"].holds


def test_the_json_has_the_keys_others_rely_on(two):
    told = json.loads(json.dumps(two.as_json()))
    assert told["scenario"] == "x"
    assert told["exhausted"] is True
    assert told["runs"] >= told["space"]["searched"] + told["space"]["sampled"]
    first = told["outcomes"][0]
    assert first["consumed"] == {"A": ["m0"]}
    assert first["committed"] == {"T/0": 2, "T/1": 2}
    assert first["schedule"]["format"] == "rmqlab-schedule/1"
    assert 0.5 < first["share"] < 1


def test_offsets_of_several_groups_are_told_by_group():
    lab = rmqlab.Lab(topics={"T": 1})
    lab.consumer("A", group="G", subscribe={"T": "*"})
    lab.consumer("B", group="H", subscribe={"T": "*"}, mode="broadcasting")  # commits nothing at the broker
    lab.run(seconds=35)
    lab.send("T", ["a", "b"])
    lab.run(seconds=20)
    told = lab.explore(budget=4)
    assert {found.as_json()["committed"]["G/T/0"] for found in told.outcomes} == {2}
    assert "committed G/T/0=2 H/T/0=0" in whole(told)


def test_the_same_seed_gives_the_same_bytes():
    texts = {json.dumps(Explorer(TWO_ON_ONE_QUEUE, samples=10, seed=3).explore().as_json()) for _ in range(2)}
    assert len(texts) == 1


def test_a_small_budget_claims_nothing_and_still_finds_outcomes():
    explored = Explorer(TWO_AT_ONCE, budget=60, samples=20).explore()
    assert not explored.exhausted
    assert (explored.searched, explored.sampled) == (40, 20)
    assert all(found.schedules is None for found in explored.outcomes)
    assert sum(found.share for found in explored.outcomes) == pytest.approx(1)


def test_when_times_decide_the_timers_are_opened_too():
    """Looked at 8 s after the sending, a commit may have been made or not: that is the phase of the broker's timers."""
    early = model(1, start("A", 0, "a"), end=16_000)
    explored = Explorer(early, samples=40).explore()
    assert explored.times_open
    assert len(explored.outcomes) > 1
    assert {outcome.committed for outcome in (found.outcome for found in explored.outcomes)} >= {
        (("G", "T/0", 1),), (("G", "T/0", 2),),
    }  # fmt: skip
    narrow = Explorer(model(1, start("A", 0, "a")), samples=40).explore()
    assert not narrow.times_open


def test_shortening_has_a_limit_and_says_when_it_was_reached():
    """Moments of a fault are many, and chance finds outcomes that the small search does not reach."""
    told = {limit: Explorer(KILLED, budget=30, samples=10, shortening=limit).explore() for limit in (0, 3, 400)}
    assert told[0].shortening == 0
    assert 0 < told[3].shortening <= 3
    assert told[0].not_shortened == len(told[0].beyond) > 0
    assert told[400].not_shortened == 0
    assert told[400].shortening > 3
    for one in told.values():
        assert {found.outcome for found in one.outcomes} == {found.outcome for found in told[0].outcomes}
        assert one.as_json()["space"]["not_shortened"] == one.not_shortened
    loss = {limit: one.verdicts[0] for limit, one in told.items()}
    assert [(limit, verdict.shortened) for limit, verdict in loss.items()] == [(0, False), (3, False), (400, True)]
    assert len(loss[400].run.schedule.taken) < len(loss[0].run.schedule.taken)
    assert "shortening stopped before its end" in whole(told[0])
    assert "may be longer" not in whole(told[400])
    longest = {limit: max(len(found.schedule.taken) for found in one.beyond) for limit, one in told.items()}
    assert longest[400] < longest[0]


def test_a_schedule_for_which_the_limit_of_one_schedule_came_first_is_not_called_shortest(monkeypatch):
    """The limit of all shortening was far away; before, only that one counted."""
    monkeypatch.setattr("rmqlab_tools.search.explorer.explore.MAX_RUNS", 3)
    explored = Explorer(KILLED, budget=30, samples=10, shortening=400).explore()
    assert explored.not_shortened == len(explored.beyond) > 0
    assert not explored.verdicts[0].shortened


def test_a_property_that_no_run_breaks_or_shows_is_proved_only_when_the_space_is_exhausted():
    nobody_sends_c = model(2, start("A", 0, "a"), start("B", 2_000, "c"))
    few, all_of_them = (Explorer(nobody_sends_c, budget=budget, samples=0).explore() for budget in (2, 2_000))
    assert (few.exhausted, all_of_them.exhausted) == (False, True)
    assert [one.share for one in few.outcomes] == [None] * len(few.outcomes)
    assert "not every order was tried" in whole(few)
    for explored in (few, all_of_them):
        receives = {one["property"]: one for one in explored.as_json()["properties"]}["B receives a message"]
        assert receives["holds"] is False
        assert receives["proved"] is explored.exhausted
    assert "always: no message is taken twice: not proved: none of 2 runs speaks against it" in str(few)
    assert "sometimes: B receives a message: not proved: none of 2 runs shows it" in str(few)
    assert "always: no message is taken twice: holds" in str(all_of_them)
    assert "sometimes: B receives a message: FAILS" in str(all_of_them)


@pytest.mark.row("S-03", "S-84")
def test_what_the_real_broker_did_is_in_the_list_and_what_it_cannot_do_is_not():
    scenario = next(one for one in read_scenarios(BASE / "scenarios.jsonl") if one.id == "p-loss-003")
    recorded = Outcome.of_events(recorded_events(BASE)[scenario.id])
    explored = Explorer(scenario, samples=20, cluster=default_settings()).explore()
    assert explored.exhausted
    assert recorded in [found.outcome for found in explored.outcomes]
    for found in explored.outcomes:
        bodies = [body for who in "AB" for body in found.outcome.bodies_of(who)]
        assert len(bodies) == 2, "two members with disjoint tags on four queues: two of eight in every schedule"


@pytest.mark.parametrize(("name", "value"), [("budget", 0), ("samples", -1), ("shortening", -1), ("lag_ms", -1)])
def test_settings_that_cannot_be_are_named(name, value):
    with pytest.raises(BadInput, match=f"{name} is {value}"):
        Explorer(ONE, **{name: value})


def test_with_a_lag_timers_may_come_first_and_every_state_can_be_read():
    """A timer between two frames of a burst finds loops half done: their ranges and views are state too."""
    explored = Explorer(TWO_ON_TWO_QUEUES, budget=40, samples=0, lag_ms=20).explore()
    assert explored.searched == 40
    assert any(" | time" in choice.label for found in explored.outcomes for choice in found.run.choices)


def test_a_limit_of_time_ends_it_and_says_so(monkeypatch):
    """The clock goes one second a question: after 30 of them no run is begun, and nothing is claimed of the rest."""
    seconds = iter(range(1_000_000))
    monkeypatch.setattr("rmqlab_tools.search.explorer.explore.monotonic", lambda: next(seconds))
    cut = Explorer(TWO_ON_TWO_QUEUES, samples=20, seconds=30).explore()
    assert cut.out_of_time
    assert not cut.exhausted
    assert cut.searched < 40
    assert cut.outcomes
    assert "limit of time" in repr(cut)
    whole = Explorer(TWO_ON_TWO_QUEUES, samples=20, seconds=1_000_000).explore()
    assert (whole.exhausted, whole.out_of_time) == (True, False)


@pytest.mark.parametrize("seconds", [0, -1])
def test_no_time_at_all_is_refused(seconds):
    with pytest.raises(BadInput, match="more than 0"):
        Explorer(ONE, seconds=seconds)
