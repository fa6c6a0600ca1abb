"""What the broker allows each consumer group (row S-58)."""

from __future__ import annotations

import pytest

from rmqlab.protocol.topic_config import SubscriptionGroupConfig


def test_groups_of_a_new_broker(bench):
    manager = bench.broker.subscription_group_manager
    assert sorted(manager.subscription_group_table) == [
        "CID_ONS-HTTP-PROXY",
        "CID_ONSAPI_OWNER",
        "CID_ONSAPI_PERMISSION",
        "CID_ONSAPI_PULL",
        "FILTERSRV_CONSUMER",
        "SELF_TEST_C_GROUP",
        "TOOLS_CONSUMER",
    ]
    assert manager.data_version.counter == 0


@pytest.mark.row("S-58")
def test_an_unknown_group_is_made_with_the_defaults(bench):
    manager = bench.broker.subscription_group_manager
    config = manager.find_subscription_group_config("G")
    assert config == SubscriptionGroupConfig("G")
    assert (config.retry_queue_nums, config.retry_max_times, config.which_broker_when_consume_slowly) == (1, 16, 1)
    assert manager.find_subscription_group_config("G") is config
    assert manager.data_version.counter == 1


@pytest.mark.row("S-58")
def test_only_rocketmqs_own_groups_are_made_when_making_is_off(make_bench):
    manager = make_bench(config={"auto_create_subscription_group": False}).broker.subscription_group_manager
    assert manager.find_subscription_group_config("G") is None
    assert manager.find_subscription_group_config("CID_RMQ_SYS_TRANS") is not None


def test_a_group_can_be_forgotten(bench):
    manager = bench.broker.subscription_group_manager
    manager.update_subscription_group_config(SubscriptionGroupConfig("G"))
    manager.delete_subscription_group_config("G")
    manager.delete_subscription_group_config("G")
    assert "G" not in manager.subscription_group_table
    assert manager.data_version.counter == 2
