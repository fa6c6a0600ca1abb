"""`rmqlab doctor --report DIR`: the diagnosis as one HTML page, a picture for each group that asks for something."""

from __future__ import annotations

from datetime import UTC, datetime
from html import escape
from typing import TYPE_CHECKING, Final

from rmqlab.diagnosis.finding import State
from rmqlab.diagnosis.group_case import GroupCase
from rmqlab.diagnosis.picture import group_picture
from rmqlab.files import atomic_write
from rmqlab.show.tables import PAGE_STYLE, Table

if TYPE_CHECKING:
    from pathlib import Path

    from rmqlab.diagnosis.diagnosis import Diagnosis
    from rmqlab.diagnosis.finding import Finding, GroupDiagnosis

MOST_PICTURES: Final = 40
"""Groups with a picture, the worst first; of the others, the findings of those that are not healthy."""


def write_report(diagnosis: Diagnosis, folder: Path) -> Path:
    """Write `index.html` into a folder that is there, whole or not at all, and return its path."""
    page = folder / "index.html"
    with atomic_write(page) as part:
        part.write_text(report_page(diagnosis), encoding="utf-8")
    return page


def report_page(diagnosis: Diagnosis) -> str:
    """The page: a table of all groups, then each group with findings, advice and its picture. It loads nothing."""
    look = diagnosis.look
    at = datetime.fromtimestamp(look.at / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    bad = sum(group.state >= State.AT_RISK for group in diagnosis.groups)
    unknown = sum(group.state is State.UNKNOWN for group in diagnosis.groups)
    told = f"{bad} of {len(diagnosis.groups)} groups lose messages or are about to; too little is known of {unknown}."
    title = f"Cluster at {escape(look.namesrv)}"
    parts = [
        "<!doctype html><html lang='en'><head><meta charset='utf-8'>",
        "<meta name='viewport' content='width=device-width'>",
        f"<title>{title}</title><style>{PAGE_STYLE}</style></head><body>",
        f"<h1>{title}</h1><p>Read at {at} in {look.took_ms / 1000:.1f} s.</p>",
        f"<p class='{'no' if bad or unknown else 'yes'}'>{told}</p>",
        *map(_finding, diagnosis.cluster),
        _overview(diagnosis).html(),
    ]
    shown = [group for group in diagnosis.groups if GroupCase(look, look.groups[group.group]).topics or group.findings]
    for number, group in enumerate(shown):
        if number < MOST_PICTURES or group.state > State.NOTE:
            parts += _group(diagnosis, group, pictured=number < MOST_PICTURES)
    if look.unanswered:
        rows = [(one.addr, one.code, one.about, one.reason) for one in look.unanswered]
        parts.append(Table("Questions without an answer", ("server", "request", "about", "why"), rows).html())
    costs = [(addr, cost.requests, cost.sent_bytes, cost.received_bytes) for addr, cost in sorted(look.cost.items())]
    parts.append(Table("What this look asked", ("server", "requests", "bytes sent", "bytes received"), costs).html())
    return "\n".join([*parts, "</body></html>\n"])


def _overview(diagnosis: Diagnosis) -> Table:
    rows = [
        (
            group.group,
            str(group.state),
            ", ".join(dict.fromkeys(one.kind.replace("_", " ") for one in group.findings if one.state is group.state)),
            "not known" if group.lost is None else group.lost,
            group.members,
        )
        for group in diagnosis.groups
    ]
    bad = frozenset(number for number, group in enumerate(diagnosis.groups) if group.state >= State.AT_RISK)
    return Table("Groups, worst first", ("group", "state", "worst finding", "lost", "members"), rows, marked=bad)


def _group(diagnosis: Diagnosis, group: GroupDiagnosis, *, pictured: bool) -> list[str]:
    parts = [f"<h2>{escape(group.group)}: {group.state}</h2>", *map(_finding, group.findings)]
    if pictured and GroupCase(diagnosis.look, diagnosis.look.groups[group.group]).topics:
        parts.append(group_picture(diagnosis.look, group).html())
    return parts


def _finding(finding: Finding) -> str:
    rows = f" <small>{escape(', '.join(finding.rows))}</small>" if finding.rows else ""
    advice = f"<br>What to do: {escape(finding.advice)}" if finding.advice else ""
    says = f"{escape(finding.says)} <em>({finding.certainty})</em>"
    return f"<p class='{'no' if finding.state >= State.AT_RISK else ''}'>{says}{rows}{advice}</p>"
