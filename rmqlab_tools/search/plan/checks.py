"""What a plan found as checks, for SARIF, JUnit and GitHub: one for each procedure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rmqlab.language import _, joined, ngettext
from rmqlab_tools.check_reports import Check, Level

if TYPE_CHECKING:
    from rmqlab_tools.search.plan.results import Plan, ProcedureResult


def checks_of_plan(planned: Plan) -> list[Check]:
    """A safe procedure holds; one that asks something of producers is a warning; one that loses is an error.

    Where another one is safe, what loses is a note: it need not be taken.
    """
    return [_check(trial, safe=bool(planned.safe)) for trial in planned.tried]


def _check(trial: ProcedureResult, *, safe: bool) -> Check:
    lost = len(trial.cost.lost)
    if trial.safe:
        level, text = Level.NONE, _("No run lost a message.")
    elif trial.lossless:
        level = Level.WARNING
        conditions = joined(" ", trial.conditions)
        text = _("No run lost a message, if the producers do this: {conditions}", conditions=conditions)
    else:
        level = Level.NOTE if safe else Level.ERROR
        text = ngettext("The worst run lost {count} message.", "The worst run lost {count} messages.", lost)
    return Check("change-loses", trial.name, level, text)
