"""Shortening schedules: nothing is left that could be taken back, and what matters stays."""

from __future__ import annotations

from types import SimpleNamespace

from hypothesis import given
from hypothesis import strategies as st

from rmqlab.sim.simulate import simulate
from rmqlab_tools.search.explorer.deviations import DeviationsChooser, ScheduleShortener, deviations_of
from rmqlab_tools.search.explorer.timings import RACE_TIMING, RaceChooser
from tests.search.explored_models import TWO_ON_TWO_QUEUES

ASKED = 8


def toy(chooser):
    """A run that asks eight questions, three labels in turn."""
    for number in range(ASKED):
        chooser.choose("abc"[number % 3], 4)
    return SimpleNamespace(choices=chooser.made)


@given(st.lists(st.integers(0, 3), min_size=ASKED, max_size=ASKED), st.sets(st.integers(0, ASKED - 1)))
def test_what_is_left_is_exactly_what_matters(options, needed):
    keys = [("abc"[number % 3], number // 3) for number in range(ASKED)]
    first = toy(DeviationsChooser({key: option for key, option in zip(keys, options, strict=True) if option}))
    wanted = {number for number in needed if options[number]}

    def same(run):
        return all(run.choices[number].taken for number in wanted)

    run = ScheduleShortener(toy, same).of(first)
    assert deviations_of(run) == dict.fromkeys((keys[number] for number in sorted(wanted)), 1)


def test_a_drawn_run_becomes_one_with_few_deviations_and_the_same_outcome():
    def timed(chooser):
        return simulate(TWO_ON_TWO_QUEUES, chooser=chooser, timing=RACE_TIMING)

    run = next(run for run in map(timed, map(RaceChooser, range(60))) if run.outcome().bodies_of("B"))
    outcome = run.outcome()
    shortest = ScheduleShortener(timed, lambda other: other.outcome() == outcome)
    short = shortest.of(run)
    assert short.outcome() == outcome
    assert len(short.schedule.taken) < len(run.schedule.taken)
    assert 0 < shortest.runs <= 200


def test_the_number_of_tries_has_a_limit():
    first = toy(DeviationsChooser({("a", 0): 3, ("b", 1): 2, ("c", 0): 1}))
    shortest = ScheduleShortener(toy, lambda _: False, max_runs=3)
    assert shortest.of(first) is first
    assert shortest.runs == 3
