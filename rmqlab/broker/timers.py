"""The broker's timers: one list, ordered by time and then by registration. The time comes from outside."""

from __future__ import annotations

import heapq
from collections import deque
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

# Name, due time, place in the order of registration, period (None: once), what to do.
_Entry = tuple[int, int, str, int | None, "Callable[[int], None]"]


class Timers:
    """What is to be done when; `now` is the present, `started` when it began. All times are epoch ms.

    Java runs these on several threads; here two that are due at the same millisecond run in the order they were
    registered, which is the order in which `BrokerController` starts its services.
    """

    __slots__ = ("_heap", "_order", "_wake_ups", "now", "started")

    def __init__(self, now: int) -> None:
        self.now = self.started = now
        self._heap: list[_Entry] = []
        self._order = 0
        self._wake_ups: deque[Callable[[], None]] = deque()

    def at_fixed_rate(self, name: str, first: int, period: int, action: Callable[[int], None]) -> None:
        """Call `action(due)` at `first` and then every `period` ms."""
        self._push(first, name, period, action)

    def once(self, name: str, due: int, action: Callable[[int], None]) -> None:
        """Call `action(due)` at `due`."""
        self._push(due, name, None, action)

    def wake_up(self, run: Callable[[], None]) -> None:
        """Queue work that Java hands to the pull thread pool: done before the next timer, in this order."""
        self._wake_ups.append(run)

    def next_due(self) -> int | None:
        """Return when something is due next, or None when there is nothing."""
        if self._wake_ups:
            return self.now
        return self._heap[0][0] if self._heap else None

    def run(self, now: int) -> None:
        """Run everything due at `now` or before: what was queued, then by time and by registration."""
        self._run_wake_ups()
        while self._heap and self._heap[0][0] <= now:
            self.run_next()
            self._run_wake_ups()
        self.now = max(now, self.now)

    def run_next(self) -> None:
        """Run the timer that is due first, at its time, or now if that is later.

        A rate keeps its grid when a run comes late: the next run is one period after the due time.
        """
        due, order, name, period, action = heapq.heappop(self._heap)
        if period is not None:
            heapq.heappush(self._heap, (due + period, order, name, period, action))
        self.now = max(due, self.now)
        action(self.now)

    def _run_wake_ups(self) -> None:
        while self._wake_ups:
            self._wake_ups.popleft()()

    def clock_was_set(self, by_ms: int, unless: str) -> None:
        """The clock was moved: timers keep their distance from now, but those whose names begin with `unless`."""
        self._heap = [entry if entry[2].startswith(unless) else (entry[0] + by_ms, *entry[1:]) for entry in self._heap]
        heapq.heapify(self._heap)

    def cancel(self, name: str) -> None:
        """Forget all timers of this name; nothing happens when there is none."""
        self._heap = [entry for entry in self._heap if entry[2] != name]
        heapq.heapify(self._heap)

    def names(self) -> list[str]:
        """Return the names of all timers, those due first in front."""
        return [entry[2] for entry in sorted(self._heap, key=lambda entry: entry[:2])]

    def upcoming(self) -> list[tuple[int, str, Callable[[int], None]]]:
        """Return due time, name and action of all timers, in the order they will run."""
        return [(entry[0], entry[2], entry[4]) for entry in sorted(self._heap, key=lambda entry: entry[:2])]

    def _push(self, due: int, name: str, period: int | None, action: Callable[[int], None]) -> None:
        heapq.heappush(self._heap, (due, self._order, name, period, action))
        self._order += 1
