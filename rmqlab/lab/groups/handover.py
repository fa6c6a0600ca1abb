"""Handovers: queues change hands in different ways, and for how long a queue has two owners, or none."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rmqlab.lab.groups.group_life import JOINING, GroupLife, Happening
from rmqlab.lab.groups.ownership import Ownership

if TYPE_CHECKING:
    from rmqlab.lab.groups.ownership import Stretch

AT_S, CONSUME_MS, PER_S = 45, 100, 10
LONG_MS = 1_000  # what lasts longer than that is seen in a picture
_SHORT, _LONG = AT_S + 45, AT_S + 225


def _then(what: str, for_s: float = 0) -> tuple[Happening, ...]:
    return (*JOINING, Happening(AT_S, "B", what, for_s))


# Each from AT_S on; A, B and C had joined before.
HANDOVERS: dict[str, GroupLife] = {
    "D joins": GroupLife((*JOINING, Happening(AT_S, "D", "joins")), _SHORT),
    "B leaves": GroupLife(_then("leaves"), _SHORT),
    "B is killed": GroupLife(_then("is killed"), _SHORT),
    "B's machine is gone": GroupLife(_then("falls silent"), _LONG),
    "B's connection is cut": GroupLife(_then("is cut off"), _SHORT),
    "B pauses for 60 s": GroupLife(_then("pauses", 60), _LONG),
    "B pauses for 150 s": GroupLife(_then("pauses", 150), _LONG),
    "D joins, nobody is told": GroupLife((*JOINING, Happening(AT_S, "D", "joins")), _SHORT, notify=False),
    "B leaves, nobody is told": GroupLife(_then("leaves"), _SHORT, notify=False),
    "B comes back with another strategy": GroupLife(
        (*JOINING[:1], *JOINING[2:], Happening(AT_S, "B", "joins")), _SHORT, strategies={"B": "circle"}
    ),
}


@dataclass(frozen=True, slots=True)
class Handover:
    """What followed a handover: longest double ownership and gap in ms, and messages that a listener saw twice."""

    name: str
    life: Ownership
    double_ms: float
    gap_ms: float
    told: int
    duplicates: int

    @property
    def verdict(self) -> str:
        """What lasted longer than a second: "two owners", "nobody", "both" or "neither"."""
        two, none = self.double_ms > LONG_MS, self.gap_ms > LONG_MS
        return {(True, True): "both", (True, False): "two owners", (False, True): "nobody"}.get((two, none), "neither")


def handover(name: str) -> Handover:
    """Run one of ``HANDOVERS`` with messages flowing to a listener that takes a while."""
    life = HANDOVERS[name]
    run = GroupLife(
        life.happenings, life.seconds, life.queues, life.strategy, life.strategies, life.notify, PER_S,
        consume_ms=CONSUME_MS,
    ).run()  # fmt: skip
    since = AT_S * 1_000
    return Handover(
        name,
        run,
        _longest(run.doubles, since),
        _longest(run.gaps, since),
        sum(t >= since for t in run.told),
        len([body for body in run.duplicates if run.first_seen(body) >= since - CONSUME_MS]),
    )


def _longest(stretches: list[Stretch], since: float) -> float:
    return max((one.until - max(one.since, since) for one in stretches if one.until > since), default=0.0)
