"""A diagnosis as one HTML page: the findings of all groups as a table, then a picture of each."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from rmqlab.files import atomic_write
from rmqlab.language import _, ngettext
from rmqlab_tools.doctor.finding import State
from rmqlab_tools.doctor.group_context import GroupCase
from rmqlab_tools.doctor.group_picture import group_picture
from rmqlab_tools.show.tables import Table, page_of

if TYPE_CHECKING:
    from pathlib import Path

    from rmqlab_tools.doctor.diagnosis import Diagnosis

MAX_PICTURES: Final = 40
"""Groups with a picture, the worst first; the findings of all are in the table."""


def write_report(diagnosis: Diagnosis, folder: Path) -> Path:
    """Write `index.html` into a folder that is there, whole or not at all, and return its path."""
    page = folder / "index.html"
    with atomic_write(page) as part:
        part.write_text(report_page(diagnosis), encoding="utf-8")
    return page


def report_page(diagnosis: Diagnosis) -> str:
    """The page: a table of all findings, then a picture of each group, worst first. It loads nothing."""
    look = diagnosis.look
    at = datetime.fromtimestamp(look.at / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    bad = sum(group.state >= State.AT_RISK for group in diagnosis.groups)
    unknown = sum(group.state is State.UNKNOWN for group in diagnosis.groups)
    headline = ngettext(
        "{bad} of {groups} group loses messages or is about to; too little is known of {unknown}.",
        "{bad} of {groups} groups lose messages or are about to; too little is known of {unknown}.",
        len(diagnosis.groups),
        bad=bad,
        groups=len(diagnosis.groups),
        unknown=unknown,
    )
    drawn = [judged for judged in diagnosis.groups if GroupCase(look, look.groups[judged.group]).topics][:MAX_PICTURES]
    parts = [
        f"<p>Read at {at} in {look.took_ms / 1000:.1f} s.</p>",
        diagnosis.table().html(),
        *(group_picture(look, group).html() for group in drawn),
    ]
    if look.unanswered:
        rows = [(question.addr, question.code, question.about, question.reason) for question in look.unanswered]
        parts.append(
            Table(_("Questions without an answer"), (_("server"), _("request"), _("about"), _("why")), rows).html()
        )
    costs = [(addr, cost.requests, cost.sent_bytes, cost.received_bytes) for addr, cost in sorted(look.cost.items())]
    parts.append(
        Table(
            _("What this look asked"), (_("server"), _("requests"), _("bytes sent"), _("bytes received")), costs
        ).html()
    )
    return page_of(_("Cluster at {namesrv}", namesrv=look.namesrv), headline, parts, is_fine=not (bad or unknown))
