"""Ribbons: who owns which queue over time, one colour a member; two owners at once and nobody at all stand out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rmqlab.show.brush import Brush, painted
from rmqlab.show.figure import Picture
from rmqlab.show.palette import BLUE, GREEN, GREY, ORANGE, PALE, PURPLE, SKY, VERMILLION, WHITE, YELLOW, ink
from rmqlab.show.tables import Table

if TYPE_CHECKING:
    from collections.abc import Callable

    from rmqlab.lab.groups.ownership import Ownership, Stretch

# Inches.
WIDTH, LEFT_EDGE, RIGHT_EDGE = 9.8, 1.35, 0.3
EVENTS, TOLD, TOP, ROW, THICK = 0.36, 0.72, 0.96, 0.42, 0.32
COLOURS = (BLUE, ORANGE, SKY, YELLOW, PURPLE, GREEN)
MOST_TOLD = 400
SHORT_MS = 1_000  # shorter than that is a matter of the table
LEVELS = 2  # labels of happenings that come close stand above each other


def ownership_ribbons(life: Ownership, title: str = "Who owns which queue") -> Picture:
    """A ribbon for each queue over the time that was watched."""
    height = TOP + life.queues * ROW + 0.72
    svg = painted(WIDTH, height, lambda brush: _draw(brush, life))
    return Picture(svg, title=title, alt=alt(life), table=table(life))


def colour_of(life: Ownership, who: str) -> str:
    """The colour of a member: its place in the order of joining."""
    return COLOURS[life.members.index(who) % len(COLOURS)]


def duration(ms: float) -> str:
    """Milliseconds as text: ms below one second, else seconds."""
    if ms < 1:
        return "under 1 ms" if ms else "never"
    return f"{ms:.0f} ms" if ms < SHORT_MS else f"{ms / 1_000:.1f} s"


def _draw(brush: Brush, life: Ownership) -> None:
    width = WIDTH - LEFT_EDGE - RIGHT_EDGE

    def place(t: float) -> float:
        return LEFT_EDGE + width * min(max(t, 0), life.end) / life.end

    floor = TOP + life.queues * ROW
    _happenings(brush, life, place, floor)
    brush.text(0.08, TOLD, "told (code 40)", ha="left", size=8.5)
    for t in life.told[:MOST_TOLD]:
        brush.line((place(t), place(t)), (TOLD - 0.09, TOLD + 0.09), ORANGE, 2)
    if not life.told:
        brush.text(LEFT_EDGE + width / 2, TOLD, "nobody is told anything", size=8.5, colour=VERMILLION)
    for queue in range(life.queues):
        y = TOP + queue * ROW
        brush.text(0.08, y + THICK / 2, f"queue {queue}", ha="left", size=9)
        brush.block(LEFT_EDGE, y, width, THICK, PALE)
    for stretch in life.stretches:
        _stretch(brush, life, stretch, place)
    for who in life.members:
        _pauses(brush, life, who, place)
    _axis(brush, life, place, floor)
    brush.text(0.08, floor + 0.52, summary(life), ha="left", size=9, bold=True)


def _happenings(brush: Brush, life: Ownership, place: Callable[[float], float], floor: float) -> None:
    brush.text(0.08, EVENTS, "what happens", ha="left", size=8.5)
    ends = [0.0] * LEVELS
    for event in life.events:
        if event.who not in life.members:
            continue
        x = place(event.t)
        brush.line((x, x), (EVENTS + 0.1, floor), GREY, 0.9)
        words = f"{event.who} {event.what}"
        long = 0.075 * len(words)
        at = min(x, WIDTH - 0.1 - long)
        level = next((number for number, end in enumerate(ends) if end <= at), None)
        if level is not None:
            ends[level] = at + long + 0.08
            brush.text(at, EVENTS - 0.2 * level, words, ha="left", size=8.5, bold=True)


def _stretch(brush: Brush, life: Ownership, one: Stretch, place: Callable[[float], float]) -> None:
    left, right, y = place(one.since), place(one.until), TOP + one.queue * ROW
    wide = right - left
    if not one.owners:
        if one.ms >= SHORT_MS:
            brush.block(left, y, wide, THICK, WHITE, edge=VERMILLION, edge_width=1.3, dashed=True, layer=2)
            _label(brush, left, wide, y + THICK / 2, "nobody", "–", VERMILLION)
        return
    thin = THICK / len(one.owners)
    for number, who in enumerate(one.owners):
        colour, top = colour_of(life, who), y + number * thin
        brush.block(left, top, wide, thin, colour, edge=WHITE, edge_width=0.6)
        if wide > 0.16:
            brush.text(
                (left + right) / 2, top + thin / 2, who, size=8.5 if len(one.owners) == 1 else 7.5, colour=ink(colour)
            )
    if len(one.owners) > 1 and one.ms >= SHORT_MS:
        brush.block(left, y - 0.02, wide, THICK + 0.04, "none", edge=VERMILLION, edge_width=2.2, layer=4)


def _label(brush: Brush, left: float, wide: float, y: float, long: str, short: str, colour: str) -> None:
    text = long if wide > 0.09 * len(long) else short
    if wide > 0.12:
        brush.text(left + wide / 2, y, text, size=8, colour=colour)


def _pauses(brush: Brush, life: Ownership, who: str, place: Callable[[float], float]) -> None:
    for since, until in life.paused(who):
        for span in life.spans:
            if span.who == who and span.since < until and span.until > since:
                left, right = place(max(span.since, since)), place(min(span.until, until))
                brush.block(left, TOP + span.queue * ROW, right - left, THICK, "none", hatch="//", layer=3)


def _axis(brush: Brush, life: Ownership, place: Callable[[float], float], floor: float) -> None:
    step = next((s for s in (5, 10, 20, 30, 60, 120, 300) if life.end / 1_000 / s <= 13), 600)
    brush.text(0.08, floor + 0.16, "seconds", ha="left", colour=GREY)
    for second in range(0, int(life.end / 1_000) + 1, step):
        x = place(second * 1_000)
        brush.line((x, x), (floor, floor + 0.05), GREY, 1)
        brush.text(x, floor + 0.16, f"{second}", colour=GREY)


def _longest(stretches: list[Stretch]) -> str:
    return duration(max(one.ms for one in stretches)) if stretches else "never"


def summary(life: Ownership) -> str:
    """Moves, notifications, the longest double ownership and gap, and duplicates where messages flowed."""
    words = (
        f"{life.moves} moves · {len(life.told)} told · longest with two owners: {_longest(life.doubles)}"
        f" · longest with none: {_longest(life.gaps)}"
    )
    return f"{words} · {len(life.duplicates)} of {life.sent} consumed twice" if life.sent else words


def alt(life: Ownership) -> str:
    """What a listener must know."""
    happened = "; ".join(
        f"{event.who} {event.what} at {event.t / 1_000:.0f} s" for event in life.events if event.who in life.members
    )
    last = ", ".join(
        f"queue {queue}: {' and '.join(who) or 'nobody'}" for queue, who in life.owners_at(life.end - 1).items()
    )
    return f"Who owns which of {life.queues} queues: {happened}. {summary(life)}. At the end {last}."


def table(life: Ownership) -> Table:
    """Every stretch with its owners; those with two or none are marked."""
    rows = [
        (
            one.queue,
            " and ".join(one.owners) or "nobody",
            f"{one.since / 1_000:.3f}",
            f"{one.until / 1_000:.3f}",
            duration(one.ms),
        )
        for one in life.stretches
    ]
    marked = frozenset(number for number, one in enumerate(life.stretches) if len(one.owners) != 1)
    headers = ("queue", "owner", "from, s", "to, s", "for")
    return Table("Who owned which queue (marked: two owners, or none)", headers, rows, marked)
