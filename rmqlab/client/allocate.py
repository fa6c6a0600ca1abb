"""Which member of a consumer group gets which queues: the strategies, under their Java names."""

from __future__ import annotations

import hashlib
from bisect import bisect_left
from typing import TYPE_CHECKING, ClassVar, Final, Protocol

from rmqlab.errors import BadInput
from rmqlab.message.java import to_utf8
from rmqlab.rules import DEFAULT_RULES

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from rmqlab.message.topics import MessageQueue
    from rmqlab.rules import Rules

    Queues = Sequence[MessageQueue] | None
    ClientIds = Sequence[str] | None


class AllocateArgumentError(BadInput):
    """An argument no queue can be allocated with: empty client id, no queues, no members, a room unknown."""

    java_name: ClassVar[str] = "IllegalArgumentException"


class AllocateMessageQueueStrategy(Protocol):
    """A rule that every member of a group applies by itself to the same sorted lists."""

    @property
    def name(self) -> str:
        """The name members compare: all of one group should have the same."""
        ...

    def allocate(
        self, consumer_group: str | None, current_cid: str | None, mq_all: Queues, cid_all: ClientIds
    ) -> list[MessageQueue] | None:
        """The queues of client `current_cid` out of `mq_all`, the group's members being `cid_all`.

        The lists are taken as they are: sorting them is the caller's business (`RebalanceImpl`).

        Raises:
            AllocateArgumentError: arguments that Java refuses.
        """
        ...


def checked(
    current_cid: str | None, mq_all: Queues, cid_all: ClientIds
) -> tuple[str, Sequence[MessageQueue], Sequence[str]]:
    """The three arguments.

    Raises:
        AllocateArgumentError: one is empty; the text is RocketMQ's.
    """
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
        """This member's block, none when it is no member or comes after the queues are used up."""
        return self._rule(*checked(current_cid, mq_all, cid_all))


class AllocateMessageQueueAveragelyByCircle:
    """Queue i goes to member i modulo the number of members."""

    name: Final = "AVG_BY_CIRCLE"

    def allocate(
        self, consumer_group: str | None, current_cid: str | None, mq_all: Queues, cid_all: ClientIds
    ) -> list[MessageQueue]:
        """Every n-th queue from this member's place on."""
        cid, queues, cids = checked(current_cid, mq_all, cid_all)
        return list(queues[cids.index(cid) :: len(cids)]) if cid in cids else []


def md5_hash(key: str) -> int:
    """The first four bytes of MD5, big endian, unsigned (`ConsistentHashRouter.MD5Hash`)."""
    return int.from_bytes(hashlib.md5(to_utf8(key), usedforsecurity=False).digest()[:4], "big")


class AllocateMessageQueueConsistentHash:
    """Each member stands at several places of a ring; a queue goes to the next place.

    `virtual_node_cnt` places a member (default 10; 0 gives no member anything).

    Raises:
        AllocateArgumentError: when it is negative.
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
        """The queues whose printed text hashes to a place right before one of this member's."""
        cid, queues, cids = checked(current_cid, mq_all, cid_all)
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
