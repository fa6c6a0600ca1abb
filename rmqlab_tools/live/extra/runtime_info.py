"""What the broker holds and how fast its store works (GET_BROKER_RUNTIME_INFO, `StoreStatsService`).

4.8.0 looks at its counters every second. Here they are looked at before a request or timer of a later second changes
them, so that what they were at each full second is known; only changes are kept, for ten minutes.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING, NamedTuple

from rmqlab.broker.processor import success
from rmqlab.message.java import hash_map_order
from rmqlab.message.topics import SCHEDULE_TOPIC
from rmqlab.protocol.bodies import KVTable
from rmqlab.protocol.codes import RequestCode
from rmqlab.store.config import delay_level_to_queue_id

if TYPE_CHECKING:
    from collections.abc import Callable

    from rmqlab.broker.broker import Broker
    from rmqlab.broker.processor import Handler
    from rmqlab.protocol.channel import Channel
    from rmqlab.protocol.command import RemotingCommand
    from rmqlab.store.dispatch_request import StoreStatsService
    from rmqlab_tools.live.extra.admin_topics import Configuration

SAMPLE_MS = 1_000
DAY_MS = 86_400_000
KEPT_SAMPLES = 600
SPANS = 10, 60, 600
_PRINT_EVERY = 60
_CAPACITY = 64
_TRANSIENT_BUFFERS = 2**31 - 1  # what 4.8.0 says when the pool is off
_UNITS = "KMGTPE"
# How long puts took; those of less than 1 ms are in the first.
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
        self._printed = 0

    def sample(self, now: int) -> None:
        """Note what the totals were at all full seconds up to `now`, before anything changes at `now`."""
        second = (now - self.boot) // SAMPLE_MS
        first = (self.next_sample - self.boot) // SAMPLE_MS
        self.next_sample = self.boot + (second + 1) * SAMPLE_MS
        totals = self.totals()
        if (printed := second // _PRINT_EVERY * _PRINT_EVERY) > self._printed:
            self._printed = printed
            self._stats.slow_puts[:] = [0] * len(self._stats.slow_puts)
        if totals == self._totals[-1]:
            return
        self._seconds.append(first)
        self._totals.append(totals)
        old = bisect_right(self._seconds, second - KEPT_SAMPLES) - 1
        if old > KEPT_SAMPLES:
            del self._seconds[:old], self._totals[:old]

    def totals(self) -> Totals:
        """The store's totals of this moment."""
        stats = self._stats
        return Totals(
            sum(stats.single_put_message_topic_times_total.values()),
            stats.get_message_times_total_found,
            stats.get_message_times_total_miss,
            stats.get_message_transfered_msg_count,
        )

    def _at(self, second: int) -> Totals:
        return self._totals[bisect_right(self._seconds, second) - 1]

    def table(self, now: int) -> dict[str, str]:
        """Names and texts as 4.8.0 writes them; a rate over a span that is not over yet is empty."""
        if now >= self.next_sample:
            self.sample(now)
        stats, totals = self._stats, self.totals()
        puts = totals.put or 1
        size = sum(stats.single_put_message_topic_size_total.values())
        second = (now - self.boot) // SAMPLE_MS
        slow = stats.slow_puts[1:]
        counts = [max(totals.put - self._at(self._printed).put - sum(slow), 0), *slow]
        return {
            "bootTimestamp": str(self.boot),
            "runtime": _runtime(now - self.boot),
            "putMessageEntireTimeMax": str(stats.put_message_entire_time_max),
            "putMessageTimesTotal": str(puts),
            "putMessageSizeTotal": str(size),
            "putMessageDistributeTime": "".join(
                f"[{name}]:{count} " for name, count in zip(_DURATIONS, counts, strict=True)
            ),
            "putMessageAverageSize": repr(size / puts),
            "dispatchMaxBuffer": "0",
            "getMessageEntireTimeMax": str(stats.get_message_entire_time_max),
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


def _capacity(total: int, free: int) -> str:
    return f"Total : {human_readable(total)}, Free : {human_readable(free)}."


class RuntimeInfo:
    """Answers GET_BROKER_RUNTIME_INFO. Nothing waits in a queue here.

    `disk_space` gives size, free and usable bytes of the disk that holds the store. A store in memory has none; its
    ratio is -1, as that of a folder that is not there; `memory_space` gives the bytes of memory then. None: not known.
    """

    def __init__(self, broker: Broker, configuration: Configuration) -> None:
        self._configuration = configuration
        self._store = broker.message_store
        self._rules = broker.rules
        self._schedule = broker.schedule_message_service
        self._rates = StoreRates(self._store.store_stats_service, broker.now)
        self._morning_totals = Totals(), Totals()  # when yesterday began, and today
        self.disk_space: Callable[[], tuple[int, int, int]] | None = None
        self.memory_space: Callable[[], tuple[int, int]] | None = None
        self.handlers: dict[int, Handler] = {RequestCode.GET_BROKER_RUNTIME_INFO: self._answer}

    def before_request(self, _channel: Channel, _command: RemotingCommand, now: int) -> None:
        """Note what the store's totals were before this request changes them."""
        if now >= self._rates.next_sample:
            self._rates.sample(now)

    def new_day(self, _now: int) -> None:
        """Count today's messages from now on; Java does so at midnight where it stands, here that is UTC."""
        self._morning_totals = self._morning_totals[1], self._rates.totals()

    def _answer(self, _channel: Channel, _command: RemotingCommand, now: int) -> RemotingCommand:
        table = self._table(now)
        ordered = {str(name): table[str(name)] for name in hash_map_order(table, _CAPACITY)}
        return success(KVTable(table=ordered))

    def _table(self, now: int) -> dict[str, str]:
        store, info = self._store, self._rates.table(now)
        ratio = "-1.0"
        if self.disk_space is not None:
            space = self.disk_space()
            ratio = repr(self._rules.disk_used(*space))
            info["commitLogDirCapacity"] = _capacity(*space[:2])
        elif self.memory_space is not None:
            info["commitLogDirCapacity"] = _capacity(*self.memory_space())
        settings = self._configuration.properties()
        totals = self._rates.totals()
        yesterday, today = self._morning_totals
        for level, offset in self._schedule.offset_table.items():
            highest = store.get_max_offset_in_queue(SCHEDULE_TOPIC, delay_level_to_queue_id(level))
            info[f"scheduleMessageOffset_{level}"] = f"{offset},{highest}"
        # In this order: two names of one bucket of Java's table stand in the order they were put.
        return info | {
            "commitLogDiskRatio": ratio,
            "consumeQueueDiskRatio": ratio,
            "commitLogMinOffset": str(store.commit_log.min_offset),
            "commitLogMaxOffset": str(store.max_phy_offset),
            "brokerVersionDesc": self._rules.wire.version_name,
            "brokerVersion": str(self._rules.wire.version_number),
            "msgPutTotalYesterdayMorning": str(yesterday.put),
            "msgPutTotalTodayMorning": str(today.put),
            "msgPutTotalTodayNow": str(totals.put),
            "msgGetTotalYesterdayMorning": str(yesterday.transferred),
            "msgGetTotalTodayMorning": str(today.transferred),
            "msgGetTotalTodayNow": str(totals.transferred),
            "sendThreadPoolQueueSize": "0",
            "sendThreadPoolQueueCapacity": settings["sendThreadPoolQueueCapacity"],
            "pullThreadPoolQueueSize": "0",
            "pullThreadPoolQueueCapacity": settings["pullThreadPoolQueueCapacity"],
            "queryThreadPoolQueueSize": "0",
            "queryThreadPoolQueueCapacity": settings["queryThreadPoolQueueCapacity"],
            "EndTransactionQueueSize": "0",
            "EndTransactionThreadPoolQueueCapacity": settings["endTransactionPoolQueueCapacity"],
            "dispatchBehindBytes": str(store.dispatch_behind_bytes()),
            "pageCacheLockTimeMills": "0",
            "sendThreadPoolQueueHeadWaitTimeMills": "0",
            "pullThreadPoolQueueHeadWaitTimeMills": "0",
            "queryThreadPoolQueueHeadWaitTimeMills": "0",
            "earliestMessageTimeStamp": str(store.get_earliest_message_time()),
            "startAcceptSendRequestTimeStamp": settings["startAcceptSendRequestTimeStamp"],
            "remainTransientStoreBufferNumbs": str(_TRANSIENT_BUFFERS),
            "remainHowManyDataToFlush": human_readable(0),
        }


def human_readable(count: int) -> str:
    """A number of bytes as people read it (`MixAll.humanReadableByteCount`, binary units)."""
    power = 0
    while count >> 10 * (power + 1) and power < len(_UNITS):
        power += 1
    return f"{count} B" if power == 0 else f"{count / 1024**power:.1f} {_UNITS[power - 1]}iB"
