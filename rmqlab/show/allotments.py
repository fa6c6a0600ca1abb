"""The grid of allotments: who owns which queue before and after a change, a pair of lines for each way to divide."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rmqlab.errors import BadInput
from rmqlab.show.brush import Brush, painted, text_width
from rmqlab.show.figure import Picture
from rmqlab.show.palette import BLACK, BLUE, GREEN, GREY, ORANGE, PURPLE, SKY, VERMILLION, WHITE, YELLOW, ink
from rmqlab.show.tables import Table

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

# Inches.
WIDTH, LABEL, SIDE = 11.4, 2.4, 3.2
TOP, ROW, LINE, THICK = 0.5, 0.72, 0.31, 0.27
COLOURS = (BLUE, ORANGE, SKY, YELLOW, GREEN, VERMILLION)
NEWCOMER = PURPLE
WIDEST = 0.8

Owners = list[str]


def allotment_grid(rows: Iterable[Mapping[str, Any]], *, title: str = "Who owns which queue") -> Picture:
    """Owners of the queues 0, 1, 2, ... before and after a change.

    Each row has a `name` and two lists, `before` and `after`, with the owner of each queue: "" is nobody, "A+B" are
    two. Queues that have another owner afterwards are framed.

    >>> allotment_grid([{"name": "in turn", "before": ["A", "B", "A"], "after": ["A", "B", "N"]}]).alt
    'Who owns which queue: 3 queues. in turn: A B A, then A B N; 1 moved.'

    Raises:
        BadInput: no row, or lists of different lengths.
    """
    pairs = {str(row["name"]): (list(row["before"]), list(row["after"])) for row in rows}
    if not pairs or len({len(one) for pair in pairs.values() for one in pair}) > 1:
        raise BadInput("allotment_grid: give rows with name, before and after, all lists with one owner for each queue")
    known = sorted({who for before, _ in pairs.values() for owners in before for who in _members(owners)})
    colours = {who: COLOURS[number % len(COLOURS)] for number, who in enumerate(known)}
    svg = painted(WIDTH, TOP + ROW * len(pairs) + 0.36, lambda brush: _draw(brush, pairs, colours, title))
    return Picture(svg, title=title, alt=_alt(pairs, title), table=_table(pairs, title))


def _members(owners: str) -> list[str]:
    return owners.split("+") if owners else []


def moved(before: Sequence[str], after: Sequence[str]) -> list[int]:
    """The queues whose owner is another one afterwards."""
    return [queue for queue, (one, other) in enumerate(zip(before, after, strict=True)) if one != other]


def _draw(brush: Brush, pairs: Mapping[str, tuple[Owners, Owners]], colours: Mapping[str, str], title: str) -> None:
    queues = len(next(iter(pairs.values()))[0])
    cell = min((WIDTH - LABEL - SIDE) / max(queues, 1), WIDEST)
    right = LABEL + cell * queues
    brush.heading(title)
    for queue in range(queues):
        brush.text(LABEL + cell * (queue + 0.5), 0.36, str(queue), colour=GREY)
    for row, (name, (before, after)) in enumerate(pairs.items()):
        y = TOP + row * ROW
        brush.text(0.08, y + LINE - 0.02, name, ha="left", bold=True)
        changed = moved(before, after)
        for line, (owners, words) in enumerate(((before, "before"), (after, "after"))):
            top = y + line * LINE
            brush.text(LABEL - 0.08, top + THICK / 2, words, ha="right", colour=GREY)
            for queue, who in enumerate(owners):
                with brush.saying(f"{name}, {words}: queue {queue}: {who or 'nobody'}"):
                    _cell(brush, LABEL + cell * queue, top, cell, who, colours, framed=line == 1 and queue in changed)
            brush.text(right + 0.1, top + THICK / 2, _sizes(owners), ha="left")
        brush.text(WIDTH - 0.08, y + LINE - 0.02, f"{len(changed)} moved", ha="right", bold=True)
    foot = TOP + ROW * len(pairs) + 0.12
    brush.text(0.08, foot, "framed: moved · –: nobody owns it · right: queues of each member", ha="left", colour=GREY)


def _cell(brush: Brush, x: float, y: float, wide: float, who: str, colours: Mapping[str, str], *, framed: bool) -> None:
    members = _members(who)
    colour = colours.get(members[0], NEWCOMER) if members else WHITE
    brush.block(x + 0.015, y, wide - 0.03, THICK, colour, edge=GREY, edge_width=0.5)
    text = who or "–"
    if wide > text_width(text):
        brush.text(x + wide / 2, y + THICK / 2, text, colour=ink(colour))
    if framed:
        brush.block(x + 0.03, y + 0.015, wide - 0.06, THICK - 0.03, "none", edge=BLACK, edge_width=2.2, layer=4)


def _sizes(owners: Sequence[str]) -> str:
    every = sorted({who for one in owners for who in _members(one)})
    return "  ".join(f"{who} {sum(who in _members(one) for one in owners)}" for who in every)


def _alt(pairs: Mapping[str, tuple[Owners, Owners]], title: str) -> str:
    parts = [
        f"{name}: {_line(before)}, then {_line(after)}; {len(moved(before, after))} moved"
        for name, (before, after) in pairs.items()
    ]
    return f"{title}: {len(next(iter(pairs.values()))[0])} queues. {'. '.join(parts)}."


def _line(owners: Sequence[str]) -> str:
    return " ".join(who or "–" for who in owners)


def _table(pairs: Mapping[str, tuple[Owners, Owners]], title: str) -> Table:
    rows = [
        (name, _line(before), _line(after), len(moved(before, after)), _sizes(after))
        for name, (before, after) in pairs.items()
    ]
    marked = frozenset(
        number for number, (_, after) in enumerate(pairs.values()) if any(len(_members(one)) != 1 for one in after)
    )
    headers = ("way", "owners before", "owners after", "moved", "queues after")
    return Table(f"{title} (marked: a queue without exactly one owner)", headers, rows, marked)
