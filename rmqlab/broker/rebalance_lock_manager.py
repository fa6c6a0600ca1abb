"""Locks of queues for orderly consumption (4.8.0 `RebalanceLockManager`, requests 41 and 42)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rmqlab.message.message import MessageQueue

REBALANCE_LOCK_MAX_LIVE_TIME_MS = 60_000


@dataclass(slots=True)
class LockEntry:
    """Who holds a queue and when it asked last (epoch ms)."""

    client_id: str
    last_update_timestamp: int

    def is_locked(self, client_id: str, now: int) -> bool:
        """Tell whether `client_id` holds the queue and asked in the last 60 s."""
        return self.client_id == client_id and not self.is_expired(now)

    def is_expired(self, now: int) -> bool:
        """Tell whether the holder has been silent for more than 60 s, so that anybody may take over."""
        return now - self.last_update_timestamp > REBALANCE_LOCK_MAX_LIVE_TIME_MS


class RebalanceLockManager:
    """Gives each queue of a group to one client at a time; a holder renews by asking again."""

    def __init__(self) -> None:
        self.mq_lock_table: dict[str, dict[MessageQueue, LockEntry]] = {}

    def try_lock(self, group: str, queue: MessageQueue, client_id: str, now: int) -> bool:
        """Lock or renew one queue; return whether `client_id` holds it now."""
        entry = self.mq_lock_table.setdefault(group, {}).setdefault(queue, LockEntry(client_id, now))
        if entry.client_id != client_id and not entry.is_expired(now):
            return False
        entry.client_id = client_id
        entry.last_update_timestamp = now
        return True

    def try_lock_batch(
        self, group: str, queues: Iterable[MessageQueue], client_id: str, now: int
    ) -> list[MessageQueue]:
        """Lock or renew several queues; return those that `client_id` holds now, in the order asked for."""
        return [queue for queue in queues if self.try_lock(group, queue, client_id, now)]

    def unlock_batch(self, group: str, queues: Iterable[MessageQueue], client_id: str) -> None:
        """Give up queues; those held by others, or by nobody, stay as they are. An expired lock is its holder's."""
        table = self.mq_lock_table.get(group)
        if table is None:
            return
        for queue in queues:
            entry = table.get(queue)
            if entry is not None and entry.client_id == client_id:
                del table[queue]
