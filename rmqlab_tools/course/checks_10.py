"""The checks of notebook 10: read a recording's silence and its slots, write a rule that a recording accepts."""

from __future__ import annotations

from itertools import product
from math import isnan
from numbers import Real
from typing import Any

from rmqlab.checkout import data, part
from rmqlab.language import _
from rmqlab.protocol.codes import ResponseCode
from rmqlab.rules import DEFAULT_RULES
from rmqlab_tools.course.answers import BY_HAND, called, needs_function, needs_keys, recorded
from rmqlab_tools.course.check import OF_TASK, CheckFailed
from rmqlab_tools.course.rule_judge import RuleCase, in_words, must_agree_in_cases, plain
from rmqlab_tools.recordings.store import RECORDED

FROZEN = "p-freeze-067"
NEAR_S = 5
SLOTS = ("p-article-000", "p-loss-002", "p-loss-005", "p-overlap-044")
JUDGE = "noprop"


def silence(answer: Any) -> str:
    """Seconds from the freeze of A's connection until B had consumed what waited in A's queues."""
    if isinstance(answer, bool) or not isinstance(answer, Real) or isnan(answer):
        raise CheckFailed(
            _("Give one number: seconds."),
            problem=_("{answer} is no number of seconds.", answer=f"{answer!r}"),
            rule=OF_TASK,
        )
    run = recorded("base", FROZEN)
    frozen, last = run.events().where(ev="control")[0].t, max(row.t for row in run.consumed())
    here = (last - frozen) / 1_000
    if abs(float(answer) - here) > NEAR_S:
        began = run.events().where(ev="starting")[0].t
        line = _(
            "recorder  freezes A's connection {frozen} s after the first start", frozen=f"{(frozen - began) / 1000:.1f}"
        )
        raise CheckFailed(problem=_("Not {answer} s.", answer=f"{answer:g}"), lines=[line])
    return _("{here} s on the real broker.", here=f"{here:.0f}")


def slots(answer: Any) -> str:
    """For each scenario of `SLOTS` the expression that was in the group's slot when the first message came."""
    needs_keys(answer, SLOTS, rule=OF_TASK)
    for name in SLOTS:
        changes = recorded("base", name).subscriptions()
        first = min(message.t for message in recorded("base", name).messages())
        here = [row.expression for row in changes if row.t < first][-1]
        if answer[name] != here:
            lines = [f"{row.t / 1_000:8.3f} s  {row.expression}" for row in changes]
            raise CheckFailed(problem=_("{name}: not {answer}.", name=name, answer=f"{answer[name]!r}"), lines=lines)
    return _("All {slots} slots are read rightly.", slots=len(SLOTS))


def rule(answer: Any) -> str:
    """A rule `is_latest(held_version, pull_version)`, by which our broker answers as the recorded one did."""
    needs_function(answer, _("Give the function itself: is_latest(held_version, pull_version)."))
    said = plain(called(answer, 1, 2, context="is_latest(1, 2): "))
    if not isinstance(said, bool):
        raise CheckFailed(BY_HAND, problem=_("is_latest(1, 2): your function gives {said}.", said=in_words(said)))
    result = part("replay").replay(data(RECORDED) / JUDGE, rules=DEFAULT_RULES.replace(is_latest=answer))
    codes = [difference for difference in result.differing if difference.field == "code"]
    served = sum(difference.expected == ResponseCode.SUBSCRIPTION_NOT_LATEST for difference in codes)
    refused = sum(difference.got == ResponseCode.SUBSCRIPTION_NOT_LATEST for difference in codes)
    problem = _(
        "{served} pulls are served that the real broker refused, {refused} refused that it served.",
        served=served,
        refused=refused,
    )
    if served or refused:
        raise CheckFailed(case="served" if served else "refused", problem=problem)
    must_agree_in_cases("is_latest", answer, [RuleCase(versions) for versions in product((0, 5, 6), repeat=2)])
    if result.differing:
        raise CheckFailed(
            problem=_("{differing} answers of the recording come out otherwise.", differing=len(result.differing))
        )
    return _("All {requests} answers of the recording come out the same.", requests=result.requests)


CHECKS = {"10-rule": rule, "10-silence": silence, "10-slots": slots}
