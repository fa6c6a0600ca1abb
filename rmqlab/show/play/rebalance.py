"""The controls of notebook 07: strategies before and after a change; a group over time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rmqlab.errors import BadInput
from rmqlab.lab.groups.allotment import STRATEGIES, Allotment, Division, joined, left
from rmqlab.lab.groups.group_life import GroupLife, Happening, flapping
from rmqlab.show.explore import ChoiceControl, Mode, explore
from rmqlab.show.rebalance.allotment_grid import allotment_grid
from rmqlab.show.rebalance.ownership_ribbons import ownership_ribbons

if TYPE_CHECKING:
    from rmqlab.show.figure import Picture

MOST_MEMBERS, MOST_QUEUES = 6, 12
LETTERS = "ABCDEF"
NEWCOMERS = {
    "N joins, its id is the first": "first",
    "N joins, right after A": "second",
    "N joins, its id is the last": "last",
}
LEAVERS = {"A leaves": "A", "the last one leaves": "-1"}
LIVE = {"averagely": "avg", "averagely by circle": "circle", "consistent hash": "hash"}
JOIN_GAP_S, LAST_S, FAULT_S = 10, 30, 45
WAYS = {
    "leaves": "leaves",
    "is killed": "is killed",
    "machine gone": "falls silent",
    "connection cut": "is cut off",
    "pauses for 150 s": "pauses",
    "leaves and comes back, again and again": "flaps",
}


def members(count: int) -> tuple[str, ...]:
    """Client ids of ``count`` members; what stands behind the @ is the letter, what stands before it the order."""
    return tuple(f"10.0.0.{20 + 10 * number}@{LETTERS[number]}" for number in range(count))


def change(division: Division, what: str) -> dict[str, tuple[Allotment, Allotment]]:
    """Both allotments of every strategy: a newcomer N whose id sorts "first", "second" or "last", or who leaves.

    Raises:
        BadInput: the only member leaves, or ``what`` is none of these.
    """
    ids = {"first": "10.0.0.10@N", "second": "10.0.0.25@N", "last": "10.0.0.99@N"}
    if what in ids:
        return {strategy: joined(division, ids[what], strategy) for strategy in STRATEGIES}
    if what not in LEAVERS.values():
        raise BadInput(f"change is {what!r}; it is one of {', '.join([*ids, *LEAVERS.values()])}")
    if len(division.members) == 1:
        raise BadInput("there is only one member; with it the group would be gone")
    leaver = division.members[-1 if what == "-1" else 0]
    return {strategy: left(division, leaver, strategy) for strategy in STRATEGIES}


def play_strategies(*, mode: Mode = "live", queues: int = 8, count: int = 3) -> None:
    """Show all six strategies before and after a change, then controls for group, queues and change."""
    explore(
        _strategies,
        mode=mode,
        count=_numbers("Members", 1, 5, count),
        queues=_numbers("Queues", 2, MOST_QUEUES, queues),
        what=ChoiceControl("Change", NEWCOMERS | LEAVERS, start="N joins, its id is the last"),
    )


def _strategies(*, count: int, queues: int, what: str) -> Picture:
    words = next(words for words, value in (NEWCOMERS | LEAVERS).items() if value == what)
    return allotment_grid(change(Division(queues, members(count)), what), words)


def play_ownership(
    *, mode: Mode = "live", way: str = "leaves", strategy: str = "averagely", notify: bool = True
) -> None:
    """Show a group over time, then controls for strategy, members, queues, what happens to B, and notifications."""
    explore(
        _life,
        mode=mode,
        strategy=ChoiceControl("Strategy", LIVE, start=strategy),
        other=ChoiceControl("B's strategy", {"the same": "", **LIVE}),
        count=_numbers("Members", 2, MOST_MEMBERS, 3),
        queues=_numbers("Queues", 1, MOST_QUEUES, 5),
        way=ChoiceControl("B", WAYS, start=way),
        notify=ChoiceControl("Members are told", {"yes": True, "no": False}, start="yes" if notify else "no"),
        rebalance_s=ChoiceControl(
            "Rebalance every", {f"{s} s": s for s in (2, 5, 10, 20, 40)}, start="20 s", slider=True
        ),
    )


def _numbers(label: str, low: int, high: int, start: int) -> ChoiceControl:
    return ChoiceControl(
        label, {str(n): n for n in sorted({*range(low, high + 1), start})}, start=str(start), slider=True
    )


def _life(*, strategy: str, other: str, count: int, queues: int, way: str, notify: bool, rebalance_s: int) -> Picture:
    ms = rebalance_s * 1_000
    life = story(way, strategy=strategy, other=other, count=count, queues=queues, notify=notify, rebalance_ms=ms)
    return ownership_ribbons(life.run())


def story(
    way: str, *, strategy: str = "avg", other: str = "", count: int = 3, queues: int = 5, notify: bool = True,
    rebalance_ms: int = 20_000, per_s: int = 10,
) -> GroupLife:  # fmt: skip
    """Members come ten seconds apart, then something happens to B (a value of ``WAYS``)."""
    happenings = [Happening(JOIN_GAP_S * number, LETTERS[number], "joins") for number in range(count)]
    fault_s = max(FAULT_S, JOIN_GAP_S * count + 5)
    seconds = {"falls silent": 195, "pauses": 225, "flaps": 55}.get(way, 45) + fault_s
    if way == "flaps":
        happenings += flapping("B", first_s=fault_s, up_s=5, down_s=5, times=5)
    else:
        happenings.append(Happening(fault_s, "B", way, 150 if way == "pauses" else 0))
    return GroupLife(
        tuple(happenings), seconds, queues, strategy, {"B": other} if other else {}, notify, per_s, rebalance_ms,
    )  # fmt: skip
