"""What was popped of a queue and is not committed yet: the next pop goes on from there (`PopBufferMergeService`).

Only its list of offsets: the buffer that merges check points with acks is off by default (`enablePopBufferMerge`).
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rmqlab.broker.consumer_manage_processor import ConsumerOffsetManager
    from rmqlab.broker.processor import Timers

SCAN_MS = 5
NOTHING = -1
Queue = tuple[str, str, int]


@dataclass(slots=True)
class _Entry:
    next_begin_offset: int
    is_stored: bool


class PopBufferMergeService:
    """Offsets to commit, by topic, group and queue.

    A scan, every 5 ms in Java, commits those whose check point lies in the store, in their order.
    """

    def __init__(self, offsets: ConsumerOffsetManager, timers: Timers) -> None:
        self._offsets = offsets
        self._timers = timers
        self._table: dict[Queue, deque[_Entry]] = {}
        self._is_due = False

    def latest_offset(self, topic: str, group: str, queue_id: int) -> int:
        """Where the next pop goes on, -1: nothing is waiting to be committed."""
        entries = self._table.get((topic, group, queue_id))
        return entries[-1].next_begin_offset if entries else NOTHING

    def add(self, topic: str, group: str, queue_id: int, next_begin_offset: int, *, is_stored: bool) -> None:
        """Note how far a pop came in a queue; without its check point in the store that is never committed."""
        entries = self._table.setdefault((topic, group, queue_id), deque())
        entries.append(_Entry(next_begin_offset, is_stored))
        if not self._is_due:
            self._is_due = True
            started = self._timers.started
            due = started + ((self._timers.now - started) // SCAN_MS + 1) * SCAN_MS
            self._timers.once("pop offsets", due, self._scan)

    def _scan(self, _now: int) -> None:
        self._is_due = False
        for (topic, group, queue_id), entries in list(self._table.items()):
            while entries and entries[0].is_stored:
                offset = entries.popleft().next_begin_offset
                self._offsets.commit_offset("PopBufferMergeService", group, topic, queue_id, offset)
            if not entries:
                del self._table[topic, group, queue_id]
