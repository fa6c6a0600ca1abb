"""The broker's topics (row H-32)."""

from __future__ import annotations

import pytest

from rmqlab.protocol.topic_config import TopicConfig


def shape(manager):
    return {
        name: (config.read_queue_nums, config.write_queue_nums, config.perm)
        for name, config in manager.topic_config_table.items()
    }


def test_topics_of_a_new_broker(bench):
    assert shape(bench.broker.topic_config_manager) == {
        "SELF_TEST_TOPIC": (1, 1, 6),
        "TBW102": (8, 8, 7),
        "BenchmarkTest": (1024, 1024, 6),
        "DefaultCluster": (16, 16, 7),
        "broker-a": (1, 1, 7),
        "OFFSET_MOVED_EVENT": (1, 1, 6),
        "SCHEDULE_TOPIC_XXXX": (18, 18, 6),
        "DefaultCluster_REPLY_TOPIC": (1, 1, 6),
    }


def test_what_settings_change_about_them(make_bench):
    bench = make_bench(
        config={
            "auto_create_topic_enable": False,
            "cluster_topic_enable": False,
            "broker_topic_enable": False,
            "trace_topic_enable": True,
        }
    )
    table = shape(bench.broker.topic_config_manager)
    assert "TBW102" not in table
    assert (table["DefaultCluster"][2], table["broker-a"][2]) == (1, 1)
    assert table["RMQ_SYS_TRACE_TOPIC"] == (1, 1, 6)


@pytest.mark.parametrize(
    ("topic", "is_system"),
    [("TBW102", True), ("broker-a", True), ("DefaultCluster_REPLY_TOPIC", True), ("rmq_sys_x", True), ("T", False)],
)
def test_system_topics_include_the_brokers_own_names(bench, topic, is_system):
    assert (bench.broker.topic_config_manager.refusal_of(topic) is not None) is is_system


def create(bench, default="TBW102", queues=4):
    return bench.broker.topic_config_manager.create_topic_in_send_message_method("T", default, queues, 0)


@pytest.mark.parametrize(("wanted", "got"), [(4, 4), (100, 8), (0, 0), (-3, 0)])
def test_a_new_topic_gets_what_the_client_wants_up_to_the_defaults_queues(bench, wanted, got):
    config = create(bench, queues=wanted)
    assert (config.read_queue_nums, config.write_queue_nums, config.perm) == (got, got, 6)


def test_a_new_topic_inherits_from_any_topic_that_may_be_inherited(bench):
    assert create(bench, default="SELF_TEST_TOPIC") is None
    assert create(bench, default="NOSUCH") is None
    assert create(bench, default="broker-a").write_queue_nums == 1


def test_inheritance_ends_with_automatic_creation(bench):
    bench.broker.config.auto_create_topic_enable = False
    assert create(bench) is None
    assert bench.broker.topic_config_manager.select_topic_config("TBW102").perm == 6


@pytest.mark.row("H-32")
def test_the_name_server_hears_of_a_topic_when_it_is_made_and_not_again(bench):
    manager = bench.broker.topic_config_manager
    assert len(bench.registrations) == 1
    bench.pass_time(5)
    for expected in (2, 2):
        manager.create_topic_in_send_message_back_method("%RETRY%G", 1, 6, 0)
        assert len(bench.registrations) == expected
    assert (manager.data_version.counter, manager.data_version.timestamp) == (1, bench.now)
    registration = bench.registrations[-1]
    assert (registration.check_order_config, registration.oneway) == (False, True)


@pytest.mark.row("H-32")
def test_the_first_heartbeat_of_a_group_makes_its_retry_topic_the_next_ones_do_not(bench):
    member = bench.channel()
    for _ in range(3):
        bench.subscribe(member, "G", {"T": "*"})
    assert len(bench.registrations) == 2
    config = bench.broker.topic_config_manager.select_topic_config("%RETRY%G")
    assert (config.read_queue_nums, config.write_queue_nums, config.perm) == (1, 1, 6)


def test_an_update_counts_but_registers_nobody(bench):
    manager = bench.broker.topic_config_manager
    manager.update_topic_config(TopicConfig("T", 2, 2))
    manager.delete_topic_config("T")
    manager.delete_topic_config("T")
    assert manager.select_topic_config("T") is None
    assert manager.data_version.counter == 2
    assert len(bench.registrations) == 1


def test_ordered_topics_are_exactly_those_the_name_server_names(bench):
    manager = bench.broker.topic_config_manager
    bench.topic("old", order=True)
    bench.topic("new")
    before = manager.data_version.counter
    manager.update_order_topic_config(["new", "NOSUCH"])
    assert (manager.is_order_topic("old"), manager.is_order_topic("new")) == (False, True)
    manager.update_order_topic_config(["new"])
    manager.update_order_topic_config(None)
    assert manager.data_version.counter == before + 1
    assert not manager.is_order_topic("NOSUCH")
