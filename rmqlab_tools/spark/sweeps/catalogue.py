"""The sweeps there are: what is varied, what a row measures, and the grid that is run unless another is asked for.

A group is run by the whole core, simulated from seeds (`starting_group`, `storm`) or searched by the explorer
(`searched_group`); heartbeats of a million clients, none of which waits for another, are worked out client by client
(`heartbeats`). A row of any is repeated exactly by its seed and parameters (`sweep --row`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from rmqlab.errors import BadInput, did_you_mean
from rmqlab.events import Heartbeat, Notify, Rebalance, Register
from rmqlab.language import N_, _, joined
from rmqlab.scenario.scenario import OutgoingMessage, Scenario, Send, Start, Step, Subscription, convert_scenario
from rmqlab.sim.cluster import default_settings
from rmqlab.sim.simulate import simulate
from rmqlab_tools.search.explorer.timings import RACE_TIMING, RaceChooser
from rmqlab_tools.spark.sweeps.heartbeats import Heartbeats, beats_by_second, detection_ms, false_expiries_an_hour
from rmqlab_tools.spark.sweeps.searched_group import schedules, searched_scenario
from rmqlab_tools.spark.sweeps.starting_group import TRAFFIC, checked_group, loss, timing_of
from rmqlab_tools.spark.sweeps.sweep import Scalar, Sweep, grid, require_within
from rmqlab_tools.spark.sweeps.tag_group import SWEPT_GROUP, SWEPT_TOPIC

if TYPE_CHECKING:
    from rmqlab.run.run import Run

STORM_SETTLES_MS = 25_000  # the next round by timer comes within 20 s
Figures = dict[str, Any]


@dataclass(frozen=True, slots=True)
class NamedSweep:
    """A sweep of the catalogue: `rows` gives its grid for a number of `runs` a row.

    `check` takes the parameters of a row and raises `BadInput` for values that its axes cannot have.
    `version` is raised when a row's figures change their meaning. `rows_a_task`: quick rows share a task.
    """

    about: str
    run: Callable[..., Figures]
    rows: Callable[[int], list[dict[str, Scalar]]]
    check: Callable[..., object]
    runs: int
    seed: int = 0
    version: int = 1
    rows_a_task: int = 1

    def sweep(
        self,
        name: str,
        *,
        seed: int | None = None,
        runs: int | None = None,
        axes: Mapping[str, Sequence[Scalar]] | None = None,
    ) -> Sweep:
        """The sweep, ready for `run_sweep`; `axes` gives some axes other values than the usual grid has.

        Raises:
            BadInput: an axis that there is not, or a value that it cannot have.
        """
        rows = self.rows(self.runs if runs is None else runs)
        for axis, values in (axes or {}).items():
            if axis not in rows[0]:
                meant = did_you_mean(axis, rows[0]) or _("; there are {names}", names=joined(", ", rows[0]))
                raise BadInput(
                    _("sweep {name} has no axis {axis}{meant}", name=f"{name!r}", axis=f"{axis!r}", meant=meant)
                )
            changed = [{**row, axis: value} for row in rows for value in values]
            rows = list({tuple(row.items()): row for row in changed}.values())
        for row in rows:
            try:
                self.check(**row)
            except BadInput as error:
                raise BadInput(_("sweep {name}: {error}", name=f"{name!r}", error=error)) from error
        return Sweep(name, self.run, rows, seed=self.seed if seed is None else seed, version=self.version)


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

    `moved`: queues that changed hands after they were first taken; `settled_ms`: from the last start to the last
    change of ownership; `twice`: the most queues that two members held at one moment.
    """
    run = simulate(
        storm_scenario(members, queues, strategy, gap_ms), chooser=RaceChooser(seed), timing=RACE_TIMING,
        cluster=default_settings(),
    )  # fmt: skip
    end = next(float(event["t"]) for event in run.events if event["ev"] == "sent")
    return _storm_figures(run, end)


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


def _storm_figures(run: Run, end: float) -> Figures:
    queues_of: dict[str, set[int]] = {}
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
            case Rebalance(topic=topic, queues=queues) if topic == SWEPT_TOPIC:
                rounds += 1
                now, before = set(queues), queues_of.get(fact.source, set())
                moved += len((now - before) & ever)
                ever |= now
                queues_of[fact.source] = now
                owned = [queue for mine in queues_of.values() for queue in mine]
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


def _check_group(*, delay_us: int, runs: int, **group: Any) -> None:
    require_within(1, runs=runs)
    timing_of(delay_us)
    checked_group(**group)


def _check_search(*, gap_ms: int, lag_ms: int, budget: int, **group: Any) -> None:
    require_within(0, gap_ms=gap_ms, lag_ms=lag_ms)
    require_within(1, budget=budget)
    _check_scenario(searched_scenario(gap_ms=gap_ms, **group))


def _check_storm(*, members: int, queues: int, strategy: str, gap_ms: int) -> None:
    require_within(1, members=members, queues=queues)
    require_within(0, gap_ms=gap_ms)
    _check_scenario(storm_scenario(members, queues, strategy, gap_ms))


def _check_scenario(scenario: Scenario) -> None:
    convert_scenario(scenario.to_builtins(), "its scenario")


def _loss_rows(runs: int) -> list[dict[str, Scalar]]:
    return grid(
        members=[1, 2, 3, 4, 6], queues=[1, 4, 8, 16], shared=[0, 1, 2], gap_ms=[0, 100, 1_000, 60_000],
        delay_us=[200, 1_000, 20_000], traffic=list(TRAFFIC), runs=[runs],
    )  # fmt: skip


def _schedule_rows(budget: int) -> list[dict[str, Scalar]]:
    cells: dict[str, list[Scalar]] = {"queues": [1, 4], "shared": [0, 1], "gap_ms": [0, 1_000]}
    rows = grid(members=[2, 3], **cells, lag_ms=[0], traffic=list(TRAFFIC), budget=[budget])
    rows += grid(members=[2], **cells, lag_ms=[20], traffic=list(TRAFFIC), budget=[budget])
    # two members on one queue: with some more runs no order is left
    return [{**row, "budget": budget * 4 if (row["members"], row["queues"]) == (2, 1) else budget} for row in rows]


def _heartbeat_rows(_: int) -> list[dict[str, Scalar]]:
    return grid(
        clients=[1_000, 10_000, 100_000, 1_000_000], period_ms=[1_000, 5_000, 10_000, 30_000],
        expiry_ms=[15_000, 30_000, 60_000, 120_000], scan_ms=[1_000, 10_000], lost=[0.0, 0.1],
    )  # fmt: skip


def _storm_rows(_: int) -> list[dict[str, Scalar]]:
    return grid(members=[2, 4, 8, 16, 32], queues=[8, 32], strategy=["avg", "circle", "hash"], gap_ms=[0, 200])


CATALOGUE: Mapping[str, NamedSweep] = {
    "loss": NamedSweep(
        N_("what a group with tags of its members' own loses as it starts: members, queues, shared tags, gap, delays"),
        loss, _loss_rows, _check_group, 12, version=3,
    ),
    "schedules": NamedSweep(
        N_("every order of frames that a budget of runs reaches (--runs): outcomes, what they lose, worst and best"
        " schedule"), schedules, _schedule_rows, _check_search, 100,
    ),
    "heartbeats": NamedSweep(
        N_("load of heartbeats and the time until silence is noticed: clients, period, expiry, scan, beats lost"),
        heartbeats, _heartbeat_rows, Heartbeats, 1, rows_a_task=4,
    ),
    "storms": NamedSweep(
        N_("a group starts at once, through the whole core: what is asked, what moves, how long"), storm, _storm_rows,
        _check_storm, 1,
    ),
}  # fmt: skip
