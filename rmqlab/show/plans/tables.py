"""Tables of notebook 09: the messages lost and by whom, the steps to follow."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rmqlab.search.plan.change import MessageKind, text_of
from rmqlab.search.plan.checklist import checklist
from rmqlab.show.tables import Table

if TYPE_CHECKING:
    from rmqlab.search.plan.results import Plan, ProcedureResult

WHOSE = {MessageKind.OLD: "only OLD takes it", MessageKind.NEW: "only NEW takes it", MessageKind.BOTH: "both take it"}


def kinds(plan: Plan) -> Table:
    """A message of each kind there is."""
    rows = [(f"{kind}-1, {kind}-2, ...", WHOSE[kind], dict(one)) for kind, one in plan.change.kinds.items()]
    caption = f"Messages sent: from {text_of(plan.change.old)} to {text_of(plan.change.new)}"
    return Table(caption, ("sent as", "who takes it", "properties"), rows)


def lost(tried: ProcedureResult) -> Table:
    """The messages that the worst run lost, and by which subscription."""
    rows = [(one.body, WHOSE[one.kind], one.queue, one.fate, one.culprit, one.subscription) for one in tried.lost]
    caption = f"Lost in the worst run of {tried.procedure.name}"
    headers = ("message", "who takes it", "queue", "fate", "whose pull", "the subscription in force")
    return Table(caption, headers, rows)


def steps(plan: Plan, tried: ProcedureResult) -> Table:
    """What to do, in order."""
    rows = list(enumerate(checklist(tried.procedure, plan.change), 1))
    return Table(f"Checklist: {tried.procedure.name}", ("step", "do this"), rows)
