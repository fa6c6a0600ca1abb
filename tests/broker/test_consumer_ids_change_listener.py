"""What follows when a group changes."""

from __future__ import annotations

from itertools import count

import pytest

from rmqlab.broker.broker_config import BrokerConfig
from rmqlab.broker.consumer_filter_manager import ConsumerFilterManager
from rmqlab.broker.consumer_manager import ConsumerGroupEvent, ConsumerIdsChangeListener
from rmqlab.broker.processor import Broker2Client, BrokerHooks, Timers
from rmqlab.protocol.codes import RequestCode
from rmqlab.protocol.subscription_data import build_subscription
from rmqlab.store.config import MessageStoreConfig

PORTS = count(50_000)


class Member:
    """A connection that keeps what it was sent."""

    def __init__(self):
        self.remote_address = f"127.0.0.1:{next(PORTS)}"
        self.sent = []
        self.send = self.sent.append


class Group:
    """A listener, the filters it keeps in step, and what it told."""

    def __init__(self, **config):
        self.timers, self.events = Timers(1_000), []
        self.filters = ConsumerFilterManager(BrokerConfig(), MessageStoreConfig(), self.timers)
        hooks = BrokerHooks(self.events.append)
        broker2client = Broker2Client(self.timers)
        self.listener = ConsumerIdsChangeListener(BrokerConfig(**config), self.filters, broker2client, hooks)


@pytest.mark.row("F-34")
def test_no_event_does_nothing():
    group, member = Group(), Member()
    group.listener.handle(None, "G", [member])
    assert (group.events, member.sent) == ([], [])


@pytest.mark.row("F-35")
@pytest.mark.parametrize("enabled", [True, False])
def test_a_change_notifies_every_member_one_way_with_code_40(enabled):
    group, members = Group(notify_consumer_ids_changed_enable=enabled), [Member(), Member()]
    group.listener.handle(ConsumerGroupEvent.CHANGE, "G", members)
    for member in members:
        sent = [(command.code, command.is_oneway, command.header.consumer_group) for command in member.sent]
        assert sent == ([(RequestCode.NOTIFY_CONSUMER_IDS_CHANGED, True, "G")] if enabled else [])


@pytest.mark.row("F-35", "F-37")
@pytest.mark.parametrize("event", [ConsumerGroupEvent.CHANGE, ConsumerGroupEvent.REGISTER])
def test_without_a_list_nothing_happens(event):
    group = Group()
    group.listener.handle(event, "G")
    assert group.events == []
    assert group.filters.filter_data_by_topic == {}


@pytest.mark.row("F-36", "F-37")
def test_registering_and_unregistering_reach_the_filter_data():
    group = Group()
    group.listener.handle(
        ConsumerGroupEvent.REGISTER, "G", subscriptions=[build_subscription("T", "a > 5", "SQL92", 1)]
    )
    assert not group.filters.get("T", "G").is_dead()
    group.timers.now += 5
    group.listener.handle(ConsumerGroupEvent.UNREGISTER, "G")
    assert group.filters.get("T", "G").is_dead()


@pytest.mark.row("F-38")
def test_there_are_three_events():
    assert {event.name for event in ConsumerGroupEvent} == {"CHANGE", "UNREGISTER", "REGISTER"}
