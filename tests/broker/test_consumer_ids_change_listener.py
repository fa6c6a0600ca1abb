"""What follows when a group changes."""

from __future__ import annotations

import pytest

from rmqlab.broker.consumer_ids_change_listener import ConsumerGroupEvent, UnknownEvent
from rmqlab.filter.filter_api import build
from rmqlab.protocol.codes import RequestCode


@pytest.mark.row("F-34")
def test_no_event_does_nothing(bench):
    bench.broker.consumer_ids_change_listener.handle(None, "G", [bench.channel()])
    assert bench.seen("notify") == []


@pytest.mark.row("F-35")
@pytest.mark.parametrize("enabled", [True, False])
def test_a_change_notifies_every_member_one_way_with_code_40(make_bench, enabled):
    bench = make_bench(config={"notify_consumer_ids_changed_enable": enabled})
    channels = [bench.channel(), bench.channel()]
    bench.broker.consumer_ids_change_listener.handle(ConsumerGroupEvent.CHANGE, "G", channels)
    for channel in channels:
        sent = [(command.code, command.is_oneway, command.header.consumer_group) for command in channel.sent]
        assert sent == ([(RequestCode.NOTIFY_CONSUMER_IDS_CHANGED, True, "G")] if enabled else [])


@pytest.mark.row("F-35", "F-37")
@pytest.mark.parametrize("event", [ConsumerGroupEvent.CHANGE, ConsumerGroupEvent.REGISTER])
def test_without_a_list_nothing_happens(bench, event):
    listener = bench.broker.consumer_ids_change_listener
    listener.handle(event, "G")
    if event is ConsumerGroupEvent.CHANGE:
        listener.handle(event, "G", None)
    assert bench.seen("notify") == []
    assert bench.broker.consumer_filter_manager.filter_data_by_topic == {}


@pytest.mark.row("F-36", "F-37")
def test_registering_and_unregistering_reach_the_filter_data(bench):
    listener, filters = bench.broker.consumer_ids_change_listener, bench.broker.consumer_filter_manager
    listener.handle(ConsumerGroupEvent.REGISTER, "G", [build("T", "a > 5", "SQL92", 1)])
    assert not filters.get("T", "G").is_dead()
    bench.pass_time(5)
    listener.handle(ConsumerGroupEvent.UNREGISTER, "G")
    assert filters.get("T", "G").is_dead()


@pytest.mark.row("F-38")
def test_there_are_three_events_and_any_other_is_an_error(bench):
    assert {event.name for event in ConsumerGroupEvent} == {"CHANGE", "UNREGISTER", "REGISTER"}
    with pytest.raises(UnknownEvent, match="Unknown event"):
        bench.broker.consumer_ids_change_listener.handle("other", "G", [])
