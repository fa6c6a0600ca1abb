"""`rmqlab doctor --watch`: a table that renews itself on a terminal; on a pipe, a table a look."""

from __future__ import annotations

import time
from itertools import count
from typing import TYPE_CHECKING

from rich.box import SIMPLE_HEAD
from rich.console import Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from rmqlab.errors import BadInput
from rmqlab.language import _, joined, ngettext
from rmqlab_tools.doctor.finding import State
from rmqlab_tools.visible import in_line, visible

if TYPE_CHECKING:
    from collections.abc import Callable

    from rich.console import Console

    from rmqlab_tools.doctor.diagnosis import Diagnosis
    from rmqlab_tools.doctor.doctor import Doctor
    from rmqlab_tools.doctor.finding import Finding

STATE_COLOURS = {
    State.HEALTHY: "green",
    State.NOTE: "green",
    State.UNKNOWN: "magenta",
    State.AT_RISK: "yellow",
    State.LOSING: "bold red",
}
NUMBER_COLUMNS = (_("members"), _("raw\nlag"), _("filtered\nlag"), _("lost"), _("flips\na min"))
PIPE_WIDTH = 160
"""Columns of a table where no terminal says how many there are."""
MAX_DETAILS = 5
MAX_WATCHED_GROUPS = 30
"""Groups in the table of a terminal; the worst come first, the others are counted."""


def watch(
    doctor: Doctor, every: float, looks: int | None, console: Console, after: Callable[[Diagnosis], None] | None = None
) -> int:
    """Look every `every` seconds, `looks` times (None: until Ctrl-C), and return the worst exit status seen.

    3 (losing) is worse than 4 (unknown). `after` is called with each diagnosis. When no name server answers at a later
    look, a line says so (status 4), and the next look asks again.

    Raises:
        BadInput: when the first look cannot be done.
    """
    statuses: set[int] = set()
    with Live(console=console, auto_refresh=False, transient=False) as live:
        for number in count(1):
            try:
                diagnosis = doctor.look()
            except BadInput as error:
                if not statuses:
                    raise
                statuses.add(4)
                parts: list[Table | Text] = [Text(visible(f"{time.strftime('%H:%M:%S')}: {error}"))]
            else:
                statuses.add(diagnosis.status)
                most = MAX_WATCHED_GROUPS if console.is_terminal else None
                parts = [table(diagnosis, most), details(diagnosis)]
                if after is not None:
                    after(diagnosis)
            if console.is_terminal:
                live.update(Group(*parts), refresh=True)
            else:
                for part in parts:
                    console.print(part, soft_wrap=isinstance(part, Text))
            if number == looks:
                break
            doctor.wait(every)
    return next((status for status in (3, 4) if status in statuses), 0)


def table(diagnosis: Diagnosis, most: int | None = None) -> Table:
    """The groups of a diagnosis, worst first, each with its numbers and the kinds of its findings."""
    look = diagnosis.look
    at = time.strftime("%H:%M:%S", time.localtime(look.at / 1000))
    seconds = f"{look.took_ms / 1000:.1f}"
    title = str(_("{namesrv} at {at}, read in {seconds} s", namesrv=look.namesrv, at=at, seconds=seconds))
    made = Table(title=in_line(title), title_justify="left", box=SIMPLE_HEAD)
    made.add_column(str(_("group")), overflow="fold")
    made.add_column(str(_("state")), no_wrap=True)
    for name in NUMBER_COLUMNS:
        made.add_column(str(name), justify="right")
    made.add_column(str(_("what is wrong")), min_width=20)
    for finding in diagnosis.cluster:
        made.add_row("(cluster)", _state(finding.state), *[""] * len(NUMBER_COLUMNS), Text(_kind(finding)))
    for group in diagnosis.groups[:most]:
        numbers = group.members, group.raw_lag, group.filtered_lag, group.lost, group.flips_per_minute
        made.add_row(
            Text(in_line(group.group)),
            _state(group.state),
            *map(_number, numbers),
            Text(str(joined(", ", dict.fromkeys(_kind(finding) for finding in group.findings)))),
        )
    left_out = 0 if most is None else max(0, len(diagnosis.groups) - most)
    if left_out:
        made.caption = str(
            ngettext(
                "{left_out} more group is not shown: it is not worse",
                "{left_out} more groups are not shown: none of them is worse",
                left_out,
                left_out=left_out,
            )
        )
    return made


def details(diagnosis: Diagnosis) -> Text:
    """The worst findings in full, a line each."""
    named_findings = [("cluster", finding) for finding in diagnosis.cluster]
    named_findings += [(group.group, finding) for group in diagnosis.groups for finding in group.findings]
    worst = [f"{name}: {finding.says}" for name, finding in named_findings if finding.state >= State.AT_RISK]
    return Text("\n".join(map(in_line, worst[:MAX_DETAILS])))


def _kind(finding: Finding) -> str:
    return str(_(finding.kind.replace("_", " ")))


def _state(state: State) -> Text:
    return Text(str(state), style=STATE_COLOURS[state])


def _number(value: float | None) -> str:
    return "?" if value is None else str(round(value, 1))
