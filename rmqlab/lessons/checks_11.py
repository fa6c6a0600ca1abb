"""The checks of notebook 11: a loss counted, a plan to send again, a group repaired.

What is right is read from the frames that real clients and the broker exchanged, which no audit looks at.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from rmqlab.checkout import folder
from rmqlab.errors import BadInput
from rmqlab.lab.fates import Fate
from rmqlab.lab.filter_funnel import STAGES
from rmqlab.lab.groups.incident import CHANGE_MS, TAGS, Incident
from rmqlab.lab.recorded.accounts import recorded_accounts
from rmqlab.lab.recorded.store import RECORDED
from rmqlab.lessons.check import CheckFailed

if TYPE_CHECKING:
    from rmqlab.lab.run import Account

COUNTED: Final = "G_p-audit-000"
PLANNED: Final = "H_p-audit-010"
SPLIT: Final = {"A": "tagA", "B": "tagB"}
HELD_MS: Final = 15_000  # how long a pull may be held
STAGE = "A loss has a stage: the broker drops by the group's subscription, a client by its own (S-82)."
AGAIN = "Sent to its topic, a message reaches every group: those that have it get it twice (S-02)."
SAME = "All members of a group must ask for the same: the broker keeps one subscription, the newest (S-77)."
HINTS = {
    "count": "Look at one lost message: who saw it last, and by whose subscription was it dropped?",
    "plan": "Who lost a message, and who has it already?",
    "repair": "What must be the same for all members of a group?",
}


def count(answer: Any) -> str:
    """How many messages ``COUNTED`` lost, and at which stage: {"lost": number, "stage": "layer 1" | ... }."""
    lost = _lost(COUNTED)
    stages = {str(STAGES[fate.fate]) for fate in lost if fate.fate in STAGES}
    if not isinstance(answer, dict) or set(answer) != {"lost", "stage"}:
        raise CheckFailed('Give {"lost": a number, "stage": "layer 1", "layer 2" or "client"}.', rule=STAGE)
    if answer["stage"] not in stages:
        shown = [
            f"{one.body} ({one.tag}), pulled by {one.culprit}, who asks for {one.subscription}" for one in lost[:3]
        ]
        raise CheckFailed(HINTS["count"], problem=f"Not {answer['stage']!r}.", rule=STAGE, lines=shown)
    if answer["lost"] != len(lost):
        raise CheckFailed(HINTS["count"], problem=f"{answer['lost']!r} is not the number of messages lost.", rule=STAGE)
    return f"{len(lost)} messages, all at the {answer['stage']}: the broker handed them over."


def plan(answer: Any) -> str:
    """What ``PLANNED`` must get again, and what that costs: {"messages": [offsetMsgId...], "duplicates": number}."""
    if not isinstance(answer, dict) or set(answer) != {"messages", "duplicates"}:
        raise CheckFailed('Give {"messages": a list of offsetMsgId, "duplicates": a number}.', rule=AGAIN)
    account, ids = _account(PLANNED), _ids(PLANNED)
    lost = {ids[one.queue, one.offset]: one for one in _lost(PLANNED)}
    given = set(answer["messages"])
    for problem, wrong in (("left out", set(lost) - given), ("not lost by this group", given - set(lost))):
        if wrong:
            raise CheckFailed(HINTS["plan"], problem=f"{len(wrong)} messages are {problem}.", rule=AGAIN)
    places = {(one.queue, one.offset) for one in lost.values()}
    group = PLANNED.partition("_")[0]
    twice = sum(
        (one.queue, one.offset) in places and one.group != group and one.fate is Fate.DELIVERED for one in account.fates
    )
    if answer["duplicates"] != twice:
        raise CheckFailed(
            HINTS["plan"],
            problem=f"{answer['duplicates']!r} is not how many another group would get twice.",
            rule=AGAIN,
        )
    return f"{len(lost)} messages to send again; sent to the topic, {twice} of them reach another group twice."


def repair(answer: Any) -> str:
    """What A and B of a group that is ``SPLIT`` must ask for anew, so that nothing is lost: {"A": ..., "B": ...}."""
    try:
        run = Incident(before=SPLIT, change=answer).run()
    except (BadInput, AttributeError, TypeError) as error:
        raise CheckFailed(f'Give {{"A": ..., "B": ...}}, or one of them: {error}', rule=SAME) from None
    asked = {**SPLIT, **answer}
    for tag in TAGS:
        if not any(one == "*" or tag in one for one in asked.values()):
            raise CheckFailed(
                HINTS["repair"],
                problem=f"Nobody asks for {tag} any more: its messages are not lost, they are given up.",
                rule=SAME,
            )
    begun = next(event["t"] for event in run.events if event["ev"] == "subscribed") if answer else CHANGE_MS
    sent = {event["body"]: event["t"] for event in run.events if event["ev"] == "sent"}
    late = [one for one in run.fates if one.lost and sent[one.body] > begun + HELD_MS]
    if late:
        lines = [f"{one.body} ({one.tag}, queue {one.queue}): {one.fate}, by {one.culprit}" for one in late[:3]]
        raise CheckFailed(HINTS["repair"], problem=f"With {asked} messages are still lost.", rule=SAME, lines=lines)
    soon = sum(one.lost and sent[one.body] >= begun for one in run.fates)
    return f"Nothing is lost any more; {soon} were, just after the change, by pulls that were under way."


@lru_cache(maxsize=2)
def _account(group: str) -> Account:
    (account,) = recorded_accounts(folder("data") / RECORDED / "audit", [group.partition("_")[2]])
    return account


def _lost(group: str) -> list[Any]:
    return [one for one in _account(group).fates if one.group == group.partition("_")[0] and one.lost]


def _ids(group: str) -> dict[tuple[int, int], str]:
    events = _account(group).events
    return {(one["queue"], one["offset"]): one["offsetMsgId"] for one in events if one["ev"] == "sent"}


CHECKS = {"11-count": count, "11-plan": plan, "11-repair": repair}
