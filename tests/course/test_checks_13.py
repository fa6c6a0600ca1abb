"""The checks of notebook 13: right answers, wrong ones with their hint."""

from __future__ import annotations

import numpy as np
import pytest

import rmqlab
from rmqlab_tools.course.checks_13 import NEEDED, _recorded, measured

SENT, ARRIVED = _recorded()
ROWS = [{"queueId": queue, "sent": SENT[queue], "lost": SENT[queue] - ARRIVED[queue]} for queue in SENT]
NOTHING_LOST = [{**row, "lost": 0} for row in ROWS]
EVERYTHING = [{**row, "sent": row["sent"] + 1} for row in ROWS]
RIGHT = [
    ("13-query", ROWS, "279 of 340 lost"),
    ("13-size", 11, "11 would just do"),
    ("13-size", np.int64(14), "11 would just do"),
    ("13-needs", {name for name, wanted in NEEDED.items() if wanted}, "These three"),
]


@pytest.mark.parametrize(("name", "answer", "text"), RIGHT)
def test_right_answers(name, answer, text):
    assert text in repr(rmqlab.check(name, answer))


@pytest.mark.parametrize(
    ("name", "answer", "hint", "problem"),
    [
        ("13-query", NOTHING_LOST, "find no event", "0 were not lost"),
        ("13-query", EVERYTHING, "find no event", "were not sent"),
        ("13-query", ROWS[1:], "find no event", "Your rows are of queues"),
        ("13-query", [{"queue": 1}], "columns queueId", ""),
        ("13-query", 279, "cannot be judged", ""),
        ("13-size", 10, "can be divided", "10 are too few"),
        ("13-size", 15, "can be divided", "a third too many"),
        ("13-size", 11.5, "whole number", ""),
        ("13-needs", {"a Java"}, "bring along", "Something is missing"),
        ("13-needs", set(NEEDED), "bring along", "No worker needs"),
        ("13-needs", {"a cup of tea"}, "Give a set of these", ""),
    ],
)
def test_wrong_answers_get_a_hint(name, answer, hint, problem):
    found = rmqlab.check(name, answer)
    assert not found
    assert hint in repr(found)
    assert problem in repr(rmqlab.check(name, answer, show="evidence"))


def test_what_is_committed_is_sound():
    fixed, data = measured()
    assert 50 < fixed < 70
    assert 5_000 < data < 6_000
