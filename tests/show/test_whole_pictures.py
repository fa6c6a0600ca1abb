"""Notebook 12's comparison of the whole core with the reduced model: the means, the verdicts, and what is shown."""

from __future__ import annotations

import pytest

from rmqlab.errors import BadInput
from rmqlab.lab.groups.shares_beside import beside, histogram, mean_of
from rmqlab.show.sweeps.whole_pictures import (
    agreement_cells,
    cell_of,
    differences,
    kept_and_now,
    orders,
    play_cells,
    runs_of_a_cell,
)

AXES = {"members": 2, "queues": 4, "shared": 0, "gap_ms": 0, "delay_us": 1_000}


def cell(traffic, each, model, **other):
    return {
        **AXES, "traffic": traffic, "sent": 4, "each": each, "model_each": model, "last_wins": 1.0,
        "model_last_wins": 0.5, "row": "ab", "seed": 7, **other,
    }  # fmt: skip


SAME = cell("settled", [1, 2, 1, 0], [25, 50, 25, 0, 0])
OTHER = cell("starting", [3, 3, 2, 3], [25, 50, 25, 0, 0])


def test_a_mean_counts_runs_and_not_messages():
    found = mean_of(histogram([1, 1, 3, 3], 4), 4)
    assert found.share == 0.5
    assert found.runs == 4
    assert found.half == pytest.approx(1.96 * (4 / 3) ** 0.5 / 2 / 4)  # variance 4/3 of four runs, of 4 messages
    assert mean_of([0, 5], 1).half == 0


def test_what_chance_can_make_agrees_and_what_it_cannot_does_not():
    assert beside(SAME).agrees
    assert not beside(OTHER).agrees
    assert beside(OTHER).difference == pytest.approx(2.75 / 4 - 0.25)
    exact = cell("settled", [1, 1], [0, 10, 0, 0, 0])
    assert beside(exact).agrees


def test_pictures_say_how_many_cells_agree():
    picture = agreement_cells([SAME, OTHER])
    assert "settled: 1 of 1 cells agree" in picture.svg
    assert "starting: 0 of 1 cells agree" in picture.svg
    assert "starting: 0 of 1 cells differ by no more than chance" in picture.alt
    assert differences([SAME, OTHER]).rows == [
        ("settled", 1_000, 0, 1, 0, "+0.000"), ("starting", 1_000, 0, 1, 1, "+0.438"),
    ]  # fmt: skip
    assert differences([OTHER] * 3).marked == {0}
    one = runs_of_a_cell(OTHER)
    assert "the whole broker delivers 0.688 of the messages in 4 runs" in one.alt
    assert "more than chance" in one.alt
    assert one.table.rows[2] == ("fewest and most that arrive", "2 and 3", "0 and 2")


def test_a_cell_is_chosen_by_every_axis(capsys):
    assert cell_of([SAME, OTHER], traffic="settled") is SAME
    with pytest.raises(BadInput, match="members 2: 2 rows; give every axis"):
        cell_of([SAME, OTHER], members=2)
    with pytest.raises(BadInput, match="traffic never: 0 rows"):
        play_cells([SAME], traffic="never")


def test_a_row_that_came_out_otherwise_is_marked():
    class Figure:
        def __init__(self, name, kept, now):
            self.name, self.kept, self.now, self.same = name, kept, now, kept == now

    table = kept_and_now(
        "loss_whole", SAME, lambda name, record: [Figure("lost_max", 3, 3), Figure("each", [1, 2], [1, 1])]
    )
    assert table.rows == [("lost_max", "3", "3", "same"), ("each", "2 numbers, sum 3", "2 numbers, sum 2", "differs")]
    assert table.marked == {1}


def test_orders_are_sorted_and_those_that_differ_are_marked():
    common = {"members": 2, "queues": 1, "gap_ms": 0, "sent": 2, "outcomes": 3, "lost_median": 1, "exhausted": True}
    rows = [
        {**common, "traffic": "settled", "lag_ms": 0, "lost_min": 1, "lost_max": 1},
        {**common, "traffic": "starting", "lag_ms": 0, "lost_min": 0, "lost_max": 2, "exhausted": False},
        {**common, "traffic": "starting", "lag_ms": 20, "lost_min": 0, "lost_max": 2},
    ]
    table = orders(rows, lag_ms=0)
    assert table.rows == [
        ("starting", 2, 1, 0, 3, "0, 1, 2 of 2", "no"), ("settled", 2, 1, 0, 3, "1, 1, 1 of 2", "yes"),
    ]  # fmt: skip
    assert table.marked == {0}
