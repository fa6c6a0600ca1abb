"""The checks of notebook 05: right answers, wrong ones with their help, and functions that a learner could write."""

from __future__ import annotations

import json
from fractions import Fraction

import pytest

import rmqlab
from rmqlab.checkout import ROOT
from rmqlab_tools.course.check import CheckFailed, checks, judge
from rmqlab_tools.course.checks_05 import COLLEAGUES, _all_parts, _article, stored, verdict

COUNT = {"nobody": (800, 800), "everybody": (800, 1_600)}
HUNT = {"who": "ben", "cell": (0.0, 1, "8 tags")}
RIGHT = [("05-count", COUNT), ("05-ratio", _all_parts), ("05-advise", verdict), ("05-hunt", HUNT)]


def by_median(ratios):
    return "on" if sorted(ratios)[len(ratios) // 2] < 1 else "off"


def decoded_too(ns):
    return sum([*ns[:5], ns[6]]) / ns[5]


# A wrong answer with pieces of the hint, of the problem, of the rule, and of a line.
WRONG = [
    ("05-count", 800, "Give {", "", "", ""),
    ("05-count", COUNT | {"nobody": 800}, "Give {", "", "", ""),
    ("05-count", COUNT | {"nobody": (0, 800)}, "Count one message", "the number of evaluations is not 0", "F-82", "10"),
    ("05-count", COUNT | {"everybody": (800, 800)}, "Count one", "everybody, with the switch", "F-82", "on pull 5"),
    ("05-ratio", 1.3, "the function itself", "", "", ""),
    ("05-ratio", _article, "the seven stages", "your function gives", "F-91", ""),
    ("05-ratio", decoded_too, "the seven stages", "your function gives", "F-91", ""),
    ("05-ratio", lambda ns: ..., "the seven stages", "gives Ellipsis", "F-91", ""),
    ("05-ratio", lambda ns: ns[9], "Call your function by hand", "IndexError", "", ""),
    ("05-advise", "on", "the function itself", "", "", ""),
    ("05-advise", by_median, "lowest and the highest", "0.90, 1.10", "one side of 1", ""),
    ("05-advise", lambda ratios: "on", "lowest and the highest", "1.50, 2.00", "one side of 1", ""),
    ("05-advise", lambda ratios: "unclear", "lowest and the highest", "0.50, 0.70", "one side of 1", ""),
    ("05-hunt", {"who": "ben"}, "Give {", "", "", ""),
    ("05-hunt", HUNT | {"who": "dan"}, "none of ann, ben, cem", "", "", ""),
    ("05-hunt", HUNT | {"cell": (0.3, 1, "8 tags")}, "was not measured", "", "", ""),
    ("05-hunt", HUNT | {"who": "ann"}, "Where is a stage large", "ann says 'off' there", "F-91", "all parts"),
    ("05-hunt", HUNT | {"cell": (0.0, 128, "8 tags")}, "Where is a stage large", "ben says 'on'", "F-91", "all parts"),
]  # fmt: skip


def test_every_check_has_a_right_answer_and_three_wrong_ones():
    assert set(checks("05")) == {name for name, _ in RIGHT}
    assert all(sum(one[0] == name for one in WRONG) >= 3 for name in checks("05"))


def test_a_function_that_takes_its_list_apart_harms_nobody():
    """It gets a copy: what was measured is there for the next answer."""

    def ratio(ns):
        on, off = ns.pop(), ns.pop()
        ns.pop(0)
        return Fraction((sum(ns) + on) / off)

    def advise(ratios):
        ratios.sort()
        return verdict(ratios)

    for _ in range(2):
        assert rmqlab.check("05-ratio", ratio)
        assert rmqlab.check("05-advise", advise)


@pytest.mark.row("F-82", "F-91", "F-92")
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


def test_the_exercise_has_the_functions_that_the_check_knows():
    path = ROOT / "notebooks" / "solutions" / "05_bloom_profile_tasks.ipynb"
    cells = {cell["id"]: "".join(cell["source"]) for cell in json.loads(path.read_text("utf-8"))["cells"]}
    given = {}
    exec(cells["hunt-given"], given)  # noqa: S102 - what the exercise defines
    assert set(given["COLLEAGUES"]) == set(COLLEAGUES)
    for runs in list(stored("java").values())[::20]:
        for name, rule in COLLEAGUES.items():
            assert [given["COLLEAGUES"][name](ns) for ns in runs] == [rule(ns) for ns in runs]
            if name != "ben":
                assert [rule(ns) for ns in runs] == pytest.approx([_all_parts(ns) for ns in runs])
