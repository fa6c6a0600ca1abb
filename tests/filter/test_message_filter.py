"""Both layers, with every corner in which they let pass or drop what they cannot judge."""

from __future__ import annotations

from typing import NamedTuple

import pytest

from rmqlab.filter.bloom import BitsArray, BitsError, BloomFilter, BloomFilterData
from rmqlab.filter.message_filter import (
    ConsumerFilterData,
    ExpressionForRetryMessageFilter,
    ExpressionMessageFilter,
)
from rmqlab.filter.sql92 import compile_sql92
from rmqlab.filter.sql92.errors import JavaError
from rmqlab.message.message import Host, MessageExt
from rmqlab.message.record import encode_record
from rmqlab.protocol.subscription_data import build_subscription

BLOOM = BloomFilter.create_by_fn(20, 32)
NOTHING, EVERYTHING = bytes(14), b"\xff" * 14


class Unit(NamedTuple):
    """An extension unit stored after the group was born (at 100)."""

    filter_bit_map: bytes | None
    msg_store_time: int = 101


class Manager(NamedTuple):
    """The broker's filter data: one entry a (topic, group)."""

    table: dict = {}  # noqa: RUF012 - never changed
    bloom_filter: BloomFilter = BLOOM

    def get(self, topic, group, /):
        return self.table.get((topic, group))


def filter_data(text="a > 5", **changes):
    fields = {
        "consumer_group": "G",
        "topic": "T",
        "expression": text,
        "expression_type": "SQL92",
        "compiled_expression": compile_sql92(text),
        "born_time": 100,
        "bloom_filter_data": BLOOM.generate("G#T"),
    }
    return ConsumerFilterData(**(fields | changes))


def sql(data, *, kind=ExpressionMessageFilter, manager=None):
    return kind(build_subscription("T", "a > 5", "SQL92"), data, manager or Manager())


def record_of(properties):
    host = Host("10.0.0.1", 10911)
    return encode_record(MessageExt("T", b"body", properties=properties, born_host=host, store_host=host))


@pytest.mark.row("F-54", "F-64")
def test_without_a_subscription_everything_passes():
    asked = ExpressionMessageFilter(None)
    assert asked.is_matched_by_consume_queue(1)
    assert asked.is_matched_by_commit_log(None, {})


@pytest.mark.row("F-01", "F-55", "F-64")
@pytest.mark.parametrize("kind", ["TAG", "SQL92"])
def test_in_class_mode_everything_passes(kind):
    subscription = build_subscription("T", "a > 5", kind)
    subscription.class_filter_mode = True
    asked = ExpressionMessageFilter(subscription, filter_data(), Manager())
    assert asked.is_matched_by_consume_queue(1, Unit(NOTHING))
    assert asked.is_matched_by_commit_log(None, {})


@pytest.mark.row("F-56", "F-57", "F-58")
@pytest.mark.parametrize(
    ("text", "code", "passes"),
    [("TagA", None, True), ("*", 5, True), ("TagA", 2598919, True), ("TagA", 0, False), (" || ", 0, False)],
)
def test_layer_one_by_tag(text, code, passes):
    assert ExpressionMessageFilter(build_subscription("T", text, "TAG")).is_matched_by_consume_queue(code) is passes


@pytest.mark.row("F-53", "F-64")
def test_layer_two_does_not_look_at_tags():
    assert ExpressionMessageFilter(build_subscription("T", "TagA", "TAG")).is_matched_by_commit_log(
        None, {"TAGS": "other"}
    )


@pytest.mark.row("F-59")
@pytest.mark.parametrize(
    "data",
    [
        None,
        filter_data(expression=None),
        filter_data(compiled_expression=None),
        filter_data(bloom_filter_data=None),
    ],
)
def test_layer_one_passes_without_usable_filter_data(data):
    assert sql(data).is_matched_by_consume_queue(0, Unit(NOTHING))


@pytest.mark.row("F-60")
@pytest.mark.parametrize(("unit", "passes"), [(None, True), (Unit(NOTHING, 99), True), (Unit(NOTHING, 100), True)])
def test_layer_one_passes_what_was_stored_before_the_group_was_born(unit, passes):
    assert sql(filter_data()).is_matched_by_consume_queue(0, unit) is passes
    assert not sql(filter_data()).is_matched_by_consume_queue(0, Unit(NOTHING, 101))


@pytest.mark.row("F-61")
@pytest.mark.parametrize(
    ("data", "bitmap"),
    [
        (filter_data(), None),
        (filter_data(bloom_filter_data=BloomFilterData([1, 2], 112)), NOTHING),
        (filter_data(), bytes(13)),
    ],
)
def test_layer_one_passes_when_bitmap_and_bloom_data_do_not_fit(data, bitmap):
    assert sql(data).is_matched_by_consume_queue(0, Unit(bitmap))


@pytest.mark.row("F-62")
def test_layer_one_drops_only_when_a_bit_is_missing():
    bitmap = bytearray(EVERYTHING)
    assert sql(filter_data()).is_matched_by_consume_queue(0, Unit(bytes(bitmap)))
    position = BLOOM.calc_bit_positions("G#T")[1]
    bitmap[position // 8] &= ~(1 << position % 8)
    assert not sql(filter_data()).is_matched_by_consume_queue(0, Unit(bytes(bitmap)))


@pytest.mark.row("F-63")
def test_layer_one_passes_when_it_breaks():
    asked = sql(filter_data(bloom_filter_data=BloomFilterData([1, 2, 500], 112)))
    assert asked.is_matched_by_consume_queue(0, Unit(NOTHING))
    with pytest.raises(BitsError, match="BitPos is greater than 112"):
        BLOOM.is_hit(BloomFilterData([1, 2, 500], 112), BitsArray.from_bytes(NOTHING))


@pytest.mark.row("F-64")
@pytest.mark.parametrize("data", [None, filter_data(expression=None), filter_data(compiled_expression=None)])
def test_layer_two_passes_without_filter_data(data):
    assert sql(data).is_matched_by_commit_log(None, {})


@pytest.mark.row("F-65", "F-68")
@pytest.mark.parametrize(
    ("text", "properties", "passes"),
    [
        ("a > 5", {"a": "6"}, True),
        ("a > 5", {"a": "5"}, False),
        ("a > 5", {}, False),
        ("a > 5", {"a": "5.5"}, False),
        ("NOT a = 'x'", {"a": "y"}, False),
        ("NULL", {}, False),
        ("a IS NULL", {}, True),
    ],
)
def test_layer_two_passes_only_true(text, properties, passes):
    asked = sql(filter_data(text))
    assert asked.is_matched_by_commit_log(None, properties) is passes
    assert asked.is_matched_by_commit_log(record_of(properties)) is passes


@pytest.mark.row("F-65")
def test_layer_two_drops_when_the_evaluation_throws():
    data = filter_data()
    assert not sql(data).is_matched_by_commit_log(None, {"a": "x"})
    with pytest.raises(JavaError, match="NumberFormatException"):
        data.compiled_expression.evaluate({"a": "x"})


@pytest.mark.row("F-65", "F-68")
def test_given_properties_are_preferred_to_the_record():
    assert not sql(filter_data()).is_matched_by_commit_log(record_of({"a": "6"}), {"a": "1"})


class TestRetryTopics:
    """`filterSupportRetry`: the message's first topic decides."""

    @pytest.mark.parametrize("kind", [ExpressionMessageFilter, ExpressionForRetryMessageFilter])
    @pytest.mark.parametrize("topic", ["T", "%RETRY%G"])
    def test_a_tags_code_decides_alone_where_layer_2_lets_all_pass(self, kind, topic):
        decides = kind is ExpressionMessageFilter or topic == "T"
        assert kind(build_subscription(topic, "TagA", None), None, Manager()).by_tags_code is decides
        assert kind(build_subscription(topic, "*", None), None, Manager()).by_tags_code is decides
        assert not kind(build_subscription(topic, "a = 1", "SQL92"), None, Manager()).by_tags_code
        assert kind(None, None, Manager()).by_tags_code

    @staticmethod
    def retry_filter(table):
        subscription = build_subscription("%RETRY%G", "*", "TAG")
        return ExpressionForRetryMessageFilter(subscription, None, Manager(table))

    @pytest.mark.row("F-66")
    @pytest.mark.parametrize(("value", "passes"), [("6", True), ("5", False), ("x", False)])
    def test_a_retry_message_is_filtered_by_the_expression_of_its_first_topic(self, value, passes):
        asked = self.retry_filter({("T", "G"): filter_data()})
        properties = {"RETRY_TOPIC": "T", "a": value}
        assert asked.is_matched_by_commit_log(None, properties) is passes
        assert asked.is_matched_by_commit_log(record_of(properties)) is passes
        assert asked.is_matched_by_consume_queue(0)

    @pytest.mark.row("F-66")
    def test_without_filter_data_of_the_first_topic_it_passes(self):
        assert self.retry_filter({}).is_matched_by_commit_log(None, {"RETRY_TOPIC": "T", "a": "1"})
        assert self.retry_filter({("T", "G"): filter_data()}).is_matched_by_commit_log(None, {"a": "1"})

    @pytest.mark.row("F-66")
    def test_without_properties_it_fails_as_in_java(self):
        with pytest.raises(ValueError, match="%RETRY%G"):
            self.retry_filter({}).is_matched_by_commit_log(None, None)

    @pytest.mark.row("F-66")
    @pytest.mark.parametrize(("text", "kind", "passes"), [("TagA", "TAG", True), ("a > 5", "SQL92", False)])
    def test_an_ordinary_topic_is_filtered_as_ever(self, text, kind, passes):
        asked = ExpressionForRetryMessageFilter(build_subscription("T", text, kind), filter_data(), Manager())
        assert asked.is_matched_by_commit_log(None, {"a": "1"}) is passes
        assert asked.is_matched_by_commit_log(record_of({"a": "1"})) is passes

    @pytest.mark.row("F-66")
    def test_class_mode_and_no_subscription_pass(self):
        subscription = build_subscription("%RETRY%G", "*", "TAG")
        subscription.class_filter_mode = True
        for given in (None, subscription):
            assert ExpressionForRetryMessageFilter(given, None, Manager()).is_matched_by_commit_log(None, None)
