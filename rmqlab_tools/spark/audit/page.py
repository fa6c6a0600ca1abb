"""An audit as one HTML page: what each group lost, by which stage, since when, what is damaged, what to send again."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any, Final

from rmqlab.language import _
from rmqlab.run.fates import Fate, fate_words
from rmqlab_tools.show.tables import Table, page_of
from rmqlab_tools.spark.audit.audit_report import CERTAINTY_WORDS, remarks
from rmqlab_tools.spark.audit.pictures import fates_by_group, losses_over_time, moment_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from rmqlab_tools.show.figure import Picture

MAX_PAGE_ROWS: Final = 200
_Row = dict[str, Any]


def audit_page(
    name: str,
    summary: dict[str, dict[str, _Row]],
    counts: Sequence[_Row],
    damage: Sequence[_Row],
    plan: Sequence[_Row],
    scope: str = "",
) -> str:
    """The page. The arguments are what `rmqlab_tools.spark.audit.audit.Audit` has under these names.

    `plan` is the resend plan, `counts` are rows, `scope` says whose stores were given.
    """
    rows = [(group, topic, figures) for group, topics in summary.items() for topic, figures in topics.items()]
    rows.sort(key=lambda row: (-row[2]["lost"], -row[2]["may_be_lost"], row[0], row[1]))
    lost, may, unknown = (sum(figures[name] for _, _, figures in rows) for name in ("lost", "may_be_lost", "unknown"))
    groups = sum(1 for _, _, figures in rows if figures["lost"])
    headline = _(
        "Lost messages: {lost}, in {groups} of the groups and topics ({rows}); {may} more may be; "
        "what became of {unknown} is unknown; damaged places in the log: {damage}.",
        lost=lost,
        groups=groups,
        rows=len(rows),
        may=may,
        unknown=unknown,
        damage=len(damage),
    )
    is_fine = not (lost or may or damage) and any(figures["sent"] for _, _, figures in rows)
    parts = [f"<p>{escape(sentence)}</p>" for sentence in (*([scope] if scope else []), *remarks(summary))]
    parts += [picture.html() for picture in _pictures(rows, counts)]
    parts += [_groups(rows).html(), _stages(rows).html()]
    parts += [_cells(rows, "tag", _("Lost by tag")).html(), _cells(rows, "queue", _("Lost by queue")).html()]
    parts += ["<h2>Damage</h2>", _damage(damage)]
    parts += ["<h2>What to send again</h2>", "<p>Nothing here sends anything.</p>", _plan(plan).html()]
    return page_of(_("Audit of {name}", name=name), headline, parts, is_fine=is_fine)


def _groups(rows: Iterable[tuple[str, str, _Row]]) -> Table:
    table = [
        (group, topic, figures["sent"], figures["delivered"], figures["lost"], figures["unknown"],
         figures["may_be_lost"], moment_text(figures.get("first_lost")), moment_text(figures.get("last_lost")))
        for group, topic, figures in rows
    ]  # fmt: skip
    headers = (
        _("group"),
        _("topic"),
        _("sent"),
        _("delivered"),
        _("lost"),
        _("unknown"),
        _("may be lost"),
        _("first lost"),
        _("last lost"),
    )
    marked = frozenset(number for number, row in enumerate(table) if row[4])
    caption = _("Groups and topics; delivered and lost: what is proved or implied; times are UTC")
    return Table(caption, headers, table, marked)


def _stages(rows: Sequence[tuple[str, str, _Row]]) -> Table:
    table = [
        (group, topic, fate_words(fate), certainty, figures["by_certainty"][certainty][fate])
        for group, topic, figures in rows
        for certainty in CERTAINTY_WORDS
        for fate in Fate
        if fate in figures["by_certainty"].get(certainty, {})
    ]
    caption = _first(_("What became of the messages, those that nobody asked for among them"), table)
    return Table(caption, (_("group"), _("topic"), _("fate"), _("certainty"), _("messages")), table[:MAX_PAGE_ROWS])


def _first(caption: str, rows: Sequence[object]) -> str:
    """The caption of a table that has only the first of these rows, if they are many."""
    return (
        caption
        if len(rows) <= MAX_PAGE_ROWS
        else _("{caption}: the first {max_rows} of {rows}", caption=caption, max_rows=MAX_PAGE_ROWS, rows=len(rows))
    )


def _cells(rows: Iterable[tuple[str, str, _Row]], part: str, caption: str) -> Table:
    table = [
        (group, topic, cell or _("none"), number)
        for group, topic, figures in rows
        for cell, number in sorted(figures[f"lost_by_{part}"].items(), key=lambda item: (-item[1], item[0]))
    ]
    return Table(_first(caption, table), (_("group"), _("topic"), part, _("lost")), table[:MAX_PAGE_ROWS], folded=True)


def _damage(damage: Sequence[_Row]) -> str:
    if not damage:
        return "<p>Every record is whole.</p>"
    names = ("physicalOffset", "size", "reason", "topic", "queueId", "queueOffset")
    table = [tuple("" if row[name] is None else row[name] for name in names) for row in damage[:MAX_PAGE_ROWS]]
    headers = (_("commit log offset"), _("bytes"), _("what is wrong"), _("topic"), _("queue"), _("queue offset"))
    return Table(
        _first(_("Damaged places in the commit log (damage.json has them all)"), damage), headers, table
    ).html()


def _plan(plan: Sequence[_Row]) -> Table:
    table = [
        (item["group"], item["topic"], len(item["messages"]), item["to_topic"]["duplicates"],
         item["to_retry_topic"]["topic"], item["to_retry_topic"]["duplicates"], len(item["perhaps"]))
        for item in plan
    ]  # fmt: skip
    headers = (
        _("group"), _("topic"), _("messages"), _("twice for others, if sent to the topic"), _("or to"),
        _("twice for others"),
        _("that may be lost, besides"),
    )  # fmt: skip
    return Table(_("The plan (resend.json names every message); repair the subscriptions first"), headers, table)


def _pictures(rows: Sequence[tuple[str, str, _Row]], counts: Sequence[_Row]) -> list[Picture]:
    made = [fates_by_group(rows, counts)]
    worst = rows[0] if rows and rows[0][2]["lost"] else None
    return [*made, losses_over_time(worst[0], worst[1], counts)] if worst else made
