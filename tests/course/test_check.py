"""The checks of the exercises: they take right answers, refuse wrong ones, name the rule and show the events."""

from __future__ import annotations

import pytest

import rmqlab
from rmqlab.errors import BadInput


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("01-guess", "01-predict"),
        ("99-x", "no checks for notebook '99'"),
        ("predict", "'predict'"),
        ({"A": 4}, "names begin with the notebook's number"),
        (10, "no exercise 10"),
    ],
)
def test_unknown_exercise_is_named(name, text):
    with pytest.raises(BadInput) as caught:
        rmqlab.check(name, None)
    assert text in str(caught.value)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["06-rule", "08-hunt", "08-rule", "09-procedure", "09-hunt", "14-disagree", "14-mend"])
def test_whatever_a_learners_function_raises_is_told(name):
    told = repr(rmqlab.check(name, lambda *_: 1 / 0, show="evidence"))
    assert told.startswith(f"{name}: not yet. ")
    assert "ZeroDivisionError: division by zero" in told


def test_unknown_name_of_the_package():
    with pytest.raises(AttributeError, match="no attribute 'chekc'"):
        _ = rmqlab.chekc
