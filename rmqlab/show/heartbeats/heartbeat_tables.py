"""Tables of notebook 06: the packet, who beats whom, who is told what, ways to disappear, what many clients cost."""

from __future__ import annotations

import statistics
from collections import Counter
from typing import TYPE_CHECKING, Any

from rmqlab.lab.articles.heartbeats import heartbeat_figures
from rmqlab.lab.groups.beat_traffic import MINUTES, BeatTraffic
from rmqlab.lab.groups.disappearance import GONE, LEFT, WAYS, Disappearance, Disappeared
from rmqlab.protocol.codes import RequestCode
from rmqlab.show.article import beside
from rmqlab.show.heartbeats.clock_lane import after
from rmqlab.show.tables import Table

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rmqlab.lab.groups.gauge_story import GaugeStory
    from rmqlab.lab.groups.heartbeat_load import HeartbeatLoad
    from rmqlab.lab.groups.notices import Notice

HEARTBEATS = (RequestCode.HEART_BEAT, RequestCode.REGISTER_BROKER)


def guessed(found: Mapping[str, Disappeared], guess: Mapping[str, float]) -> Table:
    """Guessed seconds until the broker notices, beside the measured ones."""
    rows = []
    for way, one in found.items():
        here = None if one.noticed is None else (one.noticed - one.moment) / 1_000
        rows.append((way, guess.get(way), "never" if here is None else f"{here:.1f}"))
    return Table("Seconds until the broker notices", ("A disappears", "you guess", "here"), rows)


def ways(**settings: Any) -> Table:
    """Every way to disappear: noticed by what, who is told, taken over when."""
    rows = []
    for way in WAYS:
        one = Disappearance(way=way, **settings).run()
        by = "a scan" if one.by_scan else "–" if one.noticed is None else "the closed connection"
        told = [t for t in one.told if t <= one.until]
        rows.append(
            (
                way, after(one, one.noticed), by, len(told), after(one, one.taken_over), after(one, one.back),
                f"{one.unserved_ms / 1_000:.1f} s",
            )
        )  # fmt: skip
    headers = (
        "A disappears",
        "noticed",
        "by",
        f"{LEFT} told, times",
        f"{LEFT} has all",
        "A back",
        "A's queues unserved",
    )
    return Table("Six ways to disappear", headers, rows)


def packet(traffic: BeatTraffic) -> Table:
    """Every field of one heartbeat, as it stands in the frame's JSON."""
    rows: list[tuple[str, object]] = [("clientID", traffic.packet["clientID"])]
    for number, consumer in enumerate(traffic.packet["consumerDataSet"]):
        where = f"consumerDataSet[{number}]"
        rows += [(f"{where}.{name}", value) for name, value in consumer.items() if name != "subscriptionDataSet"]
        for index, subscription in enumerate(consumer["subscriptionDataSet"]):
            rows += [(f"{where}.subscriptionDataSet[{index}].{name}", value) for name, value in subscription.items()]
    for number, producer in enumerate(traffic.packet["producerDataSet"]):
        rows += [(f"producerDataSet[{number}].{name}", value) for name, value in producer.items()]
    return Table(f"One heartbeat of A: {traffic.size} bytes with its frame", ("field", "value"), rows)


def who_beats_whom(traffic: BeatTraffic) -> Table:
    """Requests of quiet minutes by link; the heartbeats are marked."""
    names = {int(code): code.name for code in RequestCode}
    rows = [
        (f"{sender} → {receiver}", code, names.get(code, "?"), count, f"{count / MINUTES:.1f}")
        for (sender, receiver, code), count in sorted(traffic.requests.items())
    ]
    marked = frozenset(number for number, row in enumerate(rows) if row[1] in HEARTBEATS)
    headers = ("link", "code", "request", "count", "a minute")
    return Table(f"Requests in {MINUTES} quiet minutes (marked: signs of life)", headers, rows, marked)


def packets(traffic: BeatTraffic) -> Table:
    """How many heartbeats each client sent, and for whom each one spoke."""
    rows = [
        (who, consumers, producers, count) for (who, consumers, producers), count in sorted(traffic.packets.items())
    ]
    headers = ("client", "consumer groups in one packet", "producer groups in it", "packets")
    return Table("One packet speaks for the whole client", headers, rows)


def told(found: Sequence[Notice]) -> Table:
    """Who is told after each cause; nobody is marked although something changed."""
    rows = []
    for one in found:
        again = sum(ms > 2_000 for _, ms in one.told)
        rows.append(
            (
                one.cause, ", ".join(one.at_once) or "nobody", again or "–",
                "yes" if one.slot_changed else "no",
                "–" if one.rebalanced_ms is None else f"after {one.rebalanced_ms / 1_000:.1f} s",
            )
        )  # fmt: skip
    marked = frozenset(
        number
        for number, one in enumerate(found)
        if not one.at_once and (one.slot_changed or one.rebalanced_ms is not None)
    )
    headers = (
        "what happens to group A, B",
        "told at once",
        "notices later",
        "slot says something else",
        "B's queues change",
    )
    return Table("Who is told (marked: something changed, and nobody was)", headers, rows, marked)


def article(silent: Sequence[Disappeared]) -> Table:
    """The third article's figures beside ours."""
    return beside("The figures of the article on heartbeats", heartbeat_figures(silent))


def spread(silent: Sequence[Disappeared]) -> Table:
    """From the disappearance to removal and takeover, over all moments tried."""
    rows = []
    for what, name in (("the broker forgets A", "noticed"), (f"{LEFT} has all queues", "taken_over")):
        seconds = [(t - one.moment) / 1_000 for one in silent if (t := getattr(one, name)) is not None]
        rows.append(
            (what, len(seconds), f"{min(seconds):.1f}", f"{statistics.median(seconds):.1f}", f"{max(seconds):.1f}")
        )
    headers = ("what", "runs", "soonest, s", "median, s", "latest, s")
    return Table(f"{GONE}'s machine is gone: seconds from then on", headers, rows)


def cost(beat_bytes: int, periods_s: Sequence[int], clients: Sequence[int]) -> Table:
    """Beats and bytes a second for numbers of clients and periods."""
    rows = []
    for count in clients:
        for period in periods_s:
            rate = count / period
            rows.append((f"{count:,}", period, f"{rate:,.0f}", f"{rate * beat_bytes * 8 / 1e6:.1f}"))
    headers = ("clients", "period, s", "beats a second", "Mbit a second")
    return Table(f"What a broker hears, {beat_bytes} bytes a beat", headers, rows)


def pools(*loads: HeartbeatLoad) -> Table:
    """Loads on a pool of heartbeats alone and on a shared one."""
    rows = []
    marked = set()
    for number, load in enumerate(loads):
        result = load.run()
        if result.forgotten:
            marked.add(number)
        others = f"{load.other_per_s:g}/s × {load.other_ms:g} ms" if load.other_per_s else "–"
        rows.append(
            (
                f"{load.clients:,}", others, "its own" if load.own_pool else "shared", f"{result.busy:.0%}",
                f"{result.longest_queue:,}", f"{result.longest_wait_ms / 1_000:.1f}", f"{result.refused:,}",
                f"{result.oldest_ms / 1_000:.0f}", f"{result.forgotten:,}",
            )
        )  # fmt: skip
    headers = (
        "clients", "other requests", "pool", "threads busy", "longest queue", "longest wait, s", "refused",
        "oldest beat, s", "forgotten alive",
    )  # fmt: skip
    return Table("Pools (marked: clients that live are forgotten)", headers, rows, frozenset(marked))


def gauges(story: GaugeStory, *seconds: int) -> Table:
    """The gauges of a group at some seconds after the first step."""
    rows = []
    for second in seconds:
        sample = min(story.samples, key=lambda one: abs(one.t - story.begin - second * 1_000))
        gauge = sample.groups[0]
        age = gauge.age_ms
        rows.append(
            (
                f"{second} s", len(gauge.members), "–" if age is None else f"{age / 1_000:.0f} s", gauge.raw_lag,
                "nobody subscribes" if gauge.filtered_lag is None else gauge.filtered_lag, sum(gauge.flips.values()),
            )
        )  # fmt: skip
    headers = ("time", "members", "oldest heartbeat", "raw lag", "filtered lag", "flips, last minute")
    return Table("Gauges of the group", headers, rows)


def fates(story: GaugeStory) -> Table:
    """What became of the messages that the gauges counted."""
    counts = Counter(str(fate.fate) for fate in story.run.fates)
    rows = [(fate, count) for fate, count in sorted(counts.items())]
    return Table("What became of them", ("fate", "messages"), rows)
