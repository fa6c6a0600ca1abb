"""Who is told what: every cause by itself, and the packets of quiet minutes."""

from __future__ import annotations

import pytest

from rmqlab.lab.groups.beat_traffic import beat_traffic
from rmqlab.lab.groups.heartbeat_trace import heartbeat_way
from rmqlab.lab.groups.notices import notices
from rmqlab.protocol.codes import RequestCode


@pytest.fixture(scope="module")
def found():
    return {one.cause: one for one in notices()}


@pytest.mark.row("H-29", "H-30", "H-35", "H-43", "H-44", "H-45")
def test_who_is_told_at_once(found):
    assert {cause: one.at_once for cause, one in found.items()} == {
        "nothing: the same heartbeats again": [],
        "a member joins": ["A", "B", "C"],
        "a member joins, notifyConsumerIdsChangedEnable=false": [],
        "A subscribes a third topic": ["A", "B"],
        "A subscribes another tag": [],
        "A unsubscribes a topic": [],
        "A stops in good order": ["B"],
        "A's connection breaks": ["B"],
        "A falls silent": [],
    }


def test_silent_changes(found):
    silent = {cause for cause, one in found.items() if not one.at_once and (one.slot_changed or one.rebalanced_ms)}
    assert silent == {
        "a member joins, notifyConsumerIdsChangedEnable=false",
        "A subscribes another tag",
        "A unsubscribes a topic",
        "A falls silent",
    }
    assert found["A subscribes another tag"].slot_changed
    assert found["A falls silent"].rebalanced_ms > 100_000


@pytest.mark.row("H-35", "H-38")
def test_members_that_disagree_about_topics_are_told_again_and_again(found):
    again = [ms for _, ms in found["A subscribes a third topic"].told if ms > 2_000]
    assert len(again) >= 8
    assert found["nothing: the same heartbeats again"].told == []


@pytest.mark.row("H-02", "H-12", "H-14", "H-50")
def test_quiet_minutes():
    traffic = beat_traffic(4)
    beats = {ends[:2]: count for ends, count in traffic.requests.items() if ends[2] == RequestCode.HEART_BEAT}
    assert set(beats) == {("A", "broker"), ("P", "broker")}  # nobody beats to the name server
    assert all(count in range(8, 14) for count in beats.values())
    assert traffic.requests["broker", "name server", RequestCode.REGISTER_BROKER] in range(8, 13)
    assert not [ends for ends in traffic.requests if ends[0] == "name server"]
    assert {key[0]: key[1:] for key in traffic.packets if key[0] == "A"} == {"A": (1, 1)}
    assert traffic.packet["clientID"].endswith("@A_quiet")
    assert traffic.size > len(traffic.packet)


@pytest.mark.row("H-03")
def test_the_way_of_a_heartbeat_is_what_was_called():
    way = heartbeat_way()
    assert set(way) == {"prepare", "heart beat", "wake up", "scan"}
    called = [line.strip() for line in way["heart beat"].lines()]
    order = [
        next(number for number, line in enumerate(called) if name in line)
        for name in ("register_consumer", "update_channel", "update_subscription", "notify_consumer_ids_changed")
    ]
    assert order == sorted(order)
    assert [call.name.partition(".")[0] for call in way["scan"].calls] == [
        "ProducerManager", "ConsumerManager", "FilterServerManager",
    ]  # fmt: skip
