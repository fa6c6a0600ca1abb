"""Late starts, threads and reput: as choices of a drawn run, and as moves and times of a search."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rmqlab.errors import BadInput
from rmqlab.events import HeartbeatSent
from rmqlab.scenario.schedule import Schedule, Timing
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
