"""What 4.8.0's admin tool says of a group's subscriptions."""

from __future__ import annotations

import pytest

from rmqlab.protocol.subscription_data import build_subscription
from rmqlab_tools.search.consistency import RunningConsumer, analyze_subscription

TWO_MINUTES = 120_000


def member(*asked, push=True, started=0, version=0):
    return RunningConsumer(push, started, [build_subscription(topic, text, "TAG", version) for topic, text in asked])


A, B = member(("T", "tagA")), member(("T", "tagB"))


@pytest.mark.row("S-94")
def test_the_tool_is_silent_for_two_minutes_and_then_tells_tags_apart():
    # As recorded: asked within two minutes, consumerStatus called tagA and tagB the same subscription.
    assert analyze_subscription({"1@A": A, "1@B": B}, TWO_MINUTES)
    assert not analyze_subscription({"1@A": A, "1@B": B}, TWO_MINUTES + 1)


@pytest.mark.row("S-94")
def test_only_the_lowest_client_id_decides_whether_it_looks():
    young = member(("T", "tagB"), started=TWO_MINUTES)
    assert not analyze_subscription({"1@A": A, "1@B": young}, TWO_MINUTES + 1)
    assert analyze_subscription({"1@A": young, "1@B": A}, TWO_MINUTES + 1)
    assert analyze_subscription({"1@A": member(("T", "tagA"), push=False), "1@B": B}, TWO_MINUTES + 1)


def test_versions_do_not_count_but_the_text_does():
    later = member(("T", "tagA"), version=99)
    assert analyze_subscription({"1@A": A, "1@B": later}, TWO_MINUTES + 1)
    one, other = member(("T", "a||b")), member(("T", "b||a"))
    assert not analyze_subscription({"1@A": one, "1@B": other}, TWO_MINUTES + 1)
    assert not analyze_subscription({"1@A": member(), "1@B": member()}, TWO_MINUTES + 1)
    with pytest.raises(ValueError, match="no members"):
        analyze_subscription({}, 0)
