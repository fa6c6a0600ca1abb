"""What an audit said, as plain rows: for pictures and checks, which know no Spark."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from rmqlab.errors import BadInput, there_are
from rmqlab.language import N_, _, filled, joined, ngettext
from rmqlab.run.fates import LOSING, Fate, fate_words

if TYPE_CHECKING:
    from collections.abc import Sequence

CERTAINTY_WORDS = (N_("proved"), N_("implied"), N_("unknown"))
UNWANTED = _("nobody asked for it")
PERHAPS_WANTED = _("nobody got it, and perhaps nobody asked")
MAX_REMARKS, MAX_DAMAGE = 8, 20
Summary = dict[str, dict[str, dict[str, Any]]]  # figures by group and topic


def rows_of(summary: Summary) -> list[tuple[str, str, dict[str, Any]]]:
    """Group, topic and figures, the most lost first."""
    return sorted(_rows(summary), key=lambda row: (-int(row[2]["lost"]), row[0], row[1]))


def _rows(summary: Summary) -> list[tuple[str, str, dict[str, Any]]]:
    return [(group, topic, figures) for group, topics in summary.items() for topic, figures in topics.items()]


def topic_of(summary: Summary, group: str) -> str:
    """The group's topic, of several the one in which most was lost.

    Raises:
        BadInput: the audit knows no such group.
    """
    if group not in summary:
        near = there_are(group, sorted(summary))
        raise BadInput(_("group {group} is not in this audit{near}", group=f"{group!r}", near=near))
    topics = summary[group]
    return max(topics, key=lambda topic: (int(topics[topic]["lost"]), topic))


def kind_of(row: dict[str, Any]) -> str:
    """The fate of a row of messages or counts as pictures show it; what no member asked for is no loss."""
    fate = Fate(row["fate"])
    if fate not in LOSING and fate is not Fate.PASSED:
        return str(fate)
    if row["asked"] == "no":
        return UNWANTED
    return PERHAPS_WANTED if fate in LOSING and row["asked"] == "unknown" else str(fate)


def summary_lines(summary: Summary) -> list[str]:
    """The table of groups and topics as text, and the remarks below it."""
    names = (_("sent"), 8), (_("delivered"), 9), (_("lost"), 7), (_("unknown"), 7)
    heads = "  ".join(filled(name, width, right=True) for name, width in names)
    lines = [f"{filled(_('group'), 24)} {filled(_('topic'), 24)} {heads}  {_('fates')}"]
    for group, topic, row in _rows(summary):
        fates = joined(
            ", ",
            (
                _("{number} {fate} ({certainty})", number=number, fate=fate_words(fate), certainty=_(certainty))
                for certainty in CERTAINTY_WORDS
                for fate, number in sorted(row["by_certainty"].get(certainty, {}).items())
            ),
        )
        counts = f"{row['sent']:>8}  {row['delivered']:>9}  {row['lost']:>7}  {row['unknown']:>7}"
        lines.append(f"{group:<24} {topic:<24} {counts}  {fates}")
    return lines + remarks(summary)


def scope_line(brokers: Sequence[str]) -> str:
    """Whose stores were given, "" for a name that is not known, and what that leaves open.

    >>> print(scope_line(["broker-a"]).partition(". ")[0])
    The figures are of one broker: broker-a
    """
    names = joined(", ", (name or _("one without a known name") for name in brokers))
    figures = ngettext(
        "The figures are of one broker: {brokers}.", "The figures are of {count} brokers: {brokers}.", len(brokers),
        count=len(brokers), brokers=names,
    )  # fmt: skip
    other = _(
        "If other brokers have queues of these topics too, nothing of them is counted, and who owns a queue is judged "
        "as if there were none: give their stores as well."
    )
    return f"{figures} {other}"


def damage_lines(damage: list[dict[str, Any]]) -> list[str]:
    """The damaged parts of a log, the first `MAX_DAMAGE` of them."""
    lines = []
    for part in damage[:MAX_DAMAGE]:
        where = (
            ""
            if part["topic"] is None
            else (" " + _("({topic}, queue {queueId})", topic=part["topic"], queueId=part["queueId"]))
        )
        lines.append(
            _(
                "damaged at {physicalOffset}, {size} bytes: {reason}{where}",
                physicalOffset=part["physicalOffset"],
                size=part["size"],
                reason=part["reason"],
                where=where,
            )
        )
    if len(damage) > MAX_DAMAGE:
        lines.append(_("and {damage} more damaged parts (--json has them all)", damage=len(damage) - MAX_DAMAGE))
    return lines


def remarks(summary: Summary) -> list[str]:
    """Sentences on what an audit does not know: what follows all the same, why, and what would tell."""
    rows = _rows(summary)
    if not any(figures["sent"] for *_, figures in rows):
        return [_("No message was audited: none of these topics has one in that time.")]
    sentences = [_differ(*row) for row in rows if row[2]["unknown"] and len(row[2]["asked_for"]) > 1]
    if len(sentences) > MAX_REMARKS:
        sentences[MAX_REMARKS:] = [
            ngettext(
                "So do those of {told} more group and topic.",
                "So do those of {told} more groups and topics.",
                len(sentences) - MAX_REMARKS,
                told=len(sentences) - MAX_REMARKS,
            )
        ]
    because: Counter[str] = Counter()
    for *_ignored, figures in rows:
        because.update(figures["unknown_because"])
    sentences += [
        _("{number} unknown: {reason}.", number=number, reason=_(reason)) for reason, number in sorted(because.items())
    ]
    may, sum_of = (sum(figures[name] for *_, figures in rows) for name in ("may_be_lost", "unknown"))
    if may:
        sentences.append(
            _(
                "{may} may be lost: it is not known whether they were delivered, or whether anybody asked for them.",
                may=may,
            )
        )
    if sum_of and not all(figures["asked_for"] for *_, figures in rows):
        sentences.append(
            _("A store has no TAG subscriptions: who says by --subscriptions what members ask for is told more.")
        )
    return sentences


def _differ(group: str, topic: str, figures: dict[str, Any]) -> str:
    texts = figures["asked_for"]
    what = _("Each message") if _are_apart(texts) else _("A message that not all of them ask for")
    return _(
        "The members of {group} ask for different things of {topic}: {texts}. {what} is refused "
        "by one of them: it reached a listener only if the broker held, and the owner of its "
        "queue asked for, what names it. So at most one member took it.",
        group=group,
        topic=topic,
        texts=joined("; ", texts),
        what=what,
    )


def _are_apart(texts: list[str]) -> bool:
    """Whether these are lists of tags, and no tag is on all of them."""
    tags = [{tag.strip() for tag in text.split("||")} for text in texts if ": " not in text]
    return len(tags) == len(texts) and "*" not in set().union(*tags) and not set.intersection(*tags)
