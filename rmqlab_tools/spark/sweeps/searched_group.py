"""A group that starts, searched by the explorer: every way it can end within a budget of runs, one row a cell.

One message of every tag goes into every queue, so that nothing is left to chance but the order of frames (and, in the
runs drawn beside the search, times). A row has the number of outcomes and how many messages each loses, and the
schedules of the worst and of the best.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from rmqlab.sim.cluster import default_settings
from rmqlab_tools.search.explorer.explore import Explorer
from rmqlab_tools.spark.sweeps.starting_group import require_traffic
from rmqlab_tools.spark.sweeps.tag_group import CALM_AFTER_MS, TagGroup

if TYPE_CHECKING:
    from rmqlab.scenario.scenario import Scenario
    from rmqlab_tools.search.explorer.exploration import Exploration, FoundOutcome

SAMPLED: Final = 4  # of the budget one run in so many is drawn by chance
NO_SHORTENING: Final = 0
_SEEDS: Final = 2**31


def searched_scenario(members: int, queues: int, shared: int, gap_ms: int, traffic: str) -> Scenario:
    """The scenario of a cell: messages come with the last start ("starting"), or 5 s after it ("settled").

    Raises:
        BadInput: another `traffic`, or numbers that `TagGroup` refuses.
    """
    require_traffic(traffic)
    group = TagGroup(members, queues, shared)
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
        searched_scenario(members, queues, shared, gap_ms, traffic), budget=budget, seed=seed % _SEEDS,
        samples=budget // SAMPLED, shortening=NO_SHORTENING, lag_ms=lag_ms, cluster=default_settings(), properties=[],
    ).explore()  # fmt: skip
    lost = [len(outcome.lost) for outcome in exploration.outcomes]
    shares = [outcome.share for outcome in exploration.outcomes]
    worst = _first(exploration, max(lost))
    best = _first(exploration, min(lost))
    return {
        "sent": (members + shared) * queues,
        "exhausted": exploration.exhausted,
        "made": exploration.runs,
        "outcomes": len(exploration.outcomes),
        "lost_min": min(lost),
        "lost_median": weighted_median(lost, shares),
        "lost_max": max(lost),
        "lost_counts": lost,
        "lost_shares": [None if share is None else round(share, 9) for share in shares],
        "worst_schedule": worst.schedule.to_json(),
        "best_schedule": best.schedule.to_json(),
    }


def _first(exploration: Exploration, lost: int) -> FoundOutcome:
    """Of the outcomes that lose so many the one with the shortest schedule."""
    same = [outcome for outcome in exploration.outcomes if len(outcome.lost) == lost]
    return min(same, key=lambda outcome: (len(outcome.schedule.taken), outcome.schedule.to_json()))


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
