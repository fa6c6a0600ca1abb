"""Pictures and tables of an audit: what was lost, by group and tag, and second by second beside the subscription."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from rmqlab.errors import BadInput
from rmqlab.language import _, joined, ngettext
from rmqlab.run.fates import LOSING, Fate
from rmqlab.run.run_view import short
from rmqlab_tools.show.canvas import WIDTH, Canvas, cut, legend, painted, text_width
from rmqlab_tools.show.charts import TimeScale
from rmqlab_tools.show.figure import Picture
from rmqlab_tools.show.heat_maps import heat_map
from rmqlab_tools.show.palette import GREY, LOOKS, PALE, VERMILLION, WHITE, FateStyle
from rmqlab_tools.show.tables import Table
from rmqlab_tools.show.tag_colours import paint
from rmqlab_tools.spark.audit.audit_report import CERTAINTY_WORDS, PERHAPS_WANTED, UNWANTED, kind_of, rows_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from rmqlab_tools.spark.audit.audit_report import Summary

    Slots = Sequence[tuple[int, str]]  # what the broker held, and since when (epoch ms)

SECOND_MS, MINUTE_MS = 1_000, 60_000
MAX_GROUPS, MAX_BINS, LONGEST_LABEL = 24, 60, 40


@dataclass(frozen=True)
class AuditPictureLayout:
    """Sizes of the columns of an audit, in inches."""

    left: float = 0.55
    right: float = 0.15
    title: float = 0.5
    bars: float = 2.2
    axis: float = 0.3
    strip: float = 0.32
    line: float = 0.28


AUDIT_PICTURE = AuditPictureLayout()


FLOOR = AUDIT_PICTURE.title + AUDIT_PICTURE.bars


def audit_table(known: str, summary: Summary) -> Table:
    """Every group and topic: sent, delivered, lost, unknown. `known` says what the audit knew.

    `not wanted` is what went by and no member asked for, for certain; what is left of `sent` waits, or is to be
    retried.
    """
    names = ("sent", "delivered", "lost", "unknown")
    rows: list[tuple[object, ...]] = [
        (group, topic, *(figures[name] for name in names), _unwanted(figures))
        for group, topic, figures in rows_of(summary)
    ]
    marked = frozenset(number for number, row in enumerate(rows) if row[4])
    if len(rows) > 1:
        ones = [figures for *_, figures in rows_of(summary)]
        sums = (sum(int(figures[name]) for figures in ones) for name in names)
        rows.append((_("all"), "", *sums, sum(map(_unwanted, ones))))
    return Table(
        _("The audit; known: {known}", known=known), (_("group"), _("topic"), *names, _("not wanted")), rows, marked
    )


def _unwanted(figures: dict[str, Any]) -> int:
    """What was dropped or skipped for certain, and is no loss."""
    sure = [figures["by_certainty"].get(name, {}) for name in CERTAINTY_WORDS[:2]]
    return sum(int(fates.get(fate, 0)) for fates in sure for fate in LOSING) - int(figures["lost"])


def loss_by_tag(known: str, summary: Summary) -> Picture:
    """A grid of groups and tags: how many messages were lost, the more the darker.

    Raises:
        BadInput: nothing was lost.
    """
    lost = [(group, figures) for group, _, figures in rows_of(summary) if figures["lost"]]
    if not lost:
        raise BadInput(_("nothing was lost: there is nothing to draw"))
    cells: Counter[tuple[str, str]] = Counter()
    for group, figures in lost:
        for tag, number in figures["lost_by_tag"].items():
            cells[group, tag or "no tag"] += number
    rows = [{"group": group, "tag": tag, "lost": number} for (group, tag), number in cells.items()]
    return heat_map(
        rows, x="tag", y="group", value="lost", title=_("Lost by group and tag (known: {known})", known=known)
    )


def loss_by_second(
    known: str, group: str, figures: dict[str, Any], messages: Sequence[dict[str, Any]], slots: Slots
) -> Picture:
    """What became of the messages of a group's topic, second by second; below, what the broker held.

    `figures` are the audit's figures of the topic, `messages` its rows of them, in the log's order.
    """
    zero = min(row["storeTimestamp"] for row in messages)
    cells = Counter(((row["storeTimestamp"] - zero) // SECOND_MS, kind_of(row)) for row in messages)
    kinds = _kinds_of(cells)
    title = _(
        "{group}: {lost} of {sent} lost, {unknown} unknown (known: {known})",
        group=group,
        lost=figures["lost"],
        sent=figures["sent"],
        unknown=figures["unknown"],
        known=known,
    )
    words = _("messages a second, over the seconds since the first; the strip: the subscription that the broker held")

    def strip(canvas: Canvas, bins: int) -> None:
        _strip(canvas, slots, TimeScale(zero, zero + SECOND_MS * bins, AUDIT_PICTURE.left, WIDTH - AUDIT_PICTURE.right))

    svg = _columns(kinds, cells, title, words, "second", strip)
    rows = [(second, sent, *(cells[second, kind] for kind in kinds)) for second, sent in sorted(_sums(cells).items())]
    table = Table(title, (_("second"), _("sent"), *(look_of(kind).words for kind in kinds)), rows)
    return Picture(svg, title=title, alt=_told(group, figures, messages, slots, zero), table=table)


def fates_by_group(rows: Sequence[tuple[str, str, dict[str, Any]]], counts: Iterable[dict[str, Any]]) -> Picture:
    """One bar for each group and topic, the most lost first: which share of its messages met which fate.

    `rows` are group, topic and the audit's figures of them; `counts` say how many messages met which fate.
    """
    keys = [(group, topic) for group, topic, _ in rows[:MAX_GROUPS]]
    cells: Counter[tuple[tuple[str, str], str]] = Counter()
    for row in counts:
        cells[(row["group"], row["topic"]), kind_of(row)] += row["messages"]
    kinds = [kind for kind in (*map(str, Fate), PERHAPS_WANTED, UNWANTED) if any(cells[key, kind] for key in keys)]
    title = ngettext(
        "What became of the messages of {keys} group and topic: shares",
        "What became of the messages of {keys} groups and topics: shares",
        len(keys),
        keys=len(keys),
    )
    names = [cut(f"{group} · {topic}", LONGEST_LABEL) for group, topic in keys]
    left = 0.25 + max((text_width(name) for name in names), default=0)
    below = AUDIT_PICTURE.title + AUDIT_PICTURE.line * len(keys) + 0.3

    def draw(canvas: Canvas) -> None:
        canvas.heading(title)
        for number, (key, name) in enumerate(zip(keys, names, strict=True)):
            y, x, total = (
                AUDIT_PICTURE.title + AUDIT_PICTURE.line * number,
                left,
                max(1, sum(cells[key, kind] for kind in kinds)),
            )
            canvas.text(left - 0.1, y + AUDIT_PICTURE.line / 2, name, ha="right")
            for kind in kinds:
                width = (WIDTH - AUDIT_PICTURE.right - left) * cells[key, kind] / total
                with canvas.saying(f"{name}: {cells[key, kind]} {look_of(kind).words}"):
                    _filled(canvas, x, y + 0.03, width, AUDIT_PICTURE.line - 0.06, kind)
                x += width
        _draw_legend(canvas, kinds, below)

    table = Table(
        title, (_("group"), _("topic"), *kinds), [(*key, *(cells[key, kind] for kind in kinds)) for key in keys]
    )
    lost, unknown = (sum(figures[name] for _, _, figures in rows) for name in ("lost", "unknown"))
    alt = ngettext(
        "A bar for each group and topic, divided by fate. {lost} message was lost, {unknown} unknown.",
        "A bar for each group and topic, divided by fate. {lost} messages were lost, {unknown} are unknown.",
        lost,
        lost=lost,
        unknown=unknown,
    )
    if rows and rows[0][2]["lost"]:
        alt += " " + _(
            "{rows} lost the most, {lost} of {sent}.", rows=rows[0][0], lost=rows[0][2]["lost"], sent=rows[0][2]["sent"]
        )
    return Picture(painted(WIDTH, below + _legend(kinds)[1], draw), title=title, alt=alt, table=table)


def losses_over_time(group: str, topic: str, counts: Iterable[dict[str, Any]]) -> Picture:
    """Messages of a topic by the time they were stored: which were lost for the group, and by which stage."""
    mine = [row for row in counts if (row["group"], row["topic"]) == (group, topic)]
    first = min(row["minute"] for row in mine)
    width = -(-(max(row["minute"] for row in mine) - first + 1) // MAX_BINS)
    cells: Counter[tuple[int, str]] = Counter()
    for row in mine:
        cells[(row["minute"] - first) // width, kind_of(row)] += row["messages"]
    kinds = _kinds_of(cells)
    unit = _("minute") if width == 1 else _("{width} minutes", width=width)
    title = _(
        "{longest}, {longest2}: losses by {unit}",
        longest=cut(group, LONGEST_LABEL),
        longest2=cut(topic, LONGEST_LABEL),
        unit=unit,
    )
    words = _(
        "messages in {unit}, over {unit} since {moment_text} UTC", unit=unit, moment_text=moment_text(first * MINUTE_MS)
    )
    rows = [
        (moment_text((first + number * width) * MINUTE_MS), *(cells[number, kind] for kind in kinds))
        for number in range(max(number for number, _ in cells) + 1)
    ]
    lost = sum(number for (_, kind), number in cells.items() if kind in LOSING)
    alt = ngettext(
        "Bars over time: {lost} of {cells} message of {topic} was lost for {group}.",
        "Bars over time: {lost} of {cells} messages of {topic} were lost for {group}.",
        sum(cells.values()),
        lost=lost,
        cells=sum(cells.values()),
        topic=topic,
        group=group,
    )
    svg = _columns(kinds, cells, title, words, unit)
    heads = (_("from"), *(look_of(kind).words for kind in kinds))
    return Picture(svg, title=title, alt=alt, table=Table(title, heads, rows))


def _kinds_of(cells: Iterable[tuple[object, str]]) -> list[str]:
    """The kinds there are; what was lost comes first, at the bottom, so that its heights can be compared."""
    there = {kind for _, kind in cells}
    order = (*map(str, sorted(Fate, key=lambda fate: fate not in LOSING)), PERHAPS_WANTED, UNWANTED)
    return [kind for kind in order if kind in there]


def _sums(cells: Counter[tuple[int, str]]) -> Counter[int]:
    """How many messages of any kind each bin of time has."""
    sums: Counter[int] = Counter()
    for (number, _ignored), messages in cells.items():
        sums[number] += messages
    return sums


def _columns(
    kinds: Sequence[str],
    cells: Counter[tuple[int, str]],
    title: str,
    words: str,
    unit: str,
    strip: Callable[[Canvas, int], None] | None = None,
) -> str:
    """A column for each bin of time, divided by kind, as SVG; `strip` draws below the axis, along so many bins."""
    sums = _sums(cells)
    bins, most = max(sums) + 1, max(sums.values())
    below = FLOOR + AUDIT_PICTURE.axis + (AUDIT_PICTURE.strip if strip else 0) + 0.15

    def draw(canvas: Canvas) -> None:
        canvas.heading(title)
        for share in (0, 1) if most % 2 else (0, 0.5, 1):
            y = FLOOR - AUDIT_PICTURE.bars * share
            canvas.line((AUDIT_PICTURE.left, WIDTH - AUDIT_PICTURE.right), (y, y), PALE, 1)
            canvas.text(AUDIT_PICTURE.left - 0.08, y, f"{most * share:g}", ha="right", colour=GREY)
        wide = (WIDTH - AUDIT_PICTURE.left - AUDIT_PICTURE.right) / bins
        for number, messages in sorted(sums.items()):
            there = [kind for kind in kinds if cells[number, kind]]
            counted = joined(", ", (f"{cells[number, kind]} {look_of(kind).words}" for kind in there))
            y = FLOOR
            with canvas.saying(
                _("{unit} {number}: {messages} sent; {told}", unit=unit, number=number, messages=messages, told=counted)
            ):
                for kind in there:
                    height = AUDIT_PICTURE.bars * cells[number, kind] / most
                    y -= height
                    _filled(canvas, AUDIT_PICTURE.left + wide * number, y, wide * 0.86, height, kind)
        step = next(width for width in (1, 2, 5, 10, 20, 60, 300, 3_600) if bins / width <= 16 or width == 3_600)
        for number in range(0, bins + 1, step):
            canvas.text(AUDIT_PICTURE.left + wide * number, FLOOR + 0.15, f"{number}", colour=GREY)
        canvas.text(AUDIT_PICTURE.left, below, words, ha="left", colour=GREY)
        _draw_legend(canvas, kinds, below + 0.3)
        if strip:
            strip(canvas, bins)

    return painted(WIDTH, below + 0.3 + _legend(kinds)[1], draw)


def _filled(canvas: Canvas, x: float, y: float, width: float, height: float, kind: str) -> None:
    look = look_of(kind)
    lines = GREY if look.colour == WHITE else WHITE
    if width and height:
        canvas.block(
            x, y, width, height, look.colour, hatch=look.hatch, hatch_colour=lines, edge=GREY, edge_width=0.5
        )  # fmt: skip


def _legend(kinds: Sequence[str]) -> tuple[list[tuple[float, float]], float]:
    return legend(map(_with_mark, kinds), AUDIT_PICTURE.left, WIDTH, room=0.5, line=AUDIT_PICTURE.line)


def _draw_legend(canvas: Canvas, kinds: Sequence[str], top: float) -> None:
    for kind, (x, y) in zip(kinds, _legend(kinds)[0], strict=True):
        _filled(canvas, x, top + y - 0.08, 0.22, 0.16, kind)
        canvas.text(x + 0.3, top + y, _with_mark(kind), ha="left")


def _strip(canvas: Canvas, slots: Slots, scale: TimeScale) -> None:
    """What the broker held, below the columns."""
    y = FLOOR + AUDIT_PICTURE.axis
    if not slots:
        canvas.text(
            AUDIT_PICTURE.left,
            y + AUDIT_PICTURE.strip / 2,
            _("What the broker held is not known."),
            ha="left",
            colour=GREY,
        )
    for number, (since, subscription) in enumerate(slots):
        begin = scale.x(scale.begin if number == 0 else since)
        end = scale.x(slots[number + 1][0] if number + 1 < len(slots) else scale.end)
        if end <= begin:
            continue
        colour = paint(subscription)
        with canvas.saying(_("the broker held {held}", held=subscription)):
            canvas.block(begin, y, end - begin, AUDIT_PICTURE.strip, colour, edge=WHITE)
            for text in (subscription, short(subscription)):
                if text_width(text) < end - begin - 0.1:
                    canvas.text(begin + 0.08, y + AUDIT_PICTURE.strip / 2, text, ha="left", on=colour)
                    break
        if begin > AUDIT_PICTURE.left:
            canvas.line((begin, begin), (AUDIT_PICTURE.title, y), VERMILLION, 1.4, dashed=True)


def look_of(kind: str) -> FateStyle:
    """How a picture shows what `kind_of` names."""
    if kind == UNWANTED:
        return FateStyle(PALE, "", "", kind)
    return FateStyle(WHITE, "\\\\", "", kind) if kind == PERHAPS_WANTED else LOOKS[Fate(kind)]


def _with_mark(kind: str) -> str:
    return f"{look_of(kind).mark} {look_of(kind).words}".strip()


def moment_text(time: int | None) -> str:
    """A time (epoch ms) as text, to the second."""
    if time is None:
        return ""
    try:
        return datetime.fromtimestamp(time / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S")
    except (OverflowError, ValueError, OSError):  # a damaged record may name any time
        return f"{time} ms"


def _told(group: str, figures: dict[str, Any], messages: Sequence[dict[str, Any]], slots: Slots, zero: int) -> str:
    lost = [row for row in messages if row["certainty"] != CERTAINTY_WORDS[-1] and kind_of(row) in LOSING]
    fates = Counter(LOOKS[Fate(row["fate"])].words for row in lost)
    times = [row["storeTimestamp"] - zero for row in lost]
    text = ngettext(
        "{group} lost {lost} of {sent} message",
        "{group} lost {lost} of {sent} messages",
        figures["sent"],
        group=group,
        lost=figures["lost"],
        sent=figures["sent"],
    )
    if lost:
        numbers = joined(", ", (f"{number} {words}" for words, number in fates.items()))
        first, last = min(times) / 1000, max(times) / 1000
        text = ngettext(
            "{group} lost {lost} of {sent} message ({numbers}), the first after {first} s, the last after {last} s",
            "{group} lost {lost} of {sent} messages ({numbers}), the first after {first} s, the last after {last} s",
            figures["sent"],
            group=group,
            lost=figures["lost"],
            sent=figures["sent"],
            numbers=numbers,
            first=f"{first:.1f}",
            last=f"{last:.1f}",
        )
    text += "; " + _(
        "{delivered} were delivered, {unknown} are unknown", delivered=figures["delivered"], unknown=figures["unknown"]
    )
    later = [(since, subscription) for since, subscription in slots if since > zero]
    if later:
        changes = joined(
            ", ",
            (
                _("{held} after {since} s", held=subscription, since=f"{(since - zero) / 1000:.1f}")
                for since, subscription in later
            ),
        )
        text += ". " + _("The broker's subscription turned to {changes}", changes=changes)
    return f"{text}."
