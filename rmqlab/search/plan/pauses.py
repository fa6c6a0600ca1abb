"""How the pause between restarts changes what is lost: a plan for each pause."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from rmqlab.search.plan.planner import BUDGET, plan
from rmqlab.search.plan.procedures import Producers, Setting

if TYPE_CHECKING:
    from collections.abc import Sequence

WAYS = (
    ("one-by-one", Producers.KEEP),
    ("widen-then-narrow", Producers.KEEP),
    ("widen-then-narrow", Producers.WAIT),
    ("stop-all", Producers.KEEP),
)


@dataclass(frozen=True, slots=True)
class PauseLoss:
    """What one way lost with one pause (ms): the most and the median over the schedules tried, and how long it took.

    ``worst`` is the worst there is if ``exhausted``, else only the worst of the ``runs`` that were tried.
    """

    procedure: str
    producers: Producers
    pause_ms: int
    worst: int
    median: int
    takes_ms: int
    runs: int
    exhausted: bool


def loss_by_pause(
    old: str, new: str, pauses_ms: Sequence[int], *, setting: Setting | None = None, budget: int = BUDGET
) -> list[PauseLoss]:
    """The loss of four ways for each pause; with equal budgets the same figures as ``plan`` has.

    Raises:
        BadInput: as ``plan``.
    """
    found = []
    for procedure, producers in WAYS:
        for pause_ms in pauses_ms:
            one = plan(
                old, new, setting=replace(setting or Setting(), pause_ms=pause_ms), budget=budget,
                procedures=[procedure], producers=[producers],
            ).tried[0]  # fmt: skip
            _, median, worst = one.spread()
            takes_ms = one.usual.takes_ms
            found.append(PauseLoss(procedure, producers, pause_ms, worst, median, takes_ms, one.runs, one.exhausted))
    return found
