"""The checks of notebook 14: right answers, wrong ones with their hint."""

from __future__ import annotations

import pytest

import rmqlab
from rmqlab_tools.course.checks_14 import SMALL, _disagreeing, recorded


def tags(expression):
    return frozenset(part.strip() for part in expression.split("||"))


def right(members):
    topics = {topic for asked in members.values() for topic in asked}
    wishes = {topic: {tags(asked[topic]) if topic in asked else None for asked in members.values()} for topic in topics}
    return {topic for topic, found in wishes.items() if len(found) > 1}


def by_text(members):
    topics = {topic for asked in members.values() for topic in asked}
    return {topic for topic in topics if len({asked.get(topic) for asked in members.values()}) > 1}


def by_code(members):
    return right({who: {t: str(sorted(rmqlab.tags(one).code_set)) for t, one in asked.items()}
                  for who, asked in members.items()})  # fmt: skip


def of_the_first_two(members):
    return right(dict(list(members.items())[:2]))


def passes_over_who_does_not_ask(members):
    topics = {topic for asked in members.values() for topic in asked}
    return {t for t in topics if len({tags(asked[t]) for asked in members.values() if t in asked}) > 1}


def test_right_answers():
    assert "agrees with rmqlab.lint" in repr(rmqlab.check("14-disagree", right))
    counted = next(group.lost for group in recorded("5.3.3").groups if group.group == "Wider")
    assert rmqlab.check("14-lost", counted)


@pytest.mark.parametrize(
    ("answer", "hint", "problem"),
    [
        (by_text, "order, spaces", "tagA || tagB"),
        (by_code, "order, spaces", "'BB'"),
        (of_the_first_two, "order, spaces", "'C': {'T': 'BB'}"),
        (passes_over_who_does_not_ask, "a member without the topic", "'U'"),
        (lambda members: set(), "order, spaces", "your rule gives no topic"),
        (lambda members: ["T"], "Return a set", ""),
        (5, "Give a function", ""),
    ],
)
def test_wrong_rules_get_a_hint(answer, hint, problem):
    found = rmqlab.check("14-disagree", answer)
    assert not found
    assert hint in repr(found)
    assert problem in repr(rmqlab.check("14-disagree", answer, show="evidence"))


@pytest.mark.parametrize(
    ("answer", "hint", "problem"),
    [
        (0, "Who drops", "Not 0 of 53"),
        (52, "Who drops", "Not 52 of 53"),
        (1.5, "whole number", ""),
        (True, "whole number", ""),
    ],
)
def test_wrong_numbers_get_a_hint(answer, hint, problem):
    found = rmqlab.check("14-lost", answer)
    assert not found
    assert hint in repr(found)
    assert problem in repr(rmqlab.check("14-lost", answer, show="evidence"))


def test_the_small_groups_are_of_both_kinds():
    judged = [_disagreeing(members) for members in SMALL]
    assert judged[2] == judged[4] == set()
    assert sum(map(bool, judged)) == 7


def subscribe(*members, wait=60):
    def mend(lab):
        for who in members:
            lab.subscribe(who, "Orders", "tagA || tagB")
        lab.run(seconds=wait)

    return mend


def test_a_mended_group_loses_nothing_more():
    assert "All 24 messages" in repr(rmqlab.check("14-mend", subscribe("A", "B")))


@pytest.mark.parametrize(
    ("answer", "hint", "problem"),
    [
        (subscribe("A"), "both members ask for", "did not arrive"),
        (lambda lab: None, "both members ask for", "did not arrive"),
        (lambda lab: lab.stop("B"), "Both members must run", "A runs"),
        (5, "Give a function", ""),
        (lambda lab: ..., "Your turn", ""),
    ],
)
def test_a_group_that_is_not_mended_gets_a_hint(answer, hint, problem):
    assert hint in repr(rmqlab.check("14-mend", answer))
    assert problem in repr(rmqlab.check("14-mend", answer, show="evidence"))
