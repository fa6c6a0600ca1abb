"""The checks of notebook 10: a silence, four slots, a rule."""

from __future__ import annotations

import re

import pytest

import rmqlab
from rmqlab.checkout import checkout_path
from rmqlab_tools.course.check import CheckFailed, judge
from rmqlab_tools.course.checks_10 import FROZEN, SLOTS

IN_THE_SLOT = {"p-article-000": "tagA", "p-loss-002": "tagB", "p-loss-005": "tagA", "p-overlap-044": "*"}


def test_right_answers():
    run = rmqlab.Lab.from_recording(checkout_path("data") / "golden" / "broker-4.8.0" / "base", FROZEN)
    waited = (run.consumed()[-1].t - run.events().where(ev="control")[0].t) / 1_000
    assert "s on the real broker" in repr(rmqlab.check("10-silence", waited))
    assert set(SLOTS) == set(IN_THE_SLOT)
    assert rmqlab.check("10-slots", IN_THE_SLOT)


@pytest.mark.parametrize(
    ("name", "answer", "hint", "problem"),
    [
        ("10-silence", 30, "Two moments matter", "freezes A's connection"),
        ("10-silence", "soon", "Give one number", "no number of seconds"),
        ("10-silence", float("nan"), "Give one number", "no number of seconds"),
        ("10-slots", {}, "Give a dict", ""),
        ("10-slots", dict.fromkeys(SLOTS, "tagB"), "before the first message", "p-article-000: not 'tagB'"),
        ("10-slots", IN_THE_SLOT | {"p-loss-005": "tagB"}, "before the first message", "p-loss-005: not 'tagB'"),
        ("10-rule", lambda held: True, "Call your function by hand", "positional argument"),
    ],
)
def test_wrong_answers_say_why(name, answer, hint, problem):
    with pytest.raises(CheckFailed) as caught:
        judge(name, answer)
    assert hint in caught.value.hint
    assert problem in str(caught.value)
    assert not re.search(r"13[2-5]|>=", str(caught.value.hint))


WRONG_RULES = {
    "serves everything": lambda held, pull: True,
    "the same alone": lambda held, pull: held == pull,
    "nothing": lambda held, pull: None,
    "the wrong way round": lambda held, pull: held <= pull,
}


@pytest.mark.row("S-66")
@pytest.mark.parametrize("name", WRONG_RULES)
def test_a_wrong_rule_is_found_by_the_recording(name):
    with pytest.raises(CheckFailed) as caught:
        judge("10-rule", WRONG_RULES[name])
    assert ("by hand" if name == "nothing" else "refuses") in caught.value.hint
    assert ">=" not in str(caught.value)


@pytest.mark.parametrize(
    "rule", [lambda held, pull: held + 1 >= pull, lambda held, pull: held >= pull or not held, lambda h, p: h >= p > 0]
)
def test_a_wrong_rule_that_the_recording_does_not_meet_is_found_by_small_numbers(rule):
    with pytest.raises(CheckFailed, match="Try small ones by hand") as caught:
        judge("10-rule", rule)
    assert re.match(r"held_version=\d, pull_version=\d: your function gives (True|False)", caught.value.problem)


def test_the_rule_of_4_8_0_gives_every_answer():
    with pytest.raises(CheckFailed, match="Write the function yourself"):
        judge("10-rule", rmqlab.RULES["4.8.0"].is_latest)
    assert "All 468 answers" in judge("10-rule", lambda held, pull: held >= pull)
    with pytest.raises(CheckFailed, match="Give the function"):
        judge("10-rule", 5)
