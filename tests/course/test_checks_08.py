"""Tasks of notebook 08: what is right passes, what is wrong gets its hint, its rule and its proof."""

from __future__ import annotations

import dataclasses

import pytest

import rmqlab
from rmqlab.scenario.schedule import Schedule, Timing
from rmqlab_tools.course.check import CheckFailed, judge

pytestmark = pytest.mark.slow


def last_told(held, told):
    return {new.topic: new for new in told}


def first_told(held, told):
    return {new.topic: held.get(new.topic, new) for new in told}


def shortest(held, told):
    return {new.topic: min(new, held.get(new.topic, new), key=lambda one: one.sub_string) for new in told}


def by_text(held, told):
    """The smaller text holds the slot, under the newest version, so that no pull is refused."""
    table = {}
    for new in told:
        old = held.get(new.topic, new)
        version = max(new.sub_version, old.sub_version)
        table[new.topic] = dataclasses.replace(min(old, new, key=lambda one: one.sub_string), sub_version=version)
    return table


def drops_all(held, told):
    return {one.topic: dataclasses.replace(rmqlab.tags("tagX"), topic=one.topic, sub_version=10**15) for one in told}


def pasted(*choices):
    return Schedule("lab", dict(choices), Timing(open_orders=True)).to_json()


@pytest.mark.row("S-77", "S-84")
def test_a_pasted_schedule_is_judged_by_its_run():
    assert "has the slot" in judge("08-paste", pasted((0, ("A>38 | B>38", 1))))
    for wrong, hint, problem in (
        (pasted(), "Whose version must be the highest", "ends with: B gets MsgStr6 MsgStr7"),
        (7, "Give the schedule as text: one JSON object", ""),
        ("{}", 'field "format" must be', ""),
        (pasted((0, ("B>38 | A>38", 1))), "", ""),
    ):
        with pytest.raises(CheckFailed) as failed:
            judge("08-paste", wrong)
        assert hint in failed.value.hint
        assert problem in failed.value.problem


@pytest.mark.row("S-03", "S-07")
def test_texts_of_one_meaning_are_harmless():
    for answer, words in (
        (("tagA",), "two texts"),
        (("tagA", "tagA"), "are the same"),
        (("||", "tagA"), "no client can subscribe"),
        (("tagA", "tagA || tagB"), "loses MsgStr"),
        (("tagC", "tagD"), "Nobody gets a message"),
    ):
        with pytest.raises(CheckFailed, match=words) as failed:
            judge("08-harmless", answer)
        assert not failed.value.problem or "ask for the same messages" in failed.value.hint
        assert failed.value.hint
    assert "none loses a message" in judge("08-harmless", ("tagA || tagB", "tagB||tagA"))


@pytest.mark.row("S-66", "S-77")
def test_the_wrong_rule_is_found_by_what_it_does():
    assert "Every message waits" in judge("08-hunt", first_told)
    for other in (last_told, shortest, rmqlab.RULES["4.8.0"].update_subscription):
        with pytest.raises(CheckFailed, match="with this rule") as failed:
            judge("08-hunt", other)
        assert failed.value.picture is not None
        assert "Try each rule with A first" in failed.value.hint


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        (last_told, "end otherwise"),
        (
            first_told,
            "B first: MsgStr0, MsgStr1, MsgStr2 wait for ever|A first: MsgStr1, MsgStr2, MsgStr3 wait for ever",
        ),
        (shortest, "wait for ever"),
        (drops_all, "A first: nobody gets a message"),
        (7, "function itself"),
        (lambda held, told: None, "your function gives None"),
    ],
)
def test_a_rule_that_depends_on_the_order_gets_its_counterexample(rule, words):
    with pytest.raises(CheckFailed, match=words) as failed:
        judge("08-rule", rule)
    assert (failed.value.picture is None) == (rule == 7 or "None" in words)
    assert ("in every order" in failed.value.hint) == (failed.value.picture is not None)


def test_a_tie_break_by_text_does_not_depend_on_the_order():
    assert "each ends so: A gets MsgStr0" in judge("08-rule", by_text)
