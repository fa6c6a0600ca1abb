"""The funnel: how many messages come through layer 1, layer 2 and the client's own check, for each group.

With few messages `where_stopped` shows every one of them by name.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rmqlab.lab.filter_funnel import Stage
from rmqlab.show.brush import Brush, painted
from rmqlab.show.figure import Picture
from rmqlab.show.palette import GREEN, GREY, LOOKS, PALE, WHITE, ink
from rmqlab.show.tables import Table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rmqlab.lab.fates import Fate
    from rmqlab.lab.filter_funnel import Passage

# Inches.
LEFT, COLUMN, BAR, LANE, TOP, GAP, LEAST = 2.5, 1.75, 0.72, 1.0, 0.62, 0.24, 0.17
HEADS = (
    ("stored", "consume queue entries"),
    ("layer 1", "looks at the entry"),
    ("layer 2", "reads the message"),
    ("client", "compares the tag"),
    ("delivered", ""),
)
WORDS = {Stage.LAYER_1: "looks at the entry", Stage.LAYER_2: "reads the message", Stage.CLIENT: "compares the tag"}
LONGEST = 30
CELL, ROW, NAME = 0.62, 0.33, 2.1


def funnel(passages: Sequence[Passage]) -> Picture:
    """A lane for each group; the height of a bar is the number of messages."""
    most = max((len(passage.steps) for passage in passages), default=0) or 1
    width = LEFT + COLUMN * len(HEADS)

    def draw(brush: Brush) -> None:
        for number, (head, words) in enumerate(HEADS):
            x = LEFT + COLUMN * number + BAR / 2
            brush.text(x, 0.2, head, size=10, bold=True)
            brush.text(x, 0.4, words, size=7.5, colour=GREY)
        for number, passage in enumerate(passages):
            _lane(brush, passage, TOP + number * (LANE + GAP), LANE / most)

    svg = painted(width, TOP + (LANE + GAP) * len(passages), draw)
    alt = " ".join(_sentence(passage) for passage in passages) or "No group has pulled anything."
    return Picture(svg, title="Messages through both layers and the client", alt=alt, table=_counts(passages))


def _lane(brush: Brush, passage: Passage, top: float, unit: float) -> None:
    brush.text(0.1, top + LANE / 2 - 0.2, passage.group, size=9.5, ha="left", bold=True)
    brush.text(0.1, top + LANE / 2, f"{passage.kind}", size=8, ha="left", colour=GREY)
    brush.text(0.1, top + LANE / 2 + 0.2, _cut(passage.subscription), size=8, ha="left", monospace=True)
    count = len(passage.steps)
    _bar(brush, LEFT, top, count, unit, PALE, f"{count}")
    before = (LEFT + BAR, count)
    for number, stage in enumerate(Stage, 1):
        x = LEFT + COLUMN * number
        stops = passage.stops(stage)
        passed = passage.reaches(stage) - len(stops)
        _band(brush, before, x, top, unit)
        _bar(brush, x, top, passed, unit, PALE, f"{passed}")
        if stops:
            look = LOOKS[stops[0].fate]
            y = top + passed * unit
            height = len(stops) * unit
            brush.block(x, y, BAR, height, look.colour, hatch=look.hatch)
            text = f"{look.mark} {len(stops)}"
            if height >= LEAST:
                ground = look.colour if look.hatch else None
                brush.text(x + BAR / 2, y + height / 2, text, size=9, colour=ink(look.colour), ground=ground,
                           bold=True)  # fmt: skip
            else:
                brush.text(x + BAR + 0.06, y + height / 2, text, size=9, ha="left", bold=True)
        before = (x + BAR, passed)
    x = LEFT + COLUMN * (len(HEADS) - 1)
    _band(brush, before, x, top, unit)
    _bar(brush, x, top, len(passage.delivered), unit, GREEN, f"✓ {len(passage.delivered)}")


def _bar(brush: Brush, x: float, top: float, count: int, unit: float, colour: str, text: str) -> None:
    height = count * unit
    brush.block(x, top, BAR, height, colour, edge=GREY if colour == PALE else colour, edge_width=0.8)
    if height >= LEAST:
        brush.text(x + BAR / 2, top + height / 2, text, size=9.5, colour=ink(colour), bold=True)
    else:
        brush.text(x + BAR + 0.06, top - 0.02, text, size=9.5, ha="left", bold=True)


def _band(brush: Brush, start: tuple[float, int], end: float, top: float, unit: float) -> None:
    """What goes on from one bar to the next."""
    x, count = start
    if count:
        brush.block(x, top, end - x, count * unit, "#E8E8E8", layer=0.3)


def _sentence(passage: Passage) -> str:
    parts = [f"{len(passage.stops(stage))} stop at {stage}" for stage in Stage if passage.stops(stage)]
    stopped = f", {', '.join(parts)}" if parts else ""
    count = len(passage.steps)
    return f"{passage.group} ({passage.subscription}): of {count} messages{stopped}, {len(passage.delivered)} arrive."


def _counts(passages: Sequence[Passage]) -> Table:
    rows = [
        (
            passage.group, passage.subscription, len(passage.steps), *(len(passage.stops(stage)) for stage in Stage),
            len(passage.delivered),
        )
        for passage in passages
    ]  # fmt: skip
    headers = ("group", "subscription", "stored", *(f"stop at {stage}" for stage in Stage), "delivered")
    return Table("Messages by the place where they stop", headers, rows)


def where_stopped(passages: Sequence[Passage]) -> Picture:
    """A row for each message, three columns for each group: ✓ passes, ✗ stops here, empty is never asked."""
    steps = passages[0].steps
    name = max(NAME, *(0.25 + 0.09 * len(f"{step.name}  {step.detail}") for step in steps))
    block = CELL * 4 + 0.3
    width, top = name + block * len(passages), 0.95

    def draw(brush: Brush) -> None:
        for number, passage in enumerate(passages):
            x = name + block * number
            brush.text(x, 0.18, passage.group, size=9.5, ha="left", bold=True)
            brush.text(x, 0.4, _cut(passage.subscription), ha="left", monospace=True)
            for column, head in enumerate((*Stage, "end")):
                brush.text(x + CELL * (column + 0.5), 0.72, head, size=8, colour=GREY)
            for row, step in enumerate(passage.steps):
                _row(brush, step.fate, step.stage, x, top + ROW * row)
        for row, step in enumerate(steps):
            brush.text(0.1, top + ROW * (row + 0.5), step.name, size=9, ha="left", bold=True)
            brush.text(
                0.2 + 0.09 * max(len(one.name) for one in steps), top + ROW * (row + 0.5), step.detail, ha="left"
            )

    svg = painted(width, top + ROW * len(steps) + 0.1, draw)
    rows = [
        (step.name, step.detail, *(_told(passage.steps[row].stage) for passage in passages))
        for row, step in enumerate(steps)
    ]
    headers = ("message", "has", *(f"{passage.group}: {passage.subscription}" for passage in passages))
    alt = " ".join(_sentence(passage) for passage in passages)
    return Picture(
        svg, title="Where each message stops", alt=alt, table=Table("Where each message stops", headers, rows)
    )


def _row(brush: Brush, fate: Fate, stopped: Stage | None, x: float, y: float) -> None:
    for column, stage in enumerate(Stage):
        stops = stopped is stage
        look = LOOKS[fate] if stops else None
        colour = PALE if look is None else look.colour
        hatch = "" if look is None else look.hatch
        brush.block(x + CELL * column, y, CELL, ROW, colour, edge=WHITE, edge_width=1.5)
        if hatch:
            brush.block(x + CELL * column + 0.02, y + 0.02, CELL - 0.04, ROW - 0.04, colour, hatch=hatch)
        ground = colour if hatch else None
        brush.text(
            x + CELL * (column + 0.5), y + ROW / 2, "✗" if stops else "✓", size=10, colour=ink(colour), ground=ground
        )
        if stops:
            return
    brush.block(x + CELL * 3, y, CELL, ROW, GREEN, edge=WHITE, edge_width=1.5)
    brush.text(x + CELL * 3.5, y + ROW / 2, "arrives", size=8, colour=ink(GREEN))


def _told(stage: Stage | None) -> str:
    return "arrives" if stage is None else f"stops at {stage}: it {WORDS[stage]}"


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"
