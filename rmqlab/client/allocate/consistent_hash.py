"""A hash ring: when a member comes or goes, few queues move."""

from __future__ import annotations

import hashlib
from bisect import bisect_left
from typing import TYPE_CHECKING, Final

from rmqlab.client.allocate.strategy import AllocateArgumentError, check_arguments
from rmqlab.message.java import to_utf8

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from rmqlab.message.message import MessageQueue


def md5_hash(key: str) -> int:
    """Give the first four bytes of MD5, big endian, unsigned (4.8.0 `ConsistentHashRouter.MD5Hash`)."""
    return int.from_bytes(hashlib.md5(to_utf8(key), usedforsecurity=False).digest()[:4], "big")


class AllocateMessageQueueConsistentHash:
    """Each member stands at several places of a ring; a queue goes to the next place (4.8.0, same name).

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
        self,
        consumer_group: str | None,
        current_cid: str | None,
        mq_all: Sequence[MessageQueue] | None,
        cid_all: Sequence[str] | None,
    ) -> list[MessageQueue]:
        """Give the queues whose printed text hashes to a place right before one of this member's."""
        cid, queues, cids = check_arguments(current_cid, mq_all, cid_all)
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
