"""The checks of notebook 09: what one by one loses, what a pause ruins, a plan for a team that cannot stop."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from rmqlab.errors import BadInput
from rmqlab.filter.consistency import tell_apart
from rmqlab.lessons.check import CheckFailed
from rmqlab.search.plan.change import data_of, parse_subscription
from rmqlab.search.plan.planner import plan
from rmqlab.search.plan.procedures import Producers, Setting, rollouts_of

if TYPE_CHECKING:
    from rmqlab.search.plan.results import ProcedureResult

# Task 1: from, to.
CHANGES: dict[str, tuple[str, str]] = {
    "another order": ("tagA||tagB", "tagB||tagA"),
    "one tag more": ("tagA", "tagA||tagB"),
    "one tag less": ("tagA||tagB", "tagA"),
    "everything": ("tagA", "*"),
    "the same condition": ("SQL92:a > 3", "SQL92:a >= 4"),
    "a tag as a condition": ("tagA", "SQL92:TAGS = 'tagA'"),
}
SAID = ("nothing", "something")
FEW = 4
MEMBERS, MOST_PAUSE_MS, MUCH = 3, 4_000, 30
OLD, NEW = "tagA", "SQL92:region = 'EU'"
ONE_SLOT = "The broker keeps one subscription for the group; what it does not let pass, nobody gets (S-07, S-84)."
MEANING = "Only messages that one of the two takes and the other does not can be lost: what counts is the meaning."
SLOW = (
    "Between two restarts members disagree, and every message sent meanwhile is at risk: the loss grows with the pause."
)
UNION = "While members differ, send only what every subscription of that time lets pass."
HINTS = {
    "loses": "Which messages does one subscription take and the other not? Who may still want them?",
    "much": "What grows with the pause? And which two subscriptions have a common widening?",
    "cannot_stop": "At every moment two subscriptions are around. Which messages do both let pass?",
}


def loses(answer: Any) -> str:
    """For each change of ``CHANGES``: whether restarting the members one by one loses "nothing" or "something"."""
    if not isinstance(answer, Mapping) or set(answer) != set(CHANGES):
        raise CheckFailed(f"Give a dict with the keys {', '.join(map(repr, CHANGES))}.", rule=MEANING)
    for name, (old, new) in CHANGES.items():
        said = answer[name]
        if said not in SAID:
            raise CheckFailed(f"{name}: {said!r} is none of {', '.join(SAID)}.", rule=MEANING)
        tried = _one_by_one(old, new, Setting())
        here = SAID[not tried.lossless]
        if said != here:
            raise CheckFailed(HINTS["loses"], problem="Not all of them are right.", rule=f"{MEANING} {ONE_SLOT}")
    return f"All {len(CHANGES)} come out as you said."


def much(answer: Any) -> str:
    """A change and a pause with which one by one loses much, while widening first loses nothing if producers wait."""
    keys = ("old", "new", "pause_ms")
    if not isinstance(answer, Mapping) or set(answer) != set(keys):
        raise CheckFailed(f"Give a dict with the keys {', '.join(map(repr, keys))}.", rule=SLOW)
    if not isinstance(answer["pause_ms"], int) or answer["pause_ms"] > MOST_PAUSE_MS:
        raise CheckFailed(f"pause_ms is {answer['pause_ms']!r}; give ms, at most {MOST_PAUSE_MS}.", rule=SLOW)
    setting = Setting(MEMBERS, MEMBERS, answer["pause_ms"])
    try:
        tried = _one_by_one(answer["old"], answer["new"], setting)
        wide = plan(
            answer["old"], answer["new"], setting=setting, budget=FEW, procedures=["widen-then-narrow"],
            producers=[Producers.WAIT],
        ).tried[0]  # fmt: skip
    except (BadInput, AttributeError, TypeError) as error:
        raise CheckFailed(f"That cannot be run: {error}.", rule="OLD and NEW are texts such as tagA||tagB.") from None
    if len(tried.cost.lost) < MUCH:
        raise CheckFailed(
            HINTS["much"],
            problem=f"At worst {len(tried.cost.lost)} were lost; {MUCH} are asked for.",
            rule=SLOW,
            lines=_lost(tried),
        )
    if not wide.lossless:
        raise CheckFailed(HINTS["much"], problem="Widening first loses messages too.", rule=UNION, lines=_lost(wide))
    return f"One by one lost up to {len(tried.cost.lost)}, widening first none of {wide.cost.wanted}."


def cannot_stop(answer: Any) -> str:
    """Rollouts from ``OLD`` to ``NEW``, and after how many of them the producers switch."""
    keys = ("rollouts", "switch_after")
    if not isinstance(answer, Mapping) or set(answer) != set(keys):
        raise CheckFailed(f"Give a dict with the keys {', '.join(map(repr, keys))}.", rule=UNION)
    try:
        waves = [parse_subscription(text, "rollout") for text in answer["rollouts"]]
        procedure = rollouts_of(waves, answer["switch_after"])
    except (BadInput, AttributeError, TypeError) as error:
        raise CheckFailed(
            f"That cannot be run: {error}.", rule="A rollout is a text such as tagA or SQL92:a > 3."
        ) from None
    wanted = parse_subscription(NEW, "NEW")
    if not tell_apart(data_of(waves[-1]), data_of(wanted)).same:
        raise CheckFailed(
            HINTS["cannot_stop"], problem=f"After the last rollout the members do not subscribe {NEW}.", rule=MEANING
        )
    found = plan(OLD, NEW, budget=FEW, procedures=[procedure], producers=[Producers.WAIT]).tried[0]
    if not found.lossless:
        raise CheckFailed(
            HINTS["cannot_stop"],
            problem=f"{len(found.cost.lost)} of {found.cost.wanted} messages were lost.",
            rule=UNION,
            lines=_lost(found),
        )
    return f"None of {found.cost.wanted} messages was lost, in {found.runs} schedules, and somebody always ran."


def _one_by_one(old: str, new: str, setting: Setting) -> ProcedureResult:
    return plan(
        old, new, setting=setting, budget=FEW, procedures=["one-by-one"], producers=[Producers.KEEP]
    ).tried[0]  # fmt: skip


def _lost(tried: ProcedureResult) -> list[str]:
    return [
        f"{one.body}  queue {one.queue}  {one.fate}  {one.culprit}, the broker held {one.subscription}"
        for one in tried.lost[:6]
    ]


CHECKS = {"09-loses": loses, "09-much": much, "09-cannot-stop": cannot_stop}
