"""What heartbeats cost a broker: beats a second, a pool with a queue, and clients forgotten though they live.

A model (row H-51, experiment E13 of the third article, which has no figures): clients beat in turn, evenly spread; each
beat takes a thread for a time; who finds the queue full is refused and comes back a period later. What counts for the
scan is when a beat was worked on, so a long queue makes clients look old. 4.8.0 has a pool of heartbeats alone (row
H-26: min(32, cores) threads, a queue of 50,000); ``own_pool=False`` puts them in line with other requests instead (row
H-52).
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from heapq import heapreplace

from rmqlab.errors import BadInput
from rmqlab.rules import DEFAULT_RULES

QUEUE_CAPACITY = 50_000
MOST_THREADS = 32
MOST_EVENTS = 5_000_000
USUAL = DEFAULT_RULES


@dataclass(frozen=True, slots=True)
class LoadResult:
    """What came out. ``busy``: share of the threads' time, above 1 when they cannot keep up; times in ms.

    ``oldest_ms``: the oldest a client's last heartbeat became; ``forgotten``: clients that a scan dropped though they
    live.
    """

    beats_per_s: float
    busy: float
    longest_queue: int
    longest_wait_ms: float
    refused: int
    oldest_ms: float
    forgotten: int


@dataclass(frozen=True, slots=True)
class HeartbeatLoad:
    """``clients`` beat every ``period_ms``, each beat takes ``work_ms`` of one of ``threads``; ``run`` runs it.

    ``other_per_s`` other requests a second take ``other_ms`` each; they share the pool unless ``own_pool``.
    """

    clients: int = 10_000
    period_ms: int = 30_000
    work_ms: float = 0.5
    threads: int = 4
    queue: int = QUEUE_CAPACITY
    other_per_s: float = 0.0
    other_ms: float = 0.0
    own_pool: bool = True
    minutes: float = 6.0

    def run(self) -> LoadResult:
        """Let the minutes pass.

        Raises:
            BadInput: a number out of its range; the text names it.
        """
        self._check()
        rate = self.clients / self.period_ms
        other_rate = 0.0 if self.own_pool else self.other_per_s / 1_000
        busy = (rate * self.work_ms + other_rate * self.other_ms) / self.threads
        free = [0.0] * self.threads
        waiting: deque[float] = deque()
        heard = [index / rate - self.period_ms for index in range(self.clients)]
        longest, wait, refused, oldest = 0, 0.0, 0, 0.0
        forgotten = set()
        end = self.minutes * 60_000
        beat, others = 0, 0
        while True:
            at, other_at = beat / rate, others / other_rate if other_rate else end
            is_other = other_at < at
            now = min(at, other_at)
            if now >= end:
                break
            while waiting and waiting[0] <= now:
                waiting.popleft()
            full = len(waiting) >= self.queue
            begin = max(now, free[0])
            done = begin + (self.other_ms if is_other else self.work_ms)
            if is_other:
                others += 1
            else:
                client = beat % self.clients
                beat += 1
                refused += full
            if full:
                continue
            heapreplace(free, done)
            if begin > now:
                waiting.append(begin)
                longest = max(longest, len(waiting))
            if not is_other:
                wait = max(wait, begin - now)
                age = done - heard[client]
                oldest = max(oldest, age)
                if _scanned_away(heard[client], done):
                    forgotten.add(client)
                heard[client] = done
        for client, last in enumerate(heard):
            oldest = max(oldest, end - last)
            if _scanned_away(last, end):
                forgotten.add(client)
        return LoadResult(rate * 1_000, busy, longest, wait, refused, oldest, len(forgotten))

    def _check(self) -> None:
        for name, low, high in (
            ("clients", 1, 10_000_000), ("period_ms", 1, 3_600_000), ("work_ms", 0.001, 60_000), ("threads", 1, 1_024),
            ("queue", 1, 10_000_000), ("other_per_s", 0, 1_000_000), ("other_ms", 0, 60_000), ("minutes", 0.1, 240),
        ):  # fmt: skip
            if not low <= getattr(self, name) <= high:
                raise BadInput(f"{name} is {getattr(self, name)}; it lies between {low} and {high}")
        events = self.minutes * 60 * (1_000 * self.clients / self.period_ms + self.other_per_s)
        if events > MOST_EVENTS:
            raise BadInput(
                f"that is {events:,.0f} requests to follow one by one; at most {MOST_EVENTS:,}: fewer minutes"
            )


def _scanned_away(heard: float, until: float) -> bool:
    """Whether a scan between two beats found the first one too old."""
    first = heard + USUAL.channel_expired_ms
    return -(-first // USUAL.scan_period_ms) * USUAL.scan_period_ms < until
