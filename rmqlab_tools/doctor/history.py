"""What several looks at a cluster say together: flips of a slot, and silent members."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, NamedTuple

from rmqlab_tools.live.gauges import says

if TYPE_CHECKING:
    from rmqlab_tools.doctor.snapshot import ClusterSnapshot, GroupSeen

LAST_MINUTE_MS = 60_000
KEPT_MS = 10 * LAST_MINUTE_MS
"""Flips are counted over the last ten minutes of looking."""


class SlotFlips(NamedTuple):
    """How often a slot said something else than at the look before: a lower bound, it may change in between.

    `per_minute` is None before the second look.
    """

    seen: int
    looks: int
    per_minute: float | None


class SnapshotHistory:
    """Feed it every look (`saw`). It keeps a few numbers a slot and a member, whatever the time it runs.

    >>> LookHistory().flips("G", "T")
    SlotFlips(seen=0, looks=0, per_minute=None)
    """

    def __init__(self) -> None:
        self._looks: deque[int] = deque()
        self._slots: dict[tuple[str, str, str], tuple[object, ...]] = {}
        self._flips: dict[tuple[str, str], deque[int]] = {}
        self._answered: dict[tuple[str, str], int] = {}

    def saw(self, look: ClusterSnapshot) -> None:
        """Take the next look; looks come in the order of their time."""
        self._looks.append(look.at)
        while self._looks[0] < look.at - KEPT_MS:
            self._looks.popleft()
        slots = {}
        answered = {}
        for group in look.groups.values():
            for broker, connection in (*group.slots.items(), *group.at_proxies.items()):
                for topic, subscription in connection.subscription_table.items():
                    place = (group.name, broker, topic)
                    slots[place] = says(subscription)
                    if place in self._slots and self._slots[place] != slots[place]:
                        self._flips.setdefault((group.name, topic), deque()).append(look.at)
            for client, member in group.members.items():
                if member.running is not None:
                    answered[group.name, client] = member.answered_at
                elif (group.name, client) in self._answered:
                    answered[group.name, client] = self._answered[group.name, client]
        self._slots, self._answered = slots, answered
        for flipped, times in list(self._flips.items()):
            while times and times[0] < look.at - KEPT_MS:
                times.popleft()
            if not times:
                del self._flips[flipped]

    def moved(self, step_ms: int) -> None:
        """Take in that the clock was set: all that was seen before is `step_ms` later by the clock as it is now."""
        self._looks = deque(at + step_ms for at in self._looks)
        self._flips = {place: deque(at + step_ms for at in times) for place, times in self._flips.items()}
        self._answered = {place: at + step_ms for place, at in self._answered.items()}

    def flips(self, group: str, topic: str) -> SlotFlips:
        """How often the slot of a group's topic flipped while it was looked at, on all brokers."""
        seen, looks = len(self._flips.get((group, topic), ())), len(self._looks)
        watched = self._looks[-1] - self._looks[0] if self._looks else 0
        return SlotFlips(seen, looks, seen * LAST_MINUTE_MS / watched if watched else None)

    def flips_per_minute(self, group: GroupSeen) -> float | None:
        """How often the slots of a group flip, of all its topics together: a lower bound, None before two looks."""
        tables = (*group.slots.values(), *group.at_proxies.values())
        topics = {topic for table in tables for topic in table.subscription_table}
        rates = [rate for topic in topics if (rate := self.flips(group.name, topic).per_minute) is not None]
        return sum(rates) if rates else None

    def silent_s(self, group: GroupSeen, now: int) -> float | None:
        """Seconds at `now` (epoch ms) since the member that is silent longest has answered; None: none ever did.

        Heartbeats themselves are not reported by a broker of 4.8.0.
        """
        answered = [at for client in group.members if (at := self._answered.get((group.name, client))) is not None]
        return (now - min(answered)) / 1000 if answered else None
