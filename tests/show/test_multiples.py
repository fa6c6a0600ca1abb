"""Small multiples of kept sweeps: what is drawn, what is refused, and that a kept row comes out the same again."""

from __future__ import annotations

import pytest

from rmqlab.errors import BadInput
from rmqlab.show.play.sweep import loss_picture, play_sweep
from rmqlab.show.sweeps.sweep_tables import alarms, detection, guessed, notifications, storms
from rmqlab.show.sweeps.whole_pictures import kept_and_now
from rmqlab.spark.sweeps.rerun import rerun_row
from rmqlab.spark.sweeps.results import stored_sweep

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def rows():
    return stored_sweep("loss").good


def test_every_place_of_the_grid_is_in_the_table(rows):
    picture = loss_picture(rows)
    assert len(picture.table.rows) == 4 * 3
    assert "Share delivered" in picture.title
    assert "1/n²" in picture.svg


def test_an_axis_twice_is_refused(rows):
    with pytest.raises(BadInput, match="give three different axes"):
        loss_picture(rows, x="queues")


def test_unknown_axis_is_named(rows):
    with pytest.raises(BadInput, match="x is 'weather'; the axes are members"):
        play_sweep(rows, mode="static", x="weather")


def test_only_shared_tags_help(rows):
    table = guessed(
        rows, ["a faster network", "twice the queues", "a minute between the starts", "a tag that both ask for"]
    )
    assert table.rows[0][0] == "a tag that both ask for"
    assert table.rows[0][4] == 4
    assert table.marked == {0}
    with pytest.raises(BadInput, match="put these in an order"):
        guessed(rows, ["luck"])


@pytest.mark.parametrize(
    ("name", "number"),
    [
        ("loss", 7),
        ("loss", 400),
        ("loss", 1_500),
        ("heartbeats", 5),
        ("storms", 2),
        ("loss_whole", 0),
        ("schedules", 0),
    ],
)
def test_kept_rows_come_out_again(name, number):
    """The committed files are what the code says today; `./lab sweep NAME --table` makes them anew when it changes."""
    found = rerun_row(name, stored_sweep(name).good[number])
    assert [one.name for one in found if not one.same] == []
    assert len(kept_and_now(name, stored_sweep(name).good[number], lambda *_: found).rows) == len(found) > 5


def test_detection_storms_and_alarms():
    beats = stored_sweep("heartbeats").good
    assert "1,000,000 clients" in detection(beats, 1_000_000).title
    million = [one for one in beats if one["clients"] == 1_000_000]
    assert len(million) == 4 * 4 * 2 * 2  # periods, expiries, scans, lost or not
    for one in million:
        # a silent client is noticed by the first scan behind the expiry of its last beat, however many there are
        assert one["detection_max_ms"] <= one["expiry_ms"] + one["scan_ms"] + 1
        assert one["beats_a_second"] == pytest.approx(1_000_000 * (1 - one["lost"]) * 1_000 / one["period_ms"])
    assert alarms(beats, 1_000_000).marked
    moved = stored_sweep("storms").good
    assert "hash" in storms(moved).svg
    assert [row[:2] for row in notifications(moved).rows] == [(n, n * (n + 1) // 2) for n in (2, 4, 8, 16, 32)]


@pytest.mark.parametrize("axis", ["members", "queues", "shared", "gap_ms", "delay_us", "traffic"])
def test_the_control_begins_with_any_axis(rows, axis):
    play_sweep(rows, mode="static", x=axis)
