"""The experiments of lesson 12 as functions of a row, and the table by which the verb `sweep` finds them.

A group that starts is run by the whole core, from seeds (`loss`, `storm`) or searched by the explorer (`schedules`);
its law is what `TagGroup.shares` measures. One message of every tag goes into every queue, so that nothing but times
and the order of frames decides. Heartbeats of a million clients, none of which waits for another, are worked out client
by client (`heartbeats`), with random numbers that are the same on any machine: SplitMix64 over (seed, client, counter).
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from random import Random
from statistics import median
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numba import njit

from rmqlab import checkout
from rmqlab.errors import BadInput, there_are
from rmqlab.events import Heartbeat, Notify, Rebalance, Register, SubscriptionChanged
from rmqlab.language import N_, _, joined
from rmqlab.run.recorded_events import MessageSent, OffsetAsked
from rmqlab.scenario.scenario import (
    MAX_SCENARIO_QUEUES,
    Offsets,
    OutgoingMessage,
    Scenario,
    Send,
    Start,
    Step,
    Subscription,
    convert_scenario,
)
from rmqlab.scenario.schedule import SeededChooser, Timing
from rmqlab.sim.cluster import default_settings
from rmqlab.sim.simulate import simulate
from rmqlab_tools.program import program
from rmqlab_tools.search.explorer.explore import Explorer
from rmqlab_tools.search.explorer.timings import RACE_TIMING, RaceChooser
from rmqlab_tools.spark.sweeps.results import SweepResult, table_rows
from rmqlab_tools.spark.sweeps.sweep import NamedSweep, Scalar, Sweep, grid, require_within

if TYPE_CHECKING:
    from rmqlab.run.run import Run

SWEPT_TOPIC, SWEPT_GROUP = "T", "G"
STARTS_APART_MS, CALM_AFTER_MS = 1_000, 5_000
SWEEP_ENDS_MS = 25_000  # a hold of 15 s, a check every 5 s, a commit every 5 s
STORM_SETTLES_MS = 25_000  # the next round by timer comes within 20 s
MAX_MEMBERS, MAX_SHARED, MAX_GAP_MS, MAX_DELAY_US = 32, 16, 600_000, 10_000_000
SWEPT_FATES = ("delivered", "dropped_by_broker_tag", "dropped_by_client", "waiting")
TRAFFIC: Final = ("starting", "settled")
MS_A_SECOND, MS_AN_HOUR = 1_000, 3_600_000
_DELAY_STEPS: Final = 8  # a frame takes its least time, or one of so many longer ones up to twice that, evenly apart
_UPTIMES_MS: Final = tuple(range(0, 5_000, 250))  # phases of the check of held pulls, which comes every 5 s
_PHASE, _DEATH, _FIRST_LOSS = 0, 1, 2
_GOLDEN, _CLIENTS = np.uint64(0x9E3779B97F4A7C15), np.uint64(0x632BE59BD9B4E019)


@dataclass(frozen=True, slots=True)
class TagGroup:
    """`members` on a topic of `queues` queues, with `shared` tags for all; numbers out of range raise `BadInput`."""

    members: int
    queues: int
    shared: int = 0

    def __post_init__(self) -> None:
        """Look at the numbers."""
        require_within(1, MAX_MEMBERS, members=self.members)
        require_within(1, MAX_SCENARIO_QUEUES, queues=self.queues)
        require_within(0, MAX_SHARED, shared=self.shared)

    def tag(self, number: int) -> str:
        """The text of tag `number`: `tag0` is the first member's own, `all0` the first that all ask for."""
        return f"tag{number}" if number < self.members else f"all{number - self.members}"

    def start(self, number: int, at_ms: int) -> Start:
        """The step that starts member `number`."""
        shared = [self.tag(self.members + number_shared) for number_shared in range(self.shared)]
        subscription = Subscription(type="TAG", expr=" || ".join([self.tag(number), *shared]))
        return Start(at_ms, who=f"C{number:02}", group=SWEPT_GROUP, subscribe={SWEPT_TOPIC: subscription})

    def messages(self) -> list[OutgoingMessage]:
        """One message of every tag for every queue, queue by queue."""
        tags = [self.tag(number) for number in range(self.members + self.shared)]
        return [OutgoingMessage(f"{tag}-{queue}", tag, queue=queue) for queue in range(self.queues) for tag in tags]

    def scenario(self, name: str, gap_ms: int, settle_ms: int) -> Scenario:
        """Everybody starts, `gap_ms` apart; `settle_ms` later, one message of every tag goes into every queue."""
        steps: list[Step] = [self.start(number, number * gap_ms) for number in range(self.members)]
        at = (self.members - 1) * gap_ms + settle_ms
        steps += [Send(at, topic=SWEPT_TOPIC, messages=self.messages()), Offsets(at + SWEEP_ENDS_MS)]
        return Scenario(name, {SWEPT_TOPIC: self.queues}, steps)

    def shares(self) -> dict[str, float]:
        """Shares of the messages by fate once the group stands still, from a run through the whole core."""
        by_fate = counts(simulate(self.scenario("tag-group", STARTS_APART_MS, CALM_AFTER_MS)))
        total = sum(by_fate.values())
        return {fate: count / total for fate, count in by_fate.items()}


def counts(run: Run) -> dict[str, int]:
    """Messages by fate, in the words of `SWEPT_FATES`; any other fate under its own name."""
    by_fate: Counter[str] = Counter(fate.fate.value for fate in run.fates)
    return {name: by_fate.pop(name, 0) for name in SWEPT_FATES} | dict(by_fate)


def group_of(members: int, queues: int, shared: int, traffic: str) -> TagGroup:
    """The group of a cell.

    Raises:
        BadInput: what `TagGroup` refuses, or a word for `traffic` that says nothing of when messages come.
    """
    if traffic not in TRAFFIC:
        raise BadInput(
            _("traffic is {traffic}; it is one of {known}", traffic=f"{traffic!r}", known=joined(", ", TRAFFIC))
        )
    return TagGroup(members, queues, shared)


def starting_scenario(members: int, queues: int, shared: int, gap_ms: int, traffic: str, order: Random) -> Scenario:
    """Members start `gap_ms` apart; one message of every tag goes into every queue, in an order that `order` draws.

    `traffic`: "starting" for messages spread evenly from the first start to 5 s after the last, "settled" for all of
    them at that moment.

    Raises:
        BadInput: as `group_of`, or a gap above 10 min.
    """
    group = group_of(members, queues, shared, traffic)
    require_within(0, MAX_GAP_MS, gap_ms=gap_ms)
    messages = group.messages()
    order.shuffle(messages)
    until = (members - 1) * gap_ms + CALM_AFTER_MS
    steps: list[Step] = [group.start(number, number * gap_ms) for number in range(members)]
    if traffic == "settled":
        steps.append(Send(until, topic=SWEPT_TOPIC, messages=messages))
    else:
        steps += [
            Send(until * number // len(messages), topic=SWEPT_TOPIC, messages=[message])
            for number, message in enumerate(messages)
        ]
        steps.sort(key=lambda step: step.at)
    steps.append(Offsets(until + SWEEP_ENDS_MS))
    return Scenario("starting", {SWEPT_TOPIC: queues}, steps)


def timing_of(delay_us: int) -> Timing:
    """A frame takes from `delay_us` to twice that, in microseconds; the broker was up for any part of 5 s.

    Raises:
        BadInput: a frame that takes less than a microsecond, or more than 10 s.
    """
    require_within(1, MAX_DELAY_US, delay_us=delay_us)
    delays = tuple(delay_us + delay_us * step // _DELAY_STEPS for step in range(_DELAY_STEPS + 1))
    return Timing(delays_us=delays, uptime_ms=_UPTIMES_MS)


def loss_run(
    seed: int, number: int, *, members: int, queues: int, shared: int, gap_ms: int, delay_us: int, traffic: str
) -> Run:
    """Run `number` of a row with this seed; `BadInput` as `starting_scenario` and `timing_of`."""
    drawn = (seed + number) % 2**63
    scenario = starting_scenario(members, queues, shared, gap_ms, traffic, Random(f"order {drawn}"))
    return simulate(scenario, chooser=SeededChooser(drawn), timing=timing_of(delay_us), cluster=default_settings())


def loss(
    seed: int, *, members: int, queues: int, shared: int, gap_ms: int, delay_us: int, traffic: str, runs: int
) -> dict[str, Any]:
    """Shares of the messages over `runs` runs, and how they are spread; the others are parameters of `loss_run`.

    `each`: messages delivered, by run; `lost_min`, `lost_median`, `lost_max`: of a run's `sent`; `endings`:
    how many ways there were to end (whose subscription stands, who owns which queue), and `usual_ending` the share of
    the most frequent one. `worst_run` and `best_run`: numbers of the first run that lost most and least.

    Raises:
        BadInput: as `loss_run`, or no run.
    """
    require_within(1, runs=runs)
    fates: list[dict[str, int]] = []
    lost: list[int] = []
    endings: list[tuple[int, tuple[Any, ...]]] = []
    for number in range(runs):
        run = loss_run(
            seed, number, members=members, queues=queues, shared=shared, gap_ms=gap_ms, delay_us=delay_us,
            traffic=traffic,
        )  # fmt: skip
        fates.append(counts(run))
        lost.append(sum(fate.lost for fate in run.fates))
        owners = sorted(
            (queue, *sorted(held)) for (_, topic, queue), held in run.owners.items() if topic == SWEPT_TOPIC
        )
        endings.append((winner_of(run), tuple(owners)))
    sent = sum(fates[0].values())
    shares = {fate: sum(by_fate[fate] for by_fate in fates) / (sent * runs) for fate in SWEPT_FATES}
    others = sum(count for by_fate in fates for fate, count in by_fate.items() if fate not in SWEPT_FATES)
    return {
        "sent": sent, **shares, "other_fates": others / (sent * runs),
        "lost_min": min(lost), "lost_median": float(median(lost)), "lost_max": max(lost),
        "each": [by_fate["delivered"] for by_fate in fates],
        "last_wins": sum(winner == members - 1 for winner, _ in endings) / runs,
        "endings": len(set(endings)), "usual_ending": max(Counter(endings).values()) / runs,
        "worst_run": lost.index(max(lost)), "best_run": lost.index(min(lost)),
    }  # fmt: skip


def winner_of(run: Run) -> int:
    """Whose subscription the broker holds at the last look: a member's number by starting order, -1 for none."""
    # behind the last look the members stop one by one, and those that are left stamp again
    last_look = next(run.recorded(OffsetAsked)).t
    stamps = [
        fact.event.new.sub_string
        for fact in run.facts.of(SubscriptionChanged)
        if fact.t <= last_look and fact.event.topic == SWEPT_TOPIC and fact.event.new is not None
    ]
    return int(str(stamps[-1]).partition(" ")[0].removeprefix("tag")) if stamps else -1


def searched_scenario(members: int, queues: int, shared: int, gap_ms: int, traffic: str) -> Scenario:
    """The scenario of a cell: messages come with the last start ("starting"), or 5 s after it ("settled").

    Raises:
        BadInput: another `traffic`, or numbers that `TagGroup` refuses.
    """
    group = group_of(members, queues, shared, traffic)
    return group.scenario("searched", gap_ms, CALM_AFTER_MS if traffic == "settled" else 0)


def schedules(
    seed: int, *, members: int, queues: int, shared: int, gap_ms: int, lag_ms: int, traffic: str, budget: int
) -> dict[str, Any]:
    """How many outcomes the orders of frames can have, and what each loses.

    It is what `rmqlab explore` finds with this budget and lag, and the row's seed modulo 2**31 as the first seed.
    `lag_ms`: how much longer than a timer that is due a frame may be under way. `exhausted`: no order is left.
    `lost_counts` and `lost_shares`: messages lost by outcome, and its share (exact when exhausted, else of the runs
    drawn by chance, 0 for one that only the search has reached). `lost_median` is weighted by share, `lost_min` and
    `lost_max` are of all outcomes reached. Shares and median are None where the search did not end and no run was
    drawn by chance: then they are not known.
    """
    exploration = Explorer(
        searched_scenario(members, queues, shared, gap_ms, traffic), budget=budget, seed=seed % 2**31,
        samples=budget // 4, shortening=0, lag_ms=lag_ms, cluster=default_settings(), properties=[],
    ).explore()  # fmt: skip
    lost = [len(outcome.lost) for outcome in exploration.outcomes]
    shares = [outcome.share for outcome in exploration.outcomes]

    def shortest(loses: int) -> str:
        same = [outcome.schedule for outcome in exploration.outcomes if len(outcome.lost) == loses]
        return min((len(schedule.taken), schedule.to_json()) for schedule in same)[1]

    return {
        "sent": (members + shared) * queues, "exhausted": exploration.exhausted, "made": exploration.runs,
        "outcomes": len(exploration.outcomes),
        "lost_min": min(lost), "lost_median": weighted_median(lost, shares), "lost_max": max(lost),
        "lost_counts": lost, "lost_shares": [None if share is None else round(share, 9) for share in shares],
        "worst_schedule": shortest(max(lost)),
        "best_schedule": shortest(min(lost)),
    }  # fmt: skip


def weighted_median(values: list[int], weights: list[float | None]) -> int | None:
    """The least value that, with those below it, has half of the weight; None if a weight is not known."""
    known = [weight for weight in weights if weight is not None]
    if len(known) < len(values):
        return None
    half, total = sum(known) / 2, 0.0
    for value, weight in sorted(zip(values, known, strict=True)):
        total += weight
        if total >= half - 1e-9:
            return value
    return max(values)


def storm_scenario(members: int, queues: int, strategy: str, gap_ms: int) -> Scenario:
    """Members that start `gap_ms` after one another, and a message at the end."""
    subscribe = {SWEPT_TOPIC: Subscription(type="TAG", expr="*")}
    steps: list[Step] = [
        Start(number * gap_ms, who=f"C{number:03}", group=SWEPT_GROUP, subscribe=subscribe, strategy=strategy)  # type: ignore[arg-type]
        for number in range(members)
    ]
    last = (members - 1) * gap_ms + STORM_SETTLES_MS
    steps.append(Send(last, topic=SWEPT_TOPIC, messages=[OutgoingMessage("end")]))
    return Scenario("storm", {SWEPT_TOPIC: queues}, steps)


def storm(seed: int, *, members: int, queues: int, strategy: str, gap_ms: int) -> dict[str, Any]:
    """A whole group starts, through the whole core: what the broker is asked, what moves, how long it takes.

    `moved`: queues that changed hands after they were first taken; `settled_ms`: from the last start to the last
    change of ownership; `twice`: the most queues that two members held at one moment.
    """
    run = simulate(
        storm_scenario(members, queues, strategy, gap_ms), chooser=RaceChooser(seed), timing=RACE_TIMING,
        cluster=default_settings(),
    )  # fmt: skip
    end = next(run.recorded(MessageSent)).t
    held: dict[str, set[int]] = {}
    ever: set[int] = set()
    moved = twice = notified = beats = rounds = 0
    last_start = last_change = 0.0
    for fact in run.facts:
        if fact.t >= end:
            break
        match fact.event:
            case Notify():
                notified += 1
            case Heartbeat():
                beats += 1
            case Register(group=group) if group == SWEPT_GROUP:
                last_start = fact.t
            case Rebalance(topic=topic, queues=taken) if topic == SWEPT_TOPIC:
                rounds += 1
                now, before = set(taken), held.get(fact.source, set())
                moved += len((now - before) & ever)
                ever |= now
                held[fact.source] = now
                owned = [queue for mine in held.values() for queue in mine]
                twice = max(twice, len(owned) - len(set(owned)))
                last_change = fact.t
    return {
        "notifications": notified, "heartbeats": beats, "rounds_that_changed": rounds, "moved": moved, "twice": twice,
        "settled_ms": round(max(0.0, last_change - last_start), 3),
    }  # fmt: skip


@njit(cache=True, nogil=True)
def _mixed(x: Any) -> Any:
    """SplitMix64's finaliser: neighbouring counters give unrelated numbers."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


@njit(cache=True, nogil=True)
def _key(seed: Any, number: Any) -> Any:
    """What `_drawn` needs to know of client `number` of a seed (uint64)."""
    return _mixed(seed + _mixed(np.uint64(number) + _CLIENTS))


@njit(cache=True, nogil=True)
def _drawn(key: Any, counter: Any) -> Any:
    """A float in [0, 1): number `counter` of the client with this key."""
    return float(_mixed(key + (np.uint64(counter) + np.uint64(1)) * _GOLDEN) >> np.uint64(11)) * (1.0 / 2.0**53)


@njit(cache=True, nogil=True)
def _detections(out: Any, key: Any, period: Any, expiry: Any, scan: Any, lost: Any) -> None:
    for client in range(out.shape[0]):
        mine = _key(key, client)
        last = np.int64(_drawn(mine, _PHASE) * period)
        death = last + np.int64(_drawn(mine, _DEATH) * period)
        number = _FIRST_LOSS
        while lost > 0.0 and _drawn(mine, number) < lost:
            last -= period
            number += 1
        # scans run at 0, scan, 2 scan...; the first that finds more than the expiry gone by
        noticed = -((-(last + expiry + 1)) // scan) * scan
        out[client] = max(noticed, -((-death) // scan) * scan) - death


@njit(cache=True, nogil=True)
def _false_expiries(key: Any, clients: Any, period: Any, expiry: Any, scan: Any, lost: Any) -> Any:
    count = 0
    for client in range(clients):
        if lost <= 0.0 and expiry >= period:
            continue
        mine = _key(key, client)
        heard = np.int64(_drawn(mine, _PHASE) * period)
        beat, number = heard + period, _FIRST_LOSS
        while beat < MS_AN_HOUR:
            if _drawn(mine, number) >= lost:
                # a scan between the two that finds the expiry gone by drops the client; the beat brings it back
                if -((-(heard + expiry + 1)) // scan) * scan < beat:
                    count += 1
                heard = beat
            number += 1
            beat += period
    return count


@njit(cache=True, nogil=True)
def _by_second(seconds: Any, key: Any, clients: Any, period: Any, lost: Any) -> None:
    for client in range(clients):
        mine = _key(key, client)
        if lost <= 0.0 or _drawn(mine, _FIRST_LOSS) >= lost:
            seconds[np.int64(_drawn(mine, _PHASE) * period) // MS_A_SECOND] += 1


def heartbeats(seed: int, *, clients: int, period_ms: int, expiry_ms: int, scan_ms: int, lost: float) -> dict[str, Any]:
    """What the broker has to bear of so many clients, when it notices silence, and false alarms, by the rules of 4.8.0.

    A client beats every period (`MQClientInstance.startScheduledTask`), from any moment of one on; a scan
    (`ClientHousekeepingService.start`) expires whoever was heard of longer ago than the expiry
    (`ConsumerManager.scanNotActiveChannel`). `lost`: the share of beats that never arrive. `detection_...`: ms from a
    client's silent death, at a moment of its own, to the scan that expires it; one that is cut off is noticed at once.
    `busiest_second`: the most beats that arrive in a second of a period; `false_expiries_an_hour`: how often a client
    that lives is expired, because too many of its beats in a row were lost.

    Raises:
        BadInput: a parameter out of its range; the text names it and the range.
    """
    _check_heartbeats(clients=clients, period_ms=period_ms, expiry_ms=expiry_ms, scan_ms=scan_ms, lost=lost)
    of_detection, of_expiries, of_load = (np.uint64(_key(np.uint64(seed % 2**64), number)) for number in range(3))
    detection = np.zeros(clients, np.int64)
    _detections(detection, of_detection, period_ms, expiry_ms, scan_ms, lost)
    beats_by_second = np.zeros(-(-period_ms // MS_A_SECOND), np.int64)
    _by_second(beats_by_second, of_load, clients, period_ms, lost)
    return {
        "beats_a_second": clients * (1 - lost) * 1_000 / period_ms,
        "busiest_second": int(beats_by_second.max()),
        "detection_min_ms": int(detection.min()), "detection_mean_ms": float(detection.mean()),
        "detection_p99_ms": float(np.quantile(detection, 0.99)), "detection_max_ms": int(detection.max()),
        "false_expiries_an_hour": int(_false_expiries(of_expiries, clients, period_ms, expiry_ms, scan_ms, lost)),
    }  # fmt: skip


def _check_heartbeats(*, clients: int, lost: float, **periods: int) -> None:
    require_within(1, 10_000_000, clients=clients)
    require_within(1, MS_AN_HOUR, **periods)
    require_within(0, 0.99, lost=lost)


def _check_loss(*, gap_ms: int, delay_us: int, runs: int, **group: Any) -> None:
    require_within(1, runs=runs)
    timing_of(delay_us)
    group_of(**group)
    require_within(0, MAX_GAP_MS, gap_ms=gap_ms)


def _check_search(*, gap_ms: int, lag_ms: int, budget: int, **group: Any) -> None:
    require_within(0, gap_ms=gap_ms, lag_ms=lag_ms)
    require_within(1, budget=budget)
    _check_scenario(searched_scenario(gap_ms=gap_ms, **group))


def _check_storm(*, members: int, queues: int, strategy: str, gap_ms: int) -> None:
    require_within(1, members=members, queues=queues)
    require_within(0, gap_ms=gap_ms)
    _check_scenario(storm_scenario(members, queues, strategy, gap_ms))


def _check_scenario(scenario: Scenario) -> None:
    convert_scenario(scenario.to_builtins(), _("its scenario"))


def _schedule_rows(budget: int) -> list[dict[str, Scalar]]:
    cells: dict[str, list[Scalar]] = {"queues": [1, 4], "shared": [0, 1], "gap_ms": [0, 1_000]}
    rows = grid(members=[2, 3], **cells, lag_ms=[0], traffic=list(TRAFFIC), budget=[budget])
    rows += grid(members=[2], **cells, lag_ms=[20], traffic=list(TRAFFIC), budget=[budget])
    # two members on one queue: with some more runs no order is left
    return [{**row, "budget": budget * 4 if (row["members"], row["queues"]) == (2, 1) else budget} for row in rows]


SWEEPS: dict[str, NamedSweep] = {
    "loss": NamedSweep(
        N_("what a group with tags of its members' own loses as it starts: members, queues, shared tags, gap, delays"),
        loss, lambda runs: grid(
            members=[1, 2, 3, 4, 6], queues=[1, 4, 8, 16], shared=[0, 1, 2], gap_ms=[0, 100, 1_000, 60_000],
            delay_us=[200, 1_000, 20_000], traffic=list(TRAFFIC), runs=[runs],
        ), _check_loss, 12, version=3,
    ),
    "schedules": NamedSweep(
        N_("every order of frames that a budget of runs reaches (--runs): outcomes, what they lose, worst and best"
        " schedule"), schedules, _schedule_rows, _check_search, 100,
    ),
    "heartbeats": NamedSweep(
        N_("load of heartbeats and the time until silence is noticed: clients, period, expiry, scan, beats lost"),
        heartbeats, lambda _: grid(
            clients=[1_000, 10_000, 100_000, 1_000_000], period_ms=[1_000, 5_000, 10_000, 30_000],
            expiry_ms=[15_000, 30_000, 60_000, 120_000], scan_ms=[1_000, 10_000], lost=[0.0, 0.1],
        ), _check_heartbeats, 1, rows_a_task=4,
    ),
    "storms": NamedSweep(
        N_("a group starts at once, through the whole core: what is asked, what moves, how long"),
        storm, lambda _: grid(
            members=[2, 4, 8, 16, 32], queues=[8, 32], strategy=["avg", "circle", "hash"], gap_ms=[0, 200],
        ), _check_storm, 1,
    ),
}  # fmt: skip


def stored_sweep(name: str) -> SweepResult:
    """The rows of a sweep that come with rmqlab, so that a reader sees them without running them.

    Raises:
        BadInput: no such sweep, or none kept; the text says how to make it.
    """
    if (named := SWEEPS.get(name)) is None:
        raise BadInput(_("sweep {name} is not known{near}", name=f"{name!r}", near=there_are(name, SWEEPS)))
    path = checkout.data_path("sweeps") / f"{name}.parquet"
    made_by = _("{program} sweep {name} --table {path} makes it", program=program(), name=name, path=path)
    rows = table_rows(path, made_by)
    return SweepResult(rows, Sweep(name, named.run, named.rows(1), named.seed, named.version))
