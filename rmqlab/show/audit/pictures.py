"""Pictures and tables of an audit: what was lost, by group and tag, and second by second beside the subscription."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from rmqlab.lab.audit_report import CERTAINTIES, PERHAPS_WANTED, UNWANTED, kind_of, plain
from rmqlab.lab.fates import LOSING, Fate
from rmqlab.lab.run_view import short
from rmqlab.show.brush import Brush, painted
from rmqlab.show.chart import canvas, svg_of
from rmqlab.show.figure import Picture
from rmqlab.show.palette import BLACK, BLUE, GREY, LOOKS, ORANGE, PALE, SKY, VERMILLION, WHITE, YELLOW, ink
from rmqlab.show.tables import Table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rmqlab.lab.audit_report import AuditReport, HeldSubscription

BIN_MS = 1_000
SLOT_COLOURS = (BLUE, ORANGE, SKY, YELLOW, BLACK)
LEFT, TOP, CELL_W, CELL_H = 0.95, 0.72, 0.82, 0.27
GROUND, MOST = (0xFF, 0xFF, 0xFF), (0xD5, 0x5E, 0x00)  # from white to vermillion


def audit_table(audit: AuditReport) -> Table:
    """Every group: sent, delivered, lost, unknown, and the lag that monitoring shows.

    `not wanted` is what went by and nobody asked for, for certain; what is left of `sent` waits, or is to be retried.
    """
    names = ("sent", "delivered", "lost", "unknown")
    rows = [
        (plain(group), *(one[name] for name in names), _unwanted(one), audit.lag.get((group, topic), 0))
        for group, topic, one in audit.rows()
    ]
    all_unwanted = sum(_unwanted(one) for *_, one in audit.rows())
    rows.append(("all", *(audit.total(name) for name in names), all_unwanted, sum(audit.lag.values())))
    marked = frozenset(number for number, row in enumerate(rows[:-1]) if row[3])
    return Table(f"The audit, with {audit.name}", ("group", *names, "not wanted", "lag"), rows, marked)


def _unwanted(one: dict[str, Any]) -> int:
    """What was dropped or skipped for certain, and is no loss."""
    sure = [one["by_certainty"].get(name, {}) for name in CERTAINTIES[:2]]
    return sum(int(fates.get(fate, 0)) for fates in sure for fate in LOSING) - int(one["lost"])


def evidence_table(audits: Sequence[AuditReport]) -> Table:
    """The same store, with more and more known besides it: what is known of its messages, and of how many nothing."""
    names = ("sent", "delivered", "lost", "unknown")
    rows = [
        (audit.name, *(audit.total(name) for name in names), sum(_unwanted(one) for *_, one in audit.rows()),
         audit.total("may_be_lost"))
        for audit in audits
    ]  # fmt: skip
    headers = ("known", *names, "not wanted", "may be lost")
    return Table("The same store, and more known each time", headers, rows)


def loss_by_tag(audit: AuditReport) -> Picture:
    """A grid of groups and tags: how many messages were lost, the more the darker."""
    groups = [(group, one) for group, _, one in audit.rows() if one["lost"]]
    tags = sorted({tag for _, one in groups for tag in one["lost_by_tag"]})
    most = max((number for _, one in groups for number in one["lost_by_tag"].values()), default=1)
    width, height = LEFT + len(tags) * CELL_W + 0.2, TOP + len(groups) * CELL_H + 0.2
    title = f"Lost by group and tag ({audit.name})"

    def draw(brush: Brush) -> None:
        brush.text(0.1, 0.2, title, size=10, ha="left", bold=True)
        for column, tag in enumerate(tags):
            brush.text(LEFT + (column + 0.5) * CELL_W, TOP - 0.14, tag or "no tag", size=8.5)
        for row, (group, one) in enumerate(groups):
            y = TOP + row * CELL_H
            brush.text(LEFT - 0.12, y + CELL_H / 2, plain(group), size=8.5, ha="right")
            for column, tag in enumerate(tags):
                number = one["lost_by_tag"].get(tag, 0)
                colour = _shade(number / most)
                brush.block(LEFT + column * CELL_W, y, CELL_W - 0.03, CELL_H - 0.03, colour if number else PALE)
                text = str(number) if number else "·"
                brush.text(LEFT + (column + 0.5) * CELL_W, y + CELL_H / 2, text, colour=ink(colour) if number else GREY)

    rows = [(plain(group), *(one["lost_by_tag"].get(tag, 0) for tag in tags), one["lost"]) for group, one in groups]
    first = groups[0] if groups else None
    told = f"{plain(first[0])} lost the most, {first[1]['lost']} of {first[1]['sent']}" if first else "nobody lost any"
    alt = f"A grid of {len(groups)} groups that lost messages and {len(tags)} tags, darker where more was lost: {told}."
    table = Table(title, ("group", *(tag or "no tag" for tag in tags), "lost"), rows)
    return Picture(painted(max(width, 4.6), height, draw), title=title, alt=alt, table=table)


def loss_by_second(audit: AuditReport, group: str) -> Picture:
    """What became of the messages of the group's topic, second by second; below, what the broker held.

    Raises:
        BadInput: the audit knows no such group.
    """
    topic = audit.topic_of(group)
    messages = audit.messages_of(group, topic)
    zero = min(row["storeTimestamp"] for row in messages)
    cells = Counter(((row["storeTimestamp"] - zero) // BIN_MS, kind_of(row)) for row in messages)
    seconds = range(max(second for second, _ in cells) + 1)
    # What was lost is at the bottom, so that its heights can be compared.
    order = (*map(str, sorted(Fate, key=lambda fate: fate not in LOSING)), PERHAPS_WANTED, UNWANTED)
    kinds = [kind for kind in order if any(kind == one for _, one in cells)]
    one = audit.summary[group][topic]
    title = f"{plain(group)}: {one['lost']} of {one['sent']} lost, {one['unknown']} unknown ({audit.name})"
    with canvas(8.2, 3.5) as figure:
        axes = figure.add_axes((0.075, 0.36, 0.91, 0.52))
        base = [0] * len(seconds)
        for kind in kinds:
            colour, hatch, words = look_of(kind)
            counts = [cells[second, kind] for second in seconds]
            axes.bar(
                seconds, counts, 0.86, bottom=base, color=colour, hatch=hatch, edgecolor=GREY, linewidth=0.4,
                label=words, align="edge",
            )  # fmt: skip
            base = [low + count for low, count in zip(base, counts, strict=True)]
        axes.set_xlim(-0.5, len(seconds) + 0.5)
        axes.set_ylabel("messages a second")
        axes.spines[["top", "right"]].set_visible(False)
        figure.text(0.012, 0.95, title, fontsize=10.5, fontweight="bold", va="center")
        _slots(figure, axes, audit.slots.get((group, topic), []), zero)
        figure.legend(loc="lower left", bbox_to_anchor=(0.01, 0.0), ncols=3, frameon=False, fontsize=8.5)
        svg = svg_of(figure)
    sent = Counter((row["storeTimestamp"] - zero) // BIN_MS for row in messages)
    rows = [(second, sent[second], *(cells[second, kind] for kind in kinds)) for second in seconds if sent[second]]
    headers = ("second", "sent", *(_words(kind) for kind in kinds))
    return Picture(svg, title=title, alt=_told(audit, group, topic, zero), table=Table(title, headers, rows))


def look_of(kind: str) -> tuple[str, str, str]:
    """Return colour, hatch and words of what `kind_of` names."""
    if kind == UNWANTED:
        return PALE, "", kind
    if kind == PERHAPS_WANTED:
        return WHITE, "\\\\", kind
    look = LOOKS[Fate(kind)]
    return look.colour, look.hatch, f"{look.mark} {look.words}"


def _words(kind: str) -> str:
    return kind if kind in {UNWANTED, PERHAPS_WANTED} else LOOKS[Fate(kind)].words


def plan_table(entry: dict[str, Any]) -> Table:
    """A resend plan: what, to which group, and what would come twice either way."""
    first, last = (entry["messages"] or ["none"])[0], (entry["messages"] or ["none"])[-1]
    rows = [
        ("group", plain(entry["group"])),
        ("messages to send again", len(entry["messages"])),
        ("first and last", f"{first}, {last}"),
        ("repair first", entry["first_check"]),
        ("to the topic: other groups get twice", entry["to_topic"]["duplicates"]),
        (f"to {entry['to_retry_topic']['topic']}: other groups get twice", entry["to_retry_topic"]["duplicates"]),
        ("besides, may be lost", len(entry["perhaps"])),
    ]
    return Table("The plan. Nothing sends it.", ("", ""), rows)


def _slots(figure: Any, axes: Any, slots: Sequence[HeldSubscription], zero: int) -> None:
    """A strip below the bars: the subscription that the broker held, a colour and a text for each."""
    strip = figure.add_axes((0.075, 0.155, 0.91, 0.1), sharex=axes)
    strip.axis("off")
    low, high = axes.get_xlim()
    strip.set_ylim(0, 1)
    if not slots:
        strip.text(low, 0.5, "What the broker held is not known.", fontsize=8.5, color=GREY, va="center")
    names: dict[str, str] = {}
    for number, slot in enumerate(slots):
        begin = low if number == 0 else max(low, (slot.since - zero) / BIN_MS)
        end = high if number + 1 == len(slots) else min(high, (slots[number + 1].since - zero) / BIN_MS)
        if end <= begin:
            continue
        colour = names.setdefault(slot.text, SLOT_COLOURS[len(names) % len(SLOT_COLOURS)])
        strip.barh(0.5, end - begin, 0.86, left=begin, color=colour, edgecolor=WHITE, linewidth=1.2)
        room = int((end - begin) / (high - low) * 100)
        text = slot.text if len(slot.text) < room else short(slot.text) if room >= 12 else ""
        strip.text(begin + 0.15, 0.5, text, fontsize=8, color=ink(colour), va="center", clip_on=True)
        if begin > low:
            axes.axvline(begin, color=VERMILLION, linewidth=1.4, linestyle=(0, (4, 2)))
    axes.set_xlabel("seconds since the first message; below: the subscription that the broker held", fontsize=8.5)


def _shade(share: float) -> str:
    part = 0.15 + 0.85 * share
    return "#" + "".join(f"{round(a + (b - a) * part):02X}" for a, b in zip(GROUND, MOST, strict=True))


def _told(audit: AuditReport, group: str, topic: str, zero: int) -> str:
    lost, one = [row for row in audit.lost_of(group) if row["topic"] == topic], audit.summary[group][topic]
    fates = Counter(LOOKS[Fate(row["fate"])].words for row in lost)
    times = [row["storeTimestamp"] - zero for row in lost]
    told = f"{plain(group)} lost {one['lost']} of {one['sent']} messages"
    if lost:
        told += f" ({', '.join(f'{number} {words}' for words, number in fates.items())})"
        told += f", the first after {min(times) / 1000:.1f} s, the last after {max(times) / 1000:.1f} s"
    told += f"; {one['delivered']} were delivered, {one['unknown']} are unknown"
    later = [slot for slot in audit.slots.get((group, topic), []) if slot.since > zero]
    if later:
        changes = ", ".join(f"{slot.text} after {(slot.since - zero) / 1000:.1f} s" for slot in later)
        told += f". The broker's subscription turned to {changes}"
    return f"{told}."
