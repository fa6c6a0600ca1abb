"""Tasks of notebook 16: proposals sorted, a design broken, a protocol designed; what games them is refused."""

from __future__ import annotations

import pytest

import rmqlab
from rmqlab_tools.course.checks_16 import PROPOSED, SHARED
from rmqlab_tools.course.trials import EIGHT

pytestmark = pytest.mark.slow
RULES = rmqlab.RULES["4.8.0"]


def a_group_for_each(lab, who, tag):
    lab.consumer(who, group=f"G-{tag}", subscribe={"T": tag})


def restart(lab, start):
    for who in "AB":
        start(who)
        lab.run(seconds=30)
    lab.stop("A")
    lab.run(seconds=1)
    lab.send("T", EIGHT)
    lab.run(seconds=20)
    start("A")


def quiet(lab, start):
    for who in "AB":
        start(who)
        lab.run(seconds=30)
    lab.send("T", EIGHT)


def kill(lab, start):
    quiet(lab, start)
    lab.kill("A", silent=True)
    start("A")


def one_away(lab, start):
    quiet(lab, start)
    lab.stop("A")


def by_hand(lab, start):
    start("A")
    lab.consumer("B", group="H", subscribe={"T": "tagC"})


READ_AGAIN = SHARED.rules.replace(compute_pull_from_where=lambda *_: "first")
RIGHT = [
    ("16-predict", {"a group for each tag"}, "all four stories"),
    ("16-predict", "a group for each tag", "all four stories"),
    ("16-predict", ["a group for each tag"], "all four stories"),
    ("16-break", restart, "4 of 8 messages are lost"),
    ("16-protocol", a_group_for_each, "a group for each member"),
    ("16-protocol", (READ_AGAIN, SHARED.start), "But 20 messages came twice or more."),
    ("16-protocol", [RULES, a_group_for_each], "right in every order"),
]
WRONG = [
    ("16-predict", set(PROPOSED), "loses in the eight messages", "Who may pull"),
    ("16-predict", {"a group for each tag", "consumer tags"}, "consumer tags loses in a dead machine", "Who may pull"),
    ("16-predict", set(), "a group for each tag loses nothing in the four stories", "Who may pull"),
    ("16-predict", {"all"}, "Give a set of these names", ""),
    ("16-break", quiet, "All 8 messages came to who asked for them", "offset moves"),
    ("16-break", kill, "It has Kill", "Only starts, stops and messages"),
    ("16-break", one_away, "In the end A and B both run", ""),
    ("16-break", by_hand, "Start members with start(who)", ""),
    ("16-break", lambda lab, start: start("Z"), "members are A and B, not 'Z'", "by hand"),
    ("16-protocol", RULES, "In the eight messages MsgStr0 does not come", "task before"),
    ("16-protocol", SHARED, "In a dead machine", "4.8.0 loses 16 of 24 there"),
    ("16-protocol", lambda lab, who, tag: None, "A is refused", "must run"),
    ("16-protocol", lambda lab, who, tag: lab.consumer(who, group=who, subscribe={"T": "*"}), "did not ask", "task"),
    ("16-protocol", 5, "right are rules, a function", ""),
]


@pytest.mark.parametrize(("name", "answer", "words"), RIGHT)
def test_right_answers_name_their_price(name, answer, words):
    reply = repr(rmqlab.check(name, answer))
    assert reply.startswith(f"{name}: right. ")
    assert words in reply


@pytest.mark.parametrize(("name", "answer", "problem", "hint"), WRONG)
def test_wrong_answers_are_shown_where_they_go_wrong(name, answer, problem, hint):
    reply = repr(rmqlab.check(name, answer))
    assert reply.startswith(f"{name}: not yet. ")
    assert problem in reply
    assert hint in reply
