"""The checks of notebook 07: shares by strategy, a newcomer that moves the fewest queues, handovers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rmqlab.errors import BadInput
from rmqlab.lab.groups.allotment import STRATEGIES, Allotment, Division, fewest_moves, joined
from rmqlab.lab.groups.handover import AT_S, HANDOVERS, LONG_MS, handover
from rmqlab.lessons.check import CheckFailed

# Task 1: strategy, members, queues.
CASES = (
    ("averagely", 3, 5),
    ("averagely by circle", 3, 5),
    ("averagely", 5, 3),
    ("machine room", 3, 8),
    ("machine room nearby", 3, 8),
)
QUEUES, MEMBERS = 8, 3
VERDICTS = ("two owners", "nobody", "both", "neither")
DIVIDE = "Every member sorts queues and ids, and computes its own share; the remainder goes to the first ones (S-84)."
IDS = "The order of the ids decides whose block a newcomer takes from; the strategies see nothing else."
ALONE = "Each member computes alone, when it is told and every 20 s; nobody checks the sum (H-46, H-48)."
HINTS = {
    "shares": "Divide by hand, in the order of the ids: what happens to the remainder?",
    "fewest": "Write the owners in a row before and after. From whose end can a newcomer take its share?",
    "handovers": "Who learns of the change, and when? What does each member do until then?",
}


def ids_of(count: int) -> tuple[str, ...]:
    """The client ids of task 1: in this order, with rooms in turn."""
    return tuple(f"10.0.0.{20 + 10 * number}@{'ABCDEF'[number]}" for number in range(count))


def shares(answer: Any) -> str:
    """How many queues each member has, in order of the ids, for each of ``CASES``."""
    if not isinstance(answer, Sequence) or isinstance(answer, str) or len(answer) != len(CASES):
        raise CheckFailed(f"Give a list of {len(CASES)} lists of numbers, one for each case.", rule=DIVIDE)
    for said, (strategy, members, queues) in zip(answer, CASES, strict=True):
        found = Division(queues, ids_of(members)).allot(strategy)
        here = [len(share) for share in found.shares.values()]
        if not isinstance(said, Sequence) or list(said) != here:
            other = Division(queues + 1, ids_of(members)).allot(strategy)
            lines = [f"with {queues + 1} queues  {_row(other)}"]
            raise CheckFailed(
                HINTS["shares"],
                problem=f"{strategy}, {members} members, {queues} queues: not {said!r}.",
                rule=DIVIDE,
                lines=lines,
            )
    return f"All {len(CASES)} are divided as you said."


def fewest(answer: Any) -> str:
    """A strategy, ids of three members and of a newcomer, so that no more queues move than must."""
    keys = {"strategy", "ids", "newcomer"}
    if not isinstance(answer, Mapping) or set(answer) != keys or not isinstance(answer["ids"], Sequence):
        raise CheckFailed(f"Give a dict with the keys {', '.join(sorted(keys))}.", rule=IDS)
    if len(answer["ids"]) != MEMBERS or isinstance(answer["ids"], str):
        raise CheckFailed(f"Give {MEMBERS} ids, and the newcomer's besides.", rule=IDS)
    try:
        before, after = joined(Division(QUEUES, tuple(answer["ids"])), answer["newcomer"], answer["strategy"])
    except (BadInput, TypeError) as error:
        raise CheckFailed(f"That cannot be divided: {error}.", rule=f"Strategies: {', '.join(STRATEGIES)}.") from None
    lines = [f"before  {_row(before)}", f"after   {_row(after)}"]
    if not (before.whole and after.whole):
        raise CheckFailed(
            HINTS["fewest"],
            problem="A queue has no owner; then it moves cheaply, and nobody reads it.",
            rule=IDS,
            lines=lines,
        )
    if not (before.even and after.even):
        raise CheckFailed(HINTS["fewest"], problem="The shares are not even before and after.", rule=IDS, lines=lines)
    moved, least = len(before.moved(after)), fewest_moves(QUEUES, MEMBERS, MEMBERS + 1)
    if moved > least:
        raise CheckFailed(HINTS["fewest"], problem=f"{moved} queues move, and {least} would do.", rule=IDS, lines=lines)
    return f"{moved} of {QUEUES} queues move, the least there is: {answer['strategy']}."


def handovers(answer: Any) -> str:
    """For each of ``HANDOVERS``: what lasts longer than a second."""
    if not isinstance(answer, Mapping) or set(answer) != set(HANDOVERS):
        raise CheckFailed(f"Give a dict with the keys {', '.join(map(repr, HANDOVERS))}.", rule=ALONE)
    for name, said in answer.items():
        if said not in VERDICTS:
            raise CheckFailed(f"{name}: {said!r} is none of {', '.join(VERDICTS)}.", rule=ALONE)
    for name, said in answer.items():
        found = handover(name)
        if said != found.verdict:
            lines = [
                f"queue {one.queue} has not exactly one owner, {one.since / 1_000:.1f} to {one.until / 1_000:.1f} s"
                for one in found.life.stretches
                if one.ms > LONG_MS and one.until > AT_S * 1_000
            ]
            raise CheckFailed(HINTS["handovers"], problem=f"{name}: not {said}.", rule=ALONE, lines=lines)
    return f"All {len(HANDOVERS)} go as you said."


def _names(who: tuple[str, ...]) -> str:
    return " and ".join(one.partition("@")[2] or one for one in who) or "nobody"


def _row(one: Allotment) -> str:
    return ", ".join(_names(who) for who in one.owners.values())


CHECKS = {"07-shares": shares, "07-fewest": fewest, "07-handover": handovers}
