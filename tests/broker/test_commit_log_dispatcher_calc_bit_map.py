"""The bitmap that is computed when a message is dispatched."""

from __future__ import annotations

import pytest

from rmqlab.broker.broker_config import BrokerConfig
from rmqlab.broker.consumer_filter_manager import CommitLogDispatcherCalcBitMap, ConsumerFilterManager
from rmqlab.broker.processor import Timers
from rmqlab.filter.bloom import BitsArray, BloomFilterData
from rmqlab.store.config import MessageStoreConfig
from rmqlab.store.dispatch_request import DispatchRequest


@pytest.fixture
def manager():
    return ConsumerFilterManager(BrokerConfig(enable_calc_filter_bit_map=True), MessageStoreConfig(), Timers(1))


def bitmap(manager, properties, *, topic="T", on=True):
    request = DispatchRequest(topic=topic, properties_map=properties)
    CommitLogDispatcherCalcBitMap(BrokerConfig(enable_calc_filter_bit_map=on), manager).dispatch(request)
    return request.bit_map


def bits_of(manager, *groups):
    bits = BitsArray.of_length(112)
    for group in groups:
        manager.bloom_filter.hash_to(f"{group}#T", bits)
    return bytes(bits.data)


@pytest.mark.row("F-83")
def test_nothing_happens_while_the_switch_is_off(manager):
    manager.register_topic("T", "G", "a > 5", "SQL92", 1)
    assert bitmap(manager, {"a": "6"}, on=False) is None


@pytest.mark.row("F-84")
def test_a_topic_without_filter_data_gets_no_bitmap(manager):
    manager.register_topic("U", "G", "a > 5", "SQL92", 1)
    assert bitmap(manager, {"a": "6"}) is None


@pytest.mark.row("F-82", "F-86", "F-87", "F-88")
@pytest.mark.parametrize(
    ("properties", "groups"),
    [({"a": "6"}, ["G"]), ({"a": "4"}, ["H"]), ({"a": "5"}, []), ({}, ["I"]), ({"a": "x"}, []), (None, ["I"])],
)
def test_only_groups_whose_expression_is_true_set_their_bits(manager, properties, groups):
    for group, text in (("G", "a > 5"), ("H", "a < 5"), ("I", "a IS NULL")):
        manager.register_topic("T", group, text, "SQL92", 1)
    assert bitmap(manager, properties) == bits_of(manager, *groups)


@pytest.mark.row("F-85")
def test_dead_groups_go_on_setting_bits(manager):
    manager.register_topic("T", "G", "a > 5", "SQL92", 1)
    manager.un_register("G")
    assert bitmap(manager, {"a": "6"}) == bits_of(manager, "G")


@pytest.mark.row("F-85")
@pytest.mark.parametrize("missing", ["compiled_expression", "bloom_filter_data"])
def test_a_group_without_expression_or_bloom_data_is_passed_over(manager, missing):
    for group in ("G", "H"):
        manager.register_topic("T", group, "a > 5", "SQL92", 1)
    setattr(manager.get("T", "G"), missing, None)
    assert bitmap(manager, {"a": "6"}) == bits_of(manager, "H")


@pytest.mark.row("F-88")
@pytest.mark.parametrize("foreign", [BloomFilterData([1, 2], 112), BloomFilterData([1, 2, 113], 112)])
def test_bloom_data_of_another_filter_costs_the_message_its_bitmap(manager, foreign):
    manager.register_topic("T", "G", "a > 5", "SQL92", 1)
    manager.get("T", "G").bloom_filter_data = foreign
    assert bitmap(manager, {"a": "6"}) is None
    assert bitmap(manager, {"a": "5"}) == bytes(14)
