from __future__ import annotations

import pytest

from rmqlab.client.offset_store import LocalFileOffsetStore, RemoteBrokerOffsetStore
from rmqlab.message.topics import MessageQueue
from rmqlab.protocol.codes import RequestCode

A, B = MessageQueue("T", "broker-a", 0), MessageQueue("T", "broker-a", 1)


@pytest.fixture
def remote(world):
    world.topic("T")
    return RemoteBrokerOffsetStore(world.instance("A"), "G")


def commits(world):
    return [
        (c.header.queue_id, c.header.commit_offset, c.is_oneway)
        for _, c in world.requests("A", RequestCode.UPDATE_CONSUMER_OFFSET)
    ]


def test_progress_can_be_told_to_go_up_only(remote):
    remote.update_offset(A, 5, increase_only=True)
    remote.update_offset(A, 3, increase_only=True)
    assert remote.offset_table[A] == 5
    remote.update_offset(A, 3, increase_only=False)
    assert remote.offset_table[A] == 3


def test_reading(world, remote):
    world.broker.consumer_offset_manager.commit_offset("x", "G", "T", 0, 7)
    assert world.do(remote.read_offset(A, memory_first=True)) == 7
    assert remote.offset_table[A] == 7
    remote.update_offset(A, 9, increase_only=True)
    assert world.do(remote.read_offset(A, memory_first=True)) == 9
    assert world.do(remote.read_offset(A, memory_first=False)) == 7
    world.time.servers["10.0.1.1:10911"].up = False
    assert world.do(remote.read_offset(A, memory_first=False), 6_000) == -2


def test_committing_all_sends_one_way_in_hash_order_and_forgets_the_others(world, remote):
    queues = [MessageQueue("T", "broker-a", i) for i in range(4)]
    for queue in queues:
        remote.update_offset(queue, 1, increase_only=True)
    world.do(remote.persist_all(set()))
    assert commits(world) == []
    world.do(remote.persist_all(set(queues[:3])))
    assert commits(world) == [(2, 1, True), (1, 1, True), (0, 1, True)]
    assert queues[3] not in remote.offset_table
    assert world.kinds("offset_persist")[0][2] == {
        "who": "10.0.0.1@A", "group": "G", "topic": "T", "queue": 2, "offset": 1,
    }  # fmt: skip


def test_committing_one(world, remote):
    world.do(remote.persist(A))
    remote.update_offset(A, 4, increase_only=True)
    world.do(remote.persist(A))
    assert commits(world) == [(0, 4, True)]
    remote.remove_offset(A)
    assert remote.offset_table == {}


def test_the_local_file_is_written_as_a_whole(world):
    store = LocalFileOffsetStore(world.instance("A"), "G")
    store.update_offset(A, 4, increase_only=True)
    store.update_offset(B, 5, increase_only=True)
    world.do(store.persist(A))
    assert store.file == {}
    world.do(store.persist_all({A}))
    world.do(store.persist_all(set()))
    assert store.file == {A: 4}
    store.remove_offset(A)
    assert store.offset_table == {A: 4, B: 5}
    store.offset_table.clear()
    assert world.do(store.read_offset(A, memory_first=False)) == 4
    assert world.do(store.read_offset(B, memory_first=True)) == -1
