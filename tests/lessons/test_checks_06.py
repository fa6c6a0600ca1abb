"""The checks of notebook 06: right answers pass, wrong ones are told why."""

from __future__ import annotations

import pytest

from rmqlab.lab.groups.notices import CAUSES
from rmqlab.lessons.check import CheckFailed, judge
from rmqlab.lessons.checks_06 import CLIENTS, GOINGS

pytestmark = pytest.mark.slow

NOTICED = {
    "pause of 100 s, 5 s after a beat": "never",
    "pause of 140 s, 5 s after a beat": "by a scan",
    "process killed": "at once",
    "machine gone": "by a scan",
    "three beats lost": "never",
    "five beats lost": "by a scan",
}
PERIODS = {"beat_s": 3, "expiry_s": 10, "scan_s": 2, "rebalance_s": 5, "beats_per_s": CLIENTS / 3}


def test_how_it_is_noticed():
    assert set(NOTICED) == set(GOINGS)
    with pytest.raises(CheckFailed, match="machine gone: not at once") as failed:
        judge("06-noticed", NOTICED | {"machine gone": "at once"})
    assert "closes a dead process's connections" in str(failed.value)
    with pytest.raises(CheckFailed, match="is none of at once"):
        judge("06-noticed", NOTICED | {"pause of 100 s, 5 s after a beat": "maybe"})
    with pytest.raises(CheckFailed, match="Give a dict"):
        judge("06-noticed", {})


def test_who_is_not_told():
    names = [cause.name for cause in CAUSES]
    with pytest.raises(CheckFailed, match="does not belong here"):
        judge("06-not-told", names)
    with pytest.raises(CheckFailed, match="One more cause"):
        judge("06-not-told", [])
    with pytest.raises(CheckFailed, match="'rain' is no cause"):
        judge("06-not-told", ["rain"])


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"expiry_s": 60}, "At worst it takes 67 s"),
        ({"expiry_s": 6}, "lost beats in a row cost it its place"),
        ({"beats_per_s": 1}, "do not beat 1 times a second"),
        ({"beat_s": 1, "beats_per_s": CLIENTS}, "beats a second are more than"),
        ({"scan_s": 0}, "That cannot be run: scan_ms is 0"),
        ({"beat_s": "3"}, "'3' is no number of seconds"),
    ],
)
def test_periods(changes, text):
    with pytest.raises(CheckFailed, match=text):
        judge("06-periods", PERIODS | changes)
