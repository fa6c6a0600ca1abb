"""The checks of notebook 15: right answers, wrong ones with their hint."""

from __future__ import annotations

from itertools import combinations

import pytest

import rmqlab
from rmqlab_tools.course.check import checks
from rmqlab_tools.course.checks_15 import MOST_LOST, ORDERS, RULES_5, members, slow

NO_RULE = "Give the function itself"


def first_who_wants(waiters, wants):
    return next(filter(wants, waiters), None)


def last_who_wants(waiters, wants):
    return next(filter(wants, reversed(waiters)), None)


def asks_two(waiters, wants):
    """Enough for a line of two."""
    return next(filter(wants, waiters[:2]), None)


def the_first(waiters, wants):
    return waiters[0]


def the_last_asked(waiters, wants):
    return waiters[-1] if wants(waiters[-1]) else None


def whoever_wants_or_the_first(waiters, wants):
    return first_who_wants(waiters, wants) or waiters[0]


def its_place(waiters, wants):
    return next((place for place, waiter in enumerate(waiters) if wants(waiter)), None)


@pytest.mark.parametrize("rule", [first_who_wants, last_who_wants, asks_two, whoever_wants_or_the_first])
def test_rules_that_wake_whoever_wants_it_are_right(rule):
    found = rmqlab.check("15-waiter", rule)
    assert found
    assert "Nothing was lost in 24 streams" in repr(found)
    assert "up to 2 waiters" in repr(found)


@pytest.mark.row("S-07")
@pytest.mark.parametrize(
    ("rule", "hint", "problem"),
    [
        (
            RULES_5.waiter_to_wake,
            "Who may be woken",
            "pop, A first in line, tags AAAABBBB: 6 of 8 are lost, first MsgStr1 (tagA). 5.5.0 loses 6.",
        ),
        (the_first, "Who may be woken", "A first in line"),
        (the_last_asked, "Who may be woken", "lost"),
        (lambda waiters, wants: None, "Who may be woken", "MsgStr0 (tagA)"),
        (its_place, "Return one of the waiters", "It returned 0."),
        (lambda waiters, wants: True, "Return one of the waiters", "It returned True."),
        (lambda waiters, wants: waiters[5], "Call your function by hand", "IndexError"),
        (lambda waiters: None, "Call your function by hand", "takes 1 positional argument"),
        (5, NO_RULE, ""),
        (lambda waiters, wants: ..., "Your turn", ""),
    ],
)
def test_rules_that_lose_get_a_hint(rule, hint, problem):
    found = rmqlab.check("15-waiter", rule)
    assert not found
    assert hint in repr(found)
    assert problem in repr(rmqlab.check("15-waiter", rule, show="evidence"))


def test_a_rule_that_loses_is_shown_the_line():
    found = rmqlab.check("15-waiter", RULES_5.waiter_to_wake, show="evidence")
    assert "<svg" in found._repr_html_()


def lost(tags):
    return sum(fate.lost for fate in slow(members("pop"), tags).fates())


def test_seven_is_the_most_and_only_two_orders_lose_it():
    """So the task asks for what there is, and the check takes each of them."""
    orders = ["".join("A" if n in chosen else "B" for n in range(8)) for chosen in combinations(range(8), 4)]
    assert set(ORDERS) < set(orders)
    counted = {tags: lost(tags) for tags in orders}
    assert max(counted.values()) == MOST_LOST
    worst = [tags for tags, count in counted.items() if count == MOST_LOST]
    assert sorted(worst) == ["BAAABBBA", "BBBBAAAA"]
    assert all(rmqlab.check("15-order", tags) for tags in worst)


@pytest.mark.parametrize("answer", ["BBBB AAAA", list("BBBBAAAA"), ["tagB"] * 4 + ["tagA"] * 4, tuple("BBBBAAAA")])
def test_an_order_may_be_written_in_other_ways(answer):
    assert "Seven of the eight messages of BBBBAAAA" in repr(rmqlab.check("15-order", answer))


@pytest.mark.parametrize(
    ("answer", "hint", "problem"),
    [
        ("AAAABBBB", "A stands first", "AAAABBBB: 6 of eight are lost"),
        ("ABABABAB", "A stands first", "ABABABAB: 0 of eight are lost"),
        ("BABABABA", "A stands first", "of eight are lost"),
        ("BBBBAAA", "four A and four B", ""),
        ("BBBBBAAA", "four A and four B", ""),
        ("bbbbaaaa", "four A and four B", ""),
        ([1, 2], "four A and four B", ""),
        (7, "four A and four B", ""),
        (None, "four A and four B", ""),
        (..., "Your turn", ""),
    ],
)
def test_orders_that_lose_less_get_a_hint(answer, hint, problem):
    found = rmqlab.check("15-order", answer)
    assert not found
    assert hint in repr(found)
    assert problem in repr(rmqlab.check("15-order", answer, show="evidence"))


def starting(groups="GH", asks=("tagA", "tagB"), names="AB"):
    """A design that starts these members."""

    def design(lab, kind):
        for who, group, expression in zip(names, groups, asks, strict=True):
            lab.consumer(who, group=group, subscribe={"T": expression}, kind=kind)

    return design


def in_sql92(lab, kind):
    for who in "AB":
        lab.consumer(who, group=f"group-{who}", sql92={"T": f"TAGS = 'tag{who}'"}, kind=kind)


@pytest.mark.row("S-07")
def test_a_group_for_each_is_right():
    assert "with push, pop, grpc" in repr(rmqlab.check("15-design", starting()))


@pytest.mark.parametrize(
    ("answer", "hint", "problem"),
    [
        (starting("GG"), "How many offsets", "push: MsgStr"),
        (starting("GG", ("tagA || tagB", "tagA || tagB")), "How many offsets", "went to"),
        (starting("GG", ("*", "*")), "How many offsets", "went to"),
        (starting("GH", ("*", "*")), "How many offsets", "went to A, B"),
        (starting("GH", ("tagB", "tagA")), "How many offsets", "(tagA) went to B"),
        (starting("GH", ("tagA", "tagC")), "How many offsets", "(tagB) went to nobody"),
        (starting("GH", names="AC"), "Start two consumers", "A, C runs"),
        (starting("G", ("*",), "A"), "Start two consumers", "A runs"),
        (lambda lab, kind: None, "Start two consumers", "nobody runs"),
        (5, NO_RULE, ""),
        (lambda lab, kind: ..., "Your turn", ""),
    ],
)
def test_designs_that_lose_or_mix_get_a_hint(answer, hint, problem):
    found = rmqlab.check("15-design", answer)
    assert not found
    assert hint in repr(found)
    assert problem in repr(rmqlab.check("15-design", answer, show="evidence"))


def pop_alone_in_one_group(lab, kind):
    """It would do with push alone, so each kind is tried."""
    starting("GH" if kind == "push" else "GG")(lab, kind)


def test_every_kind_is_tried():
    assert "pop: MsgStr" in repr(rmqlab.check("15-design", pop_alone_in_one_group, show="evidence"))


def test_every_check_has_a_task():
    assert list(checks("15")) == ["15-waiter", "15-order", "15-design"]
