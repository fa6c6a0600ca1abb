"""A group that starts, through the whole core: the parameters of the reduced model, run after run from a seed.

A row has the distribution over its runs beside the one that the reduced model gives for the same parameters, and the
choices of its worst and of its best run. Run ``number`` of a row sends the tags that the reduced model's run of that
number sends, so all of it follows from the row's seed, its parameters and the number.
"""

from __future__ import annotations

import math
from collections import Counter
from statistics import median
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from rmqlab.errors import BadInput
from rmqlab.lab.cluster import default_settings
from rmqlab.lab.scenario import Offsets, OutgoingMessage, Scenario, Send, Step
from rmqlab.lab.simulate import simulate
from rmqlab.runtime.schedule import SeededChooser, Timing
from rmqlab.spark.sweeps.reduced_group import COLUMNS, group_runs, message_tags
from rmqlab.spark.sweeps.tag_group import FATES, LAST_LOOK_MS, SETTLED_MS, TOPIC, GroupStart, counts

if TYPE_CHECKING:
    from rmqlab.lab.run import Run

MESSAGES: Final = 32
EVERY_MS: Final = 100
JITTER: Final = 1.0  # a frame takes up to twice its least time
TRAFFIC: Final = ("starting", "settled")
MODEL_RUNS: Final = 2_000
_STEPS: Final = 8  # a frame takes its least time, or one of so many longer ones, evenly apart
_UPTIMES_MS: Final = tuple(range(0, 5_000, 250))  # phases of the check of held pulls, which comes every 5 s
_SEEDS: Final = 2**63


def group_start(
    members: int, queues: int, shared: int, gap_ms: int, delay_us: int, traffic: str, messages: int
) -> GroupStart:
    """The reduced model's parameters for a cell of a grid.

    ``traffic``: "starting" for messages spread from the first start to 5 s behind the last, "settled" for messages
    from then on, one each 100 ms.

    Raises:
        BadInput: another ``traffic``, or a parameter that `GroupStart` refuses.
    """
    if traffic not in TRAFFIC:
        raise BadInput(f"traffic is {traffic!r}; it is one of {', '.join(TRAFFIC)}")
    until = (members - 1) * gap_ms + SETTLED_MS
    settled = traffic == "settled"
    return GroupStart(
        members, queues, shared, gap_ms, delay_us, JITTER, messages=messages,
        first_ms=until if settled else 0, every_ms=EVERY_MS if settled else until / messages,
    )  # fmt: skip


def scenario_of(start: GroupStart, seed: int, run: int) -> Scenario:
    """The scenario that the reduced run stands for."""
    group = start.group
    steps: list[Step] = [group.start(number, int(number * start.gap_ms)) for number in range(start.members)]
    for number, tag in enumerate(message_tags(start, seed, run)):
        message = OutgoingMessage(f"m{number}", group.tag(tag), queue=number % start.queues)
        steps.append(Send(int(start.first_ms + number * start.every_ms), topic=TOPIC, messages=[message]))
    steps.sort(key=lambda step: step.at)
    steps.append(Offsets(steps[-1].at + LAST_LOOK_MS))
    return Scenario("reduced", {TOPIC: start.queues}, steps)


def timing_of(start: GroupStart) -> Timing:
    """How long frames take (from ``delay_us`` to so many times more as ``jitter`` says), and when checks come."""
    longest = start.delay_us * start.jitter
    delays = tuple(int(start.delay_us + longest * step / _STEPS) for step in range(_STEPS + 1))
    return Timing(delays_us=delays, uptime_ms=_UPTIMES_MS)


def whole_run_of(start: GroupStart, seed: int, number: int) -> Run:
    """Run ``number`` of a row with this seed."""
    chooser = SeededChooser((seed + number) % _SEEDS)
    scenario = scenario_of(start, seed, number)
    return simulate(scenario, chooser=chooser, timing=timing_of(start), cluster=default_settings())


def loss_whole(
    seed: int, *, members: int, queues: int, shared: int, gap_ms: int, delay_us: int, traffic: str, runs: int
) -> dict[str, Any]:
    """Shares of the messages over ``runs`` runs, and how they are spread, with the reduced model beside.

    ``each``: messages delivered, by run; ``lost_min``, ``lost_median``, ``lost_max``: of a run's ``sent``; ``endings``:
    how many ways there were to end (whose subscription stands, who owns which queue), and ``usual_ending`` the share of
    the most frequent one. ``worst_run`` and ``best_run``: numbers of the first run that lost most and least, with their
    choices. ``model_each``: how many of the model's runs deliver 0, 1, 2... messages.

    Raises:
        BadInput: as `group_start`, or no run.
    """
    if runs < 1:
        raise BadInput(f"runs is {runs}; at least one is needed")
    start = group_start(members, queues, shared, gap_ms, delay_us, traffic, MESSAGES)
    fates: Counter[str] = Counter()
    endings: Counter[tuple[Any, ...]] = Counter()
    lost, delivered = [], []
    last_wins = 0
    made: dict[str, tuple[int, list[int]]] = {}
    for number in range(runs):
        run = whole_run_of(start, seed, number)
        found = counts(run)
        fates.update(found)
        delivered.append(found["delivered"])
        lost.append(sum(fate.lost for fate in run.fates))
        winner = winner_of(run, start)
        last_wins += winner == members - 1
        endings[winner, _owned(run)] += 1
        for name, better in (
            ("worst", lost[-1] > max(lost[:-1], default=-1)),
            ("best", lost[-1] < min(lost[:-1], default=math.inf)),
        ):
            if better:
                made[name] = (number, [choice.taken for choice in run.choices])
    total = sum(fates.values())
    others = sum(count for fate, count in fates.items() if fate not in FATES)
    return {
        "sent": start.messages,
        **{fate: fates[fate] / total for fate in FATES},
        "other_fates": others / total,
        "lost_min": min(lost),
        "lost_median": float(median(lost)),
        "lost_max": max(lost),
        "each": delivered,
        "last_wins": last_wins / runs,
        "endings": len(endings),
        "usual_ending": max(endings.values()) / runs,
        **_model(start, seed),
        "worst_run": made["worst"][0],
        "worst_choices": made["worst"][1],
        "best_run": made["best"][0],
        "best_choices": made["best"][1],
    }


def _owned(run: Run) -> tuple[tuple[int | str, ...], ...]:
    """Each queue with those who hold it at the end."""
    return tuple(sorted((queue, *sorted(who)) for (_, topic, queue), who in run.owners.items() if topic == TOPIC))


def winner_of(run: Run, start: GroupStart) -> int:
    """Whose subscription the broker holds at the last look: a member's number by starting order, -1 for none."""
    asked = {start.group.start(number, 0).subscribe[TOPIC].expr: number for number in range(start.members)}
    held = None
    # behind the last look the members stop one by one, and those that are left stamp again
    last_look = next(float(event["t"]) for event in run.events if event["ev"] == "offset")
    for fact in run.facts.of("subscription"):
        if fact.t > last_look:
            break
        if fact["topic"] == TOPIC and fact["new"] is not None:
            held = fact["new"].sub_string
    return -1 if held is None else asked[held]


def _model(start: GroupStart, seed: int) -> dict[str, Any]:
    """The same cell by the reduced model."""
    found = group_runs(start, seed, 0, MODEL_RUNS)
    delivered = found[:, COLUMNS.index("delivered")]
    return {
        "model_runs": MODEL_RUNS,
        "model_delivered": float(delivered.sum() / found[:, 0].sum()),
        "model_last_wins": float((found[:, COLUMNS.index("winner")] == start.members - 1).mean()),
        "model_each": np.bincount(delivered, minlength=start.messages + 1).tolist(),
    }
