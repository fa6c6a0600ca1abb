"""The checks of notebook 04: right answers, wrong ones with their help, and rules that a learner could write."""

from __future__ import annotations

import json
from functools import partial

import numpy as np
import pytest

import rmqlab
from rmqlab.checkout import ROOT
from rmqlab.rules import DEFAULT_RULES, bit_positions
from rmqlab_tools.course.check import CheckFailed, checks, judge
from rmqlab_tools.course.checks_04 import REWRITTEN

STAGES = {"m0": "arrives", "m1": "layer 2", "m2": "layer 2", "m3": "arrives", "m4": "layer 1", "m5": "arrives"}
HUNT = {"rule": "is_matched_by_commit_log", "condition": "a > 5", "properties": {"b": "1"}}


def settings(rate, groups):
    return {"maxErrorRateOfBloomFilter": rate, "expectConsumerNumUseFilter": groups}


def not_flipped(hash64, k, m):
    return [((hash64 & 0xFFFFFFFF) + i * (hash64 >> 32 & 0xFFFFFFFF) & 0xFFFFFFFF) % m for i in range(1, k + 1)]


def flipped(hash64, k, m):
    whole = [((hash64 & 0xFFFFFFFF) + i * (hash64 >> 32)) % 2**32 for i in range(1, k + 1)]
    return tuple(np.int64(min(one, 2**32 - 1 - one) % m) for one in whole)


def not_cut(hash64, k, m):
    return [((hash64 & 0xFFFFFFFF) + i * (hash64 >> 32 & 0xFFFFFFFF)) % m for i in range(1, k + 1)]


def from_zero(hash64, k, m):
    return bit_positions(((hash64 & 0xFFFFFFFF) - (hash64 >> 32)) & 0xFFFFFFFF | hash64 >> 32 << 32, k, m)


RIGHT = [
    ("04-stages", STAGES),
    ("04-positions", flipped),
    ("04-hit", lambda positions, is_set: all(map(is_set, positions))),
    ("04-hunt", HUNT),
    ("04-settings", settings(4, 200)),
    ("04-settings", settings(5, 210)),
]
# A wrong answer with pieces of the hint, of the problem, of the rule, and of a line.
WRONG = [
    ("04-stages", {}, "place for each of m0 to m5", "", "", ""),
    ("04-stages", STAGES | {"m0": "client"}, "m0: 'client' is none of", "", "", ""),
    ("04-stages", STAGES | {"m2": "layer 1"}, "was the group known", "m2 does not end there", "lets pass", "m2 before"),
    ("04-stages", STAGES | {"m4": "arrives"}, "was the group known", "m4 does not end there", "only true", "m4 after"),
    ("04-positions", partial(bit_positions), "Write the function yourself", "", "", ""),
    ("04-hit", lambda at, is_set: is_set(at[0]), "be outweighed", "gives True, 4.8.0 gives False", "out of range", ""),
    ("04-hit", lambda at, is_set: any(map(is_set, at)), "be outweighed", "true for 1", "out of range", ""),
    ("04-hit", lambda positions: True, "Give a function with 2 parameters", "", "out of range", ""),
    ("04-positions", [1, 2], "Give a function with 3 parameters", "", "F-77", ""),
    ("04-positions", lambda hash64, k: [], "Give a function with 3 parameters", "", "F-77", ""),
    ("04-positions", lambda hash64, k, m: ..., "by hand", "gives Ellipsis", "flipped", ""),
    ("04-positions", not_flipped, "by hand", "your function gives [", "flipped", ""),
    ("04-positions", not_cut, "by hand", "your function gives [", "flipped", ""),
    ("04-positions", from_zero, "by hand", "your function gives [", "flipped", ""),
    ("04-hunt", {"rule": "is_hit"}, "Give {", "", "", ""),
    ("04-hunt", HUNT | {"rule": "is_latest"}, "none of the three", "", "", ""),
    ("04-hunt", HUNT | {"rule": "is_hit"}, "who corrects it", "receives the same", "other messages", "stored before"),
    ("04-hunt", HUNT | {"rule": "bit_positions"}, "who corrects it", "receives the same", "other", "stored after"),
    ("04-hunt", HUNT | {"properties": {"a": "6"}}, "who corrects it", "receives the same", "other", "delivered"),
    ("04-hunt", HUNT | {"condition": "a >"}, 'Encountered "<EOF>"', "", "", ""),
    ("04-settings", {}, "Give a dict", "", "", ""),
    ("04-settings", settings(0, 200), "would not start", "", "1 to 99", ""),
    ("04-settings", settings("5", 200), "would not start", "", "1 to 99", ""),
    ("04-settings", settings(1, 200), "pull against", "240 bytes a message are more", "1/m", "k = 7"),
    ("04-settings", settings(5, 200), "pull against", "5.10% false hits are more", "1/m", "156 bytes"),
]  # fmt: skip


def test_every_check_has_a_right_answer_and_three_wrong_ones():
    assert set(checks("04")) == {name for name, _ in RIGHT}
    assert all(sum(one[0] == name for one in WRONG) >= 3 for name in checks("04"))


@pytest.mark.row("F-60", "F-65", "F-76", "F-77")
@pytest.mark.parametrize(("name", "answer"), RIGHT)
def test_right_answer(name, answer):
    assert repr(rmqlab.check(name, answer)).startswith(f"{name}: right. ")


@pytest.mark.parametrize(("name", "answer", "hint", "problem", "rule", "line"), WRONG)
def test_wrong_answer_gets_its_hint_first(name, answer, hint, problem, rule, line):
    with pytest.raises(CheckFailed) as caught:
        judge(name, answer)
    failed = caught.value
    assert hint in failed.hint
    assert problem in failed.problem
    assert rule in failed.rule
    assert any(line in str(one) for one in failed.lines) if line else not failed.lines
    shown = repr(rmqlab.check(name, answer))
    assert hint in shown
    assert problem in shown


def test_the_exercise_has_the_rules_that_the_check_knows():
    path = ROOT / "notebooks" / "solutions" / "04_two_layers_tasks.ipynb"
    cells = {cell["id"]: "".join(cell["source"]) for cell in json.loads(path.read_text("utf-8"))["cells"]}
    given = {}
    exec(cells["hunt-given"], given)  # noqa: S102 - what the exercise defines
    shown = given["REWRITTEN"]
    assert set(shown) == set(REWRITTEN)
    for positions, taken in (([1, 2], {1}), ([2, 1], {1}), ([1, 2], {1, 2})):
        assert shown["is_hit"](positions, taken.__contains__) == REWRITTEN["is_hit"](positions, taken.__contains__)
    for value in (True, False, None, 1):
        assert shown["is_matched_by_commit_log"](value) == REWRITTEN["is_matched_by_commit_log"](value)
    for hash64 in (0, 5, 0xAF86BBEB57900BF0):
        mine, real = shown["bit_positions"](hash64, 3, 112), bit_positions(hash64, 3, 112)
        assert mine == REWRITTEN["bit_positions"](hash64, 3, 112) != real


@pytest.mark.parametrize("name", ["is_hit", "bit_positions"])
def test_a_rewritten_rule_that_changes_only_the_work(name):
    rules = DEFAULT_RULES.replace(**{name: REWRITTEN[name]})
    for condition in ("a > 5", "a IS NULL", "TAGS = 'x' OR a < 3"):
        for a in ("1", "6", "x"):
            with pytest.raises(CheckFailed, match="who corrects it"):
                judge("04-hunt", {"rule": name, "condition": condition, "properties": {"a": a}})
    assert rules != DEFAULT_RULES
