"""The checks of lesson 01: they take right answers; wrong ones get a hint, then the rule, then what shows it."""

from __future__ import annotations

from functools import partial

import pytest

import rmqlab
from rmqlab_tools.course.check import checks
from rmqlab_tools.course.checks_01 import HUNTED, played, predicted, unfair
from rmqlab_tools.course.mutants import WRONG_RULES
from rmqlab_tools.course.price import price_of

pytestmark = pytest.mark.slow

RULES = rmqlab.RULES["4.8.0"]
FATES = {
    "delivered": ["MsgStr2", "MsgStr6"],
    "dropped by the broker": ["MsgStr1", "MsgStr3", "MsgStr5", "MsgStr7"],
    "dropped by a client": ["MsgStr0", "MsgStr4"],
}
BUGS = {name: next(iter(WRONG_RULES[name])) for name in HUNTED}


def every_queue(current_cid, mq_all, cid_all):
    return list(mq_all)


EVERYBODY = RULES.replace(allocate=every_queue, is_matched_by_consume_queue=lambda *_: True)
EVERYBODY_AGAIN = EVERYBODY.replace(compute_pull_from_where=lambda *_: "first")


def a_group_for_each(lab, who, tag):
    lab.consumer(who, group=f"G-{tag}", subscribe={"T": tag})


def by_pull(lab, who, tag):
    lab.consumer(who, group="G", subscribe={"T": tag}, post_subscription=True)


def keep_all(held, told):
    table = {new.topic: new.copy() for new in told}
    for topic in table.keys() & held.keys():
        table[topic].tags_set |= held[topic].tags_set
        table[topic].code_set |= held[topic].code_set
        table[topic].sub_version = max(table[topic].sub_version, held[topic].sub_version)
    return table


def newest(_, held, told):
    table = {}
    for new in told:
        old = table.get(new.topic, held.get(new.topic, new))
        table[new.topic] = max(old, new, key=lambda one: one.sub_version)
    return table


def not_strict(held, told):
    table = {topic: one for topic, one in held.items() if topic in {new.topic for new in told}}
    for new in told:
        if new.topic not in table or new.sub_version >= table[new.topic].sub_version:
            table[new.topic] = new
    return table


def steered(first="B", last="Z", tags=("tagB", "tagA"), **options):
    lab = rmqlab.Lab(topics={"T": 4}, **options)
    lab.consumer(first, group="G", subscribe={"T": tags[0]})
    lab.run(seconds=60)
    lab.consumer(last, group="G", subscribe={"T": tags[1]})
    lab.run(seconds=5)
    lab.send("T", ["tagA"] * 4 + ["tagB"] * 4, queues=[2, 3, 0, 1] * 2)
    lab.run(seconds=25)
    return lab


RIGHT = [
    ("01-predict", lambda: FATES),
    ("01-steer", steered),
    ("01-rule", lambda: partial(newest, ())),
    ("01-predict", lambda: {"delivered": 2, "dropped by the broker": "4", "dropped by a client": [0, 4]}),
    ("01-predict", lambda: {name: " ".join(bodies) for name, bodies in FATES.items()}),
    ("01-protocol", lambda: a_group_for_each),
    ("01-protocol", lambda: (RULES, a_group_for_each)),
    ("01-protocol", lambda: EVERYBODY_AGAIN),
    ("01-bug-hunt", lambda: BUGS),
]
# A wrong answer, and words of its hint, its rule and its evidence.
WRONG_RULES = [
    ("01-predict", dict, "Give a dict", "exactly one fate", ""),
    ("01-predict", lambda: FATES | {"delivered": 3}, "These are 9 messages", "one fate", ""),
    ("01-predict", lambda: FATES | {"delivered": None}, "Give a dict", "one fate", ""),
    ("01-predict", lambda: dict.fromkeys(FATES, 5), "These are 15 messages", "one fate", ""),
    ("01-predict", lambda: FATES | {"delivered": ["MsgStr2"]}, "says nothing about MsgStr6", "one fate", ""),
    ("01-predict", lambda: FATES | {"delivered": ["MsgStr2", "MsgStr6", "MsgStr1"]}, "stands twice", "one fate", ""),
    (
        "01-predict",
        lambda: {"delivered": [f"MsgStr{n}" for n in range(8)], "dropped by the broker": [], "dropped by a client": []},
        "which tag does the broker let pass",
        "one slot",
        'MsgStr0 (tagA) is not "delivered"',
    ),
    ("01-steer", lambda: 7, "Give the lab itself", "", ""),
    ("01-steer", lambda: steered("A", "B", ("tagA", "tagB")), "Two things decide", "client ids", "A gets nothing"),
    ("01-steer", lambda: steered("B", "A"), "Two things decide", "client ids", "A gets MsgStr2, MsgStr3"),
    ("01-steer", lambda: steered(tags=("tagC", "tagA")), "Two consumers, one for tagA", "", ""),
    ("01-steer", lambda: steered(rules=RULES.replace(client_keeps=lambda _, tag: True)), "are to stay", "", ""),
    ("01-rule", lambda: 7, "Give a function with 2 parameters", "", ""),
    ("01-rule", lambda: lambda held, told: dict(held), "four sentences", "strictly higher", "your function gives {}"),
    ("01-rule", lambda: lambda held, told: {one.topic: one for one in told}, "four sentences", "higher", "version 5"),
    ("01-rule", lambda: partial(RULES.update_subscription), "Write the function yourself", "", ""),
    ("01-rule", lambda: not_strict, "four sentences", "strictly higher", "your function gives"),
    ("01-protocol", lambda: "all", "Give rules", "", ""),
    ("01-protocol", lambda: RULES, "Follow one message", "one slot", "nobody gets MsgStr0 (tagA)"),
    ("01-protocol", lambda: RULES.replace(update_subscription=keep_all), "Follow one", "own tags", "itself: tag"),
    ("01-protocol", lambda: by_pull, "Follow one", "own tags", "4.8.0 loses 6 of 8 there"),
    ("01-protocol", lambda: lambda lab, who, tag: None, "is to start one consumer named 'A'", "", ""),
    ("01-protocol", lambda: lambda lab: None, "Call your function by hand", "", "takes 1 positional argument"),
    ("01-protocol", lambda: EVERYBODY, "one offset for each queue", "", "A stops, eight messages come, A starts again"),
    (
        "01-protocol",
        lambda: lambda lab, who, tag: lab.consumer(who, group=who, subscribe={"T": "*"}),
        "Follow one",
        "client ids",
        "did not ask for it",
    ),
    (
        "01-protocol",
        lambda: RULES.replace(update_subscription=keep_all, client_keeps=lambda _, tag: True),
        "Follow one message",
        "client ids",
        "goes to who did not ask for it",
    ),
    ("01-bug-hunt", lambda: {"amber": ""}, "Give a dict", "", ""),
    ("01-bug-hunt", lambda: BUGS | {"amber": "gravity"}, "amber: 'gravity' is none of", "", ""),
    (
        "01-bug-hunt",
        lambda: BUGS | {"basalt": "is_latest"},
        "Not all names are right",
        "source",
        "tagA, version 60.008 s (from A)",
    ),
    (
        "01-bug-hunt",
        lambda: BUGS | {"ember": "is_latest"},
        "Not all names are right",
        "source",
        "A owns queues 0, 1 of",
    ),
]


def test_every_check_has_a_right_answer_and_wrong_ones():
    assert set(checks("01")) == {name for name, _ in RIGHT} == {name for name, *_ in WRONG_RULES}


@pytest.mark.parametrize(("name", "answer"), RIGHT, ids=[name for name, _ in RIGHT])
def test_right_answer(name, answer):
    assert repr(rmqlab.check(name, answer())).startswith(f"{name}: right. ")


@pytest.mark.parametrize(("name", "answer", "hint", "rule", "evidence"), WRONG_RULES)
def test_wrong_answer_gets_a_hint_then_the_rule_then_the_evidence(name, answer, hint, rule, evidence):
    given = answer()
    first = repr(rmqlab.check(name, given))
    assert first.startswith(f"{name}: not yet. ")
    assert hint in first
    assert rule in repr(rmqlab.check(name, given, show="rule"))
    assert evidence in repr(rmqlab.check(name, given, show="evidence"))


def test_a_wrong_protocol_is_answered_with_a_picture():
    assert "Lanes for A, B" in rmqlab.check("01-protocol", RULES, show="evidence").picture.alt


def test_what_is_predicted_differs_from_the_lesson():
    assert [fate.body for fate in predicted().fates if not fate.lost] == ["MsgStr2", "MsgStr6"]
    assert [row.body for row in played().fates() if not row.lost] == ["MsgStr4", "MsgStr5"]


def test_a_message_that_is_taken_twice_is_not_fair():
    lab = rmqlab.Lab(topics={"T": 1}, rules=EVERYBODY)
    for who in "AB":  # both ask for all; only A may
        lab.consumer(who, group="G", subscribe={"T": "*"})
    lab.run(seconds=30)
    lab.send("T", "tagA")
    lab.run(seconds=5)
    run = lab.finish().run
    assert unfair(run) == "MsgStr0 (tagA) goes to who did not ask for it"
    assert price_of(run, {"A": "tagA", "B": "tagA"}).twice == ("MsgStr0",)
    assert price_of(run, {"A": "tagA", "B": "tagA"}).words() == (
        "But 1 message came twice or more. Messages sent to the broker: 1; sent on to clients: 2."
    )


def test_the_price_of_a_protocol_is_named():
    told = repr(rmqlab.check("01-protocol", a_group_for_each))
    assert "The price: a group for each member" in told
    assert "twice" not in told


def test_broken_rules_do_not_show_their_lines():
    assert rmqlab.broken("amber").source("client_keeps") == rmqlab.broken("amber").source("is_latest").replace(
        "is_latest", "client_keeps"
    )
