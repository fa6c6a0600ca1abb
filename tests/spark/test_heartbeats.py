"""Heartbeats of very many clients: bounds of the detection, load, and clients expired though they live."""

from __future__ import annotations

import pytest

from rmqlab.errors import BadInput
from rmqlab_tools.spark.sweeps.heartbeats import Heartbeats, beats_by_second, detection_ms, false_expiries_an_hour


def test_silence_is_noticed_between_90_and_130_seconds():
    """The last beat is up to 30 s old at the death, and a scan up to 10 s late."""
    found = detection_ms(Heartbeats(clients=200_000), 1)
    assert 90_000 < found.min() < 91_000
    assert 129_000 < found.max() <= 130_001
    assert found.mean() == pytest.approx(110_000, rel=0.002)


def test_a_lost_beat_is_a_period_sooner():
    beats = Heartbeats(clients=100_000, lost=0.2)
    found = detection_ms(beats, 1)
    assert found.mean() == pytest.approx(detection_ms(Heartbeats(clients=100_000), 1).mean() - 30_000 * 0.25, rel=0.01)


def test_detection_scales_with_the_periods():
    found = detection_ms(Heartbeats(clients=50_000, period_ms=5_000, expiry_ms=14_000, scan_ms=1_000), 3)
    assert found.max() <= 15_001
    assert found.min() > 9_000


def test_living_clients_are_expired_only_when_beats_are_lost():
    assert false_expiries_an_hour(Heartbeats(clients=1_000), 1) == 0
    # four in a row, of 120 beats an hour: p^4 (1 - p) for each beat, once the fourth has passed a scan
    beats = Heartbeats(clients=20_000, lost=0.3)
    expected = beats.clients * 120 * 0.3**4 * 0.7
    assert 0.5 * expected < false_expiries_an_hour(beats, 1) < 1.5 * expected


def test_expiry_below_the_period_expires_everybody():
    beats = Heartbeats(clients=10, period_ms=30_000, expiry_ms=10_000, scan_ms=1_000)
    assert false_expiries_an_hour(beats, 1) >= 10 * 118


def test_load_is_even():
    spread = beats_by_second(Heartbeats(clients=300_000), 1)
    assert spread.sum() == 300_000
    assert spread.max() < 1.1 * spread.mean()


def test_same_seed_same_figures():
    beats = Heartbeats(clients=1_000, lost=0.1)
    assert (detection_ms(beats, 4) == detection_ms(beats, 4)).all()
    assert (detection_ms(beats, 4) != detection_ms(beats, 5)).any()


@pytest.mark.parametrize(("field", "value"), [("clients", 0), ("lost", 1.0), ("period_ms", -1)])
def test_parameters_out_of_range_are_named(field, value):
    with pytest.raises(BadInput, match=f"{field} is"):
        detection_ms(Heartbeats(**{field: value}), 1)
