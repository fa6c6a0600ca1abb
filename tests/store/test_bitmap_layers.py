"""The two switches of the bitmap: computed at dispatch (`enableCalcFilterBitMap`), kept (`enableConsumeQueueExt`)."""

from __future__ import annotations

import gzip
import json

import pytest

from rmqlab.broker.broker_config import BrokerConfig
from rmqlab.broker.consumer_filter_manager import CommitLogDispatcherCalcBitMap, ConsumerFilterManager
from rmqlab.broker.processor import Timers
from rmqlab.filter.message_filter import ExpressionMessageFilter
from rmqlab.protocol.subscription_data import SubscriptionData
from rmqlab.store.consume_queue_ext import CqExtUnit

NOW = 1_609_459_200_000
STAGES = {
    # (computed, kept): which layer rejects the message that does not match
    (False, False): "commit_log",
    (True, False): "commit_log",
    (False, True): "commit_log",
    (True, True): "consume_queue",
}


@pytest.fixture
def scene(make_store, message):
    def build(*, computed, kept, group_first=True):
        store = make_store(enable_consume_queue_ext=kept)
        config = BrokerConfig(enable_calc_filter_bit_map=computed)
        timers = Timers(NOW)
        manager = ConsumerFilterManager(config, store.config, timers)
        store.dispatchers.insert(0, CommitLogDispatcherCalcBitMap(config, manager).dispatch)
        heard = []
        store.message_arriving = heard.append
        subscription = SubscriptionData("T", "a > 5", expression_type="SQL92", sub_version=1)
        if group_first:
            manager.register("g", [subscription])
        for index, value in enumerate(("3", "7")):
            store.put_message(message(properties={"a": value}), NOW + 1 + index)
        timers.now = NOW + 10
        manager.register("g", [subscription])
        return store, ExpressionMessageFilter(subscription, manager.get("T", "g"), manager), heard

    return build


@pytest.mark.row("F-49")
@pytest.mark.parametrize(("computed", "kept"), STAGES)
def test_which_layer_rejects(scene, computed, kept):
    store, message_filter, heard = scene(computed=computed, kept=kept)
    rejected = []
    result = store.get_message("g", "T", 0, 0, 32, message_filter, lambda *what: rejected.append(what))
    assert rejected == [(0, STAGES[computed, kept])]
    assert len(result.messages) == 1
    assert result.next_begin_offset == 2
    # a held pull is woken by what the dispatcher computed, whether it was kept or not
    woken = [
        message_filter.is_matched_by_consume_queue(
            one.tags_code, CqExtUnit(one.tags_code, one.store_timestamp, one.bit_map)
        )
        for one in heard
    ]
    assert woken == [not computed, True]


@pytest.mark.row("F-49")
@pytest.mark.parametrize(("computed", "kept"), STAGES)
def test_entries_hold_addresses_only_when_units_are_kept(scene, computed, kept):
    store, _, _ = scene(computed=computed, kept=kept)
    queue = store.find_consume_queue("T", 0)
    if not kept:
        assert queue.consume_queue_ext is None
        assert queue.get_index_buffer(0, 20)[12:] == bytes(8)
        return
    unit = queue.get_ext(-(1 << 63))
    assert unit.msg_store_time == NOW + 1
    assert (unit.filter_bit_map is not None) == computed


def test_messages_older_than_the_group_pass_layer_1(scene):
    store, message_filter, _ = scene(computed=True, kept=True, group_first=False)
    rejected = []
    store.get_message("g", "T", 0, 0, 32, message_filter, lambda *what: rejected.append(what))
    assert rejected == [(0, "commit_log")]


def registrations(folder):
    """When which group of a recording subscribed with which expression: (epoch ms, topic, group, type, expression)."""
    lines = gzip.decompress((folder / "events.jsonl.gz").read_bytes()).splitlines()
    events = [json.loads(line) for line in lines]
    scenarios = {event["id"]: event for event in events if event["ev"] == "scenario"}
    found = []
    for event in events:
        if event["ev"] == "started":
            scenario, name = scenarios[event["id"]], event["id"]
            (start,) = [
                step
                for step in scenario["scenario"]["steps"]
                if step.get("who") == event["who"] and step["do"] == "start"
            ]
            for topic, asked in start["subscribe"].items():
                time = scenario["epochMs"] + event["t"]
                found.append((time, f"{topic}_{name}", f"{start['group']}_{name}", asked["type"], asked["expr"]))
    return sorted(found)


@pytest.mark.row("F-89")
def test_bitmaps_computed_at_dispatch_are_the_recorded_ones(recorded, logic_files, golden):
    real, waiting = recorded("bitmap"), registrations(golden / "broker-4.8.0" / "bitmap")
    assert len(waiting) > 6

    def calculate(store):
        config = BrokerConfig(enable_calc_filter_bit_map=True)
        timers = Timers(0)
        manager = ConsumerFilterManager(config, store.config, timers)
        dispatcher = CommitLogDispatcherCalcBitMap(config, manager)

        def dispatch(request):
            while waiting and waiting[0][0] <= request.store_timestamp:
                timers.now, topic, group, kind, expression = waiting.pop(0)
                manager.register_topic(topic, group, expression, kind, timers.now)
            dispatcher.dispatch(request)

        store.dispatchers.insert(0, dispatch)

    entries, units = logic_files(real.rebuild(calculate))
    assert entries == real.under("consumequeue")
    assert units == real.under("consumequeue_ext")
