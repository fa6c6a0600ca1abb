"""The checks of notebook 03: right answers, wrong ones, and what shows it."""

from __future__ import annotations

import numpy as np
import pytest

import rmqlab
from rmqlab_tools.course import checks_03
from rmqlab_tools.course.check import CheckFailed, checks, judge

REPAIRED = {
    "not one": "a <> '1' OR a IS NULL",
    "price": "price > 100.0",
    "vip": "level = 'vip' OR (city = 'Hangzhou' AND age = '18')",
    "tags": "TAGS IN ('TagA', 'TagB')",
    "open": "state <> 'closed' OR state IS NULL",
}
FOUND = {
    "onyx": ("a > 3", {}, "is_matched_by_commit_log"),
    "quartz": ("a > 3", {"a": "1"}, "is_matched_by_commit_log"),
    "topaz": ("a > 3", {"a": "5"}, "client_keeps"),
}


def is_greater(text, number):
    if text is None:
        return None
    digits = text[1:] if text[:1] in ("+", "-") else text
    most = 2**31 if -(2**31) <= number < 2**31 else 2**63
    if not digits.isdecimal() or not -most <= int(text) < most:
        raise ValueError
    return int(text) > number


def no_size(text, number):
    if text is not None and not text.lstrip("+-").isdecimal():
        raise ValueError
    return None if text is None else int(text) > number


def no_null(text, number):
    return is_greater(text or "0", number)


def as_texts(text, number):
    return None if text is None else text > str(number)


def by_int(text, number):
    return None if text is None else int(text) > number


def as_a_word(text, number):
    try:
        return is_greater(text, number)
    except ValueError:
        return "throws"


def by_numpy(text, number):
    found = is_greater(text, number)
    return found if found is None else np.bool_(found)


RIGHT = [("03-compare", is_greater), ("03-compare", by_numpy), ("03-repair", REPAIRED), ("03-hunt", FOUND)]
# Each wrong answer with a piece of the hint, and one of what is wrong in it.
WRONG = [
    ("03-compare", 5, "Give a function", ""),
    ("03-compare", lambda text: True, "Take small texts", "your function cannot be called"),
    ("03-compare", lambda text, number: ..., "Take small texts", "Ellipsis"),
    ("03-compare", lambda text, number: int(text) > number, "Take small texts", "no property a"),
    ("03-compare", no_null, "Take small texts", "Condition a > 0, message with no property a: your"),
    ("03-compare", by_int, "Take small texts", "your function gives"),
    ("03-compare", as_texts, "Take small texts", "your function gives"),
    ("03-compare", no_size, "Take small texts", "a = '"),
    ("03-compare", as_a_word, "Take small texts", "gives 'throws'"),
    ("03-repair", {}, "Give a dict", ""),
    ("03-repair", REPAIRED | {"price": "price >= 100.01"}, "Say aloud", "price='100.0001' should pass"),
    ("03-repair", REPAIRED | {"vip": "level = 'vip' OR (city IS NOT NULL AND age = '18')"}, "Say aloud", "city='x'"),
    ("03-repair", REPAIRED | {"price": "price > '100'"}, "the broker refuses it", ""),
    ("03-repair", REPAIRED | {"tags": "TAGS LIKE 'Tag%'"}, "Say aloud", "ignores"),
    ("03-repair", REPAIRED | {"tags": "TAGS IN ('TagA', 'TagB', 'TagC')"}, "Say aloud", "TAGS='TagC' passes"),
    ("03-hunt", {}, "Give a dict", ""),
    ("03-hunt", FOUND | {"onyx": "client_keeps"}, "give a condition", ""),
    ("03-hunt", FOUND | {"onyx": ("a >", {}, "client_keeps")}, "the broker refuses", ""),
    ("03-hunt", FOUND | {"onyx": ("a > 3", {"a": "5"}, "client_keeps")}, "A condition comes to", "in both"),
    ("03-hunt", FOUND | {"topaz": ("a > 3", {"a": "5"}, "is_matched_by_commit_log")}, "Who drops it", "as it should"),
]  # fmt: skip


def test_every_check_has_a_right_answer_and_three_wrong_ones():
    every = set(checks("03"))
    assert every == {name for name, _ in RIGHT}
    assert all(sum(one == name for one, *_ in WRONG) >= 3 for name in every)


@pytest.mark.parametrize(("name", "answer"), RIGHT)
def test_right_answer(name, answer):
    assert repr(rmqlab.check(name, answer)).startswith(f"{name}: right. ")


@pytest.mark.parametrize(("name", "answer", "hint", "problem"), WRONG)
def test_wrong_answer_gets_a_hint_and_what_shows_it(name, answer, hint, problem):
    with pytest.raises(CheckFailed) as caught:
        judge(name, answer)
    assert hint in caught.value.hint
    assert problem in caught.value.problem
    assert (problem or hint) in repr(rmqlab.check(name, answer)).splitlines()[0]


@pytest.mark.row("F-16", "F-23", "F-25", "F-27")
@pytest.mark.parametrize("name", checks_03.REPAIRS)
def test_every_broken_expression_is_broken(name):
    with pytest.raises(CheckFailed, match="should pass, and does not"):
        judge("03-repair", REPAIRED | {name: checks_03.REPAIRS[name].broken})


@pytest.mark.row("F-16")
def test_comparisons_come_from_the_real_broker_too():
    recorded = list(checks_03._recorded())
    assert len(recorded) > 50
    assert {type(one.expected) for one in recorded} == {bool, type, type(None)}
    sizes = [len(one.text or "") for one in checks_03.comparisons()[: len(checks_03.comparisons()) - len(recorded)]]
    assert sizes == sorted(sizes)
