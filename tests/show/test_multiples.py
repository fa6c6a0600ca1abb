"""Small multiples of kept sweeps: what is drawn, what is refused, and that a kept row comes out the same again."""

from __future__ import annotations

import pytest

from rmqlab.errors import BadInput
from rmqlab.show.play.sweep import loss_picture, play_sweep
from rmqlab.show.sweeps.sweep_tables import alarms, detection, guessed, notifications, row_again, storms
from rmqlab.spark.sweeps.stored import run_again, stored_sweep


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


@pytest.mark.parametrize("number", [7, 400, 1_500])
def test_kept_rows_come_out_again(rows, number):
    table = row_again(rows[number], run_again)
    assert all(kept == now for _, kept, now in table.rows)


def test_detection_storms_and_alarms():
    beats = stored_sweep("heartbeats").good
    assert "1,000,000 clients" in detection(beats, 1_000_000).title
    assert alarms(beats, 1_000_000).marked
    moved = stored_sweep("storms").good
    assert "hash" in storms(moved).svg
    assert [row[:2] for row in notifications(moved).rows] == [(n, n * (n + 1) // 2) for n in (2, 4, 8, 16, 32)]


@pytest.mark.parametrize("axis", ["members", "queues", "shared", "gap_ms", "delay_us", "traffic"])
def test_the_control_begins_with_any_axis(rows, axis):
    play_sweep(rows, mode="static", x=axis)
