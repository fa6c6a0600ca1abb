"""The checks of notebook 12: right answers, wrong ones with the rule they break, and the group behind them."""

from __future__ import annotations

import pytest

import rmqlab
from rmqlab.errors import BadInput
from rmqlab.lab.groups.tag_group import TagGroup
from rmqlab.lessons.check import CheckFailed, judge

RIGHT = [("12-predict", {2: 0.25, 3: 1 / 9, 4: 0.0625}), ("12-broken", (4, 6)), ("12-broken", (5, 3)), ("12-enough", 6)]
WRONG = [
    ("12-predict", {2: 0.5, 3: 1 / 3, 4: 0.25}, "2 members on 8 queues: not 0.5", "one in n"),
    ("12-predict", [0.25], "Give a dict", "one in n"),
    ("12-broken", (2, 4), "keep the law", "queues only"),
    ("12-broken", (1, 4), "cannot disagree", "At least two"),
    ("12-broken", "many", "Give two numbers", "queues only"),
    ("12-broken", (2, 0), "queues is 0", "queues only"),
    ("12-enough", 5, "are still lost", "passes both filters"),
    ("12-enough", 7, "more than needed", "passes both filters"),
    ("12-enough", "six", "Give a number", "passes both filters"),
]


@pytest.mark.parametrize(("name", "answer"), RIGHT)
def test_right_answers(name, answer):
    assert repr(rmqlab.check(name, answer)).startswith(f"{name}: right.")


@pytest.mark.parametrize(("name", "answer", "problem", "rule"), WRONG)
def test_wrong_answers_say_why(name, answer, problem, rule):
    with pytest.raises(CheckFailed) as caught:
        judge(name, answer)
    assert problem in str(caught.value)
    assert rule in caught.value.rule


@pytest.mark.parametrize("members", [1, 2, 3, 4])
def test_law_through_the_whole_core(members):
    shares = TagGroup(members, 12).shares()
    assert shares["delivered"] == pytest.approx(1 / members**2)
    assert sum(shares.values()) == pytest.approx(1)


def test_a_group_out_of_range_is_named():
    with pytest.raises(BadInput, match="queues is 0; it is a whole number from 1 to 1024"):
        TagGroup(2, 0).settled()
