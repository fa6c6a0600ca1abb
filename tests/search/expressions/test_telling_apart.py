"""Subscriptions told apart by a message, or proven to let the same messages pass."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rmqlab.protocol.subscription_data import build_subscription
from rmqlab_tools.search.consistency import Apart, CannotTellError, lets_pass, tell_apart

ODD_VALUES = (
    None,
    "1",
    "3",
    "3.0",
    "03",
    "+3",
    "4",
    "3.5",
    "5e0",
    " 4",
    "x",
    "true",
    "NaN",
    "-1",
    "99999999999",
    "٣",
)


def tag(text):
    return build_subscription("T", text, "TAG")


def sql(text):
    return build_subscription("T", text, "SQL92")


@pytest.mark.row("S-07", "S-10")
@pytest.mark.parametrize(
    ("first", "second"),
    [
        (tag("a||b"), tag("b||a")),
        (tag("a || b||a"), tag("b||a")),
        (tag("*"), tag("")),
        (tag("a"), sql("TAGS = 'a'")),
        (tag("a||b"), sql("TAGS IN ('b', 'a')")),
        (tag("*"), sql("TRUE")),
        (tag(" || "), sql("FALSE")),
        (sql("a > 3"), sql("3 < a")),
        (sql("a > 3"), sql("a >= 4")),
        (sql("a BETWEEN 1 AND 3"), sql("a >= 1 AND a <= 3")),
        (sql("a = 'x' OR b = 'y'"), sql("NOT (a <> 'x' AND b <> 'y')")),
        (sql("a IN ('x', 'y')"), sql("a IN ('y', 'x')")),
        (sql("a > b"), sql("a > b ignored")),
        (sql("a >"), sql("b <")),
        (sql("a = 'x'"), sql("a IN ('x', '')")),  # no empty value comes out of a record
    ],
)
def test_another_text_with_the_same_meaning(first, second):
    apart = tell_apart(first, second)
    assert apart.same
    assert (apart.only_first, apart.only_second) == (None, None)


@pytest.mark.row("S-07", "S-08")
@pytest.mark.parametrize(
    ("first", "second", "only_first", "only_second"),
    [
        (tag("a"), tag("b"), {"TAGS": "a"}, {"TAGS": "b"}),
        (tag("a||b"), tag("b"), {"TAGS": "a"}, None),
        (tag("*"), tag("a"), {}, None),
        (tag("Aa"), tag("BB"), {"TAGS": "Aa"}, {"TAGS": "BB"}),
        (tag("a"), sql("a"), {"TAGS": "a"}, None),
        (sql("a > 3"), sql("a > 3.0"), {"a": "٤"}, {"a": "4.0"}),  # digits that only Integer.valueOf reads
        (sql("a IN ('x, y')"), sql("a IN ('x', 'y')"), {"a": "x, y"}, {"a": "x"}),
        # whole numbers beyond a broken literal: only they are read by the whole literal, too
        (sql("NOT (a <= 1.5)"), sql("NOT (a <= 1.5) OR a < 5"), None, {"a": "1"}),
        (sql("b BETWEEN 0 AND 0 OR c > 1"), sql("b BETWEEN 0 AND 0 OR c > 1 OR b > 1.5"), None, {"b": "2"}),
        (sql("a <> 1"), sql("NOT a = 1"), None, None),
    ],
)
def test_the_message_between_two_subscriptions(first, second, only_first, only_second):
    apart = tell_apart(first, second)
    assert apart.proven
    if second.sub_string != "NOT a = 1":
        assert apart[:2] == (only_first, only_second)
    for message, passed, stopped in ((apart.only_first, first, second), (apart.only_second, second, first)):
        if message is not None:
            assert lets_pass(passed, message)
            assert not lets_pass(stopped, message)


def test_what_cannot_be_decided_is_not_claimed():
    apart = tell_apart(sql("a > b"), sql("b < a"))
    assert (apart.only_first, apart.only_second, apart.proven, apart.same) == (None, None, False, False)
    assert apart.tried > 10
    narrow = tell_apart(sql("a = 'x' AND b = 'y'"), sql("a = 'x' AND b = 'z'"), budget=1)
    assert narrow == Apart(None, None, proven=False, tried=narrow.tried)


def test_nobody_looks_into_a_class_filter():
    data = tag("*")
    data.class_filter_mode = True
    for first, second in ((data, tag("*")), (tag("*"), data)):
        with pytest.raises(CannotTellError, match="class filter"):
            tell_apart(first, second)
    with pytest.raises(CannotTellError):
        lets_pass(data, {})


def test_lists_are_compared_as_lists():
    assert not tell_apart(sql("a IN ('x, y')"), sql("a IN ('x', 'y')")).same
    assert tell_apart(sql("a IN ('x','y')"), sql("a IN ('y', 'x')")).same


ATOMS = [
    "a > 3", "a >= 3.0", "3 < a", "a = 3", "a = '3'", "a <> '3'", "a IS NULL", "a IS NOT NULL", "a IN ('3', 'x')",
    "NOT a = 3", "a BETWEEN 1 AND 4", "a > 1.5", "a <= 2.5", "b BETWEEN 0 AND 0", "a NOT IN ('3')", "a",
    "TRUE", "b = 'x'", "b > 1", "NULL",
]  # fmt: skip
conditions = st.recursive(
    st.sampled_from(ATOMS),
    lambda inner: (
        st.builds("({}) {} ({})".format, inner, st.sampled_from(["AND", "OR"]), inner)
        | st.builds("NOT ({})".format, inner)
    ),
    max_leaves=4,
)


@settings(max_examples=150, deadline=None)
@given(conditions, conditions)
def test_what_is_proven_to_be_the_same_is_the_same_on_odd_messages(first, second):
    one, other = sql(first), sql(second)
    apart = tell_apart(one, other)
    assert apart.proven
    for a in ODD_VALUES:
        for b in (None, "x", "2", "1.5"):
            message = {name: value for name, value in (("a", a), ("b", b)) if value is not None}
            passed, passes = lets_pass(one, message), lets_pass(other, message)
            assert not (passed and not passes and apart.only_first is None)
            assert not (passes and not passed and apart.only_second is None)
