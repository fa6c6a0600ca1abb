"""The checks of notebook 03: right answers, wrong ones, and the proof that they show."""

from __future__ import annotations

import pytest

import rmqlab
from rmqlab.lessons import checks_03
from rmqlab.lessons.check import CheckFailed, checks, judge

VALUES = {"1": "true", "2": "null", "3": "error", "4": "true", "5": "null", "6": "false"}
REPAIRED = {
    "not one": "a <> '1' OR a IS NULL",
    "price": "price > 100.0",
    "vip": "level = 'vip' OR (city = 'Hangzhou' AND age = '18')",
    "tags": "TAGS IN ('TagA', 'TagB')",
    "open": "state <> 'closed' OR state IS NULL",
}

RIGHT = [
    ("03-values", VALUES),
    ("03-ten", [0, 6, 8, 9]),
    ("03-repair", REPAIRED),
]
# Every wrong answer with a piece of the problem, of the rule, and of a line that its message must have.
WRONG = [
    ("03-values", {"1": "true"}, "Give a dict", "four values", ""),
    ("03-values", VALUES | {"1": "maybe"}, "1: 'maybe' is none of", "four values", ""),
    ("03-values", VALUES | {"5": "true"}, "5: NOT (a > 10)", "NOT null is null", "= null"),
    ("03-values", VALUES | {"6": "error"}, "6: ", "keeps it from being asked", "not asked"),
    ("03-ten", 7, "Give a list", "a = i", ""),
    ("03-ten", [0, 1, 6, 8, 9], "Not all of the ten", "F-21", "TAGS"),
    ("03-ten", [0, 6, 8], "Not all of the ten", "F-21", "'12'"),
    ("03-ten", [0, 6, 8, 9, 12], "messages 0 to 9 only", "Ten", ""),
    ("03-repair", {}, "Give a dict", "Five", ""),
    ("03-repair", REPAIRED | {"price": "price > '100'"}, "price: the broker refuses it", "decimals", ""),
    ("03-repair", REPAIRED | {"tags": "TAGS LIKE 'Tag%'"}, "tags: the broker ignores", "TagA or TagB", "TAGS"),
]  # fmt: skip


def test_every_check_has_a_right_answer_and_a_wrong_one():
    every = set(checks("03"))
    assert every == {name for name, _ in RIGHT} == {name for name, *_ in WRONG}


@pytest.mark.parametrize(("name", "answer"), RIGHT)
def test_right_answer(name, answer):
    assert repr(rmqlab.check(name, answer)).startswith(f"{name}: right. ")


@pytest.mark.parametrize(("name", "answer", "problem", "rule", "line"), WRONG)
def test_wrong_answer_gets_rule_and_proof(name, answer, problem, rule, line):
    with pytest.raises(CheckFailed) as caught:
        judge(name, answer)
    failed = caught.value
    assert problem in str(failed)
    assert rule in failed.rule
    assert any(line in str(one) for one in failed.lines) if line else not failed.lines


@pytest.mark.row("F-16", "F-23", "F-25", "F-27")
@pytest.mark.parametrize("name", checks_03.REPAIRS)
def test_every_broken_expression_is_broken(name):
    with pytest.raises(CheckFailed, match="should pass, and does not"):
        judge("03-repair", REPAIRED | {name: checks_03.REPAIRS[name].broken})


def test_a_repair_that_lets_too_much_through_is_noticed():
    with pytest.raises(CheckFailed, match=r"tags: a message with TAGS='TagC' passes, and should not"):
        judge("03-repair", REPAIRED | {"tags": "TAGS IN ('TagA', 'TagB', 'TagC')"})
