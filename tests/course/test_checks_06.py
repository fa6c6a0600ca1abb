"""The checks of notebook 06: right answers pass, wrong ones get their hint, and evidence that proves them wrong."""

from __future__ import annotations

import pytest

import rmqlab
from rmqlab_tools.course.checks_06 import CLIENTS, MAX_BEATS, SUSPECTS, _picture, group, marks, story
from rmqlab_tools.course.mutants import WRONG_RULES, broken
from rmqlab_tools.show.clock_lanes import clock_lane

pytestmark = pytest.mark.slow

RULE = rmqlab.RULES["4.8.0"]
PERIODS = {
    "heartbeat_period_ms": 3_000, "channel_expired_ms": 10_000, "scan_period_ms": 2_000, "rebalance_period_ms": 5_000,
}  # fmt: skip


def judged(name, answer):
    return rmqlab.check(name, answer, show="evidence")


def test_a_right_rule_passes():
    assert not judged("06-rule", RULE.is_expired)  # the rule itself was not written
    assert judged("06-rule", lambda now, last, expired_ms: expired_ms < now - last)


@pytest.mark.parametrize(
    ("rule", "case", "seen"),
    [
        (lambda now, last, expired_ms: now - last >= expired_ms, "gives True", False),
        (lambda now, last, expired_ms: abs(now - last) > expired_ms, "gives True", False),
        (lambda now, last, expired_ms: now - last > expired_ms // 9, "gives True", True),
        (lambda *_: False, "gives False", True),
        (lambda now, last, expired_ms: now - last > 120_000, "gives False", False),
        (lambda now, last, expired_ms: last - now > expired_ms, "gives False", True),
        (lambda now, last, expired_ms: expired_ms > 1 and 1 // 0, "gives False", False),
    ],
)
def test_a_wrong_rule_gets_a_hint_then_its_first_case_and_a_picture_if_one_shows_it(rule, case, seen):
    assert "just as long as the expiry" in rmqlab.check("06-rule", rule).hint
    found = judged("06-rule", rule)
    assert not found
    assert case in found.problem
    assert (found.picture is not None) == seen
    if seen:
        mine, sound = (_picture(rules, case == "gives False") for rules in (RULE.replace(is_expired=rule), RULE))
        assert (found.picture.svg, sound) == (mine.svg, None)
        assert found.picture.title.endswith("with your rule")


def test_a_rule_that_is_no_function_of_its_numbers_is_found_in_a_lab():
    answers = iter([True] * 10_000)
    assert not judged("06-rule", lambda *_: next(answers))
    for nothing in (..., None, lambda now: now):
        assert not judged("06-rule", nothing)


def test_periods_within_the_budget_pass():
    assert "heartbeats a second" in repr(judged("06-periods", RULE.replace(**PERIODS)))


@pytest.mark.parametrize(
    ("changes", "hint", "problem"),
    [
        ({"channel_expired_ms": 60_000}, "Add up the worst case", "66.6 s in one of 12 runs"),
        ({"rebalance_period_ms": 20_000}, "Add up the worst case", "s in one of 12 runs"),
        ({"channel_expired_ms": 6_000}, "A lives", "2 lost heartbeats in a row cost A its place"),
        ({"channel_expired_ms": 8_900, "scan_period_ms": 5_000}, "A lives", "silent for 9,000 ms; the expiry is 8,900"),
        ({"channel_expired_ms": 9_000}, "A lives", "silent for 9,000 ms; the expiry is 9,000"),
        ({"heartbeat_period_ms": 1_000}, "in a second", "10,000 heartbeats a second are more than 4,000"),
        ({"scan_period_ms": 999}, "whole numbers of ms", ""),
        ({"heartbeat_period_ms": 1}, "whole numbers of ms", ""),
        ({"is_expired": lambda *_: True}, "Replace the four periods only", ""),
    ],
)
def test_periods_that_do_not_fit(changes, hint, problem):
    found = judged("06-periods", RULE.replace(**(PERIODS | changes)))
    assert not found
    assert hint in found.hint
    assert problem in found.problem
    assert (found.picture is not None) == ("in a row" in problem or "12 runs" in problem)
    assert CLIENTS / 3 < MAX_BEATS


def test_an_expiry_just_below_three_periods_costs_a_member_its_place_now_and_then():
    """So it is refused, though the check's own runs do not meet the moment."""

    def loses(wait_ms):
        lab = group(RULE.replace(**PERIODS | {"channel_expired_ms": 8_900, "scan_period_ms": 5_000}), wait_ms=wait_ms)
        lab.lose_heartbeat("A", 2)
        lab.run(seconds=25)
        return len({one.t for one in lab.rebalances().where(who="A", held=False)}) > 1

    assert 0 < sum(map(loses, range(0, 5_000, 50))) < 10


def test_the_hunt():
    right = {name: next(iter(WRONG_RULES[name])) for name in ("kelp", "larch")}
    assert judged("06-hunt", right)
    for name, rule in right.items():
        for wrong in set(SUSPECTS) - {rule}:
            hint = rmqlab.check("06-hunt", right | {name: wrong})
            assert f"{name}: compare its story" in hint.hint
            assert rule not in repr(hint)
    found = judged("06-hunt", right | {"kelp": "allocate"})
    assert found.lines
    assert found.lines[0].startswith("only here")
    story_as_it_was = clock_lane(marks(story(broken("kelp"))), title="The story with kelp", limit_ms=120_000)
    assert found.picture.svg == story_as_it_was.svg, "nobody is shut down in it"
    assert "is none of update_channel" in judged("06-hunt", right | {"kelp": "rain"}).hint
    assert "Give a dict" in judged("06-hunt", {}).hint
