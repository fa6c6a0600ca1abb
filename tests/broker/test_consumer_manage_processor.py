"""Who is in a group, and how far it is."""

from __future__ import annotations

import pytest

from rmqlab.protocol.bodies import GetConsumerListByGroupResponseBody
from rmqlab.protocol.codes import RequestCode, ResponseCode
from rmqlab.protocol.consumer_headers import (
    GetConsumerListByGroupRequestHeader,
    QueryConsumerOffsetRequestHeader,
    UpdateConsumerOffsetRequestHeader,
)


def members(bench, group="G"):
    header = GetConsumerListByGroupRequestHeader(consumer_group=group)
    return bench.ask(bench.channel(), RequestCode.GET_CONSUMER_LIST_BY_GROUP, header)


def query(bench, queue=0, group="G", topic="T"):
    header = QueryConsumerOffsetRequestHeader(consumer_group=group, topic=topic, queue_id=queue)
    return bench.ask(bench.channel(), RequestCode.QUERY_CONSUMER_OFFSET, header)


def update(bench, offset, queue=0, channel=None):
    header = UpdateConsumerOffsetRequestHeader(consumer_group="G", topic="T", queue_id=queue, commit_offset=offset)
    return bench.ask(channel or bench.channel(), RequestCode.UPDATE_CONSUMER_OFFSET, header)


@pytest.mark.row("S-93")
def test_the_members_of_a_group_are_listed_whatever_topics_they_subscribe_to(bench):
    bench.subscribe(bench.channel(), "G", {"T": "*"}, client="A")
    bench.subscribe(bench.channel(), "G", {"U": "*"}, client="B")
    answer = members(bench)
    assert (answer.code, answer.remark, answer.all_ext_fields()) == (ResponseCode.SUCCESS, None, {})
    assert GetConsumerListByGroupResponseBody.decode(answer.body).consumer_id_list == ["A", "B"]


def test_a_group_without_members_is_an_error(bench):
    answer = members(bench, "nobody")
    assert (answer.code, answer.body) == (ResponseCode.SYSTEM_ERROR, None)
    assert answer.remark == "no consumer for this group, nobody"
    assert answer.all_ext_fields() == {}


def test_an_offset_is_what_was_committed_last_even_backwards(bench):
    channel = bench.channel()
    for offset in (7, 3):
        answer = update(bench, offset, channel=channel)
        assert (answer.code, answer.all_ext_fields()) == (ResponseCode.SUCCESS, {})
        assert query(bench).all_ext_fields() == {"offset": str(offset)}
    assert bench.seen("commit")[-1] == {
        "client": channel.remote_address,
        "group": "G",
        "topic": "T",
        "queue": 0,
        "offset": 3,
    }


@pytest.mark.row("S-96")
def test_without_an_offset_a_queue_that_is_whole_and_in_memory_starts_at_0(bench):
    bench.topic("T")
    assert query(bench).all_ext_fields() == {"offset": "0"}
    bench.send("T", b"x")
    assert query(bench).all_ext_fields() == {"offset": "0"}


@pytest.mark.row("S-96")
def test_without_an_offset_a_queue_that_has_left_memory_is_not_found(make_bench):
    bench = make_bench(physical_memory_size=100)
    bench.topic("T")
    bench.send("T", b"x")
    answer = query(bench)
    assert answer.code == ResponseCode.QUERY_NOT_FOUND
    assert answer.remark == "Not found, V3_0_6_SNAPSHOT maybe this group consumer boot first"
    assert answer.all_ext_fields() == {}
    update(bench, 1)
    assert query(bench).all_ext_fields() == {"offset": "1"}


@pytest.mark.row("S-96")
def test_without_an_offset_a_queue_whose_beginning_was_deleted_is_not_found(bench, monkeypatch):
    monkeypatch.setattr(type(bench.store), "get_min_offset_in_queue", lambda _store, _topic, _queue: 5)
    assert query(bench).code == ResponseCode.QUERY_NOT_FOUND


def test_offsets_are_kept_by_topic_and_group_and_looked_up_either_way(bench):
    manager = bench.broker.consumer_offset_manager
    manager.commit_offset("c", "G", "T", 0, 1)
    manager.commit_offset("c", "G", "U", 2, 5)
    manager.commit_offset("c", "H", "T", 0, 9)
    assert manager.query_offset("G", "U", 2) == 5
    assert manager.query_offset("G", "U", 0) == -1
    assert manager.query_offset("X", "U", 0) == -1
    assert manager.query_offsets("G", "U") == {2: 5}
    assert manager.query_offsets("X", "U") is None
    assert manager.which_topic_by_consumer("G") == ["T", "U"]
    assert list(manager.topics_and_groups()) == [("T", "G"), ("U", "G"), ("T", "H")]


def test_a_name_with_the_separator_in_it_is_stored_but_not_found_by_its_parts(bench):
    manager = bench.broker.consumer_offset_manager
    manager.commit_offset("c", "G", "T@x", 0, 1)
    assert manager.query_offset("G", "T@x", 0) == 1
    assert manager.which_topic_by_consumer("G") == []
