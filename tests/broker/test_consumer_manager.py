"""Groups that come, change and go: who is registered, who is told."""

from __future__ import annotations

import pytest

from rmqlab.message.topics import retry_topic
from rmqlab.protocol.codes import RequestCode
from rmqlab.protocol.consumer_headers import UnregisterClientRequestHeader
from rmqlab.protocol.subscription_data import build_subscription
from rmqlab.protocol.topic_config import SubscriptionGroupConfig


def notices(channel):
    """How often a channel was told to rebalance since the last look."""
    codes = [command.code for command in channel.sent]
    channel.sent.clear()
    assert set(codes) <= {RequestCode.NOTIFY_CONSUMER_IDS_CHANGED}
    return len(codes)


def leave(bench, channel, group="G", client="A"):
    header = UnregisterClientRequestHeader(client_id=client, consumer_group=group)
    return bench.ask(channel, RequestCode.UNREGISTER_CLIENT, header)


def table(bench, group="G"):
    info = bench.broker.consumer_manager.get_consumer_group_info(group)
    return {topic: subscription.sub_string for topic, subscription in info.subscription_table.items()}


@pytest.mark.row("H-33", "H-34")
def test_the_first_beat_makes_the_group_with_its_member_and_topics(bench):
    bench.subscribe(bench.channel(), "G", {"T": "tagA"}, client="A")
    info = bench.broker.consumer_manager.get_consumer_group_info("G")
    assert list(info.client_ids) == ["A"]
    assert table(bench) == {"T": "tagA"}
    bench.subscribe(bench.channel(), "G", {"T": "tagA"}, client="B")
    assert bench.broker.consumer_manager.get_consumer_group_info("G") is info
    assert list(info.client_ids) == ["A", "B"]


@pytest.mark.row("H-34", "H-35", "H-38")
def test_a_beat_that_brings_nothing_new_notifies_nobody(bench):
    a, b = bench.channel(), bench.channel()
    bench.subscribe(a, "G", {"T": "tagA"}, client="A")
    assert notices(a) == 1
    bench.subscribe(b, "G", {"T": "tagA"}, client="B")
    assert (notices(a), notices(b)) == (1, 1)
    bench.subscribe(a, "G", {"T": "tagA"}, client="A")
    bench.subscribe(a, "G", {"T": "tagZ"}, version=bench.now + 9, client="A")
    assert (notices(a), notices(b)) == (0, 0)
    bench.subscribe(a, "G", {"T": "tagZ", "U": "*"}, client="A")
    assert (notices(a), notices(b)) == (1, 1)


@pytest.mark.row("H-35")
@pytest.mark.parametrize("of_broker", [True, False])
@pytest.mark.parametrize("of_group", [True, False])
def test_both_flags_must_allow_the_notice_of_a_new_member(make_bench, of_broker, of_group):
    bench = make_bench(config={"notify_consumer_ids_changed_enable": of_broker})
    bench.broker.subscription_group_manager.update_subscription_group_config(
        SubscriptionGroupConfig("G", notify_consumer_ids_changed_enable=of_group)
    )
    a = bench.channel()
    bench.subscribe(a, "G", {"T": "*"}, client="A")
    assert notices(a) == (of_broker and of_group)


@pytest.mark.row("H-36")
def test_every_beat_registers_the_filters(bench):
    a = bench.channel()
    for version in (5, 6):
        bench.subscribe(a, "G", {"T": "a > 1"}, version=version, client="A", kind="SQL92")
        assert bench.broker.consumer_filter_manager.get("T", "G").client_version == version


@pytest.mark.row("S-92")
def test_different_topics_in_one_group_flap_with_every_beat(bench):
    a, b = bench.channel(), bench.channel()
    bench.subscribe(a, "G", {"T": "*"}, client="A")
    bench.subscribe(b, "G", {"U": "*"}, client="B")
    notices(a), notices(b)
    for _ in range(3):
        bench.pass_time(30_000)
        bench.subscribe(a, "G", {"T": "*"}, client="A")
        assert table(bench) == {"T": "*"}
        bench.subscribe(b, "G", {"U": "*"}, client="B")
        assert table(bench) == {"U": "*"}
        assert (notices(a), notices(b)) == (2, 2)


@pytest.mark.row("S-87")
def test_a_fifth_consumer_without_a_queue_still_overwrites_the_group(bench):
    for name in "ABCD":
        bench.subscribe(bench.channel(), "G", {"T": "tagA"}, version=100, client=name)
    bench.subscribe(bench.channel(), "G", {"T": "tagE"}, version=101, client="E")
    for name in "ABCD":
        bench.subscribe(bench.channel(), "G", {"T": "tagA"}, version=100, client=name)
    assert table(bench) == {"T": "tagE"}


@pytest.mark.row("S-85", "S-88")
def test_when_the_winner_leaves_a_restamped_subscription_takes_the_slot(bench):
    a, b = bench.channel(), bench.channel()
    bench.subscribe(a, "G", {"T": "tagA"}, version=100, client="A")
    bench.subscribe(b, "G", {"T": "tagB"}, version=200, client="B")
    notices(a)
    leave(bench, b, client="B")
    assert notices(a) == 1
    bench.subscribe(a, "G", {"T": "tagA"}, version=100, client="A")
    assert table(bench) == {"T": "tagB"}
    bench.subscribe(a, "G", {"T": "tagA"}, version=300, client="A")
    assert table(bench) == {"T": "tagA"}


@pytest.mark.row("S-85")
def test_when_all_have_gone_the_slot_is_empty_for_any_version(bench):
    a = bench.channel()
    bench.subscribe(a, "G", {"T": "tagB"}, version=200, client="A")
    bench.broker.on_channel_close(a, bench.now)
    bench.subscribe(bench.channel(), "G", {"T": "tagA"}, version=100, client="A")
    assert table(bench) == {"T": "tagA"}


@pytest.mark.row("S-95")
def test_the_retry_topic_rides_along_the_same_for_all(bench):
    for name, tags in (("A", "tagA"), ("B", "tagB")):
        topics = {"T": tags, retry_topic("G"): "*"}
        bench.subscribe(bench.channel(), "G", topics, version=len(name) + ord(name), client=name)
    assert table(bench) == {"T": "tagB", "%RETRY%G": "*"}
    assert len(bench.broker.consumer_manager.get_consumer_group_info("G").subscription_table) == 2


@pytest.mark.row("H-45")
def test_a_goodbye_forgets_the_member_and_tells_the_others(bench):
    a, b = bench.channel(), bench.channel()
    bench.subscribe(a, "G", {"T": "*"}, client="A")
    bench.subscribe(b, "G", {"T": "*"}, client="B")
    notices(a), notices(b)
    leave(bench, a)
    assert list(bench.broker.consumer_manager.get_consumer_group_info("G").client_ids) == ["B"]
    assert (notices(a), notices(b)) == (0, 1)
    assert {"group": "G", "client": "A"} in bench.seen("unregister")


@pytest.mark.row("H-45")
def test_the_last_goodbye_drops_the_group_and_its_filters_die(bench):
    a = bench.channel()
    bench.subscribe(a, "G", {"T": "a > 1"}, client="A", kind="SQL92")
    leave(bench, a)
    assert bench.broker.consumer_manager.get_consumer_group_info("G") is None
    assert bench.broker.consumer_filter_manager.get("T", "G").is_dead()


@pytest.mark.row("H-45")
def test_a_goodbye_obeys_the_flag_of_the_group_and_of_nobody_known_changes_nothing(bench):
    a, b = bench.channel(), bench.channel()
    bench.subscribe(a, "G", {"T": "*"}, client="A")
    bench.subscribe(b, "G", {"T": "*"}, client="B")
    config = bench.broker.subscription_group_manager.find_subscription_group_config("G")
    config.notify_consumer_ids_changed_enable = False
    notices(b)
    leave(bench, a)
    assert notices(b) == 0
    leave(bench, a, group="unknown")
    assert bench.broker.consumer_manager.get_consumer_group_info("unknown") is None


@pytest.mark.row("H-44")
def test_a_connection_that_ends_is_forgotten_at_once_and_the_others_are_told(bench):
    a, b = bench.channel(), bench.channel()
    bench.subscribe(a, "G", {"T": "*"}, client="A")
    bench.subscribe(b, "G", {"T": "*"}, client="B")
    notices(b)
    bench.broker.on_channel_close(a, bench.now)
    assert list(bench.broker.consumer_manager.get_consumer_group_info("G").client_ids) == ["B"]
    assert notices(b) == 1
    bench.broker.on_channel_close(a, bench.now)
    assert notices(b) == 0


@pytest.mark.row("H-44")
def test_a_close_asks_only_the_flag_of_the_broker(bench):
    a, b = bench.channel(), bench.channel()
    bench.subscribe(a, "G", {"T": "*"}, client="A")
    bench.subscribe(b, "G", {"T": "*"}, client="B")
    config = bench.broker.subscription_group_manager.find_subscription_group_config("G")
    config.notify_consumer_ids_changed_enable = False
    notices(b)
    bench.broker.on_channel_close(a, bench.now)
    assert notices(b) == 1
    bench.broker.config.notify_consumer_ids_changed_enable = False
    bench.broker.on_channel_close(b, bench.now)
    assert bench.broker.consumer_manager.get_consumer_group_info("G") is None


@pytest.mark.row("H-44")
def test_the_last_close_drops_the_group_and_its_filters_die(bench):
    a = bench.channel()
    bench.subscribe(a, "G", {"T": "a > 1"}, client="A", kind="SQL92")
    bench.broker.on_channel_close(a, bench.now)
    assert bench.broker.consumer_manager.get_consumer_group_info("G") is None
    assert bench.broker.consumer_filter_manager.get("T", "G").is_dead()


@pytest.mark.row("H-43")
def test_a_scan_tells_nobody_and_leaves_the_filters_alive(bench):
    a, b = bench.channel(), bench.channel()
    bench.subscribe(a, "G", {"T": "a > 1"}, client="A", kind="SQL92")
    bench.pass_time(60_000)
    bench.subscribe(b, "G", {"T": "a > 1"}, client="B", kind="SQL92")
    notices(b)
    bench.broker.consumer_manager.scan_not_active_channel(bench.now + 60_001)
    assert list(bench.broker.consumer_manager.get_consumer_group_info("G").client_ids) == ["B"]
    assert notices(b) == 0
    bench.broker.consumer_manager.scan_not_active_channel(bench.now + 120_001)
    assert bench.broker.consumer_manager.get_consumer_group_info("G") is None
    assert not bench.broker.consumer_filter_manager.get("T", "G").is_dead()
    bench.broker.on_channel_close(a, bench.now)
    assert notices(b) == 0


@pytest.mark.row("H-42")
def test_a_scan_closes_the_connection_before_it_forgets_the_consumer(bench):
    a = bench.channel()
    bench.subscribe(a, "G", {"T": "*"}, client="A")
    info = bench.broker.consumer_manager.get_consumer_group_info("G")
    known_at_close = []
    a.close = lambda: known_at_close.append(a in info.channel_info_table)
    bench.broker.consumer_manager.scan_not_active_channel(bench.now + 120_001)
    assert known_at_close == [True]
    assert info.channel_info_table == {}
    assert {"group": "G", "client": "A"} in bench.seen("expired")


def test_groups_are_found_by_topic_and_members_by_client_id(bench):
    a = bench.channel()
    bench.subscribe(a, "G", {"T": "*"}, client="A")
    manager = bench.broker.consumer_manager
    assert manager.find_channel("G", "A").channel is a
    assert manager.find_channel("G", "B") is None
    assert manager.find_channel("H", "A") is None
    assert manager.find_subscription_data("G", "T") == build_subscription("T", "*", None, bench.now)
    assert manager.find_subscription_data("H", "T") is None


def test_changes_of_the_table_are_reported_with_their_culprit(bench):
    bench.subscribe(bench.channel(), "G", {"T": "tagA"}, version=1, client="A")
    bench.subscribe(bench.channel(), "G", {"T": "tagB"}, version=2, client="B")
    assert [
        (fact["client"], fact["topic"], fact["old"] and fact["old"].sub_string, fact["new"].sub_string)
        for fact in bench.seen("subscription")
    ] == [("A", "T", None, "tagA"), ("B", "T", "tagA", "tagB")]
