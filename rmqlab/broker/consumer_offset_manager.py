"""Committed offsets of consumer groups (4.8.0 `ConsumerOffsetManager`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rmqlab.broker.processor_error import ProcessorError
from rmqlab.message.java import LONG_MAX, is_blank, split

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rmqlab.broker.broker import Broker

TOPIC_GROUP_SEPARATOR = "@"
NOT_FOUND = -1


class ConsumerOffsetManager:
    """Keeps, for each "topic@group", the next offset to consume of each queue.

    Whoever commits wins, forwards or backwards. The text key is Java's, and so is its weakness: a topic or group with
    an "@" in its name is stored, and then passed over wherever the key is split.
    """

    def __init__(self, broker: Broker) -> None:
        self._broker = broker
        self.offset_table: dict[str, dict[int, int]] = {}

    def commit_offset(self, client_host: str, group: str, topic: str, queue_id: int, offset: int) -> None:
        """Store an offset; `client_host` ("ip:port") says who committed it."""
        self.offset_table.setdefault(f"{topic}{TOPIC_GROUP_SEPARATOR}{group}", {})[queue_id] = offset
        if self._broker.observe is not None:
            self._broker.observe(
                "commit", {"client": client_host, "group": group, "topic": topic, "queue": queue_id, "offset": offset}
            )

    def query_offset(self, group: str, topic: str, queue_id: int) -> int:
        """Return the committed offset, -1 when there is none."""
        return self.offset_table.get(f"{topic}{TOPIC_GROUP_SEPARATOR}{group}", {}).get(queue_id, NOT_FOUND)

    def query_offsets(self, group: str, topic: str) -> dict[int, int] | None:
        """Return the committed offsets of all queues, None when there are none."""
        return self.offset_table.get(f"{topic}{TOPIC_GROUP_SEPARATOR}{group}")

    def which_topic_by_consumer(self, group: str) -> list[str]:
        """Return the topics of which a group has committed offsets."""
        return [topic for topic, other in self._pairs() if other == group]

    def which_group_by_topic(self, topic: str) -> list[str]:
        """Return the groups that have committed offsets of a topic."""
        return [group for other, group in self._pairs() if other == topic]

    def clone_offset(self, src_group: str, dest_group: str, topic: str | None) -> None:
        """Give a group the committed offsets that another one has of a topic, instead of its own."""
        offsets = self.offset_table.get(f"{topic}{TOPIC_GROUP_SEPARATOR}{src_group}")
        if offsets is not None:
            self.offset_table[f"{topic}{TOPIC_GROUP_SEPARATOR}{dest_group}"] = dict(offsets)

    def query_min_offset_in_all_group(self, topic: str, filter_groups: str | None) -> dict[int, int]:
        """Return, for each queue of a topic, the lowest committed offset that is not below the queue's first message.

        4.8.0 forgets the offsets of the groups named in `filter_groups` (with commas) for good, and so does this.
        Raises ProcessorError for a key without a group, where Java throws.
        """
        if not is_blank(filter_groups):
            for group in split(filter_groups or "", ","):
                for key in list(self.offset_table):
                    if _parts(key)[1] == group:
                        del self.offset_table[key]
        lowest: dict[int, int] = {}
        for key, offsets in self.offset_table.items():
            if split(key, TOPIC_GROUP_SEPARATOR)[:1] != [topic]:
                continue
            for queue_id, offset in offsets.items():
                if offset >= self._broker.message_store.get_min_offset_in_queue(topic, queue_id):
                    lowest[queue_id] = min(offset, lowest.get(queue_id, LONG_MAX))
        return lowest

    def _pairs(self) -> Iterable[tuple[str, str]]:
        for key in self.offset_table:
            parts = split(key, TOPIC_GROUP_SEPARATOR)
            if len(parts) == 2:
                yield parts[0], parts[1]


def _parts(key: str) -> list[str]:
    parts = split(key, TOPIC_GROUP_SEPARATOR)
    if len(parts) == 1:
        raise ProcessorError("java.lang.ArrayIndexOutOfBoundsException: Index 1 out of bounds for length 1")
    return parts
