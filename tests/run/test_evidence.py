"""Evidence: facts in words, and the way of a message."""

from __future__ import annotations

import pytest

from rmqlab.errors import BadInput
from rmqlab.events import Event, SubscriptionChanged
from rmqlab.run.run_view import RunView, ranges, seconds, short
from rmqlab_tools.course.articles.eight_messages import EightMessages
from rmqlab_tools.show.evidence import line, message_trail


@pytest.fixture(scope="module")
def reading():
    return RunView(EightMessages().run())


def texts(reading, body):
    return [one.text for one in message_trail(reading, body)]


@pytest.mark.row("S-51", "S-55")
def test_way_of_a_message_that_the_broker_drops(reading):
    way = texts(reading, "MsgStr2")
    queue = f"{reading.topic} queue 0"
    assert way[0] == "the broker stores MsgStr2 (tagA): queue 0, offset 0"
    assert f"the broker drops offset 0 of {queue} for A: the tags code of its queue entry against tagB" in way
    assert way[-1] == f"A commits offset 1 of {queue} for group {reading.group}"


@pytest.mark.row("S-82", "S-83")
def test_way_of_a_message_that_the_client_drops(reading):
    way, queue = texts(reading, "MsgStr6"), f"{reading.topic} queue 0"
    pulled = way.index(f"the broker gets A's pull of {queue} from offset 1 and answers SUCCESS, 1 message")
    dropped = way.index(f"A drops offset 1 of {queue} itself: tag tagB, but it asked tagA")
    assert pulled < dropped < way.index(f"A commits offset 2 of {queue} for group {reading.group}")


def test_way_of_a_message_that_arrives(reading):
    assert any(text.startswith("B's listener takes MsgStr4 (") for text in texts(reading, "MsgStr4"))


def test_versions_are_told_by_the_clock_of_the_run(reading):
    told = [line(fact, reading).text for fact in reading.facts(SubscriptionChanged)]
    assert (
        f"the broker now holds for group {reading.group}, topic {reading.topic}: TAG tagB, version 60.012 s (from B)"
        in told
    )


def test_way_is_in_order_of_time(reading):
    for fate in reading.fates:
        times = [one.t for one in message_trail(reading, fate.body)]
        assert times == sorted(times)


def test_unknown_message_is_named(reading):
    with pytest.raises(BadInput, match=r"no message 'MsgStr9'.*MsgStr0, MsgStr1"):
        message_trail(reading, "MsgStr9")


def test_every_kind_of_fact_has_words(reading):
    plain = {
        fact.event.kind: line(fact, reading).text
        for fact in reading.facts(Event)
        if not fact.event.kind.startswith("heartbeat")
    }
    named = {
        "subscription", "notify", "pull", "filtered", "client_filtered", "consume", "pull_result", "correct_offset",
        "commit", "rebalance", "restamp",
    }  # fmt: skip
    assert named <= set(plain)
    assert not [kind for kind in named if f": {kind} " in plain[kind]]


def test_reading_of_a_group_that_is_not_there(reading):
    with pytest.raises(BadInput, match="'OTHER'"):
        RunView(reading.run, group="OTHER")


def test_numbers_and_texts_for_people():
    assert [seconds(ms) for ms in (0, 12.04, 999.9, 1_500, 60_014)] == [
        "0 ms",
        "12 ms",
        "999.9 ms",
        "1.500 s",
        "60.014 s",
    ]
    assert [ranges(numbers) for numbers in ([], [2], [1, 0], range(9), [0, 1, 5])] == [
        "",
        "2",
        "0, 1",
        "0-8",
        "0, 1, 5",
    ]
    assert [short(text) for text in ("tagA", "tagA || tagB")] == ["tagA", "tagA || ta…"]
