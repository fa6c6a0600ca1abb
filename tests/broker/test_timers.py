"""The broker's timers."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rmqlab.broker.processor import Timers


def test_a_rate_keeps_its_grid_even_when_it_runs_late():
    timers, ran = Timers(0), []
    timers.at_fixed_rate("check", 5_000, 5_000, ran.append)
    timers.now = 7_300
    timers.run(7_300)
    assert timers.next_due() == 10_000
    timers.run_next()
    assert ran == [7_300, 10_000]


def test_a_fixed_delay_begins_when_a_run_that_came_late_was_made():
    timers, ran = Timers(0), []
    timers.with_fixed_delay("look", 5_000, 5_000, ran.append)
    timers.run_next()
    assert timers.next_due() == 10_000
    timers.now = 10_300
    timers.run(10_300)
    assert timers.next_due() == 15_300
    assert ran == [5_000, 10_300]


@pytest.mark.parametrize("pause", [0, -5])
def test_without_a_pause_there_is_a_moment_between_two_runs(pause):
    timers, ran = Timers(0), []
    timers.with_fixed_delay("look", pause, pause, ran.append)
    timers.run(2)
    assert ran == [max(pause, 0), 1, 2]


def test_once_is_once():
    timers, ran = Timers(0), []
    timers.once("deliver", 3, ran.append)
    timers.run_next()
    assert ran == [3]
    assert timers.next_due() is None


@given(st.lists(st.tuples(st.integers(0, 20), st.integers(1, 10)), min_size=1, max_size=6))
def test_timers_run_by_time_and_then_by_registration(rates):
    timers, ran = Timers(0), []
    for number, (first, period) in enumerate(rates):
        timers.at_fixed_rate(str(number), first, period, lambda at, number=number: ran.append((at, number)))
    while (due := timers.next_due()) is not None and due <= 40:
        timers.run_next()
    assert ran == sorted(
        (at, number) for number, (first, period) in enumerate(rates) for at in range(first, 41, period)
    )


def test_names_tell_what_is_next():
    timers = Timers(0)
    timers.once("later", 2, print)
    timers.once("sooner", 1, print)
    assert [name for _, name, _ in timers.upcoming()] == ["sooner", "later"]
