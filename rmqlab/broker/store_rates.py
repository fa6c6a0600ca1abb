"""How fast the store takes and gives messages, for GET_BROKER_RUNTIME_INFO (4.8.0 `StoreStatsService`).

4.8.0 looks at its counters every second. Here they are looked at before a request or timer of a later second changes
them, so that what they were at each full second is known; only changes are kept, for ten minutes.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from rmqlab.store.store_stats_service import StoreStatsService

SAMPLE_MS = 1_000
KEPT_SAMPLES = 600
SPANS = 10, 60, 600
_PRINT_EVERY = 60
# How long puts took. Here they take no time, so that all are in the first.
_DURATIONS = (
    "<=0ms", "0~10ms", "10~50ms", "50~100ms", "100~200ms", "200~500ms", "500ms~1s", "1~2s", "2~3s", "3~4s", "4~5s",
    "5~10s", "10s~",
)  # fmt: skip


class Totals(NamedTuple):
    """Counters of the store since it began: messages put, reads that found something, that did not, messages read."""

    put: int = 0
    found: int = 0
    missed: int = 0
    transferred: int = 0


class StoreRates:
    """Knows the store's totals at every full second since `now` (epoch ms)."""

    def __init__(self, stats: StoreStatsService, now: int) -> None:
        self._stats = stats
        self.boot = now
        self.next_sample = now + SAMPLE_MS
        self._seconds: list[int] = [0]
        self._totals: list[Totals] = [Totals()]

    def sample(self, now: int) -> None:
        """Note what the totals were at all full seconds up to `now`, before anything changes at `now`."""
        second = (now - self.boot) // SAMPLE_MS
        first = (self.next_sample - self.boot) // SAMPLE_MS
        self.next_sample = self.boot + (second + 1) * SAMPLE_MS
        totals = self.totals()
        if totals == self._totals[-1]:
            return
        self._seconds.append(first)
        self._totals.append(totals)
        old = bisect_right(self._seconds, second - KEPT_SAMPLES) - 1
        if old > KEPT_SAMPLES:
            del self._seconds[:old], self._totals[:old]

    def totals(self) -> Totals:
        """Return the store's totals of this moment."""
        stats = self._stats
        return Totals(
            sum(stats.single_put_message_topic_times_total.values()),
            stats.get_message_times_total_found,
            stats.get_message_times_total_miss,
            stats.get_message_transfered_msg_count,
        )

    def _at(self, second: int) -> Totals:
        return self._totals[bisect_right(self._seconds, second) - 1]

    def runtime_info(self, now: int) -> dict[str, str]:
        """Return names and texts as 4.8.0 writes them; a rate over a span that is not over yet is empty."""
        if now >= self.next_sample:
            self.sample(now)
        stats, totals = self._stats, self.totals()
        puts = totals.put or 1
        size = sum(stats.single_put_message_topic_size_total.values())
        second = (now - self.boot) // SAMPLE_MS
        printed = second // _PRINT_EVERY * _PRINT_EVERY
        counts = [totals.put - self._at(printed).put, *[0] * (len(_DURATIONS) - 1)]
        return {
            "bootTimestamp": str(self.boot),
            "runtime": _runtime(now - self.boot),
            "putMessageEntireTimeMax": "0",
            "putMessageTimesTotal": str(puts),
            "putMessageSizeTotal": str(size),
            "putMessageDistributeTime": "".join(
                f"[{name}]:{count} " for name, count in zip(_DURATIONS, counts, strict=True)
            ),
            "putMessageAverageSize": repr(size / puts),
            "dispatchMaxBuffer": "0",
            "getMessageEntireTimeMax": "0",
            "putTps": self._rates(second, "put"),
            "getFoundTps": self._rates(second, "found"),
            "getMissTps": self._rates(second, "missed"),
            "getTotalTps": " ".join(repr(self._tps(second, span, "found", "missed") or 0.0) for span in SPANS),
            "getTransferedTps": self._rates(second, "transferred"),
        }

    def _rates(self, second: int, name: str) -> str:
        rates = (self._tps(second, span, name) for span in SPANS)
        return " ".join("" if rate is None else repr(rate) for rate in rates)

    def _tps(self, second: int, span: int, *names: str) -> float | None:
        if second <= span:
            return None
        newest, oldest = self._at(second), self._at(second - span)
        gained: int = sum(getattr(newest, name) - getattr(oldest, name) for name in names)
        return gained / span


def _runtime(ms: int) -> str:
    seconds = ms // 1000
    minutes, hours = seconds // 60, seconds // 3600
    return f"[ {hours // 24} days, {hours % 24} hours, {minutes % 60} minutes, {seconds % 60} seconds ]"
