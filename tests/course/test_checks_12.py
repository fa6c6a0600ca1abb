"""The checks of notebook 12: right answers, wrong ones with their hint, and the group behind them."""

from __future__ import annotations

from fractions import Fraction

import pytest

import rmqlab
from rmqlab.errors import BadInput
from rmqlab_tools.course.checks_12 import RING, ring
from rmqlab_tools.course.sweeps_12 import TagGroup


def right_law(members, queues, shared):
    return shared / (members + shared) + queues // members / queues / (members + shared)


RIGHT = [
    ("12-law", right_law),
    ("12-law", lambda m, q, s: Fraction(s, m + s) + Fraction(q // m, q * (m + s))),
    ("12-sweep", [{"members": members, "delivered": ring(members)} for members in RING]),
    ("12-query", [{"period_ms": 10_000, "expiry_ms": 60_000}]),
]
WRONG = [
    ("12-law", 0.25, "Give a function"),
    ("12-law", lambda members, queues, shared: 1 / members, "two checks"),
    ("12-law", lambda members, queues, shared: 1 / members**2, "pass both checks"),
    ("12-law", lambda m, q, s: s / (m + s) + 1 / m / (m + s), "do not divide evenly"),
    ("12-law", lambda members, queues, shared: 1 / 0, "Call your function by hand"),
    ("12-law", lambda members, queues, shared: "a quarter", "two checks"),
    ("12-sweep", [{"members": members, "delivered": 1 / members**2} for members in RING], "asks for tag n"),
    ("12-sweep", [{"members": members, "delivered": float("nan")} for members in RING], "asks for tag n"),
    ("12-sweep", [{"members": 2, "delivered": 1.0}], "one row for each"),
    ("12-sweep", [{"member": members, "delivered": 1.0} for members in RING], "one row for each"),
    ("12-query", [{"period_ms": 30_000, "expiry_ms": 60_000}], "Too many false alarms"),
    ("12-query", [{"period_ms": 10_000, "expiry_ms": 120_000}], "too late"),
    ("12-query", [{"period_ms": 5_000, "expiry_ms": 60_000}], "another setting costs less"),
    ("12-query", [{"period_ms": 2_000, "expiry_ms": 60_000}], "no such period"),
    ("12-query", [], "one row"),
    ("12-query", 3, "rows are a Spark frame"),
]


@pytest.mark.parametrize(("name", "answer"), RIGHT, ids=lambda one: one if isinstance(one, str) else "")
def test_right_answers(name, answer):
    assert repr(rmqlab.check(name, answer)).startswith(f"{name}: right.")


@pytest.mark.parametrize(("name", "answer", "hint"), WRONG)
def test_wrong_answers_get_a_hint_and_no_answer(name, answer, hint):
    found = rmqlab.check(name, answer)
    assert not found
    assert hint in repr(found)
    assert not any(word in repr(found) for word in ("0.4444", "90,000", "10 s and 60 s"))


@pytest.mark.row("S-52")
@pytest.mark.parametrize("members", [1, 2, 3, 4])
def test_law_through_the_whole_core(members):
    shares = TagGroup(members, 12).shares()
    assert shares["delivered"] == pytest.approx(1 / members**2)
    assert sum(shares.values()) == pytest.approx(1)


def test_a_group_out_of_range_is_named():
    with pytest.raises(BadInput, match="queues is 0; it lies between 1 and 1024"):
        TagGroup(2, 0)
