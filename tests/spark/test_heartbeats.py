"""Heartbeats of very many clients: bounds of the detection, load, and clients expired though they live."""

from __future__ import annotations

import pytest

from rmqlab.errors import BadInput
from rmqlab_tools.course.sweeps_12 import heartbeats

USUAL = {"clients": 10_000, "period_ms": 30_000, "expiry_ms": 120_000, "scan_ms": 10_000, "lost": 0.0}


def figures(seed=1, **other):
    return heartbeats(seed, **USUAL | other)


def test_silence_is_noticed_between_90_and_130_seconds():
    """The last beat is up to 30 s old at the death, and a scan up to 10 s late."""
    measured = figures(clients=200_000)
    assert 90_000 < measured["detection_min_ms"] < 91_000
    assert 129_000 < measured["detection_max_ms"] <= 130_001
    assert measured["detection_mean_ms"] == pytest.approx(110_000, rel=0.002)


def test_a_lost_beat_is_a_period_sooner():
    usual = figures(clients=100_000)["detection_mean_ms"]
    lossy = figures(clients=100_000, lost=0.2)["detection_mean_ms"]
    assert lossy == pytest.approx(usual - 30_000 * 0.25, rel=0.01)


def test_detection_scales_with_the_periods():
    measured = figures(3, clients=50_000, period_ms=5_000, expiry_ms=14_000, scan_ms=1_000)
    assert measured["detection_max_ms"] <= 15_001
    assert measured["detection_min_ms"] > 9_000


def test_living_clients_are_expired_only_when_beats_are_lost():
    assert figures(clients=1_000)["false_expiries_an_hour"] == 0
    # four in a row, of 120 beats an hour: p^4 (1 - p) for each beat, once the fourth has passed a scan
    expected = 20_000 * 120 * 0.3**4 * 0.7
    assert 0.5 * expected < figures(clients=20_000, lost=0.3)["false_expiries_an_hour"] < 1.5 * expected


def test_expiry_below_the_period_expires_everybody():
    assert figures(clients=10, expiry_ms=10_000, scan_ms=1_000)["false_expiries_an_hour"] >= 10 * 118


def test_load_is_even():
    measured = figures(clients=300_000)
    assert measured["beats_a_second"] == 10_000
    assert 10_000 <= measured["busiest_second"] < 1.1 * 10_000


def test_same_seed_same_figures():
    assert figures(4, clients=1_000, lost=0.1) == figures(4, clients=1_000, lost=0.1)
    assert figures(4, clients=1_000, lost=0.1) != figures(5, clients=1_000, lost=0.1)


@pytest.mark.parametrize(("field", "value"), [("clients", 0), ("lost", 1.0), ("period_ms", -1)])
def test_parameters_out_of_range_are_named(field, value):
    with pytest.raises(BadInput, match=f"{field} is"):
        figures(**{field: value})
