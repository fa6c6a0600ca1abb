"""A crowd of heartbeating clients on the broker's own rules, and a large group of full clients."""

from __future__ import annotations

import pytest

from rmqlab.errors import BadInput
from tests.proof.bench.crowd import crowd_beats
from tests.proof.bench.large_group import LargeGroup


def test_each_beats_every_30_s_and_the_silent_ones_expire():
    counted = crowd_beats(200, members=10, minutes=8, silent=20)
    # 16 beats each in 8 minutes; those silent from the middle on beat 8 times
    assert counted.beats == pytest.approx(180 * 16 + 20 * 8, abs=200)
    assert (counted.refused, counted.groups) == (0, 20)
    assert (counted.online, counted.silent, counted.closed) == (180, 20, 20)
    # a member that joins as the n-th makes the broker tell n connections
    assert counted.notified == 20 * sum(range(1, 11))


def test_within_120_s_nobody_expires():
    assert crowd_beats(60, members=10, minutes=3, silent=30).online == 60


def test_every_queue_of_a_large_group_has_one_owner():
    counted = LargeGroup(20, 30).run(2)
    assert (counted.online, counted.queues, counted.owned, counted.failed) == (20, 30, 30, 0)


@pytest.mark.parametrize("settings", [{"clients": 0}, {"members": 0}, {"minutes": 0}, {"silent": 11}])
def test_numbers_that_cannot_be_are_refused(settings):
    with pytest.raises(BadInput, match=next(iter(settings))):
        crowd_beats(**{"clients": 10, **settings})
