"""The model of a broker's heartbeat threads: conservation, and when living clients are forgotten."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rmqlab.errors import BadInput
from rmqlab.lab.groups.heartbeat_load import HeartbeatLoad

SMALL = HeartbeatLoad(clients=200, minutes=6)


@pytest.mark.row("H-51")
@settings(max_examples=30, deadline=None)
@given(st.integers(1, 300), st.floats(0.1, 200), st.integers(1, 8))
def test_who_keeps_up_forgets_nobody(clients, work_ms, threads):
    result = replace(SMALL, clients=clients, work_ms=work_ms, threads=threads).run()
    assert result.beats_per_s == pytest.approx(clients / 30)
    assert result.busy == pytest.approx(result.beats_per_s * work_ms / 1_000 / threads)
    assert result.refused == 0  # a queue of 50,000 holds more than all of them
    if result.busy < 0.9:
        assert result.forgotten == 0
        assert result.oldest_ms <= 30_000 + clients * work_ms + 1
    if result.busy > 1.2:
        assert result.longest_wait_ms > 6 * 60_000 * 0.1


@pytest.mark.row("H-26", "H-52")
def test_other_requests_hurt_only_in_the_same_pool():
    busy = replace(SMALL, other_per_s=300, other_ms=20)
    own, shared = busy.run(), replace(busy, own_pool=False).run()
    assert own == SMALL.run()
    assert shared.busy > 1 > own.busy
    assert shared.longest_wait_ms > 100 * max(own.longest_wait_ms, 1)


def test_a_full_queue_refuses_and_living_clients_are_forgotten():
    flooded = HeartbeatLoad(clients=600, threads=1, work_ms=500, queue=100).run()
    assert flooded.busy == pytest.approx(10)
    assert flooded.refused > 0
    assert flooded.longest_queue <= 100
    assert flooded.oldest_ms > 120_000
    assert 0 < flooded.forgotten <= 600


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"clients": 0}, "clients is 0; it lies between 1 and"),
        ({"work_ms": 0}, "work_ms is 0"),
        ({"threads": 2_000}, "threads is 2000"),
        ({"clients": 10_000_000, "minutes": 240}, "requests to follow one by one; at most 5,000,000: fewer minutes"),
    ],
)
def test_numbers_that_cannot_be(changes, text):
    with pytest.raises(BadInput, match=text):
        replace(SMALL, **changes).run()
