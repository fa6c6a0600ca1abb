"""Producers that come and go."""

from __future__ import annotations

import pytest

from rmqlab.broker.client_housekeeping_service import ClientChannelInfo
from rmqlab.protocol.codes import RequestCode
from rmqlab.protocol.consumer_headers import UnregisterClientRequestHeader
from rmqlab.protocol.heartbeat import HeartbeatData, ProducerData


def beat(bench, channel, *groups, client="P"):
    data = HeartbeatData(client_id=client, producer_data_set=[ProducerData(group_name=group) for group in groups])
    return bench.ask(channel, RequestCode.HEART_BEAT, None, data.encode())


@pytest.mark.row("H-27", "H-28")
def test_a_new_connection_is_put_into_both_tables(bench):
    channel, manager = bench.channel(), bench.broker.producer_manager
    beat(bench, channel, "PG", "QG")
    assert list(manager.group_channel_table) == ["PG", "QG"]
    assert list(manager.group_channel_table["PG"]) == [channel]
    assert manager.client_channel_table == {"P": channel}
    assert manager.find_channel("P") is channel
    assert manager.find_channel("Q") is None


@pytest.mark.row("H-28")
def test_a_known_connection_is_refreshed_and_keeps_its_entry(bench):
    channel, manager = bench.channel(), bench.broker.producer_manager
    beat(bench, channel, "PG")
    first = manager.group_channel_table["PG"][channel]
    bench.pass_time(30_000)
    beat(bench, channel, "PG", client="other")
    assert manager.group_channel_table["PG"][channel] is first
    assert first.last_update_timestamp == bench.now
    assert manager.client_channel_table == {"P": channel}


@pytest.mark.row("H-28")
def test_a_second_producer_joins_the_group(bench):
    manager = bench.broker.producer_manager
    channels = [bench.channel(), bench.channel()]
    for channel, name in zip(channels, "PQ", strict=True):
        beat(bench, channel, "PG", client=name)
    assert list(manager.group_channel_table["PG"]) == channels


def test_a_goodbye_takes_the_group_along_with_its_last_member(bench):
    channels = [bench.channel(), bench.channel()]
    for channel, name in zip(channels, "PQ", strict=True):
        beat(bench, channel, "PG", client=name)
    manager = bench.broker.producer_manager
    for channel, name, left in ((channels[0], "P", 1), (channels[1], "Q", 0)):
        header = UnregisterClientRequestHeader(client_id=name, producer_group="PG")
        bench.ask(channel, RequestCode.UNREGISTER_CLIENT, header)
        assert len(manager.group_channel_table.get("PG", ())) == left
    assert manager.group_channel_table == {}
    assert manager.client_channel_table == {}
    bench.ask(channels[0], RequestCode.UNREGISTER_CLIENT, header)
    assert [fact["client"] for fact in bench.seen("unregister")] == ["P", "Q"]


@pytest.mark.row("H-42")
def test_a_scan_forgets_first_and_closes_after_and_the_empty_group_stays(bench):
    channel, manager = bench.channel(), bench.broker.producer_manager
    beat(bench, channel, "PG")
    known_at_close = []
    group = manager.group_channel_table["PG"]
    channel.close = lambda: known_at_close.append((channel in group, manager.find_channel("P")))
    manager.scan_not_active_channel(bench.now + 120_001)
    assert known_at_close == [(False, None)]
    assert manager.group_channel_table == {"PG": {}}


@pytest.mark.row("H-41")
def test_a_producer_may_be_silent_for_120_seconds_exactly(bench):
    channel, manager = bench.channel(), bench.broker.producer_manager
    beat(bench, channel, "PG")
    manager.scan_not_active_channel(bench.now + 120_000)
    assert list(manager.group_channel_table["PG"]) == [channel]
    manager.scan_not_active_channel(bench.now + 120_001)
    assert manager.group_channel_table["PG"] == {}


def test_a_closed_connection_is_forgotten_and_the_empty_group_stays(bench):
    channel = bench.channel()
    beat(bench, channel, "PG")
    bench.broker.on_channel_close(channel, bench.now)
    assert bench.broker.producer_manager.group_channel_table == {"PG": {}}
    assert bench.broker.producer_manager.client_channel_table == {}


def test_members_are_asked_in_turn(bench):
    manager = bench.broker.producer_manager
    channels = [bench.channel() for _ in range(3)]
    for index, channel in enumerate(channels):
        manager.register_producer("PG", ClientChannelInfo(channel, f"P{index}", "JAVA", 373, bench.now), bench.now)
    asked = [channels.index(manager.get_available_channel("PG")) for _ in range(6)]
    assert asked == [1, 2, 0, 1, 2, 0]
    assert manager.get_available_channel(None) is None
    assert manager.get_available_channel("unknown") is None
