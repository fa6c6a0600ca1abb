"""No healthy group is accused, and many groups are judged quickly."""

from __future__ import annotations

import time

from hypothesis import given, settings
from hypothesis import strategies as st

from rmqlab_tools.doctor.diagnosis import diagnose
from rmqlab_tools.doctor.finding import State
from tests.doctor.conftest import NOW, STARTED, M, look, passed

ALIKE = st.sampled_from(
    [
        ["*"],
        ["tagA"],
        ["tagA||tagB", "tagB||tagA", "tagA || tagB", " tagB||tagA||tagB "],
        ["SQL92:a > 3", "SQL92:3 < a", "SQL92:NOT (a <= 3)"],
        ["SQL92:TAGS IN ('x', 'y')", "SQL92:TAGS = 'y' OR TAGS = 'x'", "x||y"],
        ["AaAa||BBBB", "BBBB || AaAa"],
    ]
)
ON = {
    "enablePropertyFilter": "true", "enableCalcFilterBitMap": "false", "enableConsumeQueueExt": "false",
    "brokerPermission": "6", "maxErrorRateOfBloomFilter": "20", "expectConsumerNumUseFilter": "32",
}  # fmt: skip


@st.composite
def healthy_groups(draw):
    """Members that ask for the same by meaning, their queues owned once, versions of the past; twice looked at."""
    wishes = {topic: draw(ALIKE) for topic in draw(st.sampled_from([("T",), ("T", "U")]))}
    mode = draw(st.sampled_from(["CLUSTERING", "BROADCASTING"]))
    members = [
        M(
            f"10.0.0.{number}@{number}",
            {topic: draw(st.sampled_from(texts)) for topic, texts in wishes.items()},
            version=STARTED + draw(st.integers(-10_000_000, 3_000_000)),
            mode=mode,
            last_pull=NOW - draw(st.integers(0, 15_000)),
        )
        for number in range(draw(st.integers(1, 7)))
    ]
    size = {
        "queues": draw(st.integers(1, 9)),
        "topics": tuple(wishes),
        "brokers": draw(st.sampled_from([("broker-a",), ("broker-a", "broker-b")])),
        "settings": ON,
    }
    lag = draw(st.integers(0, 50))
    tags = draw(st.lists(st.sampled_from(["tagA", "tagB", "tagC", "x", "AaAa", "BBBB", None]), max_size=12))
    first = look(members, at=NOW - 10_000, committed=100, end=100 + lag, **size)
    second = look(members, committed=100 + len(tags), end=100 + len(tags) + lag, **size)
    second.since = first.at
    for topic in wishes:
        passed(second, tags, topic=topic)
    return first, second


@settings(max_examples=150, deadline=None)
@given(healthy_groups())
def test_no_healthy_group_is_accused(looks):
    first, second = looks
    for found in (diagnose(first), diagnose(second), diagnose(second, first)):
        (group,) = found.groups
        assert group.state in {State.HEALTHY, State.NOTE}, list(found.lines())
        assert found.status == 0


def test_a_thousand_groups_of_ten_take_a_few_seconds():
    texts = ["tagA||tagB", "tagB||tagA", "SQL92:a > 3", "tagC"]
    first, second = look(), look()
    for seen in (first, second):
        for number in range(1000):
            differing = number % 100 == 0
            wishes = [texts[place % 4] if differing else texts[number % 2] for place in range(10)]
            members = [M(f"{number}-{place}", {"T": wish}) for place, wish in enumerate(wishes)]
            one = passed(look(members, queues=16, group=f"G{number}"), ["tagA", "tagB"], group=f"G{number}")
            seen.groups[f"G{number}"] = one.groups[f"G{number}"]
            seen.topics["T"] = one.topics["T"]
    began = time.perf_counter()
    found = diagnose(second, first)
    took = time.perf_counter() - began
    assert [group.state for group in found.groups].count(State.LOSING) == 10
    assert took < 15, f"{took:.1f} s"
