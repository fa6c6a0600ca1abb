"""The two steps of tag filtering."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rmqlab.filter.filter import match_in_two_layers
from rmqlab.protocol.subscription_data import build_subscription_data
from rmqlab.rules import client_keeps, is_matched_by_consume_queue


def subscribe(text, *, class_filter=False):
    data = build_subscription_data("G", "T", text)
    data.class_filter_mode = class_filter
    return data


@pytest.mark.row("S-15")
def test_case_counts():
    assert match_in_two_layers(subscribe("TagB"), "tagB") == (3552232, False, False)
    assert match_in_two_layers(subscribe("tagB"), "tagB").delivered


@pytest.mark.row("S-10")
@pytest.mark.parametrize("tag", ["Tag1", "Tag2", "Tag3", None])
def test_the_order_of_tags_does_not_matter(tag):
    one, other = subscribe("Tag1||Tag2"), subscribe("Tag2||Tag1")
    assert one.code_set == {2598903, 2598904}
    assert match_in_two_layers(one, tag) == match_in_two_layers(other, tag)
    assert one != other


@pytest.mark.row("F-50", "F-56")
def test_a_message_without_a_tag_has_code_0_and_is_filtered():
    assert match_in_two_layers(subscribe("TagA"), None) == (0, False, False)
    assert match_in_two_layers(subscribe("*"), None).delivered


@pytest.mark.row("F-56")
def test_a_code_that_could_not_be_read_passes():
    assert is_matched_by_consume_queue(subscribe("TagA"), None)


@pytest.mark.row("F-58")
def test_the_entrys_64_bits_are_narrowed_to_32():
    assert is_matched_by_consume_queue(subscribe("TagA"), 2598919 + (5 << 32))
    assert not is_matched_by_consume_queue(subscribe("TagA"), 2598920)


@pytest.mark.row("F-51", "F-52", "F-53")
@pytest.mark.parametrize(("wanted", "sent"), [("Aa", "BB"), ("AaAa", "BBBB")])
def test_the_broker_returns_what_collides_and_the_client_drops_it(wanted, sent):
    steps = match_in_two_layers(subscribe(wanted), sent)
    assert (steps.broker, steps.client) == (True, False)
    assert match_in_two_layers(subscribe(wanted), wanted).delivered


@pytest.mark.row("F-95")
@pytest.mark.parametrize(
    ("text", "tag", "kept"),
    [("a||b", "a", True), ("a||b", "c", False), ("a", None, False), ("*", None, True), ("*", "c", True)],
)
def test_the_clients_second_check(text, tag, kept):
    assert client_keeps(subscribe(text), tag) is kept


@pytest.mark.row("F-55", "F-95")
def test_class_mode_keeps_everything_in_both_steps():
    assert match_in_two_layers(subscribe("TagA", class_filter=True), "other").delivered


@given(st.text(), st.lists(st.text(min_size=1), min_size=1))
def test_step_one_never_drops_what_step_two_would_keep(tag, tags):
    subscription = subscribe("||".join([*tags, "x"]))
    steps = match_in_two_layers(subscription, tag)
    if steps.client and tag:
        assert steps.broker
