"""A run, or several, as tables for people: what became of each message, or how many met which fate."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from rmqlab.language import _, joined
from rmqlab.run.fates import fate_words
from rmqlab_tools.show.palette import look_of
from rmqlab_tools.show.tables import Table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rmqlab.run.run import Run


def message_table(run: Run) -> Table:
    """A row for each message in each group: where it went and what became of it; lost ones are marked."""
    fates = sorted(run.fates, key=lambda fate: (fate.group, fate.topic, fate.member or ""))
    many = len({fate.group for fate in fates}) > 1
    apart = any(fate.member for fate in fates)
    headers = [*([_("group")] if many else []), *([_("member")] if apart else []), _("message"), _("tag"), _("queue"),
               _("what became of it"), _("by"), _("by the subscription")]  # fmt: skip
    rows = [
        [
            *([fate.group] if many else []), *([fate.member] if apart else []), fate.body, fate.tag,
            f"{fate.queue}/{fate.offset}", f"{look_of(fate).mark} {fate_words(fate.fate)}", fate.culprit,
            fate.subscription,
        ]
        for fate in fates
    ]  # fmt: skip
    marked = frozenset(number for number, fate in enumerate(fates) if fate.lost)
    return Table(_("{name}: messages", name=run.scenario.id), headers, rows, marked)


def run_table(runs: Sequence[Run]) -> Table:
    """A row for each run: how many messages were lost, and how many met which fate; runs that lose are marked."""
    rows = []
    for run in runs:
        counts = Counter(fate.fate for fate in run.fates)
        said = joined(", ", (f"{count} {fate_words(fate)}" for fate, count in counts.items()))
        rows.append((run.scenario.id, len(run.fates), sum(fate.lost for fate in run.fates), said))
    marked = frozenset(number for number, row in enumerate(rows) if row[2])
    return Table(_("Scenarios"), (_("scenario"), _("messages"), _("lost"), _("what became of them")), rows, marked)
