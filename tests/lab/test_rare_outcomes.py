"""The eight messages under rarer circumstances: what is kept still holds, schedule by schedule; task checks."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rmqlab.errors import BadInput
from rmqlab.lab.articles.rare_outcomes import CIRCUMSTANCES, delivered, eight, outcome_text, share_won, stored
from rmqlab.lessons.check import CheckFailed
from rmqlab.lessons.checks_08 import GROUPS, TASK_GAP_MS, first_starter_wins, harmless, outcome_counts
from rmqlab.runtime.schedule import Schedule, Timing

pytestmark = pytest.mark.slow


@pytest.mark.row("S-82", "S-84", "S-86", "S-88")
def test_every_kept_schedule_ends_as_it_says():
    found = stored()
    assert [one.name for one in found] == list(CIRCUMSTANCES)
    for one in found:
        for outcome in one.outcomes:
            assert outcome.told().run.outcome().as_json()["consumed"] == outcome.consumed
        assert sum(outcome.share for outcome in one.outcomes) == pytest.approx(1)
    by_name = {one.name: [outcome_text(outcome.consumed) for outcome in one.outcomes] for one in found}
    assert by_name["usual"] == ["B gets 4 5", "A gets 2 3"]
    assert by_name["A's clock is an hour ahead"] == ["A gets 2 3"]
    assert "nobody gets anything" in by_name["sent while B starts"]
    assert max(delivered(outcome.consumed) for one in found for outcome in one.outcomes) < 8


def test_a_kept_schedule_that_became_wrong_is_noticed():
    usual = stored()[0].outcomes[0]
    with pytest.raises(BadInput, match="ends otherwise now"):
        replace(usual, consumed={"A": ["MsgStr0"]}).told()
    with pytest.raises(BadInput, match="circumstance 'rain'"):
        eight("rain")


@pytest.mark.row("S-86")
def test_a_clock_far_ahead_wins():
    assert share_won("A", 3, A=3_600_000) == 1
    assert share_won("A", 3, A=-3_600_000) == 0


def pasted(*choices):
    return Schedule("eight", dict(choices), Timing(open_orders=True)).to_json()


def test_a_pasted_schedule_is_judged_by_its_run():
    right = (0, ("A>38 | B>38", 1))
    assert "has the slot" in first_starter_wins(pasted(right))
    assert eight(gap_ms=TASK_GAP_MS).steps[1].at == TASK_GAP_MS
    with pytest.raises(CheckFailed, match="ends with B gets 4 5"):
        first_starter_wins(pasted())
    with pytest.raises(CheckFailed, match=r"cannot be run: .*belongs to another scenario"):
        first_starter_wins(pasted((0, ("B>38 | A>38", 1))))
    for nothing in (None, "{}"):
        with pytest.raises(CheckFailed):
            first_starter_wins(nothing)


def test_answers_of_the_wrong_shape_are_told_what_would_be_right():
    with pytest.raises(CheckFailed, match="two queues"):
        outcome_counts({"one": 1})
    for answer in (None, ("a",), ("a", 1)):
        with pytest.raises(CheckFailed, match="two texts"):
            harmless(answer)
    with pytest.raises(CheckFailed, match="are the same"):
        harmless(("a", "a"))
    with pytest.raises(CheckFailed, match="cannot be run"):
        harmless(("||", "a"))
    assert set(GROUPS) == {"two queues", "one queue", "broadcasting, one queue"}
