"""The checks of notebook 10: read a recording's silence and its slots, write a rule that a recording accepts."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from rmqlab.checkout import folder
from rmqlab.lab.lab import Lab
from rmqlab.lab.replay.replay import replay
from rmqlab.lessons.check import CheckFailed, needs_function, needs_keys
from rmqlab.lessons.rule_judge import called
from rmqlab.protocol.codes import ResponseCode
from rmqlab.rules import DEFAULT_RULES

if TYPE_CHECKING:
    from pathlib import Path

    from rmqlab.lab.results import LabResult

FROZEN = "p-freeze-067"
NEAR_S = 5
SLOTS = ("p-article-000", "p-loss-002", "p-loss-005", "p-overlap-044")
JUDGE = "noprop"
LATEST = "Which pulls are refused hangs on two versions: the broker's and the pull's (S-66)."
SILENCE = "A silent member keeps its queues until a scan forgets it, and the others until they rebalance (H-41, H-48)."
VERSION = "The slot has what the newest version said; a consumer that stamps again takes it back (S-77)."


def _set(name: str) -> Path:
    return folder("data") / "golden" / "broker-4.8.0" / name


@cache
def _recorded(scenario: str) -> LabResult:
    return Lab.from_recording(_set("base"), scenario)


def silence(answer: Any) -> str:
    """Seconds from the freeze of A's connection until B had consumed what waited in A's queues."""
    if not isinstance(answer, int | float) or isinstance(answer, bool):
        raise CheckFailed("Give one number: seconds.", problem=f"{answer!r} is no number of seconds.", rule=SILENCE)
    run = _recorded(FROZEN)
    frozen, last = run.events().where(ev="control")[0].t, max(row.t for row in run.consumed())
    here = (last - frozen) / 1_000
    if abs(answer - here) > NEAR_S:
        began = run.events().where(ev="starting")[0].t
        raise CheckFailed(
            "Two moments matter: when the connection freezes, and when the last message that waited is consumed.",
            problem=f"Not {answer:g} s.",
            rule=SILENCE,
            lines=[f"recorder  freezes A's connection {(frozen - began) / 1_000:.1f} s after the first start"],
        )
    return f"{here:.0f} s on the real broker."


def slots(answer: Any) -> str:
    """For each scenario of ``SLOTS`` the expression that was in the group's slot when the first message came."""
    needs_keys(answer, SLOTS, rule=VERSION)
    for name in SLOTS:
        changes = _recorded(name).subscriptions()
        first = min(message.t for message in _recorded(name).messages())
        here = [row.expression for row in changes if row.t < first][-1]
        if answer[name] != here:
            raise CheckFailed(
                "Look for the last change of the slot before the first message.",
                problem=f"{name}: not {answer[name]!r}.",
                rule=VERSION,
                lines=[f"{row.t / 1_000:8.3f} s  {row.expression}" for row in changes],
            )
    return f"All {len(SLOTS)} slots are read rightly."


def rule(answer: Any) -> str:
    """A rule `is_latest(held_version, pull_version)`, by which our broker answers as the recorded one did."""
    needs_function(answer, "Give the function itself: is_latest(held_version, pull_version).")
    called(answer, 1, 2, told="is_latest(1, 2): ")
    result = replay(_set(JUDGE), rules=DEFAULT_RULES.replace(is_latest=answer))
    codes = [one for one in result.differing if one.field == "code"]
    served = sum(one.expected == ResponseCode.SUBSCRIPTION_NOT_LATEST for one in codes)
    refused = sum(one.got == ResponseCode.SUBSCRIPTION_NOT_LATEST for one in codes)
    told = f"{served} pulls are served that the real broker refused, {refused} refused that it served."
    if served:
        raise CheckFailed("The real broker refuses more pulls than yours. Which of the two versions may be newer?",
                          rule=LATEST, problem=told)  # fmt: skip
    if result.differing:
        raise CheckFailed("It refuses pulls that the real one served. What if they differ the other way?",
                          rule=LATEST, problem=told)  # fmt: skip
    return f"All {result.requests} answers of the recording come out the same."


CHECKS = {"10-rule": rule, "10-silence": silence, "10-slots": slots}
