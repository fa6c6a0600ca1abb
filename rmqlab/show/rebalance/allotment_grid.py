"""The grid of strategies: who owns which queue before and after a change, and which queues moved."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rmqlab.show.brush import Brush, painted
from rmqlab.show.figure import Picture
from rmqlab.show.palette import BLACK, BLUE, GREEN, GREY, ORANGE, PURPLE, SKY, VERMILLION, WHITE, YELLOW, ink
from rmqlab.show.tables import Table

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rmqlab.lab.groups.allotment import Allotment

# Inches.
WIDTH, LABEL, SIDE = 9.8, 2.5, 2.65
TOP, ROW, LINE, THICK = 0.62, 0.72, 0.31, 0.27
COLOURS = (BLUE, ORANGE, SKY, YELLOW, GREEN, VERMILLION)
NEWCOMER = PURPLE
WIDEST = 0.62


def allotment_grid(pairs: Mapping[str, tuple[Allotment, Allotment]], what: str) -> Picture:
    """Two lines for each strategy, before and after ``what`` happened; ``pairs``: strategy to both allotments."""
    height = TOP + ROW * len(pairs) + 0.42
    svg = painted(WIDTH, height, lambda brush: _draw(brush, pairs, what))
    return Picture(svg, title=f"Strategies side by side: {what}", alt=alt(pairs, what), table=table(pairs, what))


def name_of(client_id: str) -> str:
    """A member's letter: what stands behind the @ of its id."""
    return client_id.partition("@")[2] or client_id


def _draw(brush: Brush, pairs: Mapping[str, tuple[Allotment, Allotment]], what: str) -> None:
    one = next(iter(pairs.values()))[0]
    cell = min((WIDTH - LABEL - SIDE) / len(one.queues), WIDEST)
    right = LABEL + cell * len(one.queues)
    brush.text(0.08, 0.16, what, ha="left", size=9.5, bold=True)
    for number, queue in enumerate(one.queues):
        brush.text(LABEL + cell * (number + 0.5), 0.4, str(queue.queue_id), size=8, colour=GREY)
    for broker in dict.fromkeys(queue.broker_name for queue in one.queues):
        places = [number for number, queue in enumerate(one.queues) if queue.broker_name == broker]
        middle = LABEL + cell * (sum(places) / len(places) + 0.5)
        brush.text(middle, 0.2, broker, size=8, colour=GREY)
    for row, (strategy, (before, after)) in enumerate(pairs.items()):
        y = TOP + row * ROW
        brush.text(0.08, y + LINE - 0.02, strategy, ha="left", size=9, bold=True)
        moved = before.moved(after)
        for line, (allotment, words) in enumerate(((before, "before"), (after, "after"))):
            top = y + line * LINE
            brush.text(LABEL - 0.08, top + THICK / 2, words, ha="right", colour=GREY)
            for number, (queue, owners) in enumerate(allotment.owners.items()):
                changed = line == 1 and queue in moved
                _cell(brush, LABEL + cell * number, top, cell, owners, before, changed=changed)
            brush.text(right + 0.1, top + THICK / 2, sizes(allotment), ha="left")
        brush.text(WIDTH - 0.08, y + LINE + THICK / 2, f"{len(moved)} moved", ha="right", size=9, bold=True)
    foot = TOP + ROW * len(pairs) + 0.16
    brush.text(0.08, foot, "framed: moved · –: nobody owns it · right: queues of each member", ha="left", colour=GREY)


def _cell(
    brush: Brush, x: float, y: float, wide: float, owners: tuple[str, ...], before: Allotment, *, changed: bool
) -> None:
    colour = _colour(owners[0], before) if owners else WHITE
    brush.block(x + 0.015, y, wide - 0.03, THICK, colour, edge=GREY, edge_width=0.5)
    brush.text(x + wide / 2, y + THICK / 2, "+".join(map(name_of, owners)) or "–", size=9, colour=ink(colour))
    if changed:
        brush.block(x + 0.03, y + 0.015, wide - 0.06, THICK - 0.03, "none", edge=BLACK, edge_width=2.2, layer=4)


def _colour(who: str, before: Allotment) -> str:
    members = list(before.shares)
    return COLOURS[members.index(who) % len(COLOURS)] if who in members else NEWCOMER


def sizes(allotment: Allotment) -> str:
    """How many queues each member has."""
    return "  ".join(f"{name_of(who)} {len(share)}" for who, share in allotment.shares.items())


def alt(pairs: Mapping[str, tuple[Allotment, Allotment]], what: str) -> str:
    """What a listener must know."""
    parts = []
    for strategy, (before, after) in pairs.items():
        nobody = sum(not owners for owners in after.owners.values())
        unowned = f", {nobody} without an owner" if nobody else ""
        parts.append(f"{strategy}: {len(before.moved(after))} moved{unowned}")
    queues = len(next(iter(pairs.values()))[0].queues)
    return f"{what}, {queues} queues, strategies of 4.8.0 side by side. {'; '.join(parts)}."


def table(pairs: Mapping[str, tuple[Allotment, Allotment]], what: str) -> Table:
    """Strategy by strategy: owners before and after, moved, shares."""
    rows = []
    marked = set()
    for number, (strategy, (before, after)) in enumerate(pairs.items()):
        if not after.whole:
            marked.add(number)
        shown = [
            " ".join("+".join(map(name_of, owners)) or "–" for owners in one.owners.values()) for one in (before, after)
        ]
        rows.append((strategy, *shown, len(before.moved(after)), sizes(after), "yes" if after.whole else "no"))
    headers = ("strategy", "owners before", "owners after", "moved", "queues after", "every queue has one owner")
    return Table(f"{what} (marked: a queue without an owner)", headers, rows, frozenset(marked))
