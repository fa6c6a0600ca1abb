"""The checks of notebook 02: right answers, wrong ones, and what shows it."""

from __future__ import annotations

import pytest

import rmqlab
from rmqlab_tools.course.check import CheckFailed, checks, judge

RULES = rmqlab.RULES["4.8.0"]
FOUND = {
    "moss": ("Aa", "BB", "client_keeps"),
    "lapis": ("TagA", None, "is_matched_by_consume_queue"),
    "flint": ("TagA", "TagA", "tags_code"),
}


def narrow(code):
    return (code + 2**31) % 2**32 - 2**31


def is_matched(subscription, code):
    return code is None or subscription.sub_string == "*" or narrow(code) in subscription.code_set


def keeps(subscription, tag):
    return not subscription.tags_set or subscription.class_filter_mode or tag in subscription.tags_set


def keeps_by_code(subscription, tag):
    return not subscription.tags_set or RULES.tags_code(tag) in subscription.code_set


def code_of(tag):
    code = 0
    for letter in tag or "":
        code = (code * 31 + ord(letter) + 2**31) % 2**32 - 2**31
    return code


RIGHT = [
    ("02-collide", ("Ab", "BC")),
    ("02-code", code_of),
    ("02-collide", ["Shop-Ab", "Shop-BC"]),
    ("02-broker", is_matched),
    ("02-client", keeps),
    ("02-hunt", FOUND),
]
# Each wrong answer with a piece of the hint, and one of what is wrong in it.
WRONG = [
    ("02-collide", ..., "Your turn", ""),
    ("02-collide", "AaBB", "Give two tags", ""),
    ("02-collide", ("Ab", "Ab"), "the same tag", ""),
    ("02-collide", ("Aa", "BB"), "of your own", ""),
    ("02-collide", ("Ab ", "BC"), "no tag that can be subscribed", ""),
    ("02-collide", ("", "BC"), "no tag", ""),
    ("02-collide", ("TagA", "TagB"), "how much does each letter count", "codes differ"),
    ("02-code", hash, "multiply by 31", "4.8.0 gives"),
    (
        "02-code",
        lambda tag: sum(map(ord, tag or "")),
        "multiply by 31",
        "tag='ab': your function gives 195, 4.8.0 gives 3105",
    ),
    ("02-code", len, "multiply by 31", "TypeError"),
    ("02-broker", lambda subscription, code: True, "Which three things", "your function gives True"),
    ("02-broker", lambda subscription, code: code in subscription.code_set, "Which three things", "'*' of T"),
    ("02-broker", lambda s, code: s.sub_string == "*" or code in s.code_set, "Which three things", "code=None"),
    ("02-broker", lambda s, code: code is None or s.sub_string == "*" or code in s.code_set, "Which three", "False"),
    ("02-broker", 5, "Give a function with 2 parameters", ""),
    ("02-client", lambda subscription, tag: True, "When does a client not look", "your function gives True"),
    ("02-client", lambda subscription, tag: tag in subscription.tags_set, "When does a client not look", "'*' of T"),
    ("02-client", keeps_by_code, "When does a client not look", "tag='BB'"),
    ("02-client", lambda subscription: True, "Give a function with 2 parameters", ""),
    ("02-hunt", {}, "Give a dict", ""),
    ("02-hunt", FOUND | {"moss": "client_keeps"}, "give a subscription", ""),
    ("02-hunt", FOUND | {"moss": ("||", "BB", "client_keeps")}, "nobody can subscribe", ""),
    ("02-hunt", FOUND | {"moss": ("TagA", "TagB", "client_keeps")}, "Compare with the rules", "in both"),
    ("02-hunt", FOUND | {"lapis": ("TagA", None, "tags_code")}, "Which of the rules", "is as it should be"),
]


def test_every_check_has_a_right_answer_and_three_wrong_ones():
    every = set(checks("02"))
    assert every == {name for name, _ in RIGHT}
    assert all(sum(one == name for one, *_ in WRONG) >= 3 for name in every)


@pytest.mark.parametrize(("name", "answer"), RIGHT)
def test_right_answer(name, answer):
    assert repr(rmqlab.check(name, answer)).startswith(f"{name}: right. ")


@pytest.mark.row("F-52", "F-53", "F-56", "F-57", "F-58", "F-95")
@pytest.mark.parametrize(("name", "answer", "hint", "problem"), WRONG)
def test_wrong_answer_gets_a_hint_and_what_shows_it(name, answer, hint, problem):
    with pytest.raises(CheckFailed) as caught:
        judge(name, answer)
    assert hint in caught.value.hint
    assert problem in caught.value.problem
    assert (problem or hint) in repr(rmqlab.check(name, answer)).splitlines()[0]


def test_a_hunt_shows_what_the_broken_rules_do():
    reply = rmqlab.check("02-hunt", FOUND | {"moss": ("TagA", "TagB", "client_keeps")}, show="evidence")
    assert "is dropped by the broker in both" in reply.problem
    assert reply.picture.alt == "Subscription 'TagA': 'TagB' is dropped by the broker."
