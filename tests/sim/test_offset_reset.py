"""The step that resets a group's offsets, as 4.8.0's admin tool does it."""

from __future__ import annotations

from rmqlab.scenario.scenario import parse_scenario
from rmqlab.sim.cluster import default_settings
from rmqlab.sim.simulate import simulate

START = '{"do":"start","at":%d,"who":"%s","group":"%s","subscribe":{"T":{"type":"TAG","expr":"*"}}}'
SEND = '{"do":"send","at":%d,"topic":"T","messages":[{"body":"%s","queue":0}]}'
RESET = '{"do":"resetOffset","at":%d,"group":"%s","topic":"T","to":%d%s}'


def run(*steps):
    text = f'{{"id":"reset","topics":{{"T":1}},"steps":[{",".join(steps)}]}}'
    return simulate(parse_scenario(text), cluster=default_settings()).events


def bodies(events, who):
    return [event["body"] for event in events if event["ev"] == "consume" and event["who"] == who]


def test_a_group_that_nobody_has_seen_is_refused():
    events = run(SEND % (0, "m1"), RESET % (100, "G", -1, ""), START % (200, "A", "G"), SEND % (5_000, "m2"))
    refused = next(event for event in events if event["ev"] == "error")
    assert refused["error"] == "MQBrokerException"
    assert "THe consumer group <G_reset> not exist" in refused["message"]
    assert bodies(events, "A") == ["m1", "m2"]


def test_written_directly_it_begins_where_it_was_told():
    events = run(
        SEND % (0, "m1"), SEND % (1_000, "m2"), RESET % (2_000, "G", 900, ',"direct":true'), START % (2_100, "A", "G"),
        SEND % (5_000, "m3"),
    )  # fmt: skip
    assert next(event for event in events if event["ev"] == "offsetReset")["offsets"] == {"0": 1}
    assert bodies(events, "A") == ["m2", "m3"]


def test_with_nobody_online_the_offsets_are_written():
    stop = '{"do":"stop","at":9000,"who":"A"}'
    events = run(
        START % (0, "A", "G"), SEND % (3_000, "m1"), SEND % (4_000, "m2"), stop, RESET % (10_000, "G", 3_900, ""),
        START % (11_000, "B", "G"), SEND % (15_000, "m3"),
    )  # fmt: skip
    assert bodies(events, "A") == ["m1", "m2"]
    assert bodies(events, "B") == ["m2", "m3"]


def test_members_that_are_online_are_told_and_go_on_there():
    events = run(
        START % (0, "A", "G"), SEND % (3_000, "m1"), SEND % (4_000, "m2"), RESET % (12_000, "G", 3_900, ""),
        SEND % (40_000, "m3"),
    )  # fmt: skip
    assert bodies(events, "A") == ["m1", "m2", "m2", "m3"]


def test_between_two_messages_the_nearer_one_counts():
    """4.8.0 `ConsumeQueue.getOffsetInQueueByTime` takes the nearest, so a time may lead to an earlier message."""
    events = run(
        SEND % (0, "m1"), SEND % (1_000, "m2"), RESET % (2_000, "G", 200, ',"direct":true'), START % (2_100, "A", "G"),
        SEND % (5_000, "m3"),
    )  # fmt: skip
    assert bodies(events, "A") == ["m1", "m2", "m3"]


def test_the_end_of_each_queue():
    events = run(
        SEND % (0, "m1"), RESET % (1_000, "G", -1, ',"direct":true'), START % (2_000, "A", "G"), SEND % (5_000, "m2")
    )
    assert bodies(events, "A") == ["m2"]
