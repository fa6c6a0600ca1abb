"""The broker on the bench, and what is measured on it: passages, switches, the life of filter data, calls."""

from __future__ import annotations

import pytest

from rmqlab.errors import BadInput
from rmqlab.filter.bloom import BloomFilter
from rmqlab.lab.bloom.rates import counted, rates, theory
from rmqlab.lab.fates import Fate
from rmqlab.lab.filter_funnel import Stage
from rmqlab.lab.filters.call_trace import trace, traced_filtering
from rmqlab.lab.filters.filter_bench import EPOCH_MS, FilterBench, Switches
from rmqlab.lab.filters.filter_life import FIRST, GROUP, SECOND, filter_life, ground_of
from rmqlab.lab.filters.late_group import LESSON
from rmqlab.lab.filters.switch_matrix import switch_matrix
from rmqlab.message.java import string_hash
from rmqlab.message.topics import SCHEDULE_TOPIC

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


@pytest.mark.row("F-08", "F-09", "F-48", "F-49", "F-92")
def test_the_switches_move_work_and_never_the_result():
    cells = switch_matrix(10)
    assert [(cell.at_write, cell.on_pull) for cell in cells] == [(0, 20), (0, 20), (20, 20), (20, 8)]
    assert [cell.dropped_by_layer_1 for cell in cells] == [0, 0, 0, 12]
    assert [cell.ext_bytes for cell in cells] == [0, 10 * 20, 0, 10 * 34]
    assert all(cell.delivered == cells[0].delivered for cell in cells)
    assert cells[0].delivered == {"CID_A": ["m6", "m7", "m8", "m9"], "CID_B": ["m0", "m3", "m6", "m9"]}
    assert cells[3].matching("m7") == {"CID_A": True, "CID_B": False}
    assert cells[3].evaluations == 28


@pytest.mark.row("F-29", "F-36", "F-43", "F-45", "F-46", "F-60")
def test_the_life_of_filter_data():
    life = filter_life()
    held = {moment.text: moment.held for moment in life.moments if not moment.message}
    texts = list(held)
    born, beat, anew, gone, back, loaded, again, _, removed = (held[text] for text in texts)
    assert (born.expression, born.born, born.dead) == (FIRST, 10_000, None)
    assert beat == born
    assert (anew.expression, anew.born, anew.version) == (SECOND, 30_000, 30_000)
    assert gone.dead == 40_000
    assert back == anew
    assert loaded.dead == 30_000  # half a minute before the restart, but not before it was born
    assert again == anew
    assert removed is None
    bits = {moment.message: moment.bit for moment in life.moments if moment.message}
    assert bits == {"m0": False, "m1": True, "m2": False, "m3": False, "m4": True, "m5": True}
    grounds = [(one.message, one.ground.partition(":")[0], one.end) for one in life.judged]
    assert grounds == [
        ("m0", "stored before the data was born", "arrives"),
        ("m1", "stored before the data was born", "stops at layer 2"),
        ("m2", "stored before the data was born", "stops at layer 2"),
        ("m3", "a bit of it is 0", "stops at layer 1"),
        ("m4", "all its bits are set", "arrives"),
    ]
    assert [one.passed for one in life.judged] == [True, True, True, False, True]


@pytest.mark.row("F-59", "F-60", "F-61")
def test_grounds_of_layer_1_agree_with_the_filter():
    bench = FilterBench(BOTH)
    bench.subscribe(GROUP, FIRST)
    data = bench.data_of(GROUP)
    assert ground_of(None, None, lambda _: True) == "no filter data: passes"
    assert ground_of(data, None, lambda _: True) == "no unit in the extension: passes"
    bench.pass_time(1)
    bench.send("m0", a="1")
    unit = bench.entry(0).unit
    unit.filter_bit_map = unit.filter_bit_map[1:]
    assert ground_of(data, unit, lambda _: False) == "no bitmap of the right length: passes"


@pytest.mark.row("F-60")
def test_a_group_that_comes_late_is_not_judged_by_old_bits():
    by_tag, by_sql = LESSON.passages()
    assert [str(step.stage) for step in by_sql.steps] == ["layer 2", "None", "None", "layer 1", "None", "layer 1"]
    assert [str(step.stage) for step in by_tag.steps] == ["None", "client", "None", "layer 1", "None", "layer 1"]


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
