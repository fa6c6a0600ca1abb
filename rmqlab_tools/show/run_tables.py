"""A run, or several, as tables for people: what became of each message, or how many met which fate."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from rmqlab.language import _, joined
from rmqlab.run.fates import BROKER, PROXY, Fate, fate_words
from rmqlab_tools.show.palette import look_of
from rmqlab_tools.show.tables import Table

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rmqlab.run.fates import MessageFate
    from rmqlab.run.records import FateRecord
    from rmqlab.run.run import Run

    Owners = Mapping[int, Sequence[str]]

ACTORS = {BROKER: _("the broker"), PROXY: _("the proxy")}
# Fates that no pull and no subscription decided.
NOT_PULLED = {Fate.SKIPPED_BY_OFFSET, Fate.NO_OWNER, Fate.WAITING}


def fate_table(caption: str, fates: Sequence[MessageFate | FateRecord], owners: Owners | None = None) -> Table:
    """A row for each fate: who pulled, what became of the message, who dropped it, by whose subscription.

    That somebody pulled and that somebody dropped are two things: the broker drops what a member pulls. `owners` gives
    each queue's owners, for a column of its own. Lost messages are marked.
    """
    many = len({fate.group for fate in fates}) > 1
    apart = any(fate.member for fate in fates)
    headers = [
        *([_("group")] if many else []), *([_("member")] if apart else []), _("message"), _("tag"), _("queue"),
        _("offset"), *([_("owner")] if owners is not None else []), _("pulled by"), _("what became of it"),
        _("dropped by"), _("subscription that decided"),
    ]  # fmt: skip
    rows = [
        [
            *([fate.group] if many else []), *([fate.member] if apart else []), fate.body, fate.tag, fate.queue,
            fate.offset, *([joined(", ", owners.get(fate.queue, [])) or None] if owners is not None else []),
            None if fate.fate in NOT_PULLED else fate.culprit, f"{look_of(fate).mark} {fate_words(fate.fate)}",
            ACTORS.get(fate.dropped_by or "", fate.dropped_by), _decided(fate),
        ]
        for fate in fates
    ]  # fmt: skip
    return Table(caption, headers, rows, frozenset(number for number, fate in enumerate(fates) if fate.lost))


def fate_counts(fates: Sequence[FateRecord], columns: Sequence[str]) -> Table:
    """How many messages met which fate, apart for each value of `columns`, in the order of these and of `Fate`."""
    order = {fate: number for number, fate in enumerate(Fate)}
    counts = Counter((*(getattr(fate, name) for name in columns), Fate(fate.fate)) for fate in fates)
    by_value = sorted(counts.items(), key=lambda entry: (*map(str, entry[0][:-1]), order[entry[0][-1]]))
    rows = [(*values, fate_words(fate), count) for (*values, fate), count in by_value]
    return Table(_("Messages"), (*columns, _("what became of them"), _("messages")), rows, names=True)


def _decided(fate: MessageFate | FateRecord) -> str | None:
    if fate.subscription is None or fate.fate in NOT_PULLED:
        return None
    if fate.subscriber is None:
        return fate.subscription
    return _("{subscription}, of {member}", subscription=fate.subscription, member=fate.subscriber)


def message_table(run: Run) -> Table:
    """A row for each message in each group: where it went and what became of it; lost ones are marked."""
    fates = sorted(run.fates, key=lambda fate: (fate.group, fate.topic, fate.member or ""))
    return fate_table(_("{name}: messages", name=run.scenario.id), fates)


def run_table(runs: Sequence[Run]) -> Table:
    """A row for each run: how many messages were lost, and how many met which fate; runs that lose are marked."""
    rows = []
    for run in runs:
        counts = Counter(fate.fate for fate in run.fates)
        said = joined(", ", (f"{count} {fate_words(fate)}" for fate, count in counts.items()))
        rows.append((run.scenario.id, len(run.fates), sum(fate.lost for fate in run.fates), said))
    marked = frozenset(number for number, row in enumerate(rows) if row[2])
    return Table(_("Scenarios"), (_("scenario"), _("messages"), _("lost"), _("what became of them")), rows, marked)
