"""Which member of a consumer group gets which queues: the six strategies, under their Java names."""

from __future__ import annotations

import hashlib
from bisect import bisect_left
from typing import TYPE_CHECKING, ClassVar, Final, Protocol, TypeVar

from rmqlab.errors import BadInput
from rmqlab.message.java import split, to_utf8, utf16_key
from rmqlab.rules import DEFAULT_RULES

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Sequence

    from rmqlab.message.message import MessageQueue
    from rmqlab.rules import Rules

    Queues = Sequence[MessageQueue] | None
    ClientIds = Sequence[str] | None

_T = TypeVar("_T")


class AllocateArgumentError(BadInput):
    """An argument no queue can be allocated with: empty client id, no queues, no members, a room unknown."""

    java_name: ClassVar[str] = "IllegalArgumentException"


class AllocateNullError(BadInput):
    """Something needed is None where RocketMQ does not check and fails with a NullPointerException."""

    java_name: ClassVar[str] = "NullPointerException"


class AllocateMessageQueueStrategy(Protocol):
    """A rule that every member of a group applies by itself to the same sorted lists."""

    @property
    def name(self) -> str:
        """The name members compare: all of one group should have the same."""
        ...

    def allocate(
        self, consumer_group: str | None, current_cid: str | None, mq_all: Queues, cid_all: ClientIds
    ) -> list[MessageQueue] | None:
        """Give the queues of client `current_cid` out of `mq_all`, the group's members being `cid_all`.

        The lists are taken as they are: sorting them is the caller's business (`RebalanceImpl`).
        Raises `AllocateArgumentError`, and `AllocateNullError` in the strategies that check nothing.
        """
        ...


def _checked(
    current_cid: str | None, mq_all: Queues, cid_all: ClientIds
) -> tuple[str, Sequence[MessageQueue], Sequence[str]]:
    """Return the three when none is empty, else raise `AllocateArgumentError` with RocketMQ's text."""
    if not current_cid:
        raise AllocateArgumentError("currentCID is empty")
    if not mq_all:
        raise AllocateArgumentError("mqAll is null or mqAll empty")
    if not cid_all:
        raise AllocateArgumentError("cidAll is null or cidAll empty")
    return current_cid, mq_all, cid_all


class AllocateMessageQueueAveragely:
    """Contiguous blocks, the default; the first `queues mod members` members get one queue more."""

    name: Final = "AVG"

    def __init__(self, rules: Rules = DEFAULT_RULES) -> None:
        self._rule = rules.allocate

    def allocate(
        self, consumer_group: str | None, current_cid: str | None, mq_all: Queues, cid_all: ClientIds
    ) -> list[MessageQueue]:
        """Give this member's block, none when it is no member or comes after the queues are used up."""
        return self._rule(*_checked(current_cid, mq_all, cid_all))


class AllocateMessageQueueAveragelyByCircle:
    """Queue i goes to member i modulo the number of members."""

    name: Final = "AVG_BY_CIRCLE"

    def allocate(
        self, consumer_group: str | None, current_cid: str | None, mq_all: Queues, cid_all: ClientIds
    ) -> list[MessageQueue]:
        """Give every n-th queue from this member's place on."""
        cid, queues, cids = _checked(current_cid, mq_all, cid_all)
        return list(queues[cids.index(cid) :: len(cids)]) if cid in cids else []


class AllocateMessageQueueByConfig:
    """The list it was given, whatever queues and members there are."""

    name: Final = "CONFIG"

    def __init__(self, message_queue_list: list[MessageQueue] | None = None) -> None:
        self.message_queue_list = message_queue_list

    def allocate(
        self, consumer_group: str | None, current_cid: str | None, mq_all: Queues, cid_all: ClientIds
    ) -> list[MessageQueue] | None:
        """Give the list itself, None when none was set; nothing is checked."""
        return self.message_queue_list


def md5_hash(key: str) -> int:
    """Give the first four bytes of MD5, big endian, unsigned (`ConsistentHashRouter.MD5Hash`)."""
    return int.from_bytes(hashlib.md5(to_utf8(key), usedforsecurity=False).digest()[:4], "big")


class AllocateMessageQueueConsistentHash:
    """Each member stands at several places of a ring; a queue goes to the next place.

    `virtual_node_cnt` places a member (default 10; 0 gives nobody anything). Raises `AllocateArgumentError` when it
    is negative.
    """

    name: Final = "CONSISTENT_HASH"

    def __init__(self, virtual_node_cnt: int = 10, hash_function: Callable[[str], int] = md5_hash) -> None:
        if virtual_node_cnt < 0:
            raise AllocateArgumentError(f"illegal virtualNodeCnt :{virtual_node_cnt}")
        self._virtual_node_cnt = virtual_node_cnt
        self._hash = hash_function

    def allocate(
        self, consumer_group: str | None, current_cid: str | None, mq_all: Queues, cid_all: ClientIds
    ) -> list[MessageQueue]:
        """Give the queues whose printed text hashes to a place right before one of this member's."""
        cid, queues, cids = _checked(current_cid, mq_all, cid_all)
        ring = self._ring(cids)
        if cid not in cids or not ring:
            return []
        places = sorted(ring)
        return [
            queue for queue in queues if ring[places[bisect_left(places, self._hash(str(queue))) % len(places)]] == cid
        ]

    def _ring(self, cids: Sequence[str]) -> dict[int, str]:
        ring: dict[int, str] = {}
        for i, cid in enumerate(cids):
            # A member listed twice gets new places after those it still has.
            first = sum(owner == cid for owner in ring.values()) if cid in cids[:i] else 0
            for replica in range(first, first + self._virtual_node_cnt):
                ring[self._hash(f"{cid}-{replica}")] = cid
        return ring


class AllocateMessageQueueByMachineRoom:
    """Only queues of brokers called `room@name` in one of `consumeridcs`, shared evenly."""

    name: Final = "MACHINE_ROOM"

    def __init__(self, consumeridcs: Collection[str] | None = None) -> None:
        self.consumeridcs = consumeridcs

    def allocate(
        self, consumer_group: str | None, current_cid: str | None, mq_all: Queues, cid_all: ClientIds
    ) -> list[MessageQueue]:
        """Give this member's block, and one of the queues left over to each of the first members.

        No argument is checked: None for a list, or no rooms while a broker has one, raises `AllocateNullError`.
        """
        if cid_all is None:
            raise AllocateNullError("cidAll is null")
        if current_cid not in cid_all:
            return []
        if mq_all is None:
            raise AllocateNullError("mqAll is null")
        queues = [queue for queue in mq_all if self._is_here(queue)]
        index = cid_all.index(current_cid)
        share, rest = divmod(len(queues), len(cid_all))
        block = queues[share * index : share * (index + 1)]
        return [*block, queues[index + share * len(cid_all)]] if index < rest else block

    def _is_here(self, queue: MessageQueue) -> bool:
        parts = split(queue.broker_name, "@")
        if len(parts) != 2:
            return False
        if self.consumeridcs is None:
            raise AllocateNullError("consumeridcs is null")
        return parts[0] in self.consumeridcs


class MachineRoomResolver(Protocol):
    """Tells the room of a broker and of a client; None or empty when it knows none."""

    def broker_deploy_in(self, message_queue: MessageQueue, /) -> str | None:
        """Give the room of the queue's broker."""
        ...

    def consumer_deploy_in(self, client_id: str, /) -> str | None:
        """Give the room of a client."""
        ...


class AllocateMachineRoomNearby:
    """Queues go to members of their own room by another strategy; rooms without members are shared by all.

    Raises `AllocateNullError` when strategy or resolver is None.
    """

    def __init__(
        self, strategy: AllocateMessageQueueStrategy | None, machine_room_resolver: MachineRoomResolver | None
    ) -> None:
        if strategy is None:
            raise AllocateNullError("allocateMessageQueueStrategy is null")
        if machine_room_resolver is None:
            raise AllocateNullError("machineRoomResolver is null")
        self._strategy = strategy
        self._resolver = machine_room_resolver

    @property
    def name(self) -> str:
        """Both names, joined."""
        return f"MACHINE_ROOM_NEARBY-{self._strategy.name}"

    def allocate(
        self, consumer_group: str | None, current_cid: str | None, mq_all: Queues, cid_all: ClientIds
    ) -> list[MessageQueue]:
        """Give this member's share of its own room, then of every deserted room in the order of their names.

        Raises `AllocateArgumentError`, also for a broker or a member without a room.
        """
        cid, queues, cids = _checked(current_cid, mq_all, cid_all)
        if cid not in cids:
            return []
        queues_by_room = _by_room(queues, self._resolver.broker_deploy_in, "mq")
        cids_by_room = _by_room(cids, self._resolver.consumer_deploy_in, "consumer id")
        here = self._resolver.consumer_deploy_in(cid) or ""
        shares = [(queues_by_room.pop(here), cids_by_room[here])] if here in queues_by_room else []
        deserted = sorted(queues_by_room.keys() - cids_by_room.keys(), key=utf16_key)
        result: list[MessageQueue] = []
        for of_room, members in [*shares, *((queues_by_room[room], cids) for room in deserted)]:
            share = self._strategy.allocate(consumer_group, cid, of_room, members)
            if share is None:
                raise AllocateNullError(f"strategy {self._strategy.name} gave no list")
            result.extend(share)
        return result


def _by_room(members: Iterable[_T], room_of: Callable[[_T], str | None], kind: str) -> dict[str, list[_T]]:
    rooms: dict[str, list[_T]] = {}
    for member in members:
        room = room_of(member)
        if not room:
            raise AllocateArgumentError(f"Machine room is null for {kind} {member}")
        rooms.setdefault(room, []).append(member)
    return rooms
