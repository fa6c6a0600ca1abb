"""The controls of notebook 09: the change, the cluster, the traffic, the pause; and the worst run of one procedure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rmqlab.search.plan.planner import plan
from rmqlab.search.plan.procedures import PROCEDURES, Producers, Setting
from rmqlab.show.explore import ChoiceControl, Mode, Text, explore
from rmqlab.show.plans.bars import WORDS, plan_bars
from rmqlab.show.plans.lanes import plan_lanes

if TYPE_CHECKING:
    from rmqlab.show.figure import Picture

SCHEDULES = 3  # of each procedure, so that the picture follows the control
ALL = "compare all"


def play_plan(*, mode: Mode = "live", old: str = "tagA", new: str = "tagB", members: int = 2) -> None:
    """Show the loss by procedure, then controls."""
    names = {ALL: ALL} | {f"worst run of {one.name}": one.name for one in PROCEDURES}
    counts = {str(count): count for count in sorted({1, 2, 3, 4, members})}
    explore(
        _draw,
        mode=mode,
        show=ChoiceControl("Show", names),
        old=Text("OLD", old),
        new=Text("NEW", new),
        producers=ChoiceControl("Producers", {WORDS[one]: one for one in Producers}),
        members=ChoiceControl("Members", counts, start=str(members), slider=True),
        pause=ChoiceControl(
            "Pause", {f"{ms / 1_000:g} s": ms for ms in (500, 1_000, 2_000, 4_000)}, start="1 s", slider=True
        ),
        every=ChoiceControl("A round every", {f"{ms / 1_000:g} s": ms for ms in (250, 500, 1_000)}, start="0.5 s"),
    )


def _draw(*, show: str, old: str, new: str, producers: Producers, members: int, pause: int, every: int) -> Picture:
    found = plan(
        old, new, setting=Setting(members, members, pause, every), budget=SCHEDULES, producers=[producers],
        procedures=None if show == ALL else [show],
    )  # fmt: skip
    return plan_bars(found) if show == ALL else plan_lanes(found, found.tried[0])
