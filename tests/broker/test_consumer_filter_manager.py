"""Filter data of groups: registered, replaced, dead, alive again, cleaned, saved and loaded."""

from __future__ import annotations

import tarfile

import pytest

from rmqlab.broker.broker_config import BrokerConfig
from rmqlab.broker.consumer_filter_manager import ConsumerFilterManager, decode_filter_data
from rmqlab.broker.processor import Timers
from rmqlab.filter.bloom import BloomFilter
from rmqlab.protocol.header import FrameError
from rmqlab.protocol.subscription_data import build_subscription
from rmqlab.store.config import MessageStoreConfig

DAY_MS = 24 * 3_600_000


def manager(now=1000, **config):
    timers = Timers(now)
    return ConsumerFilterManager(BrokerConfig(**config), MessageStoreConfig(), timers), timers


@pytest.mark.row("F-76")
def test_the_store_learns_how_long_bitmaps_are():
    store_config = MessageStoreConfig()
    config = BrokerConfig(max_error_rate_of_bloom_filter=1, expect_consumer_num_use_filter=32)
    ConsumerFilterManager(config, store_config, Timers(0))
    assert store_config.bit_map_length_consume_queue_ext == 312


@pytest.mark.row("F-39", "F-40")
@pytest.mark.parametrize(
    ("expression", "kind"),
    [
        ("TagA", "TAG"),
        ("TagA", None),
        ("TagA", ""),
        ("a > 1", "sql92"),
        ("", "SQL92"),
        (None, "SQL92"),
        ("a >", "SQL92"),
    ],
)
def test_what_is_not_registered(expression, kind):
    made, _ = manager()
    assert made.register_topic("T", "G", expression, kind, 1) is False
    assert made.get("T", "G") is None


@pytest.mark.row("F-32", "F-41", "F-42", "F-43", "F-45", "F-80", "F-81")
def test_new_data_has_compiled_expression_and_bloom_data_of_group_and_topic():
    made, _ = manager()
    assert made.register_topic("SqlFilterTest", "CID_A", "a > 5", "SQL92", 7)
    data = made.get("SqlFilterTest", "CID_A")
    assert data.bloom_filter_data.bit_pos == [12, 44, 42]
    assert data.compiled_expression.evaluate({"a": "6"}) is True
    assert (data.born_time, data.dead_time, data.client_version, data.is_dead()) == (1000, 0, 7, False)
    assert made.get_by_topic("SqlFilterTest") == made.get_by_group("CID_A") == [data]
    assert made.register_topic("SqlFilterTest", "CID_B", "a > 6", "SQL92", 7)
    assert len(made.filter_data_by_topic) == 1


@pytest.mark.row("F-43")
@pytest.mark.parametrize(
    ("expression", "version", "dead", "answer", "kept", "kept_version", "alive"),
    [
        ("a > 5", 9, False, False, "a > 5", 10, True),
        ("a > 6", 9, True, False, "a > 5", 10, False),
        ("a > 5", 10, False, False, "a > 5", 10, True),
        ("a > 6", 10, True, True, "a > 5", 10, True),
        ("a > 5", 11, False, True, "a > 5", 11, True),
        ("a > 5", 11, True, True, "a > 5", 11, True),
        ("a > 6", 11, False, True, "a > 6", 11, True),
        ("a > 6", 11, True, True, "a > 6", 11, True),
        ("a >", 11, False, False, None, None, None),
    ],
)
def test_registering_again(expression, version, dead, answer, kept, kept_version, alive):
    made, timers = manager()
    made.register_topic("T", "G", "a > 5", "SQL92", 10)
    timers.now = 2000
    if dead:
        made.un_register("G")
    timers.now = 3000
    assert made.register_topic("T", "G", expression, "SQL92", version) is answer
    data = made.get("T", "G")
    if kept is None:
        assert data is None
    else:
        assert (data.expression, data.client_version, not data.is_dead()) == (kept, kept_version, alive)
        assert data.born_time == (3000 if kept == "a > 6" else 1000)


@pytest.mark.row("F-43")
def test_bloom_data_of_another_filter_is_a_change():
    made, timers = manager()
    made.register_topic("T", "G", "a > 5", "SQL92", 10)
    made.get("T", "G").bloom_filter_data = None
    timers.now = 2000
    assert made.register_topic("T", "G", "a > 5", "SQL92", 11)
    assert made.get("T", "G").born_time == 2000


@pytest.mark.row("F-36")
def test_a_group_that_leaves_is_dead_on_every_topic_and_not_forgotten():
    made, timers = manager()
    for topic in ("T", "U"):
        made.register_topic(topic, "G", "a > 5", "SQL92", 1)
    made.register_topic("T", "H", "a > 5", "SQL92", 1)
    timers.now = 2000
    made.un_register("G")
    timers.now = 3000
    made.un_register("G")
    made.un_register("unknown")
    assert [data.dead_time for data in made.get_by_group("G")] == [2000, 2000]
    assert made.get("T", "H").dead_time == 0


@pytest.mark.row("F-37", "F-44")
def test_topics_that_vanish_from_the_subscriptions_die():
    made, timers = manager()
    first, second = (build_subscription(topic, "a > 5", "SQL92", 1) for topic in ("T", "U"))
    made.register("G", [first, second, build_subscription("W", "TagA", "TAG", 1)])
    timers.now = 2000
    made.register("G", [second])
    timers.now = 3000
    made.register("G", [second])
    assert (made.get("T", "G").dead_time, made.get("U", "G").dead_time) == (2000, 0)
    assert made.get("W", "G") is None
    made.register("G", [first, second])
    assert made.get("T", "G").dead_time == 0


@pytest.mark.row("F-46")
def test_data_dead_for_a_day_is_removed():
    made, timers = manager()
    for group in ("G", "H"):
        made.register_topic("T", group, "a > 5", "SQL92", 1)
    made.un_register("G")
    timers.now = 1000 + DAY_MS - 1
    made.clean()
    assert made.get("T", "G") is not None
    timers.now += 1
    made.clean()
    assert (made.get("T", "G"), made.get("T", "H") is None) == (None, False)
    made.un_register("H")
    timers.now += DAY_MS
    assert made.encode() == '{\n\t"filterDataByTopic":{}\n}'
    assert made.filter_data_by_topic == {}


@pytest.mark.row("F-46")
@pytest.mark.parametrize("name", ["base", "bitmap", "noprop"])
def test_the_file_is_written_byte_for_byte_as_by_the_real_broker(golden, name):
    with tarfile.open(golden / "broker-4.8.0" / name / "store.tar.gz") as store:
        text = store.extractfile("store/config/consumerFilter.json").read().decode()
    data = decode_filter_data(text)
    assert len(data) > 1
    manager = ConsumerFilterManager(BrokerConfig(), MessageStoreConfig(), Timers(0))
    manager.filter_data_by_topic = data
    assert manager.encode() == text
    bloom = BloomFilter.create_by_fn(20, 32)
    for topic, groups in data.items():
        for group, entry in groups.items():
            assert entry.bloom_filter_data == bloom.generate(f"{group}#{topic}")


@pytest.mark.row("F-46")
def test_what_is_loaded_was_alive_until_half_a_minute_ago():
    made, timers = manager()
    made.register_topic("T", "old", "a > 5", "SQL92", 1)
    made.register_topic("T", "dead", "a > 5", "SQL92", 1)
    timers.now = 1500
    made.un_register("dead")
    timers.now = 100_000
    made.register_topic("T", "young", "a > 5", "SQL92", 1)
    other, later = manager(now=101_000)
    other.decode(made.encode())
    assert {data.consumer_group: data.dead_time for data in other.get_by_topic("T")} == {
        "old": 71_000,
        "dead": 1500,
        "young": 100_000,
    }
    assert other.get("T", "old").compiled_expression.evaluate({"a": "6"}) is True
    later.now = 102_000
    assert other.register_topic("T", "old", "a > 5", "SQL92", 1)
    assert not other.get("T", "old").is_dead()


@pytest.mark.row("F-46")
def test_a_changed_bloom_filter_drops_everything_persisted():
    made, _ = manager()
    made.register_topic("T", "G", "a > 5", "SQL92", 1)
    other, _ = manager(expect_consumer_num_use_filter=64)
    other.decode(made.encode())
    assert other.filter_data_by_topic == {}


@pytest.mark.row("F-46")
def test_an_expression_that_compiles_no_more_is_loaded_without_its_tree():
    made, _ = manager()
    made.register_topic("T", "G", "a > 5", "SQL92", 1)
    text = made.encode().replace("a > 5", "a >")
    made.decode(text)
    data = made.get("T", "G")
    assert (data.expression, data.compiled_expression) == ("a >", None)
    for nothing in ("", "{}", "null"):
        if nothing == "{}":
            made.decode(nothing)
    assert made.get("T", "G") is data


@pytest.mark.row("F-46")
@pytest.mark.parametrize("text", ["{", '{"filterDataByTopic":5}', '{"filterDataByTopic":{"T":{"groupFilterData":7}}}'])
def test_a_damaged_file_is_refused_and_nothing_is_lost(text):
    made, _ = manager()
    made.register_topic("T", "G", "a > 5", "SQL92", 1)
    with pytest.raises(FrameError):
        made.decode(text)
    assert made.get("T", "G") is not None


@pytest.mark.row("F-46")
def test_every_ten_seconds_and_when_the_file_is_written_long_dead_filters_are_forgotten(make_bench):
    bench = make_bench(config={"enable_property_filter": True, "filter_data_clean_time_span": 15_000})
    manager = bench.broker.consumer_filter_manager
    channel = bench.channel()
    bench.subscribe(channel, "G", {"T": "a > 5"}, version=1, kind="SQL92")
    text = bench.broker.consumer_filter_manager.encode()
    assert decode_filter_data(text)["T"]["G"].expression == "a > 5"
    bench.pass_time(5_000)
    bench.broker.on_channel_close(channel, bench.now)
    bench.pass_time(14_999)
    assert manager.get("T", "G") is not None
    bench.pass_time(1)
    assert manager.get("T", "G") is None
    assert decode_filter_data(manager.encode()) == {}


@pytest.mark.row("F-46")
def test_a_broker_that_starts_again_computes_bits_before_anybody_is_back(make_bench):
    switches = {"enable_property_filter": True, "enable_calc_filter_bit_map": True}
    first = make_bench(config=switches)
    first.subscribe(first.channel(), "G", {"T": "a > 5"}, version=1, kind="SQL92")
    written = first.broker.consumer_filter_manager.encode()
    again = make_bench(config=switches)
    again.now += 60_000
    again.broker.now = again.now
    again.broker.consumer_filter_manager.decode(written)
    data = again.broker.consumer_filter_manager.get("T", "G")
    assert data.dead_time == again.now - 30_000
    requests = []
    again.store.dispatchers.insert(1, requests.append)
    again.topic("T", 1)
    again.send("T", props={"a": "6"})
    assert any(requests[0].bit_map)
