"""Committed offsets of consumer groups (4.8.0 `ConsumerOffsetManager`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rmqlab.events import Commit
from rmqlab.message.java import split

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rmqlab.broker.broker_hooks import BrokerHooks

TOPIC_GROUP_SEPARATOR = "@"
NOT_FOUND = -1


class ConsumerOffsetManager:
    """Keeps, for each "topic@group", the next offset to consume of each queue.

    Whoever commits wins, forwards or backwards. The text key is Java's, and so is its weakness: a topic or group with
    an "@" in its name is stored, and then passed over wherever the key is split.
    """

    def __init__(self, hooks: BrokerHooks) -> None:
        self._hooks = hooks
        self.offset_table: dict[str, dict[int, int]] = {}

    def commit_offset(self, client_host: str, group: str, topic: str, queue_id: int, offset: int) -> None:
        """Store an offset; `client_host` ("ip:port") says who committed it."""
        self.offset_table.setdefault(f"{topic}{TOPIC_GROUP_SEPARATOR}{group}", {})[queue_id] = offset
        if self._hooks.observe is not None:
            self._hooks.observe(Commit(client_host, group, topic, queue_id, offset))

    def query_offset(self, group: str, topic: str, queue_id: int) -> int:
        """Return the committed offset, -1 when there is none."""
        return self.offset_table.get(f"{topic}{TOPIC_GROUP_SEPARATOR}{group}", {}).get(queue_id, NOT_FOUND)

    def query_offsets(self, group: str, topic: str) -> dict[int, int] | None:
        """Return the committed offsets of all queues, None when there are none."""
        return self.offset_table.get(f"{topic}{TOPIC_GROUP_SEPARATOR}{group}")

    def which_topic_by_consumer(self, group: str) -> list[str]:
        """Return the topics of which a group has committed offsets."""
        return [topic for topic, other in self.topics_and_groups() if other == group]

    def topics_and_groups(self) -> Iterable[tuple[str, str]]:
        """Yield topic and group of every entry whose key can be split."""
        for key in self.offset_table:
            parts = split(key, TOPIC_GROUP_SEPARATOR)
            if len(parts) == 2:
                yield parts[0], parts[1]
