"""The sweeps there are: what is varied, what a row measures, and the grid that is run unless another is asked for.

Two machines measure. The reduced models (`reduced_group`, `reduced_heartbeats`) do a million runs a second, the whole
core some hundred; a row of either is repeated exactly by its seed and parameters (`Sweep.run_row`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from rmqlab.errors import BadInput
from rmqlab.lab.articles.eight_messages import EightMessages
from rmqlab.lab.explorer.race import RACE_TIMING, RaceChooser
from rmqlab.lab.groups.tag_group import GROUP, TOPIC, counts
from rmqlab.lab.scenario import OutgoingMessage, Scenario, Send, Start, Step, Subscription
from rmqlab.lab.simulate import simulate
from rmqlab.spark.sweeps.reduced_group import COLUMNS, GroupStart, group_runs
from rmqlab.spark.sweeps.reduced_heartbeats import Heartbeats, beats_by_second, detection_ms, false_expiries_an_hour
from rmqlab.spark.sweeps.sweep import Scalar, Sweep, grid

TRAFFIC = ("starting", "settled")
MESSAGES, EVERY_MS, SETTLED_MS = 64, 100, 5_000
JITTER = 1.0  # a frame takes up to twice its least time
STORM_SETTLES_MS = 25_000  # the next round by timer comes within 20 s
Figures = dict[str, float | int]


@dataclass(frozen=True, slots=True)
class NamedSweep:
    """A sweep of the catalogue: ``rows`` gives its grid for a number of ``runs`` a row."""

    about: str
    run: Callable[..., Figures]
    rows: Callable[[int], list[dict[str, Scalar]]]
    runs: int

    def sweep(self, name: str, *, seed: int = 0, runs: int | None = None) -> Sweep:
        """The sweep, ready for `run_sweep`."""
        return Sweep(name, self.run, self.rows(self.runs if runs is None else runs), seed=seed)


def loss(
    seed: int, *, members: int, queues: int, shared: int, gap_ms: int, delay_us: int, traffic: str, runs: int
) -> Figures:
    """Shares of the messages sent to a group that starts, over ``runs`` runs of the reduced model.

    ``traffic``: "starting" for messages spread from the first start to 5 s behind the last, "settled" for messages
    from then on. ``low`` and ``high`` are the 5th and 95th percentile of the share delivered in one run.

    Raises:
        BadInput: another ``traffic``, or a parameter that `GroupStart.checked` refuses.
    """
    if traffic not in TRAFFIC:
        raise BadInput(f"traffic is {traffic!r}; it is one of {', '.join(TRAFFIC)}")
    until = (members - 1) * gap_ms + SETTLED_MS
    settled = traffic == "settled"
    start = GroupStart(
        members, queues, shared, gap_ms, delay_us, JITTER, messages=MESSAGES,
        first_ms=until if settled else 0, every_ms=EVERY_MS if settled else until / MESSAGES,
    )  # fmt: skip
    found = group_runs(start, seed, 0, runs)
    sent = found[:, 0]
    shares = {
        name: float(found[:, COLUMNS.index(name)].sum() / sent.sum())
        for name in ("delivered", "dropped_by_broker_tag", "dropped_by_client")
    }
    each = found[:, COLUMNS.index("delivered")] / sent
    return {
        **shares,
        "low": float(np.quantile(each, 0.05)),
        "high": float(np.quantile(each, 0.95)),
        "last_wins": float((found[:, COLUMNS.index("winner")] == members - 1).mean()),
        "requests": float(found[:, COLUMNS.index("requests")].mean()),
    }


def loss_whole(seed: int, *, gap_ms: int, queues: int, tags_of_b: str, runs: int) -> Figures:
    """The eight messages through the whole core, with delays as a real machine has them; shares of the messages."""
    total: dict[str, int] = {}
    for number in range(runs):
        run = EightMessages(
            gap_ms=gap_ms, queues=queues, tags={"A": "tagA", "B": tags_of_b}, seed=(seed + number) % 2**63
        ).run()
        for fate, count in counts(run).items():
            total[fate] = total.get(fate, 0) + count
    messages = sum(total.values())
    return {fate: count / messages for fate, count in sorted(total.items())}


def heartbeats(seed: int, *, clients: int, period_ms: int, expiry_ms: int, scan_ms: int, lost: float) -> Figures:
    """Load, detection of silence and false alarms of so many clients."""
    beats = Heartbeats(clients, period_ms, expiry_ms, scan_ms, lost)
    detection = detection_ms(beats, seed)
    return {
        "beats_a_second": clients * (1 - lost) * 1_000 / period_ms,
        "busiest_second": int(beats_by_second(beats, seed).max()),
        "detection_min_ms": int(detection.min()),
        "detection_mean_ms": float(detection.mean()),
        "detection_p99_ms": float(np.quantile(detection, 0.99)),
        "detection_max_ms": int(detection.max()),
        "false_expiries_an_hour": false_expiries_an_hour(beats, seed),
    }


def storm(seed: int, *, members: int, queues: int, strategy: str, gap_ms: int) -> Figures:
    """A whole group starts, through the whole core: what the broker is asked, what moves, how long it takes.

    ``moved``: queues that changed hands after they were first taken; ``settled_ms``: from the last start to the last
    change of ownership; ``twice``: the most queues that two members held at one moment.
    """
    wants = {TOPIC: Subscription("TAG", "*")}
    steps: list[Step] = [
        Start(number * gap_ms, who=f"C{number:03}", group=GROUP, subscribe=wants, strategy=strategy)  # type: ignore[arg-type]
        for number in range(members)
    ]
    last = (members - 1) * gap_ms + STORM_SETTLES_MS
    steps.append(Send(last, topic=TOPIC, messages=[OutgoingMessage("end")]))
    run = simulate(Scenario("storm", {TOPIC: queues}, steps), chooser=RaceChooser(seed), timing=RACE_TIMING)
    end = next(float(event["t"]) for event in run.events if event["ev"] == "sent")
    return _storm_figures(run, end)


def _storm_figures(run: Any, end: float) -> Figures:
    held: dict[str, set[int]] = {}
    ever: set[int] = set()
    moved = twice = notified = beats = rounds = 0
    last_start = last_change = 0.0
    for fact in run.facts.facts:
        if fact.t >= end:
            break
        if fact.kind == "notify":
            notified += 1
        elif fact.kind == "heartbeat" and fact.source == "broker":
            beats += 1
        elif fact.kind == "register" and fact["group"] == GROUP:
            last_start = fact.t
        elif fact.kind == "rebalance" and fact["topic"] == TOPIC:
            rounds += 1
            now, before = set(fact["queues"]), held.get(fact.source, set())
            moved += len((now - before) & ever)
            ever |= now
            held[fact.source] = now
            owned = [queue for queues in held.values() for queue in queues]
            twice = max(twice, len(owned) - len(set(owned)))
            last_change = fact.t
    return {
        "notifications": notified,
        "heartbeats": beats,
        "rounds_that_changed": rounds,
        "moved": moved,
        "twice": twice,
        "settled_ms": round(max(0.0, last_change - last_start), 3),
    }


def _loss_rows(runs: int) -> list[dict[str, Scalar]]:
    return grid(
        members=[1, 2, 3, 4, 6, 8], queues=[1, 4, 8, 16], shared=[0, 1, 2], gap_ms=[0, 100, 1_000, 60_000],
        delay_us=[200, 1_000, 20_000], traffic=list(TRAFFIC), runs=[runs],
    )  # fmt: skip


def _whole_rows(runs: int) -> list[dict[str, Scalar]]:
    return grid(gap_ms=[0, 1, 5, 1_000], queues=[1, 4, 8], tags_of_b=["tagA", "tagB", "tagA || tagB", "*"], runs=[runs])


def _heartbeat_rows(_: int) -> list[dict[str, Scalar]]:
    return grid(
        clients=[1_000, 10_000, 100_000, 1_000_000], period_ms=[1_000, 5_000, 10_000, 30_000],
        expiry_ms=[15_000, 30_000, 60_000, 120_000], scan_ms=[1_000, 10_000], lost=[0.0, 0.1],
    )  # fmt: skip


def _storm_rows(_: int) -> list[dict[str, Scalar]]:
    return grid(members=[2, 4, 8, 16, 32], queues=[8, 32], strategy=["avg", "circle", "hash"], gap_ms=[0, 200])


CATALOGUE: Mapping[str, NamedSweep] = {
    "loss": NamedSweep(
        "what a group with tags of its members' own loses: members, queues, shared tags, gap, delays",
        loss, _loss_rows, 20_000,
    ),
    "loss_whole": NamedSweep(
        "the eight messages through the whole core: gap, queues, overlap of the tags", loss_whole, _whole_rows, 40
    ),
    "heartbeats": NamedSweep(
        "load of heartbeats and the time until silence is noticed: clients, period, expiry, scan, beats lost",
        heartbeats, _heartbeat_rows, 1,
    ),
    "storms": NamedSweep(
        "a group starts at once, through the whole core: what is asked, what moves, how long", storm, _storm_rows, 1
    ),
}  # fmt: skip
