"""Members and the one subscription table of a group."""

from __future__ import annotations

import itertools

import pytest

from rmqlab.broker.client_housekeeping_service import ClientChannelInfo
from rmqlab.broker.consumer_group_info import ConsumerGroupInfo
from rmqlab.protocol.bodies import GetConsumerListByGroupResponseBody
from rmqlab.protocol.heartbeat import ConsumeFromWhere, ConsumeType, MessageModel
from rmqlab.protocol.subscription_data import build_subscription

PUSH = ConsumeType.CONSUME_PASSIVELY, MessageModel.CLUSTERING, ConsumeFromWhere.CONSUME_FROM_LAST_OFFSET
PULL = ConsumeType.CONSUME_ACTIVELY, MessageModel.BROADCASTING, ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET


@pytest.fixture
def group():
    return ConsumerGroupInfo("G", *PUSH, 1_000)


def client(channel, name="A", now=1_000):
    return ClientChannelInfo(channel, name, "JAVA", 373, now)


def sub(topic, tags, version):
    return build_subscription(topic, tags, "TAG", version)


@pytest.mark.row("S-76")
def test_a_new_topic_is_put_in_and_counts_as_a_change(group):
    assert group.update_subscription([sub("T", "tagA", 5)], 1_001) is True
    assert group.subscription_table.get("T").sub_string == "tagA"


@pytest.mark.row("S-77", "H-30")
def test_a_newer_version_replaces_but_is_no_change(group):
    group.update_subscription([sub("T", "tagA", 5)], 1_001)
    assert group.update_subscription([sub("T", "tagB", 6)], 1_002) is False
    assert group.subscription_table.get("T").sub_string == "tagB"


@pytest.mark.row("S-78")
@pytest.mark.parametrize("version", [5, 4])
def test_an_equal_or_older_version_is_passed_over(group, version):
    group.update_subscription([sub("T", "tagB", 5)], 1_001)
    assert group.update_subscription([sub("T", "tagA", version)], 1_002) is False
    assert group.subscription_table.get("T").sub_string == "tagB"


@pytest.mark.row("S-84", "S-86")
def test_the_higher_client_clock_wins_in_whatever_order_the_beats_come():
    beats = [sub("T", "tagA", 1_000_005), sub("T", "tagB", 1_000_000), sub("T", "tagC", 999_999)]
    winners = set()
    for order in itertools.permutations(beats):
        group = ConsumerGroupInfo("G", *PUSH, 0)
        for beat in order:
            group.update_subscription([beat], 0)
        winners.add(group.subscription_table.get("T").sub_string)
    assert winners == {"tagA"}


@pytest.mark.row("S-79")
def test_topics_that_a_beat_does_not_name_are_removed(group):
    group.update_subscription([sub("T", "*", 5), sub("U", "*", 5)], 1_001)
    assert group.update_subscription([sub("U", "*", 5)], 1_002) is True
    assert group.subscription_table.get("T") is None
    assert group.subscription_table.get("U") is not None


@pytest.mark.row("S-80")
def test_every_beat_refreshes_the_group(group):
    group.update_subscription([sub("T", "*", 5)], 1_001)
    assert group.last_update_timestamp == 1_001
    assert group.update_subscription([sub("T", "*", 5)], 1_007) is False
    assert group.last_update_timestamp == 1_007


def test_whoever_listens_hears_of_every_change_of_the_table(group):
    heard = []

    def listen(topic, old, new):
        heard.append((topic, old and old.sub_string, new and new.sub_string))

    group.update_subscription([sub("T", "tagA", 5)], 0, listen)
    group.update_subscription([sub("T", "tagB", 6)], 0, listen)
    group.update_subscription([sub("T", "tagC", 6)], 0, listen)
    group.update_subscription([sub("U", "*", 7)], 0, listen)
    assert heard == [("T", None, "tagA"), ("T", "tagA", "tagB"), ("U", None, "*"), ("T", "tagB", None)]


@pytest.mark.row("H-37")
def test_an_unknown_connection_is_a_new_member(group, bench):
    channel = bench.channel()
    assert group.update_channel(client(channel), *PUSH, 1_005) is True
    assert group.channel_info_table[channel].last_update_timestamp == 1_005


@pytest.mark.row("H-37")
def test_a_known_connection_is_refreshed(group, bench):
    channel = bench.channel()
    first = client(channel)
    group.update_channel(first, *PUSH, 1_000)
    assert group.update_channel(client(channel, now=1_030), *PUSH, 1_031) is False
    assert group.channel_info_table[channel] is first
    assert first.last_update_timestamp == 1_031


@pytest.mark.row("H-37")
def test_another_client_id_on_a_known_connection_replaces_it_but_the_old_entry_is_refreshed(group, bench):
    channel = bench.channel()
    first, second = client(channel, "A"), client(channel, "B", now=1_030)
    group.update_channel(first, *PUSH, 1_000)
    assert group.update_channel(second, *PUSH, 1_040) is False
    assert group.channel_info_table[channel] is second
    assert (first.last_update_timestamp, second.last_update_timestamp) == (1_040, 1_030)


@pytest.mark.row("H-37")
def test_every_beat_overwrites_type_model_and_starting_point(group, bench):
    group.update_channel(client(bench.channel()), *PULL, 1_005)
    assert (group.consume_type, group.message_model, group.consume_from_where) == PULL


@pytest.mark.row("H-39")
def test_a_member_is_its_connection(bench):
    channel = bench.channel()
    one, other, elsewhere = client(channel, "A"), client(channel, "B", 2_000), client(bench.channel(), "A")
    assert one == other
    assert hash(one) == hash(other)
    assert one != elsewhere
    assert (one.client_id, one.language, one.version, one.last_update_timestamp) == ("A", "JAVA", 373, 1_000)


def test_members_are_found_by_client_id_and_forgotten_by_connection(group, bench):
    channel = bench.channel()
    info = client(channel, "A")
    group.update_channel(info, *PUSH, 1_000)
    assert group.find_channel("A") is info
    assert group.find_channel("B") is None
    assert list(group.client_ids) == ["A"]
    assert group.do_channel_close_event(channel) is info
    assert group.do_channel_close_event(channel) is None
    assert group.channel_info_table == {}


def test_the_list_of_ids_follows_every_change_of_the_members(group):
    """It is kept between the changes, and never longer than that; so is the answer with the list."""
    seen, answers = [], []
    first, second = object(), object()
    for channel, client_id in ((first, "a"), (second, "b"), (first, "c")):
        group.update_channel(client(channel, client_id), *PUSH, 1_001)
        seen.append(list(group.client_ids))
        assert group.client_ids is group.client_ids
        answers.append(group.client_list)
        assert group.client_list is group.client_list
    group.do_channel_close_event(second)
    answers.append(group.client_list)
    seen.append(list(group.client_ids))
    group.do_channel_close_event(first)
    seen.append(list(group.client_ids))
    assert seen == [["a"], ["a", "b"], ["c", "b"], ["c"], []]
    assert [GetConsumerListByGroupResponseBody.decode(body).consumer_id_list for body in answers] == seen[:-1]
