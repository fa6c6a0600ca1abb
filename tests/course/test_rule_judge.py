"""A learner's rule: the right one passes, a wrong one gets its first case, or the shortest order that breaks it."""

from __future__ import annotations

import doctest
import sys
from functools import partial

import numpy as np
import pytest

import rmqlab
from rmqlab.errors import BadInput
from rmqlab_tools.course import order_judge, rule_judge
from rmqlab_tools.course.answers import BY_HAND
from rmqlab_tools.course.check import THEIRS, CheckFailed
from rmqlab_tools.course.order_judge import must_hold_in_every_order
from rmqlab_tools.course.rule_judge import (
    RULE_CASES,
    RuleCase,
    first_difference,
    must_agree_in_cases,
    rule_text,
    vector_cases,
)
from rmqlab_tools.search.explorer.properties import no_loss

RULES = rmqlab.RULES["4.8.0"]


def differs_in_a_case(*args):
    """What is raised against a learner's rule, or None."""
    return failed_in(must_agree_in_cases, *args)


def broken_order(*args):
    """The same of every order."""
    return failed_in(must_hold_in_every_order, *args)


def failed_in(judge, *args):
    try:
        judge(*args)
    except CheckFailed as failed:
        return failed


def lab(queues=1):
    """A and B of one group, two seconds apart, then a message of each tag to each queue."""
    lab = rmqlab.Lab(topics={"T": queues})
    lab.consumer("A", group="G", subscribe={"T": "a"})
    lab.run(seconds=2)
    lab.consumer("B", group="G", subscribe={"T": "b"})
    lab.run(seconds=6)
    lab.send("T", ["a", "b"] * queues)
    lab.run(seconds=20)
    return lab


def upsert(held, told):
    table = {topic: one for topic, one in held.items() if topic in {new.topic for new in told}}
    for new in told:
        if new.topic not in table or table[new.topic].sub_version < new.sub_version:
            table[new.topic] = new
    return table


def last_wins(held, told):
    return {new.topic: new for new in told}


def never_forgets(held, told):
    return {**held, **upsert(held, told)}


def keeps_all(subscription, tag):
    return True


def by_text(subscription, code):
    return subscription.sub_string == "*" or code in subscription.code_set


def new_from_one(held, told):
    """A topic that is new counts as held in version 0, so that a first heartbeat tells nothing."""
    versions = {new.topic: held[new.topic].sub_version if new.topic in held else 0 for new in told}
    table = upsert(held, [new for new in told if new.sub_version > versions[new.topic] or new.topic in held])
    return table | {new.topic: held[new.topic] for new in told if new.topic in held and new.topic not in table}


def first_by_text(held, told):
    """The broker's rule for small numbers; of two epochs the smaller text holds the slot."""
    table = upsert(held, told)
    for new in told:
        if new.topic in held and new.sub_version > 10:
            table[new.topic] = min(held[new.topic], new, key=lambda one: one.sub_string)
    return table


def in_32_bits(held, told):
    return upsert(held, [new for new in told if new.topic not in held or int32(new.sub_version) == new.sub_version])


def conditions_win(held, told):
    return upsert(held, told) | {new.topic: new for new in told if not new.is_tag}


def unsigned(subscription, code):
    return code is None or subscription.sub_string == "*" or code & 0xFFFFFFFF in subscription.code_set


def only_once_too_high(subscription, code):
    near = code if code is None or code < 2**31 else code - 2**32
    return near is None or subscription.sub_string == "*" or near in subscription.code_set


def any_case(subscription, tag):
    named = {one.lower() for one in subscription.tags_set}
    return not named or subscription.class_filter_mode or (tag is not None and tag.lower() in named)


def trimmed(subscription, tag):
    return RIGHT["client_keeps"](subscription, tag and tag.strip())


def no_class_without_a_tag(subscription, tag):
    return RIGHT["client_keeps"](subscription, tag) and not (subscription.class_filter_mode and tag is None)


def forgets_a_code(subscription, code):
    kept = RIGHT["is_matched_by_consume_queue"](subscription, code)
    subscription.code_set.add(12345)
    return kept


RIGHT = {
    "update_subscription": upsert,
    "is_matched_by_consume_queue": lambda s, code: s.sub_string == "*" or code is None or int32(code) in s.code_set,
    "client_keeps": lambda s, tag: not s.tags_set or s.class_filter_mode or tag in s.tags_set,
    "is_expired": lambda now, last, expiry: now > last + expiry,
}
# A wrong rule, and what its first case says.
WRONG = [
    ("update_subscription", last_wins, "version 5}, told=['a' of T, version 5]: your function gives"),
    ("update_subscription", never_forgets, "told=[]: your function gives {'T': 'a' of T"),
    ("is_matched_by_consume_queue", by_text, "code=None: your function gives False"),
    ("is_matched_by_consume_queue", lambda s, code: code in s.code_set, "gives False"),
    ("client_keeps", keeps_all, "tag=None: your function gives True, 4.8.0 gives False."),
    ("client_keeps", lambda s, tag: tag in s.tags_set, "'*' of T, version 0, tag=None: your function gives False"),
    ("is_expired", lambda now, last, expiry: now - last >= expiry, "your function gives True"),
    ("is_expired", lambda now, last, expiry: 1, "gives 1, a int; it must be a bool"),
    ("is_expired", lambda now, last, expiry: None, "Does every way through it end in return?"),
    ("client_keeps", lambda s, tag: tag.upper() in s.tags_set, 'stops at `("client_keeps", lambda s, tag: tag.upper()'),
    ("update_subscription", new_from_one, "told=['a' of T, version 0]: your function gives {}"),
    ("update_subscription", first_by_text, "told=['a' of T, version 1700000000005]: your function gives {'T': 'a'"),
    ("update_subscription", in_32_bits, "told=['a' of T, version 1700000000005]: your function gives {}"),
    ("update_subscription", conditions_win, "told=['a > 3' of T, version 5]: your function gives {'T': 'a > 3' of T"),
    ("is_matched_by_consume_queue", unsigned, "'Shop-Ab' of T, version 0, code=-563281320: your function gives False"),
    ("is_matched_by_consume_queue", only_once_too_high, "code=-4294967198: your function gives False"),
    ("is_matched_by_consume_queue", forgets_a_code, "changes what it was given"),
    ("client_keeps", any_case, "tag='A': your function gives True"),
    ("client_keeps", trimmed, "tag=' a': your function gives True"),
    ("client_keeps", no_class_without_a_tag, "tag=None: your function gives False"),
    ("is_expired", lambda now, last, expiry: abs(now - last) > expiry, "now=400, last_update_timestamp=500"),
    ("is_expired", lambda now: True, "Give a function with 3 parameters: now, last_update_timestamp"),
    ("is_expired", 5, "Give a function"),
]


def int32(code):
    return (code + 2**31) % 2**32 - 2**31


@pytest.mark.parametrize("field", RIGHT)
def test_a_right_rule_passes(field):
    assert differs_in_a_case(field, RIGHT[field]) is None


@pytest.mark.parametrize(("field", "mine", "text"), WRONG)
def test_a_wrong_rule_gets_its_first_case(field, mine, text):
    failed = differs_in_a_case(field, mine)
    assert text in f"{failed.problem} {failed.hint}"
    if any(f"your function gives {value}" in failed.problem for value in ("True", "False", "{")):
        assert "4.8.0 gives" in failed.problem
    assert failed.rule == rule_text(field)


@pytest.mark.parametrize("field", RULE_CASES)
def test_the_rules_agree_with_their_own_cases_and_vectors(field):
    """So does whatever asks them: each case is right, and then it is told what it is."""
    real = getattr(RULES, field)
    for mine in (real, partial(real)):
        assert differs_in_a_case(field, mine).hint == THEIRS
    first = [True]
    assert (
        "gives None" in differs_in_a_case(field, lambda *args: first.pop() and real(*args) if first else None).problem
    )


@pytest.mark.parametrize("field", ["client_keeps", "is_matched_by_consume_queue"])
def test_vectors_are_read(field):
    assert len(list(vector_cases(field))) >= 200


def broken(held, told):
    return held.nothing


def writes_into(held, told):
    held.update(upsert(held, told))
    return held


def not_written(held, told):
    raise NotImplementedError


def test_a_truth_value_of_numpy_is_one():
    assert differs_in_a_case("is_expired", lambda now, last, expiry: np.bool_(now - last > expiry)) is None
    wrong = differs_in_a_case("is_expired", lambda now, last, expiry: np.bool_(now - last >= expiry))
    assert wrong.problem.endswith("channel_expired_ms=1: your function gives True, 4.8.0 gives False.")


def test_a_profiler_that_runs_stays():
    sys.setprofile(watch := lambda *_: None)
    try:
        differs_in_a_case("is_expired", RIGHT["is_expired"])
        differs_in_a_case("is_expired", broken)
        assert sys.getprofile() is watch
    finally:
        sys.setprofile(None)


def test_mistakes_are_told_plainly():
    text = differs_in_a_case("update_subscription", broken).problem
    assert "your function stops at `return held.nothing`: AttributeError: 'dict' object has no attribute" in text
    assert "changes what it was given" in differs_in_a_case("update_subscription", writes_into).problem
    assert "not written yet" in differs_in_a_case("update_subscription", not_written).problem
    assert differs_in_a_case("update_subscription", ...).hint.startswith("Your turn")


def test_cases_of_ones_own():
    assert differs_in_a_case("is_latest", lambda held, pull: held > pull, [RuleCase((1, 2)), RuleCase((3, 2))]) is None
    assert (
        "held_version=2, pull_version=2"
        in differs_in_a_case("is_latest", lambda held, pull: held > pull, [RuleCase((2, 2))]).problem
    )


@pytest.mark.slow
def test_every_order_with_the_right_rule():
    mine = RULES.replace(update_subscription=upsert, client_keeps=RIGHT["client_keeps"])
    assert broken_order([lab()], mine) is None


@pytest.mark.slow
@pytest.mark.parametrize(
    ("rule", "wanted", "text"),
    [
        ({"client_keeps": keeps_all}, None, "It ends in a way in which 4.8.0 never ends: "),
        ({"update_subscription": upsert}, no_loss, "lost: "),
        ({"update_subscription": upsert}, lambda run: "always" if run.fates else None, "always"),
    ],
)
def test_a_wrong_rule_gets_the_shortest_order(rule, wanted, text):
    failed = broken_order([lab()], RULES.replace(**rule), wanted)
    assert text in failed.problem
    assert failed.hint
    assert failed.rule
    assert failed.lines[-1].startswith('schedule  {"format": ')
    assert "The shortest order in which your rule goes wrong" in failed.picture.svg


@pytest.mark.slow
def test_the_shortest_order_has_the_fewest_unusual_choices():
    """A and B start at once; A's stamp is the last only if its look at the members is late."""
    started = rmqlab.Lab(topics={"T": 2})
    for who, tag in (("A", "a"), ("B", "b")):
        started.consumer(who, group="G", subscribe={"T": tag})
    started.run(seconds=6)
    started.send("T", ["a", "b"], queues=[0, 1])
    started.run(seconds=10)
    failed = broken_order([started], RULES, lambda run: "A gets one" if run.outcome().bodies_of("A") else None)
    assert failed.lines[0].startswith("unusual  B's GET_CONSUMER_LIST_BY_GROUP before A's")
    assert len([line for line in failed.lines if line.startswith("unusual")]) == 1


@pytest.mark.slow
def test_what_stops_in_a_run_is_told():
    failed = broken_order([lab()], RULES.replace(update_subscription=broken))
    assert failed.problem.startswith("In a run your function stops at `return held.nothing`")
    assert failed.hint == BY_HAND
    failed = broken_order([lab()], RULES.replace(client_keeps=lambda subscription, tag: "yes"))
    assert "it must be a bool" in failed.problem

    def emptied(cid, queues, cids):
        share = RULES.allocate(cid, queues, cids)
        cids.clear()
        return share

    failed = broken_order([lab()], RULES.replace(allocate=emptied))
    assert failed.problem == "In a run your function changes what it was given; make a new object and return that."


def test_a_lab_that_is_too_large_is_named(monkeypatch):
    monkeypatch.setattr(order_judge, "ORDER_BUDGET", 5)
    with pytest.raises(ValueError, match="more orders than 5 runs can try"):
        broken_order([lab(2)], RULES.replace(client_keeps=keeps_all))


def test_a_tuple_of_positions_is_the_same_for_the_judge_and_in_the_table():
    def in_a_tuple(hash64, k, m):
        return tuple(RULES.bit_positions(hash64, k, m))

    assert first_difference("bit_positions", in_a_tuple)[1] is None


def test_examples_of_docstrings():
    found = doctest.testmod(rule_judge)
    assert found.attempted > 0
    assert found.failed == 0


def test_a_rule_that_is_none():
    with pytest.raises(BadInput, match="no rule"):
        RULES.replace(no_rule=keeps_all)


def test_the_rule_itself_is_refused_before_any_order_is_tried(monkeypatch):
    monkeypatch.setattr(order_judge, "must_hold_in_every_order", lambda *_, **__: pytest.fail("an order was tried"))
    with pytest.raises(CheckFailed, match=r"the rule of 4\.8\.0 itself"):
        order_judge.must_be_like("update_subscription", RULES.update_subscription, [])
