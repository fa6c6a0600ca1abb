"""The order in which Java's hash tables give queues back: it shows in the order of requests (row S-84)."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from rmqlab.message.java import hash_map_order, string_hash

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rmqlab.message.message import MessageQueue

_MASK32 = 0xFFFFFFFF
PROCESS_QUEUE_TABLE_LENGTH = 128
"""Table length of a `ConcurrentHashMap(64)`, which holds the process queues."""


@lru_cache(maxsize=65536)
def _spread(queue: MessageQueue) -> int:
    # 4.8.0 MessageQueue.hashCode: broker name, queue id, topic, in this order
    result = 31 + string_hash(queue.broker_name)
    result = 31 * result + queue.queue_id
    result = (31 * result + string_hash(queue.topic)) & _MASK32
    return result ^ result >> 16


def queue_order(queues: Iterable[MessageQueue], length: int = 16) -> list[MessageQueue]:
    """Queues as a Java hash table iterates over them that was filled in the given order, from table length `length`."""
    result = list(queues)
    if len(result) < 2:
        return result
    while len(result) * 4 > length * 3:
        length *= 2
    mask = length - 1
    return sorted(result, key=lambda queue: _spread(queue) & mask)


def key_order(keys: Iterable[str]) -> list[str]:
    """Topic, group or broker names as a Java hash table iterates over them."""
    return list(_key_order(tuple(keys)))


@lru_cache(maxsize=4096)
def _key_order(keys: tuple[str, ...]) -> list[str]:
    return hash_map_order(keys)
