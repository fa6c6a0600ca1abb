"""The checks of notebook 12: the share a group receives, a group that breaks the law, tags that keep enough."""

from __future__ import annotations

from typing import Any

from rmqlab.errors import BadInput
from rmqlab.lab.groups.tag_group import TagGroup
from rmqlab.lessons.check import CheckFailed

ASKED = ((2, 8), (3, 12), (4, 16))  # members, queues
MEMBERS, QUEUES, MOST_LOST = 4, 8, 0.4
NEAR = 0.005
OFF = 0.2
LAW = "The broker lets the winner's tag pass, one in n; of these only the winner's own queues count, one in n (S-52)."
UNEVEN = "The winner has its own queues only; what its share of them is depends on members and queues (S-45)."
SHARED = "A tag that all ask for passes both filters, whoever wins and whoever owns the queue."
HINTS = {
    "predict": "A message passes two filters. What share passes the first, and what share of that the second?",
    "broken": "When do members not own the same number of queues?",
    "enough": "Count what the shared tags alone bring to everybody, and what the others still lose.",
}


def predict(answer: Any) -> str:
    """The share delivered for each of ``ASKED``: {members: share}."""
    if not isinstance(answer, dict) or set(answer) != {members for members, _ in ASKED}:
        raise CheckFailed(f"Give a dict with the keys {', '.join(str(members) for members, _ in ASKED)}.", rule=LAW)
    for members, queues in ASKED:
        said, found = answer[members], TagGroup(members, queues).shares()
        if not isinstance(said, int | float) or abs(said - found["delivered"]) > NEAR:
            lines = [
                f"{fate:22} {share:.4f}" for fate, share in found.items() if share and fate == "dropped_by_broker_tag"
            ]
            raise CheckFailed(
                HINTS["predict"], problem=f"{members} members on {queues} queues: not {said}.", rule=LAW, lines=lines
            )
    return "One in n squared, each time."


def broken(answer: Any) -> str:
    """Members and queues for which the share is at least ``OFF`` away from 1/n²: (members, queues)."""
    try:
        members, queues = answer
        group = TagGroup(members, queues).checked()
    except (TypeError, ValueError, BadInput) as error:
        raise CheckFailed(f"Give two numbers, (members, queues): {error}.", rule=UNEVEN) from None
    if members < 2:
        raise CheckFailed(
            HINTS["broken"], problem="One member alone cannot disagree with itself.", rule="At least two members."
        )
    law, found = 1 / members**2, group.shares()["delivered"]
    if abs(found / law - 1) < OFF:
        lines = [f"delivered {found:.4f}, 1/n² is {law:.4f}"]
        raise CheckFailed(
            HINTS["broken"], problem=f"{members} members on {queues} queues keep the law.", rule=UNEVEN, lines=lines
        )
    return f"{members} members on {queues} queues: {found:.4f} delivered, and 1/n² is {law:.4f}."


def enough(answer: Any) -> str:
    """The fewest shared tags with which ``MEMBERS`` on ``QUEUES`` queues lose no more than ``MOST_LOST``."""
    try:
        found = _lost(answer)
    except BadInput as error:
        raise CheckFailed(f"Give a number of tags: {error}.", rule=SHARED) from None
    if found > MOST_LOST:
        raise CheckFailed(
            HINTS["enough"], problem=f"With {answer} shared tags {found:.1%} are still lost.", rule=SHARED
        )
    if answer > 0 and _lost(answer - 1) <= MOST_LOST:
        raise CheckFailed(
            HINTS["enough"],
            problem=f"{answer} are more than needed: {_lost(answer - 1):.1%} are lost with one less.",
            rule=SHARED,
        )
    return f"{found:.1%} lost with {answer} shared tags, {_lost(answer - 1):.1%} with one less."


def _lost(shared: int) -> float:
    return 1 - TagGroup(MEMBERS, QUEUES, shared).shares()["delivered"]


CHECKS = {"12-predict": predict, "12-broken": broken, "12-enough": enough}
