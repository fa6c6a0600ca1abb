"""SQL92 subscriptions through the whole broker: heartbeat, dispatch, pull, and both layers."""

from __future__ import annotations

import itertools

import pytest

from rmqlab.broker.broker_config import BrokerConfig
from rmqlab.protocol.codes import ResponseCode
from rmqlab.store.config import MessageStoreConfig

SWITCHES = list(itertools.product((False, True), repeat=2))


class Counting:
    """A compiled expression that counts how often it is asked."""

    def __init__(self, compiled):
        self.compiled = compiled
        self.asked = 0

    def evaluate(self, properties, /):
        self.asked += 1
        return self.compiled.evaluate(properties)


@pytest.mark.row("F-08", "F-09", "F-92")
def test_all_three_switches_are_off_by_default():
    assert not BrokerConfig().enable_property_filter
    assert not BrokerConfig().enable_calc_filter_bit_map
    assert not MessageStoreConfig().enable_consume_queue_ext


@pytest.mark.row("F-09", "F-47", "F-48", "F-49")
@pytest.mark.parametrize(("calc", "ext"), SWITCHES)
def test_the_bitmap_saves_evaluations_on_pull_and_never_changes_the_result(make_bench, bodies, calc, ext):
    bench = make_bench(
        config={"enable_property_filter": True, "enable_calc_filter_bit_map": calc},
        store_config={"enable_consume_queue_ext": ext},
    )
    bench.topic("T", 1)
    channel = bench.channel()
    bench.subscribe(channel, "G", {"T": "a > 5"}, version=1, kind="SQL92")
    counting = Counting(bench.broker.consumer_filter_manager.get("T", "G").compiled_expression)
    bench.broker.consumer_filter_manager.get("T", "G").compiled_expression = counting
    bench.pass_time(10)
    for i in range(10):
        bench.send("T", str(i).encode(), props={"a": str(i)})
    at_dispatch, counting.asked = counting.asked, 0
    answer = bench.pull(channel, "G", "T", version=1, kind="SQL92")
    assert bodies(answer) == [b"6", b"7", b"8", b"9"]
    assert at_dispatch == (10 if calc else 0)
    assert counting.asked == (4 if calc and ext else 10)
    stage = "bitmap" if calc and ext else "sql"
    assert [(fact["offset"], fact["stage"]) for fact in bench.seen("filtered")] == [(i, stage) for i in range(6)]


@pytest.mark.row("F-30", "F-32")
def test_a_heartbeat_fills_both_tables(make_bench):
    bench = make_bench(config={"enable_property_filter": True})
    bench.subscribe(bench.channel(), "G", {"T": "a > 5"}, version=7, kind="SQL92")
    bench.subscribe(bench.channel(), "H", {"T": "TagA || TagB"}, version=7)
    manager, filters = bench.broker.consumer_manager, bench.broker.consumer_filter_manager
    assert manager.find_subscription_data("G", "T").sub_string == "a > 5"
    assert manager.find_subscription_data("H", "T").code_set == {2598919, 2598920}
    assert str(filters.get("T", "G").compiled_expression) == "(a > 5)"
    assert filters.get("T", "H") is None


@pytest.mark.row("F-08")
def test_a_heartbeat_with_sql92_registers_although_the_switch_is_off(bench):
    channel = bench.channel()
    bench.topic("T", 1)
    bench.subscribe(channel, "G", {"T": "a > 5"}, version=7, kind="SQL92")
    assert bench.broker.consumer_filter_manager.get("T", "G") is not None
    answer = bench.pull(channel, "G", "T", version=7, kind="SQL92")
    assert answer.code == ResponseCode.SYSTEM_ERROR
    assert answer.remark == "The broker does not support consumer to filter message by SQL92"


@pytest.mark.row("F-43")
def test_a_wrong_expression_is_told_by_the_next_pull(make_bench):
    bench = make_bench(config={"enable_property_filter": True})
    bench.topic("T", 1)
    channel = bench.channel()
    bench.subscribe(channel, "G", {"T": "a > 5"}, version=1, kind="SQL92")
    bench.subscribe(channel, "G", {"T": "a >"}, version=2, kind="SQL92")
    answer = bench.pull(channel, "G", "T", version=2, kind="SQL92")
    assert answer.code == ResponseCode.FILTER_DATA_NOT_EXIST


@pytest.mark.row("F-90")
def test_the_filter_of_the_load_test(make_bench, bodies):
    bench = make_bench(config={"enable_property_filter": True})
    bench.topic("T", 1)
    channel = bench.channel()
    tags = ", ".join(f"'TAG{i}'" for i in range(1, 129))
    bench.subscribe(channel, "G", {"T": f"TAGS in ({tags})"}, version=1, kind="SQL92")
    for tag in ("TAG128", "TAG129"):
        bench.send("T", tag.encode(), tag=tag)
    assert bodies(bench.pull(channel, "G", "T", version=1, kind="SQL92")) == [b"TAG128"]


@pytest.mark.row("F-29", "F-36")
def test_a_group_that_leaves_and_returns_keeps_its_filter_data(make_bench):
    bench = make_bench(config={"enable_property_filter": True})
    channel = bench.channel()
    bench.subscribe(channel, "G", {"T": "a > 5"}, version=7, kind="SQL92")
    bench.pass_time(1)
    bench.broker.on_channel_close(channel, bench.now)
    data = bench.broker.consumer_filter_manager.get("T", "G")
    assert data.dead_time == bench.now
    bench.subscribe(bench.channel(), "G", {"T": "a > 5"}, version=7, kind="SQL92")
    assert data is bench.broker.consumer_filter_manager.get("T", "G")
    assert not data.is_dead()


@pytest.mark.row("F-70")
def test_entries_stay_small_because_the_tag_is_a_hash():
    assert MessageStoreConfig().mapped_file_size_consume_queue == 300_000 * 20
