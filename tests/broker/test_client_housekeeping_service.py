"""Silent clients: when the broker looks, and what it does."""

from __future__ import annotations

import pytest

from rmqlab.broker.client_housekeeping_service import ClientHousekeepingService
from rmqlab.broker.processor import Timers
from rmqlab.protocol.codes import RequestCode
from rmqlab.protocol.consumer_headers import RegisterFilterServerRequestHeader
from rmqlab.protocol.heartbeat import HeartbeatData, ProducerData


class Manager:
    """Notes when it is asked to scan."""

    def __init__(self, name, scans):
        self.scan_not_active_channel = lambda now: scans.append((name, now))


@pytest.mark.row("H-40")
def test_the_scan_comes_10_s_after_the_start_and_every_10_s():
    timers, scans = Timers(0), []
    service = ClientHousekeepingService(timers, 10_000, Manager("producers", scans), Manager("consumers", scans))
    service.managers.append(Manager("filter servers", scans))
    timers.run(9_999)
    assert scans == []
    timers.run(30_000)
    names = ("producers", "consumers", "filter servers")
    assert scans == [(name, at) for at in (10_000, 20_000, 30_000) for name in names]


def test_the_broker_has_its_managers_in_this_order(bench):
    assert bench.broker.client_housekeeping_service.managers == [
        bench.broker.producer_manager, bench.broker.consumer_manager, bench.extras.filter_server_manager,
    ]  # fmt: skip


@pytest.mark.row("H-41")
def test_three_missed_beats_are_forgiven_and_the_fourth_is_not(bench):
    channel = bench.channel()
    bench.pass_time(9_999)
    bench.subscribe(channel, "G", {"T": "*"}, client="A")
    bench.pass_time(120_000)
    assert bench.broker.consumer_manager.get_consumer_group_info("G") is not None
    # The scan at 130 s finds it 120,001 ms old.
    bench.pass_time(1)
    assert bench.broker.consumer_manager.get_consumer_group_info("G") is None
    assert channel.is_closed


@pytest.mark.row("H-41", "H-42")
def test_a_consumer_120_seconds_old_at_the_scan_stays_until_the_next(bench):
    channel = bench.channel()
    bench.pass_time(10_000)
    bench.subscribe(channel, "G", {"T": "*"}, client="A")
    bench.pass_time(120_000)
    assert not channel.is_closed
    bench.pass_time(10_000)
    assert channel.is_closed
    assert bench.broker.consumer_manager.consumer_table == {}


@pytest.mark.row("H-40", "H-41")
def test_filter_servers_may_be_silent_for_30_s(bench):
    channel = bench.channel()
    manager = bench.extras.filter_server_manager
    header = RegisterFilterServerRequestHeader(filter_server_addr="127.0.0.1:30000")
    answer = bench.ask(channel, RequestCode.REGISTER_FILTER_SERVER, header)
    assert answer.all_ext_fields() == {"brokerName": "broker-a", "brokerId": "0"}
    manager.scan_not_active_channel(bench.now + 30_000)
    assert manager.filter_servers() == ["127.0.0.1:30000"]
    bench.pass_time(5_000)
    bench.ask(channel, RequestCode.REGISTER_FILTER_SERVER, header)
    manager.scan_not_active_channel(bench.now + 30_000)
    assert not channel.is_closed
    manager.scan_not_active_channel(bench.now + 30_001)
    assert manager.filter_servers() == []
    assert channel.is_closed


def test_a_filter_server_whose_connection_ends_is_forgotten(bench):
    channel = bench.channel()
    header = RegisterFilterServerRequestHeader(filter_server_addr="127.0.0.1:30000")
    bench.ask(channel, RequestCode.REGISTER_FILTER_SERVER, header)
    bench.broker.on_channel_close(channel, bench.now)
    assert bench.extras.filter_server_manager.filter_servers() == []


@pytest.mark.row("H-44")
def test_a_connection_that_ended_is_gone_from_everywhere(bench):
    channel = bench.channel()
    bench.subscribe(channel, "G", {"T": "*"}, client="A")
    data = HeartbeatData(client_id="A", producer_data_set=[ProducerData(group_name="PG")])
    bench.ask(channel, RequestCode.HEART_BEAT, None, data.encode())
    bench.broker.on_channel_close(channel, bench.now)
    assert bench.broker.consumer_manager.consumer_table == {}
    assert bench.broker.producer_manager.group_channel_table == {"PG": {}}
