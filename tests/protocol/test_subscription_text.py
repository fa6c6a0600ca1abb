"""Subscription text to subscription data."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rmqlab.filter.filter import match_in_two_layers
from rmqlab.message.java import string_hash
from rmqlab.message.message import Message
from rmqlab.protocol.subscription_data import (
    EmptyExpressionError,
    SubscriptionData,
    SubscriptionSplitError,
    build_subscription,
    build_subscription_data,
)

THREE_TAGS = ("TagA", "TagB", "TagC")


@pytest.mark.row("F-06")
@pytest.mark.parametrize(
    ("text", "kept", "tags"),
    [
        (None, "*", set()),
        ("", "*", set()),
        ("*", "*", set()),
        (" * ", " * ", {"*"}),
        ("TagA", "TagA", {"TagA"}),
        ("TagA || TagC", "TagA || TagC", {"TagA", "TagC"}),
        ("a||a|| b||", "a||a|| b||", {"a", "b"}),
        ("||a", "||a", {"a"}),
        (" || ", " || ", set()),
        ("a|b", "a|b", {"a|b"}),
        ("a|||b", "a|||b", {"a", "|b"}),
        ("\u3000a\u00a0", "\u3000a\u00a0", {"\u3000a\u00a0"}),
        ("\x00 a\t", "\x00 a\t", {"a"}),
    ],
)
def test_tags_are_split_at_double_bars_and_trimmed_as_java_trims(text, kept, tags):
    data = build_subscription_data("G", "T", text, now=7)
    assert (data.topic, data.sub_string, data.tags_set, data.sub_version) == ("T", kept, tags, 7)
    assert data.expression_type == "TAG"


@pytest.mark.row("F-06")
@pytest.mark.parametrize("text", ["||", "||||"])
def test_separators_alone_are_an_error_in_javas_words(text):
    with pytest.raises(SubscriptionSplitError, match=r"^subString split error$"):
        build_subscription_data("G", "T", text)


@pytest.mark.row("F-06")
def test_blanks_between_separators_match_nothing_at_the_broker_while_the_client_keeps_everything():
    steps = match_in_two_layers(build_subscription_data("G", "T", " || "), "TagA")
    assert (steps.broker, steps.client, steps.delivered) == (False, True, False)


@pytest.mark.row("F-31")
@given(st.lists(st.text(st.characters(blacklist_characters="|"), min_size=1)))
def test_the_code_set_is_computed_when_the_subscription_is_built(tags):
    data = build_subscription_data(None, "T", "||".join([*tags, "x"]))
    assert data.code_set == {string_hash(tag) for tag in data.tags_set}
    assert all(tag == tag.strip("".join(map(chr, range(33)))) and tag for tag in data.tags_set)


@pytest.mark.row("F-39")
@pytest.mark.parametrize(("kind", "stored"), [(None, "TAG"), ("TAG", "TAG"), ("", ""), ("SQL92", "SQL92"), ("x", "x")])
def test_only_a_null_type_and_tag_are_split_into_tags(kind, stored):
    data = build_subscription("T", "a || b", kind)
    assert data.expression_type == stored
    assert data.tags_set == ({"a", "b"} if stored == "TAG" else set())


@pytest.mark.parametrize("text", [None, ""])
def test_another_type_needs_an_expression(text):
    with pytest.raises(EmptyExpressionError, match=r"^Expression can't be null! SQL92$"):
        build_subscription("T", text, "SQL92")


@pytest.mark.row("F-02", "F-03", "F-04", "F-05")
@pytest.mark.parametrize(
    ("subscription", "received"),
    [
        (build_subscription("T", "TagA || TagC", "TAG"), 40),
        (build_subscription("T", "TagA||TagB||TagC", "TAG"), 60),
        (build_subscription("T", "*", "TAG"), 60),
    ],
)
def test_sixty_messages_by_tag(subscription, received):
    messages = [Message.of("T", b"Hello world", THREE_TAGS[i % 3]) for i in range(60)]
    assert [sum(message.tags == tag for message in messages) for tag in THREE_TAGS] == [20, 20, 20]
    by_setter = Message("T", b"Hello world")
    by_setter.tags = "TagA"
    assert by_setter.properties["TAGS"] == messages[0].properties["TAGS"] == "TagA"
    assert sum(match_in_two_layers(subscription, message.tags).delivered for message in messages) == received


def test_subscriptions_compare_as_in_java():
    one, other = SubscriptionData("T", "a", sub_version=1), SubscriptionData("T", "a", sub_version=2)
    assert one != other
    assert hash(one) == hash(other)
    assert one == one.copy()
    assert one != "T@a"
    assert SubscriptionData("T", "\uffff") > SubscriptionData("T", "\U0001f600")
    assert SubscriptionData(None, None) < SubscriptionData("o", None)
    copied = build_subscription("T", "a", "TAG")
    copied.copy().tags_set.add("b")
    assert copied.tags_set == {"a"}
