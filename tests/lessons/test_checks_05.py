"""The checks of notebook 05: right answers, wrong ones, and what proves it."""

from __future__ import annotations

import pytest

import rmqlab
from rmqlab.lab.bloom.map import stored_map
from rmqlab.lessons.check import CheckFailed, checks, judge
from rmqlab.lessons.checks_05 import DOUBLE, HALF, TEAMS

COUNT = {"nobody": (800, 800), "everybody": (800, 1_600)}
FOUND = {"halves": (0.0, 128, "128 tags"), "doubles": (1.0, 1, "8 tags")}
ADVICE = {"orders": "on", "audit": "off", "regions": "on", "mirror": "off"}


@pytest.mark.row("F-82", "F-91", "F-92")
@pytest.mark.parametrize(("name", "answer"), [("05-count", COUNT), ("05-situations", FOUND), ("05-teams", ADVICE)])
def test_right_answer(name, answer):
    assert repr(rmqlab.check(name, answer)).startswith(f"{name}: right. ")
    assert set(checks("05")) == {"05-count", "05-situations", "05-teams"}


@pytest.mark.parametrize(
    ("name", "answer", "problem", "line"),
    [
        ("05-count", 800, "Give", ""),
        ("05-count", COUNT | {"nobody": 800}, "nobody: give a pair", ""),
        ("05-count", COUNT | {"nobody": (0, 800)}, "nobody, without the switch: not 0", "1 group that wants half"),
        ("05-count", COUNT | {"everybody": (800, 800)}, "everybody, with the switch", "1 group that wants half"),
        ("05-situations", {}, "Give", ""),
        ("05-situations", FOUND | {"halves": 5}, "Give", ""),
        ("05-situations", FOUND | {"halves": (0.3, 1, "8 tags")}, "no cell with selectivity 0.3", ""),
        ("05-situations", FOUND | {"halves": FOUND["doubles"]}, "The first situation is not halved", "1 groups"),
        ("05-situations", FOUND | {"doubles": FOUND["halves"]}, "The second situation is not doubled", "128 groups"),
        ("05-teams", {"orders": "on"}, 'Give "on" or "off"', ""),
        ("05-teams", ADVICE | {"orders": "off"}, "Not all four", ""),
        ("05-teams", ADVICE | {"audit": "on"}, "Not all four", ""),
    ],
)
def test_wrong_answer_gets_its_proof(name, answer, problem, line):
    with pytest.raises(CheckFailed) as caught:
        judge(name, answer)
    assert problem in str(caught.value)
    assert any(line in str(one) for one in caught.value.lines) if line else not caught.value.lines


def test_the_map_decides_clearly_for_every_team():
    """A map measured again on another machine should give the same advice: no team lies near the line."""
    ratios = {name: stored_map().cell(*team[1:]).interval("java") for name, team in TEAMS.items()}
    assert all(ratio.below(0.9) or ratio.above(1.2) for ratio in ratios.values()), ratios
    every = [cell.interval("java") for cell in stored_map().cells]
    assert any(one.high <= HALF for one in every)
    assert any(one.low >= DOUBLE for one in every)
