"""Born, dead, and which messages know the group."""

from __future__ import annotations

import pytest

from rmqlab.filter.message_filter import ConsumerFilterData


@pytest.mark.row("F-45")
@pytest.mark.parametrize(
    ("dead_time", "dead", "age"), [(0, False, -1), (99, False, -1), (100, True, 50), (120, True, 30)]
)
def test_dead_from_the_moment_it_was_born(dead_time, dead, age):
    data = ConsumerFilterData("G", "T", born_time=100, dead_time=dead_time)
    assert data.is_dead() is dead
    assert data.how_long_after_death(now=150) == age


@pytest.mark.row("F-60")
def test_a_message_of_the_same_millisecond_is_not_in_live():
    data = ConsumerFilterData(born_time=100)
    assert [data.is_msg_in_live(time) for time in (99, 100, 101)] == [False, False, True]


@pytest.mark.row("F-45")
def test_data_that_was_never_born_is_dead():
    assert ConsumerFilterData().is_dead()
