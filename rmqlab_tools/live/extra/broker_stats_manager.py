"""How much went through topics and groups in the last minute, hour and day (`BrokerStatsManager`, `StatsItem`).

4.8.0 samples every counter every 10 s, 10 min and 1 h on a thread of its own. Here a counter is brought up to date
when it is added to or read: what was between is known, since nothing was added. The samples are those
of the same moments, without the millisecond or two by which a thread is late.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from rmqlab.broker.processor import success, system_error, with_header
from rmqlab.message.java import text_of
from rmqlab.protocol.bodies import BrokerStatsData, BrokerStatsItem
from rmqlab.protocol.codes import RequestCode
from rmqlab_tools.live.extra.admin_headers import ViewBrokerStatsDataRequestHeader

if TYPE_CHECKING:
    from collections.abc import Callable

    from rmqlab.broker.processor import Handler
    from rmqlab.protocol.command import RemotingCommand

TOPIC_PUT_NUMS = "TOPIC_PUT_NUMS"
TOPIC_PUT_SIZE = "TOPIC_PUT_SIZE"
GROUP_GET_NUMS = "GROUP_GET_NUMS"
GROUP_GET_SIZE = "GROUP_GET_SIZE"
GROUP_GET_LATENCY = "GROUP_GET_LATENCY"
SNDBCK_PUT_NUMS = "SNDBCK_PUT_NUMS"
BROKER_PUT_NUMS = "BROKER_PUT_NUMS"
BROKER_GET_NUMS = "BROKER_GET_NUMS"

# Period (ms) and how many samples are kept: a minute, an hour, a day.
MINUTE, HOUR, DAY = 0, 1, 2
_SERIES = ((10_000, 7), (600_000, 7), (3_600_000, 25))


class StatsSnapshot(NamedTuple):
    """What was added between the oldest and the newest sample: sum, a second (`tps`), a time (`avgpt`)."""

    sum: int = 0
    tps: float = 0.0
    avgpt: float = 0.0


class StatsItem:
    """One counter: the sum of what was added, how often, and samples (epoch ms, times, sum) of both."""

    __slots__ = ("_due", "_samples", "next_sample", "times", "value")

    def __init__(self, started: int, now: int) -> None:
        """`started` is when the broker began to sample: all counters are sampled at the same moments."""
        self.value = 0
        self.times = 0
        self._samples: tuple[list[tuple[int, int, int]], ...] = ([], [], [])
        self._due = [now + period - (now - started) % period for period, _ in _SERIES]
        self.next_sample = self._due[MINUTE]

    def sample(self, now: int) -> None:
        """Take the samples due at `now` (epoch ms) or before."""
        for index, (period, kept) in enumerate(_SERIES):
            due, samples = self._due[index], self._samples[index]
            if now < due:
                continue
            missed = (now - due) // period + 1
            due += max(missed - kept, 0) * period
            if not samples:
                samples.append((due - period, 0, 0))
            for _ in range(min(missed, kept)):
                samples.append((due, self.times, self.value))
                due += period
            del samples[:-kept]
            self._due[index] = due
        self.next_sample = self._due[MINUTE]

    def snapshot(self, series: int, now: int) -> StatsSnapshot:
        """What came in during the last minute, hour or day, up to the newest sample at `now`."""
        self.sample(now)
        samples = self._samples[series]
        if not samples:
            return StatsSnapshot()
        (first_at, first_times, first_value), (last_at, last_times, last_value) = samples[0], samples[-1]
        total, times = last_value - first_value, last_times - first_times
        return StatsSnapshot(total, total * 1000.0 / (last_at - first_at), total / times if times > 0 else 0.0)


class BrokerStatsManager:
    """Counters by kind and key. A key is a topic, `topic@group`, `queue@topic@group`, or the cluster's name."""

    def __init__(self, cluster_name: str, now: int) -> None:
        self._cluster_name = cluster_name
        self.started = now
        self._table: dict[str, dict[str, StatsItem]] = {}
        self.handlers: dict[int, Handler] = {
            RequestCode.VIEW_BROKER_STATS_DATA: with_header(ViewBrokerStatsDataRequestHeader, self._view)
        }

    def add(self, kind: str, key: str, value: int, now: int, times: int = 1) -> None:
        """Add to a counter at `now` (epoch ms)."""
        items = self._table.get(kind)
        if items is None:
            items = self._table[kind] = {}
        item = items.get(key)
        if item is None:
            item = items[key] = StatsItem(self.started, now)
        elif now >= item.next_sample:
            item.sample(now)
        item.value += value
        item.times += times

    def put(self, topic: str, count: int, size: int, now: int) -> None:
        """Count what a producer stored: messages, bytes of log."""
        self.add(TOPIC_PUT_NUMS, topic, count, now)
        self.add(TOPIC_PUT_SIZE, topic, size, now)
        self.add(BROKER_PUT_NUMS, self._cluster_name, count, now, times=0)

    def get(self, group: str, topic: str, queue_id: int | None, count: int, size: int, now: int) -> None:
        """Count what a consumer got; with a queue id also the time the copying took, which is none here."""
        key = f"{topic}@{group}"
        self.add(GROUP_GET_NUMS, key, count, now)
        self.add(GROUP_GET_SIZE, key, size, now)
        self.add(BROKER_GET_NUMS, self._cluster_name, count, now, times=0)
        if queue_id is not None:
            self.add(GROUP_GET_LATENCY, f"{queue_id}@{key}", 0, now)

    def sent_back(self, group: str, topic: str, now: int) -> None:
        """Count a message of `topic` that a consumer sent back."""
        self.add(SNDBCK_PUT_NUMS, f"{topic}@{group}", 1, now)

    def item(self, kind: str, key: str) -> StatsItem | None:
        """A counter, None when nothing was ever added to it."""
        return self._table.get(kind, {}).get(key)

    def tps_group_get_nums(self, group: str, topic: str, now: int) -> float:
        """How many messages of a topic a group got a second."""
        item = self.item(GROUP_GET_NUMS, f"{topic}@{group}")
        return 0.0 if item is None else item.snapshot(MINUTE, now).tps

    def on_topic_deleted(self, topic: str) -> None:
        """Forget a topic's counters (`autoDeleteUnusedStats`)."""
        for kind in (TOPIC_PUT_NUMS, TOPIC_PUT_SIZE):
            self._table.get(kind, {}).pop(topic, None)
        for kind in (GROUP_GET_NUMS, GROUP_GET_SIZE, SNDBCK_PUT_NUMS):
            self._forget(kind, lambda key: key.startswith(f"{topic}@"))
        self._forget(GROUP_GET_LATENCY, lambda key: f"@{topic}@" in key)

    def on_group_deleted(self, group: str) -> None:
        """Forget a group's counters (`autoDeleteUnusedStats`)."""
        for kind in (GROUP_GET_NUMS, GROUP_GET_SIZE, SNDBCK_PUT_NUMS, GROUP_GET_LATENCY):
            self._forget(kind, lambda key: key.endswith(f"@{group}"))

    def _view(self, header: ViewBrokerStatsDataRequestHeader, now: int) -> RemotingCommand:
        """What a counter gained in the last minute, hour and day."""
        item = self.item(header.stats_name, header.stats_key)
        if item is None:
            return system_error(f"The stats <{text_of(header.stats_name)}> <{text_of(header.stats_key)}> not exist")
        minute, hour, day = (BrokerStatsItem(*item.snapshot(series, now)) for series in (MINUTE, HOUR, DAY))
        return success(BrokerStatsData(stats_minute=minute, stats_hour=hour, stats_day=day))

    def _forget(self, kind: str, concerned: Callable[[str], bool]) -> None:
        items = self._table.get(kind, {})
        for key in [key for key in items if concerned(key)]:
            del items[key]
