"""Pictures and tables of an audit: what was lost, by group and tag, and second by second beside the subscription."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from rmqlab.errors import BadInput
from rmqlab.lab.audit_report import CERTAINTIES, PERHAPS_WANTED, UNWANTED, kind_of
from rmqlab.lab.fates import LOSING, Fate
from rmqlab.lab.run_view import short
from rmqlab.show.brush import Brush, painted, text_width
from rmqlab.show.charts import WIDTH, heat_map
from rmqlab.show.figure import Picture
from rmqlab.show.palette import BLACK, BLUE, GREY, LOOKS, ORANGE, PALE, SKY, VERMILLION, WHITE, YELLOW, ink
from rmqlab.show.tables import Table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rmqlab.lab.audit_report import AuditReport, HeldSubscription

SECOND_MS = 1_000
SLOT_COLOURS = (BLUE, ORANGE, SKY, YELLOW, BLACK)
# Inches.
LEFT, RIGHT, TITLE, BARS, AXIS, STRIP, LINE = 0.55, 0.15, 0.5, 2.2, 0.3, 0.32, 0.28


def audit_table(audit: AuditReport) -> Table:
    """Every group and topic: sent, delivered, lost, unknown.

    `not wanted` is what went by and nobody asked for, for certain; what is left of `sent` waits, or is to be retried.
    """
    names = ("sent", "delivered", "lost", "unknown")
    rows: list[tuple[object, ...]] = [
        (group, topic, *(one[name] for name in names), _unwanted(one)) for group, topic, one in audit.rows()
    ]
    marked = frozenset(number for number, row in enumerate(rows) if row[4])
    if len(rows) > 1:
        unwanted = sum(_unwanted(one) for *_, one in audit.rows())
        rows.append(("all", "", *(audit.total(name) for name in names), unwanted))
    return Table(f"The audit; known: {audit.name}", ("group", "topic", *names, "not wanted"), rows, marked)


def _unwanted(one: dict[str, Any]) -> int:
    """What was dropped or skipped for certain, and is no loss."""
    sure = [one["by_certainty"].get(name, {}) for name in CERTAINTIES[:2]]
    return sum(int(fates.get(fate, 0)) for fates in sure for fate in LOSING) - int(one["lost"])


def loss_by_tag(audit: AuditReport) -> Picture:
    """A grid of groups and tags: how many messages were lost, the more the darker.

    Raises:
        BadInput: nothing was lost.
    """
    lost = [(group, one) for group, _, one in audit.rows() if one["lost"]]
    if not lost:
        raise BadInput("nothing was lost: there is nothing to draw")
    cells: Counter[tuple[str, str]] = Counter()
    for group, one in lost:
        for tag, number in one["lost_by_tag"].items():
            cells[group, tag or "no tag"] += number
    rows = [{"group": group, "tag": tag, "lost": number} for (group, tag), number in cells.items()]
    return heat_map(rows, x="tag", y="group", value="lost", title=f"Lost by group and tag (known: {audit.name})")


def loss_by_second(audit: AuditReport, group: str) -> Picture:
    """What became of the messages of the group's topic, second by second; below, what the broker held.

    Raises:
        BadInput: the audit knows no such group.
    """
    topic = audit.topic_of(group)
    messages, one = audit.messages_of(group, topic), audit.summary[group][topic]
    zero = min(row["storeTimestamp"] for row in messages)
    cells = Counter(((row["storeTimestamp"] - zero) // SECOND_MS, kind_of(row)) for row in messages)
    # What was lost is at the bottom, so that its heights can be compared.
    order = (*map(str, sorted(Fate, key=lambda fate: fate not in LOSING)), PERHAPS_WANTED, UNWANTED)
    kinds = [kind for kind in order if any(kind == other for _, other in cells)]
    sent = Counter((row["storeTimestamp"] - zero) // SECOND_MS for row in messages)
    title = f"{group}: {one['lost']} of {one['sent']} lost, {one['unknown']} unknown (known: {audit.name})"
    slots = audit.slots.get((group, topic), [])
    rows = [(second, number, *(cells[second, kind] for kind in kinds)) for second, number in sorted(sent.items())]
    chart = _Seconds(kinds, cells, sent, slots, zero, title)
    table = Table(title, ("second", "sent", *(_words(kind) for kind in kinds)), rows)
    return Picture(
        painted(WIDTH, chart.height, chart.draw), title=title, alt=_told(audit, group, topic, zero), table=table
    )


class _Seconds:
    """Draws a column for each second, divided by fate, and below it what the broker held."""

    def __init__(
        self,
        kinds: Sequence[str],
        cells: Counter[tuple[int, str]],
        sent: Counter[int],
        slots: Sequence[HeldSubscription],
        zero: int,
        title: str,
    ) -> None:
        self.kinds, self.cells, self.sent, self.slots = kinds, cells, sent, slots
        self.zero, self.title = zero, title
        self.seconds, self.most = max(sent) + 1, max(sent.values())
        self.legend = self._legend()
        self.height = TITLE + BARS + AXIS + STRIP + 0.35 + LINE * (1 + max(line for line, *_ in self.legend))

    def x(self, second: float) -> float:
        return LEFT + (WIDTH - LEFT - RIGHT) * min(max(second, 0), self.seconds) / self.seconds

    def _legend(self) -> list[tuple[int, float, str]]:
        """Each fate with its line and place."""
        found, line, x = [], 0, LEFT
        for kind in self.kinds:
            width = 0.5 + text_width(look_of(kind)[2], 9)
            if x + width > WIDTH:
                line, x = line + 1, LEFT
            found.append((line, x, kind))
            x += width
        return found

    def draw(self, brush: Brush) -> None:
        """Title, columns, axis, strip, legend."""
        brush.text(0.1, TITLE / 2, self.title, ha="left", size=11, bold=True)
        floor = TITLE + BARS
        for share in (0, 1) if self.most % 2 else (0, 0.5, 1):
            y = floor - BARS * share
            brush.line((LEFT, WIDTH - RIGHT), (y, y), PALE, 1)
            brush.text(LEFT - 0.08, y, f"{self.most * share:g}", ha="right", size=9, colour=GREY)
        for second, number in sorted(self.sent.items()):
            self._column(brush, second, number, floor)
        step = next(one for one in (1, 2, 5, 10, 20, 60, 300, 3_600) if self.seconds / one <= 16 or one == 3_600)
        for second in range(0, self.seconds + 1, step):
            brush.text(self.x(second), floor + 0.15, f"{second}", size=9, colour=GREY)
        self._strip(brush, floor + AXIS)
        words = "messages a second, over the seconds since the first; the strip: the subscription that the broker held"
        brush.text(LEFT, floor + AXIS + STRIP + 0.15, words, ha="left", size=9, colour=GREY)
        below = floor + AXIS + STRIP + 0.45
        for line, x, kind in self.legend:
            colour, hatch, told = look_of(kind)
            lines, y = GREY if colour == WHITE else WHITE, below + line * LINE
            brush.block(x, y - 0.08, 0.22, 0.16, colour, hatch=hatch, hatch_colour=lines, edge=GREY, edge_width=0.5)
            brush.text(x + 0.3, below + line * LINE, told, ha="left", size=9)

    def _column(self, brush: Brush, second: int, number: int, floor: float) -> None:
        told = ", ".join(
            f"{self.cells[second, kind]} {_words(kind)}" for kind in self.kinds if self.cells[second, kind]
        )
        left, width, y = self.x(second), (self.x(second + 1) - self.x(second)) * 0.86, floor
        with brush.saying(f"second {second}: {number} sent; {told}"):
            for kind in self.kinds:
                height = BARS * self.cells[second, kind] / self.most
                if height:
                    y -= height
                    colour, hatch, _ = look_of(kind)
                    lines = GREY if colour == WHITE else WHITE
                    brush.block(
                        left, y, width, height, colour, hatch=hatch, hatch_colour=lines, edge=GREY, edge_width=0.5
                    )

    def _strip(self, brush: Brush, y: float) -> None:
        if not self.slots:
            brush.text(LEFT, y + STRIP / 2, "What the broker held is not known.", ha="left", size=9, colour=GREY)
        names: dict[str, str] = {}
        for number, slot in enumerate(self.slots):
            later = self.slots[number + 1].since if number + 1 < len(self.slots) else None
            begin = self.x(0 if number == 0 else (slot.since - self.zero) / SECOND_MS)
            end = self.x(self.seconds if later is None else (later - self.zero) / SECOND_MS)
            if end <= begin:
                continue
            colour = names.setdefault(slot.text, SLOT_COLOURS[len(names) % len(SLOT_COLOURS)])
            with brush.saying(f"the broker held {slot.text}"):
                brush.block(begin, y, end - begin, STRIP, colour, edge=WHITE)
                for text in (slot.text, short(slot.text)):
                    if text_width(text, 9) < end - begin - 0.1:
                        brush.text(begin + 0.08, y + STRIP / 2, text, ha="left", size=9, colour=ink(colour))
                        break
            if begin > LEFT:
                brush.line((begin, begin), (TITLE, y), VERMILLION, 1.4, dashed=True)


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


def _is_lost(row: dict[str, Any]) -> bool:
    return row["certainty"] != CERTAINTIES[-1] and row["asked"] == "yes" and Fate(row["fate"]) in LOSING


def _told(audit: AuditReport, group: str, topic: str, zero: int) -> str:
    lost, one = [row for row in audit.messages_of(group, topic) if _is_lost(row)], audit.summary[group][topic]
    fates = Counter(LOOKS[Fate(row["fate"])].words for row in lost)
    times = [row["storeTimestamp"] - zero for row in lost]
    told = f"{group} lost {one['lost']} of {one['sent']} messages"
    if lost:
        told += f" ({', '.join(f'{number} {words}' for words, number in fates.items())})"
        told += f", the first after {min(times) / 1000:.1f} s, the last after {max(times) / 1000:.1f} s"
    told += f"; {one['delivered']} were delivered, {one['unknown']} are unknown"
    later = [slot for slot in audit.slots.get((group, topic), []) if slot.since > zero]
    if later:
        changes = ", ".join(f"{slot.text} after {(slot.since - zero) / 1000:.1f} s" for slot in later)
        told += f". The broker's subscription turned to {changes}"
    return f"{told}."
