"""The control of notebook 11: a group, and what is known besides the store."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rmqlab.errors import BadInput
from rmqlab.lab.audit_report import AuditReport, plain
from rmqlab.show.audit.pictures import loss_by_second
from rmqlab.show.explore import ChoiceControl, Mode, explore

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rmqlab.show.figure import Picture


def play_audit(audits: Sequence[AuditReport], *, mode: Mode = "live", group: str) -> None:
    """Every group second by second; raises `BadInput` for a group that the audits do not know."""
    names = sorted(audits[-1].summary)
    if group not in names:
        raise BadInput(f"group is {group!r}; the audit has {', '.join(names)}")

    def draw(*, group: str, known: AuditReport) -> Picture:
        return loss_by_second(known, group)

    explore(
        draw,
        mode=mode,
        group=ChoiceControl("Group", {plain(name): name for name in names}, start=plain(group)),
        known=ChoiceControl("Known", {audit.name: audit for audit in audits}, start=audits[-1].name),
    )
