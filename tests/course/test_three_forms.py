"""Right answers in three forms are right, and what games a task is refused with a case: the table of instructors/16.

Of 01-predict, 01-protocol, 09-procedure and 16-protocol the three forms stand in the tests of their lessons.
"""

from __future__ import annotations

from functools import reduce
from itertools import combinations
from statistics import median

import pytest

import rmqlab


def cut(number):
    return (number + 2**31) % 2**32 - 2**31


def by_loop(tag):
    code = 0
    for letter in tag or "":
        code = cut(code * 31 + ord(letter))
    return code


def by_powers(tag):
    text = tag or ""
    return cut(sum(ord(letter) * 31 ** (len(text) - place) for place, letter in enumerate(text, 1)))


def one_by_one(positions, is_set):
    hit = True
    for position in positions:
        hit = hit and is_set(position)
    return hit


def keeps_in_steps(subscription, tag):
    if subscription.class_filter_mode:
        return True
    if not subscription.tags_set:
        return True
    return tag in subscription.tags_set


def words(text):
    return frozenset(part.strip() for part in text.split("||") if part.strip())


def disagree_by_sets(members):
    topics = {topic for asked in members.values() for topic in asked}
    wishes = {
        topic: {words(asked[topic]) if topic in asked else None for asked in members.values()} for topic in topics
    }
    return {topic for topic, of_topic in wishes.items() if len(of_topic) > 1}


def disagree_by_pairs(members):
    apart = set()
    for first, second in combinations(members.values(), 2):
        apart |= {topic for topic in first | second if words(first.get(topic, "-")) != words(second.get(topic, "-"))}
    return apart


def advise_in_steps(ratios):
    if max(ratios) < 1:
        return "on"
    return "off" if min(ratios) > 1 else "unclear"


RIGHT = {
    "02-code": [
        by_loop,
        by_powers,
        lambda tag: reduce(lambda code, letter: cut(code * 31 + ord(letter)), tag or "", 0),
    ],
    "02-client": [
        keeps_in_steps,
        lambda subscription, tag: subscription.class_filter_mode or tag in (subscription.tags_set or [tag]),
        lambda wish, tag: not (wish.tags_set and not wish.class_filter_mode and tag not in wish.tags_set),
    ],
    "04-hit": [
        one_by_one,
        lambda positions, is_set: all(map(is_set, positions)),
        lambda positions, is_set: not [position for position in positions if not is_set(position)],
    ],
    "05-advise": [
        advise_in_steps,
        lambda ratios: {(True, False): "on", (False, True): "off"}.get((max(ratios) < 1, min(ratios) > 1), "unclear"),
        lambda ratios: "on" if all(r < 1 for r in ratios) else "off" if all(r > 1 for r in ratios) else "unclear",
    ],
    "06-rule": [
        lambda now, last, expired_ms: now - last > expired_ms,
        lambda now, last, expired_ms: last + expired_ms < now,
        lambda now, last, expired_ms: not now <= last + expired_ms,
    ],
    "14-disagree": [disagree_by_sets, disagree_by_pairs, lambda members: frozenset(disagree_by_sets(members))],
}
GAMED = [
    ("02-code", lambda tag: sum(map(ord, tag or "")), "tag='ab': your function gives 195, 4.8.0 gives 3105."),
    ("02-client", lambda subscription, tag: True, "tag=None: your function gives True, 4.8.0 gives False."),
    ("04-hit", lambda positions, is_set: is_set(positions[0]), "gives True, 4.8.0 gives False."),
    ("05-advise", lambda ratios: "on" if median(ratios) < 1 else "off", "your function gives"),
    ("06-rule", lambda now, last, expired_ms: now - last >= expired_ms, "your function gives True, 4.8.0 gives False."),
    (
        "14-disagree",
        lambda members: {
            topic for topic in disagree_by_sets(members) if all(topic in asked for asked in members.values())
        },
        "{'A': {'T': 'tagA', 'U': '*'}, 'B': {'T': 'tagA'}}: your rule gives no topic, rmqlab.lint gives U.",
    ),
]


@pytest.mark.parametrize("name", RIGHT)
def test_three_forms_are_right(name):
    for answer in RIGHT[name]:
        assert repr(rmqlab.check(name, answer)).startswith(f"{name}: right. ")


@pytest.mark.parametrize(("name", "answer", "case"), GAMED)
def test_what_games_a_task_is_shown_a_case_at_once(name, answer, case):
    assert case in repr(rmqlab.check(name, answer)).splitlines()[0]
