"""The broker on the bench, and what is measured on it: passages and calls."""

from __future__ import annotations

import pytest

from rmqlab.errors import BadInput
from rmqlab.filter.bloom import BloomFilter
from rmqlab.message.java import string_hash
from rmqlab.message.topics import SCHEDULE_TOPIC
from rmqlab.run.fates import Fate
from rmqlab_tools.show.funnels import Stage
from tests.proof.bloom.rates import counted, rates, theory
from tests.proof.call_trace import trace, traced_filtering
from tests.proof.filter_bench import EPOCH_MS, FilterBench, Switches

BOTH = Switches(calc_bit_map=True, queue_ext=True)


def ends(passage):
    return {step.name: step.fate for step in passage.steps}


@pytest.mark.row("F-50")
def test_an_entry_holds_offset_size_and_hash():
    bench = FilterBench()
    bench.send("m0", "TagA")
    bench.send("m1")
    first, second = bench.entry(0), bench.entry(1)
    assert len(first.raw) == 20
    assert (first.commit_log_offset, first.tags_code, first.unit) == (0, string_hash("TagA"), None)
    assert (second.commit_log_offset, second.tags_code) == (first.size, 0)
    with pytest.raises(BadInput, match="offset 2: queue 0 of SqlFilterTest has no entry there"):
        bench.entry(2)


@pytest.mark.row("F-50")
def test_a_delayed_message_has_its_time_in_the_place_of_the_hash():
    bench = FilterBench()
    assert bench.send("later", "TagA", delay_level=2) == -1
    entry = bench.entry(0, SCHEDULE_TOPIC, queue=1)
    assert entry.tags_code == EPOCH_MS + 5_000
    assert bench.sent == []


@pytest.mark.row("F-89")
def test_an_entry_with_a_unit_holds_its_address():
    bench = FilterBench(BOTH)
    bench.subscribe("G", "a > 5")
    bench.pass_time(1)
    bench.send("m0", "TagA", a="6")
    entry = bench.entry(0)
    assert entry.raw[12:] == bytes([0x80, *[0] * 7])
    assert (len(entry.unit_raw), entry.unit.tags_code) == (34, string_hash("TagA"))
    positions = bench.broker.consumer_filter_manager.bloom_filter.calc_bit_positions(f"G#{bench.topic}")
    bits = {bit for bit in range(112) if entry.unit.filter_bit_map[bit // 8] >> bit % 8 & 1}
    assert bits == set(positions)


@pytest.mark.row("F-53", "F-57", "F-58", "F-65")
def test_a_passage_follows_every_message_through_all_three_places():
    bench = FilterBench()
    bench.subscribe("T", "Aa", "TAG")
    bench.subscribe("S", "a > 5")
    for name, tag, a in (("m0", "Aa", "6"), ("m1", "BB", "5"), ("m2", None, "six")):
        bench.send(name, tag, a=a)
    assert ends(bench.passage("T")) == {
        "m0": Fate.DELIVERED,
        "m1": Fate.DROPPED_BY_CLIENT,
        "m2": Fate.DROPPED_BY_BROKER_TAG,
    }
    passage = bench.passage("S")
    assert ends(passage) == {
        "m0": Fate.DELIVERED,
        "m1": Fate.DROPPED_BY_BROKER_SQL,
        "m2": Fate.DROPPED_BY_BROKER_SQL,
    }
    assert [passage.reaches(stage) for stage in Stage] == [3, 3, 1]
    assert [step.name for step in passage.stops(Stage.LAYER_2)] == ["m1", "m2"]
    assert (passage.delivered, passage.steps[1].detail) == (["m0"], "BB, a=5")


def test_long_queues_are_pulled_to_their_end():
    bench = FilterBench()
    bench.subscribe("G", "a = 1")
    for number in range(200):
        bench.send(f"m{number}", a=str(number % 2))
    assert bench.passage("G").delivered == [f"m{number}" for number in range(1, 200, 2)]


def test_what_the_broker_refuses_is_said():
    bench = FilterBench(Switches(property_filter=False))
    bench.subscribe("G", "a > 5")
    bench.send("m0", a="6")
    with pytest.raises(BadInput, match="refused with code 1: The broker does not support consumer to filter message"):
        bench.passage("G")
    with pytest.raises(BadInput, match="group 'H' has not subscribed; those that have: G"):
        bench.passage("H")


@pytest.mark.row("F-76", "F-77")
def test_false_hits_are_as_theory_has_them():
    bloom = BloomFilter.create_by_fn(20, 32)
    assert (theory(bloom, 0), counted(bloom, 0)) == (0, 0)
    assert theory(bloom, 32) == pytest.approx(0.192, abs=0.001)
    for one in rates(bloom, (8, 16, 32, 64)):
        assert one.counted == pytest.approx(one.theory, abs=0.03)
    with pytest.raises(BadInput, match="groups is 3000; it must lie between 0 and 2000"):
        counted(bloom, 3_000)


@pytest.mark.row("F-33", "F-71", "F-72", "F-73", "F-83", "F-89")
def test_calls_are_traced_in_their_order():
    found = {which: [line for call in calls for line in call.lines()] for which, calls in traced_filtering().items()}
    assert found["registration"] == [
        "ClientManageProcessor.heart_beat",
        "  ConsumerManager.register_consumer",
        "    ConsumerGroupInfo.update_channel",
        "    ConsumerGroupInfo.update_subscription",
        "    ConsumerIdsChangeListener.handle CHANGE",
        "    ConsumerIdsChangeListener.handle REGISTER",
        "      ConsumerFilterManager.register",
        "        ConsumerFilterManager.register_topic",
        "          BloomFilter.generate",
        "          ConsumerFilterManager.build",
        "            ParseCache.compile",
    ]
    write = [line.strip() for line in found["write"]]
    assert write.index("BloomFilter.hash_to") < write.index("ConsumeQueueExt.put")
    assert found["pull"][-8:] == [
        "  MessageStore.get_message",
        "    ExpressionMessageFilter.is_matched_by_consume_queue",
        "      BloomFilter.is_hit",
        "    CommitLog.get_message",
        "    ExpressionMessageFilter.is_matched_by_commit_log",
        "      CompiledSql92.evaluate",
        "    ExpressionMessageFilter.is_matched_by_consume_queue",
        "      BloomFilter.is_hit",
    ]


def test_equal_neighbours_are_taken_together_and_an_error_leaves_no_trace():
    def inner():
        pass

    def outer():
        inner()
        inner()

    (call,) = trace(outer, [outer, inner])
    assert [line.strip().rpartition(".")[2] for line in call.lines()] == ["outer", "inner x2"]

    def fails():
        inner()
        raise ValueError

    with pytest.raises(ValueError):
        trace(fails, [inner])
