"""The checks of the exercises: they take right answers, refuse wrong ones, name the rule and show the events."""

from __future__ import annotations

import pytest

import rmqlab
from rmqlab.errors import BadInput


@pytest.mark.parametrize(
    ("name", "text"), [("01-guess", "01-predict"), ("99-x", "no checks for notebook '99'"), ("predict", "'predict'")]
)
def test_unknown_exercise_is_named(name, text):
    with pytest.raises(BadInput) as caught:
        rmqlab.check(name, None)
    assert text in str(caught.value)


def test_unknown_name_of_the_package():
    with pytest.raises(AttributeError, match="no attribute 'chekc'"):
        _ = rmqlab.chekc
