# ruff: noqa: INP001 - pages import it by its own name
"""The ways to change a subscription, for the playground "my group": what each can lose, and the steps of the best."""

from __future__ import annotations

import shlex
from itertools import product
from typing import TYPE_CHECKING, Any

from group import checked, of_version

from rmqlab.language import translate
from rmqlab.rules import RULES
from rmqlab_tools.search.plan.change import change_between, parse_subscription
from rmqlab_tools.search.plan.checklist import checklist
from rmqlab_tools.search.plan.planner import plan
from rmqlab_tools.search.plan.procedures import PROCEDURES, Producers, Setting
from rmqlab_tools.search.plan.results import Plan

if TYPE_CHECKING:
    from collections.abc import Callable

    from rmqlab_tools.search.plan.results import ProcedureResult

Json = dict[str, Any]


def compare(state: Json, progress: Callable[[Json], object]) -> Json:
    """Every way from `old` to `new` of the page's state; `progress` hears what is tried and each way's row.

    Raises:
        BadInput: a subscription that would be refused.
    """
    state = checked(state)
    rules = RULES[state["version"]]
    old, new = parse_subscription(state["old"], "OLD", rules), parse_subscription(state["new"], "NEW", rules)
    change = change_between(old, new, rules)
    setting = Setting(members=state["restarting"], queues=state["restarting"])
    tried: list[ProcedureResult] = []
    whole = list(product(Producers, PROCEDURES))
    for done, (producers, procedure) in enumerate(whole):
        progress({"now": procedure.name, "done": done, "of": len(whole)})
        one = plan(
            state["old"], state["new"], setting=setting, budget=state["budget"], procedures=[procedure.name],
            producers=[producers], rules=rules,
        )  # fmt: skip
        tried += one.tried
        progress({"row": _way(tried[-1]), "done": done + 1, "of": len(whole)})
    found = Plan(change, setting, state["budget"], 0, tried)
    best = found.lossless[0].procedure if found.lossless else None
    return {
        "same": change.same,
        "safe": list(dict.fromkeys(one.procedure.name for one in found.safe)),
        "conditional": list(dict.fromkeys(one.procedure.name for one in found.lossless if not one.safe)),
        "exhausted": all(one.exhausted for one in found.lossless),
        "best": None if best is None else best.name,
        "steps": [] if best is None else [translate(step) for step in checklist(best, change)],
        "command": _command(state),
    }


def _way(one: ProcedureResult) -> Json:
    best, median, worst = one.spread()
    return {
        "name": one.procedure.name, "producers": one.producers.value, "safe": one.safe, "lossless": one.lossless,
        "best": best, "median": median, "worst": worst, "runs": one.runs, "exhausted": one.exhausted,
        "twice": one.duplicates, "waits_ms": one.longest_wait_ms,
    }  # fmt: skip


def _command(state: Json) -> str:
    settings = ["--members", str(state["restarting"]), "--budget", str(state["budget"]), *of_version(state)]
    given = [state["old"], state["new"]]
    words = [*settings, "--", *given] if any(one.startswith("-") for one in given) else [*given, *settings]
    return "rmqlab plan " + shlex.join(words)
