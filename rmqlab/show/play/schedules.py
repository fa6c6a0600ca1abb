"""The controls of notebook 08: a schedule step by step, and explorations of small variations."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from rmqlab.lab.articles.rare_outcomes import SETTLED_MS, eight
from rmqlab.search.explorer.explore import explore as explored_by
from rmqlab.search.explorer.recorded_outcomes import default_settings
from rmqlab.show.explore import ChoiceControl, Mode, explore
from rmqlab.show.schedules.outcome_tree import outcome_tree
from rmqlab.show.schedules.schedule_story import moments_of, story_picture

if TYPE_CHECKING:
    from rmqlab.search.explorer.deviations import ReplayedSchedule
    from rmqlab.search.explorer.exploration import Exploration
    from rmqlab.show.figure import Picture

GAPS = {"0 ms": 0, "200 ms": 200, "2 s": 2_000, "12 s": 12_000}
SENT = {"8.5 s after B's start": SETTLED_MS, "1 s after it": 1_000, "right at it": 0}
BUDGETS = {"40 runs": 40, "150 runs": 150, "1,000 runs": 1_000}


def play_steps(told: ReplayedSchedule, title: str, *, mode: Mode = "live", step: int | None = None) -> None:
    """The story of a schedule, moment by moment, on a slider; it begins at ``step`` (default: the last)."""
    count = moments_of(told)
    moments = {f"{number} of {count}": number for number in range(1, count + 1)}
    at = count if step is None else min(step, count)
    explore(
        lambda *, step: story_picture(told, title, step=step),
        mode=mode,
        step=ChoiceControl("Moment", moments, start=f"{at} of {count}", slider=True),
    )


def play_schedules(*, mode: Mode = "live", gap_ms: int = 2_000, budget: int = 40) -> None:
    """Explorations of the eight messages with other starts and sendings, and with more or fewer runs."""
    gaps = dict(sorted((GAPS | {f"{gap_ms / 1_000:g} s" if gap_ms >= 1_000 else f"{gap_ms} ms": gap_ms}).items(),
                       key=lambda pair: pair[1]))  # fmt: skip
    budgets = {f"{number:,} runs": number for number in sorted({*BUDGETS.values(), budget})}
    explore(
        _draw,
        mode=mode,
        gap=ChoiceControl(
            "Gap of the starts", gaps, start=next(name for name, ms in gaps.items() if ms == gap_ms), slider=True
        ),
        sent=ChoiceControl("Messages are sent", SENT),
        budget=ChoiceControl("Budget", budgets, start=f"{budget:,} runs", slider=True),
    )


def _draw(*, gap: int, sent: int, budget: int) -> Picture:
    return outcome_tree(_explored(gap, sent, budget))


@lru_cache(maxsize=32)
def _explored(gap: int, sent: int, budget: int) -> Exploration:
    scenario = eight(gap_ms=gap, settle_ms=sent)
    return explored_by(scenario, cluster=default_settings(), budget=budget, samples=min(40, budget // 2), shortening=60)
