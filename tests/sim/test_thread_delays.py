"""Late starts, threads and reput: as choices of a drawn run, and as moves and times of a search."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from msgspec.structs import replace as replace_fields

from rmqlab.errors import BadInput
from rmqlab.events import HeartbeatSent, Waits
from rmqlab.rules import RULES
from rmqlab.scenario.scenario import parse_scenario
from rmqlab.scenario.schedule import Schedule, Timing
from rmqlab.sim.cluster import cluster_of
from rmqlab.sim.simulate import simulate
from rmqlab_tools.search.explorer.deviations import replay_schedule
from rmqlab_tools.search.explorer.explore import Explorer
from rmqlab_tools.search.explorer.timings import ASSUMED, ONE_BY_ONE
from tests.proof.fixed_chooser import FixedChooser
from tests.search.explored_models import BROADCASTING, ONE, TWO_ON_TWO_QUEUES

pytestmark = pytest.mark.slow

BROKER = "127.0.0.1:10911"


def times(run, name):
    return [event["t"] for event in run.events if event["ev"] == name]


def test_a_start_takes_as_long_as_was_chosen():
    timing = Timing(start_ms=(0, 350))
    usual = simulate(ONE, timing=timing)
    late = simulate(ONE, timing=timing, chooser=FixedChooser({"A: start": 1}))
    assert times(late, "starting") == times(usual, "starting")
    assert times(late, "started")[0] == times(usual, "started")[0] + 350
    beats = [next(fact.t for fact in run.facts.of(HeartbeatSent) if fact.source == "A") for run in (usual, late)]
    assert beats[1] == beats[0] + 350


def test_a_message_is_found_when_the_reput_thread_has_come():
    timing = Timing(reput_us=(0, 20_000))
    usual = simulate(ONE, timing=timing)
    late = simulate(ONE, timing=timing, chooser=FixedChooser({f"reput {BROKER}": 1}))
    assert times(late, "sent")[0] == times(usual, "sent")[0]  # the producer has its answer
    assert times(late, "consume")[0] == times(usual, "consume")[0] + 20
    assert late.outcome() == usual.outcome()


def test_a_thread_that_waited_for_an_answer_goes_on_late():
    timing = Timing(thread_us=(0, 80_000))
    usual = simulate(ONE, timing=timing)
    late = simulate(ONE, timing=timing, chooser=FixedChooser({"thread A 34": 1}))
    assert times(late, "started")[0] == times(usual, "started")[0] + 80


@pytest.mark.parametrize("vary", [["threads"], ["reput"], ["start"]])
def test_a_search_may_vary_them_and_its_schedules_repeat(vary):
    explored = Explorer(BROADCASTING, vary=vary, samples=4, budget=4_000).explore()
    assert explored.exhausted
    assert {outcome.outcome.consumed for outcome in explored.outcomes} == {(("B", "m1", 1),)}
    told = explored.as_json()
    assert told["varied"] == ["order of frames", *(name for name in ASSUMED if name in vary)]
    assert told["assumptions"] == [ONE_BY_ONE, *(text for name, text in ASSUMED.items() if name not in vary)]
    for found in explored.outcomes:
        schedule = Schedule.from_json(found.schedule.to_json())
        again = replay_schedule(BROADCASTING, schedule)
        assert again.outcome() == found.outcome


def test_late_threads_make_more_orders_of_the_same_outcomes():
    usual, wider = (Explorer(BROADCASTING, samples=2, vary=vary).explore() for vary in ((), ["threads"]))
    assert usual.exhausted
    assert wider.exhausted
    assert wider.states > usual.states
    assert {one.outcome for one in wider.outcomes} == {one.outcome for one in usual.outcomes}


def test_a_search_by_itself_varies_the_order_of_frames_and_says_what_it_assumes():
    explored = Explorer(BROADCASTING, samples=2).explore()
    assert explored.varied == ()
    assert explored.as_json()["assumptions"] == [ONE_BY_ONE, *ASSUMED.values()]


def test_what_cannot_be_varied_is_refused():
    with pytest.raises(BadInput, match="vary 'weather'; there are start, threads, reput"):
        Explorer(TWO_ON_TWO_QUEUES, vary=["weather"])


def test_with_one_time_each_nothing_is_asked():
    nominal = replace(Timing(), delays_us=(1_000, 200))
    labels = {choice.label.partition(" ")[0] for choice in simulate(ONE, timing=nominal).choices}
    assert labels <= {"delay", "P:"}


POPPED = parse_scenario(json.dumps({"id": "p", "topics": {"T": 1}, "steps": [
    {"at": 0, "do": "start", "who": "A", "group": "G", "kind": "pop", "laterTimes": 1,
     "subscribe": {"T": {"expr": "*"}}},
    {"at": 5_000, "do": "send", "topic": "T", "messages": [{"tag": "a", "body": "m", "queue": 0}]},
    {"at": 40_000, "do": "offsets"},
]}))  # fmt: skip
ON_5 = cluster_of({}, RULES["5.5.0"])


def test_a_thread_that_pops_stands_still_as_long_as_was_chosen():
    timing = Timing(pop_us=(0, 30_000))
    usual = simulate(POPPED, timing=timing, cluster=ON_5)
    late = simulate(POPPED, timing=timing, cluster=ON_5, chooser=FixedChooser({f"pop {BROKER}": 1}))
    assert times(late, "sent") == times(usual, "sent")
    # The woken pop stands still before it begins, before the next step, and while it holds the lock.
    assert times(late, "consume")[0] == pytest.approx(times(usual, "consume")[0] + 90, abs=1)


def test_each_queue_of_the_revive_log_is_looked_through_in_a_phase_of_its_own():
    timing = Timing(revive_ms=(0, 30))
    usual = simulate(POPPED, timing=timing, cluster=ON_5)
    shifted = [
        simulate(POPPED, timing=timing, cluster=ON_5, chooser=FixedChooser({f"revive {queue}": 1}))
        for queue in range(8)
    ]
    again = times(usual, "consume")[1]
    assert sorted(times(run, "consume")[1] - again for run in shifted) == [-70, *[0] * 7]


def test_a_receive_through_a_proxy_may_take_longer_than_a_thread():
    steps = [replace_fields(POPPED.steps[0], kind="grpc"), *POPPED.steps[1:]]
    scenario = replace_fields(POPPED, steps=tuple(steps))
    timing = Timing(thread_us=(0, 1_000), proxy_us=(0, 1_000, 900_000))
    run = simulate(scenario, timing=timing, cluster=ON_5, chooser=FixedChooser({"thread A proxy": 2}))
    usual = simulate(scenario, timing=timing, cluster=ON_5)
    waits = [[fact.t for fact in each.facts.of(Waits)] for each in (usual, run)]
    assert waits[1][0] == waits[0][0] + 900
