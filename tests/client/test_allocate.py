"""Allocation strategies: the articles' shares, and the laws that hold for every cluster."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rmqlab.client.allocate import (
    AllocateArgumentError,
    AllocateMessageQueueAveragely,
    AllocateMessageQueueAveragelyByCircle,
    AllocateMessageQueueConsistentHash,
)
from rmqlab.message.topics import MessageQueue
from tests.proof.conform.strategies import (
    AllocateMachineRoomNearby,
    AllocateMessageQueueByConfig,
    AllocateMessageQueueByMachineRoom,
    AllocateNullError,
)

AVERAGELY = AllocateMessageQueueAveragely()
CHECKING = [AVERAGELY, AllocateMessageQueueAveragelyByCircle(), AllocateMessageQueueConsistentHash()]


class Rooms:
    """The room is what stands before the dash."""

    def broker_deploy_in(self, queue):
        return self.consumer_deploy_in(queue.broker_name)

    def consumer_deploy_in(self, client_id):
        return client_id.partition("-")[0] if "-" in client_id else None


def queues(count, broker="broker-a"):
    return [MessageQueue("T", broker, i) for i in range(count)]


def shares(strategy, count, members):
    return [[q.queue_id for q in strategy.allocate("G", cid, queues(count), members)] for cid in members]


@pytest.mark.row("S-05", "S-32")
@pytest.mark.parametrize(
    ("strategy", "count", "members", "expected"),
    [
        (AVERAGELY, 4, 2, [[0, 1], [2, 3]]),
        (AVERAGELY, 4, 3, [[0, 1], [2], [3]]),
        (AVERAGELY, 4, 5, [[0], [1], [2], [3], []]),
        (AVERAGELY, 5, 2, [[0, 1, 2], [3, 4]]),
        (CHECKING[1], 5, 2, [[0, 2, 4], [1, 3]]),
        (CHECKING[1], 1, 2, [[0], []]),
    ],
)
def test_even_shares(strategy, count, members, expected):
    assert shares(strategy, count, [f"c{i}" for i in range(members)]) == expected


MEMBERS = st.lists(st.text("abc-", min_size=1), min_size=1, max_size=9, unique=True)


@given(st.sampled_from(CHECKING), st.integers(1, 30), MEMBERS)
def test_every_queue_goes_to_exactly_one_member(strategy, count, members):
    given_out = [queue for share in shares(strategy, count, members) for queue in share]
    assert sorted(given_out) == list(range(count))


@given(st.sampled_from(CHECKING[:2]), st.integers(1, 30), MEMBERS)
def test_even_shares_differ_by_one_at_most(strategy, count, members):
    sizes = [len(share) for share in shares(strategy, count, members)]
    assert max(sizes) - min(sizes) <= 1


@given(st.integers(1, 30), MEMBERS)
def test_on_a_ring_only_the_queues_of_a_member_that_leaves_move(count, members):
    before = shares(CHECKING[2], count, members)
    after = shares(CHECKING[2], count, members[:-1]) if len(members) > 1 else []
    for old, new in zip(before, after, strict=False):
        assert set(old) <= set(new)


@pytest.mark.parametrize("strategy", [*CHECKING, AllocateMachineRoomNearby(AVERAGELY, Rooms())])
@pytest.mark.parametrize(
    ("cid", "mq_all", "cid_all", "message"),
    [
        (None, queues(1), ["c"], "currentCID is empty"),
        ("", queues(1), ["c"], "currentCID is empty"),
        ("c", None, ["c"], "mqAll is null or mqAll empty"),
        ("c", [], ["c"], "mqAll is null or mqAll empty"),
        ("c", queues(1), None, "cidAll is null or cidAll empty"),
        ("c", queues(1), [], "cidAll is null or cidAll empty"),
    ],
)
def test_arguments_are_checked_in_javas_words(strategy, cid, mq_all, cid_all, message):
    with pytest.raises(AllocateArgumentError, match=f"^{message}$"):
        strategy.allocate("G", cid, mq_all, cid_all)


@pytest.mark.parametrize("strategy", [*CHECKING, AllocateMachineRoomNearby(AVERAGELY, Rooms())])
def test_who_is_no_member_gets_nothing(strategy):
    assert strategy.allocate("G", "stranger", queues(4), ["c"]) == []


def test_a_fixed_list_is_given_to_anybody():
    fixed = queues(2)
    assert AllocateMessageQueueByConfig(fixed).allocate(None, None, None, None) is fixed
    assert AllocateMessageQueueByConfig().allocate("G", "c", queues(1), ["c"]) is None


def test_virtual_nodes():
    assert shares(AllocateMessageQueueConsistentHash(0), 4, ["c"]) == [[]]
    assert shares(AllocateMessageQueueConsistentHash(1), 4, ["c"]) == [[0, 1, 2, 3]]
    with pytest.raises(AllocateArgumentError, match=r"^illegal virtualNodeCnt :-1$"):
        AllocateMessageQueueConsistentHash(-1)


def test_a_member_listed_twice_has_twice_as_many_places():
    strategy = AllocateMessageQueueConsistentHash(2, hash_function=lambda key: int(key[-1]) if key[1] == "-" else 9)
    assert strategy.allocate("G", "a", queues(1), ["a", "a", "b"]) == []
    # a-0 and a-1, then a-2 and a-3 for the second listing; b overwrites the first two.
    assert strategy.allocate("G", "b", queues(1), ["a", "a", "b"]) == queues(1)


@pytest.mark.parametrize(
    ("broker", "mine"), [("r1@x", True), ("r2@x", False), ("plain", False), ("r1@x@y", False), ("r1@", False)]
)
def test_only_brokers_of_the_named_rooms_are_shared(broker, mine):
    strategy = AllocateMessageQueueByMachineRoom({"r1"})
    assert bool(strategy.allocate("G", "c", queues(1, broker), ["c"])) is mine


def test_rooms_are_shared_evenly_with_the_rest_to_the_first():
    strategy = AllocateMessageQueueByMachineRoom({"r"})
    dealt = [strategy.allocate("G", cid, queues(5, "r@b"), ["a", "b"]) for cid in ("a", "b")]
    assert [[queue.queue_id for queue in share] for share in dealt] == [[0, 1, 4], [2, 3]]


def test_machine_room_checks_nothing():
    strategy = AllocateMessageQueueByMachineRoom()
    assert strategy.allocate("G", "stranger", None, ["c"]) == []
    assert strategy.allocate("G", "c", queues(1, "plain"), ["c"]) == []
    for mq_all, cid_all in ((queues(1), None), (None, ["c"]), (queues(1, "r@b"), ["c"])):
        with pytest.raises(AllocateNullError):
            strategy.allocate("G", "c", mq_all, cid_all)


def test_nearby_serves_its_own_room_and_shares_deserted_ones():
    strategy = AllocateMachineRoomNearby(AVERAGELY, Rooms())
    assert strategy.name == "MACHINE_ROOM_NEARBY-AVG"
    everything = [*queues(2, "A-b"), *queues(2, "B-b"), *queues(2, "Z-b")]
    members = ["A-1", "A-2", "B-1"]
    got = {cid: strategy.allocate("G", cid, everything, members) for cid in members}
    assert [(q.broker_name, q.queue_id) for q in got["A-1"]] == [("A-b", 0), ("Z-b", 0)]
    assert [(q.broker_name, q.queue_id) for q in got["A-2"]] == [("A-b", 1), ("Z-b", 1)]
    assert [(q.broker_name, q.queue_id) for q in got["B-1"]] == [("B-b", 0), ("B-b", 1)]


def test_nearby_needs_strategy_resolver_and_rooms():
    for strategy, rooms, message in (
        (None, Rooms(), "allocateMessageQueueStrategy is null"),
        (AVERAGELY, None, "machineRoomResolver is null"),
    ):
        with pytest.raises(AllocateNullError, match=f"^{message}$"):
            AllocateMachineRoomNearby(strategy, rooms)
    nearby = AllocateMachineRoomNearby(AVERAGELY, Rooms())
    with pytest.raises(AllocateArgumentError, match=r"^Machine room is null for mq MessageQueue \[topic=T, "):
        nearby.allocate("G", "A-1", queues(1, "none"), ["A-1"])
    with pytest.raises(AllocateArgumentError, match=r"^Machine room is null for consumer id none$"):
        nearby.allocate("G", "A-1", queues(1, "A-b"), ["A-1", "none"])
    without_list = AllocateMachineRoomNearby(AllocateMessageQueueByConfig(), Rooms())
    with pytest.raises(AllocateNullError):
        without_list.allocate("G", "A-1", queues(1, "A-b"), ["A-1"])
