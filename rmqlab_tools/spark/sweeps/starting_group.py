"""A group that starts, through the whole core, run after run from a seed: what of its messages arrives.

One message of every tag goes into every queue, so nothing is left to chance but times: how long each frame takes, when
the broker's check of held pulls comes, and in which order the messages are sent. Run `number` of a row follows from
the row's seed, its parameters and the number.
"""

from __future__ import annotations

from collections import Counter
from random import Random
from statistics import median
from typing import TYPE_CHECKING, Any, Final

from rmqlab.errors import BadInput
from rmqlab.events import SubscriptionChanged
from rmqlab.language import _, joined
from rmqlab.scenario.scenario import Offsets, Scenario, Send, Step
from rmqlab.scenario.schedule import SeededChooser, Timing
from rmqlab.sim.cluster import default_settings
from rmqlab.sim.simulate import simulate
from rmqlab_tools.spark.sweeps.sweep import require_within
from rmqlab_tools.spark.sweeps.tag_group import CALM_AFTER_MS, SWEEP_ENDS_MS, SWEPT_FATES, SWEPT_TOPIC, TagGroup, counts

if TYPE_CHECKING:
    from rmqlab.run.run import Run

TRAFFIC: Final = ("starting", "settled")
MAX_GAP_MS, MAX_DELAY_US = 600_000, 10_000_000
_STEPS: Final = 8  # a frame takes its least time, or one of so many longer ones up to twice that, evenly apart
_UPTIMES_MS: Final = tuple(range(0, 5_000, 250))  # phases of the check of held pulls, which comes every 5 s
_SEEDS: Final = 2**63


def require_traffic(traffic: str) -> None:
    """Raise `BadInput` for a word that says nothing of when messages come."""
    if traffic not in TRAFFIC:
        raise BadInput(
            _("traffic is {traffic}; it is one of {known}", traffic=f"{traffic!r}", known=joined(", ", TRAFFIC))
        )


def checked_group(members: int, queues: int, shared: int, gap_ms: int, traffic: str) -> TagGroup:
    """The group of a cell.

    Raises:
        BadInput: what `TagGroup` refuses, another `traffic` or a gap above 10 min.
    """
    require_traffic(traffic)
    require_within(0, MAX_GAP_MS, gap_ms=gap_ms)
    return TagGroup(members, queues, shared)


def starting_scenario(members: int, queues: int, shared: int, gap_ms: int, traffic: str, order: Random) -> Scenario:
    """Members start `gap_ms` apart; one message of every tag goes into every queue, in an order that `order` draws.

    `traffic`: "starting" for messages spread evenly from the first start to 5 s after the last, "settled" for all of
    them at that moment.

    Raises:
        BadInput: as `checked_group`.
    """
    group = checked_group(members, queues, shared, gap_ms, traffic)
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
    delays = tuple(delay_us + delay_us * step // _STEPS for step in range(_STEPS + 1))
    return Timing(delays_us=delays, uptime_ms=_UPTIMES_MS)


def loss_run(
    seed: int, number: int, *, members: int, queues: int, shared: int, gap_ms: int, delay_us: int, traffic: str
) -> Run:
    """Run `number` of a row with this seed.

    Raises:
        BadInput: as `starting_scenario` and `timing_of`.
    """
    drawn = (seed + number) % _SEEDS
    scenario = starting_scenario(members, queues, shared, gap_ms, traffic, Random(f"order {drawn}"))
    return simulate(scenario, chooser=SeededChooser(drawn), timing=timing_of(delay_us), cluster=default_settings())


def loss(seed: int, *, runs: int, **group: Any) -> dict[str, Any]:
    """Shares of the messages over `runs` runs, and how they are spread; `group`: the parameters of `loss_run`.

    `each`: messages delivered, by run; `lost_min`, `lost_median`, `lost_max`: of a run's `sent`; `endings`:
    how many ways there were to end (whose subscription stands, who owns which queue), and `usual_ending` the share of
    the most frequent one. `worst_run` and `best_run`: numbers of the first run that lost most and least.

    Raises:
        BadInput: as `loss_run`, or no run.
    """
    require_within(1, runs=runs)
    fates: list[dict[str, int]] = []
    lost: list[int] = []
    endings: list[tuple[Any, ...]] = []
    for number in range(runs):
        run = loss_run(seed, number, **group)
        fates.append(counts(run))
        lost.append(sum(fate.lost for fate in run.fates))
        endings.append((winner_of(run), _owned(run)))
    sent = sum(fates[0].values())
    shares = {fate: sum(by_fate[fate] for by_fate in fates) / (sent * runs) for fate in SWEPT_FATES}
    others = sum(count for by_fate in fates for fate, count in by_fate.items() if fate not in SWEPT_FATES)
    return {
        "sent": sent,
        **shares,
        "other_fates": others / (sent * runs),
        "lost_min": min(lost),
        "lost_median": float(median(lost)),
        "lost_max": max(lost),
        "each": [by_fate["delivered"] for by_fate in fates],
        "last_wins": sum(winner == group["members"] - 1 for winner, _ in endings) / runs,
        "endings": len(set(endings)),
        "usual_ending": max(Counter(endings).values()) / runs,
        "worst_run": lost.index(max(lost)),
        "best_run": lost.index(min(lost)),
    }


def _owned(run: Run) -> tuple[tuple[int | str, ...], ...]:
    """Each queue with those who hold it at the end."""
    return tuple(
        sorted((queue, *sorted(owners)) for (_, topic, queue), owners in run.owners.items() if topic == SWEPT_TOPIC)
    )


def winner_of(run: Run) -> int:
    """Whose subscription the broker holds at the last look: a member's number by starting order, -1 for none."""
    expression = None
    # behind the last look the members stop one by one, and those that are left stamp again
    last_look = next(float(event["t"]) for event in run.events if event["ev"] == "offset")
    for fact in run.facts.of(SubscriptionChanged):
        if fact.t > last_look:
            break
        if fact.event.topic == SWEPT_TOPIC and fact.event.new is not None:
            expression = fact.event.new.sub_string
    return -1 if expression is None else TagGroup.number_of(expression)
