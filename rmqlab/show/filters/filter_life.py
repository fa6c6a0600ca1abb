"""The life of filter data as a timeline: what happens, what the broker holds, which messages get the group's bits."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rmqlab.lab.filters.filter_life import DAY_MS, GROUP
from rmqlab.show.brush import Brush, painted
from rmqlab.show.figure import Picture
from rmqlab.show.palette import BLACK, BLUE, GREEN, GREY, ORANGE, PALE, SKY, VERMILLION, WHITE, ink
from rmqlab.show.tables import Table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rmqlab.lab.filters.filter_life import FilterLife, FilterMoment, HeldFilter

# Inches: one row for each moment, time downwards.
ROW, TOP, TIMES, EVENTS, BAND, BITS, JUDGED = 0.32, 0.62, 0.15, 0.95, 4.55, 7.55, 8.65
BAND_WIDTH, WIDTH = 2.75, 12.4
COLOURS = (BLUE, ORANGE, SKY)
HOUR_MS = 3_600_000


def filter_life(life: FilterLife) -> Picture:
    """One row for each moment, from top to bottom."""
    expressions = list(dict.fromkeys(moment.held.expression for moment in life.moments if moment.held))
    colours = dict(zip(expressions, COLOURS, strict=False))
    judged = {one.message: one for one in life.judged}

    def draw(brush: Brush) -> None:
        heads = (
            (TIMES, "time"), (EVENTS, "what happens"), (BAND, f"filter data of {GROUP} in the broker"),
            (BITS, "its bits"), (JUDGED, f"layer 1, when {GROUP} pulls at {_time(life.pulled_at)}"),
        )  # fmt: skip
        for x, head in heads:
            brush.text(x, 0.3, head, size=9, ha="left", bold=True)
        _band(brush, life.moments, colours)
        for number, moment in enumerate(life.moments):
            y = TOP + ROW * (number + 0.5)
            brush.text(TIMES, y, _time(moment.t), colour=GREY, ha="left")
            brush.text(EVENTS, y, moment.text, size=8.5, ha="left", bold=not moment.message)
            if moment.message:
                face = GREEN if moment.bit else WHITE
                brush.spot(BITS + 0.2, y, 11, face, edge=GREEN if moment.bit else GREY)
                brush.text(BITS + 0.42, y, "set" if moment.bit else "0", size=8.5, ha="left")
            one = judged.get(moment.message or "")
            if one:
                brush.block(JUDGED, y - 0.1, 0.16, 0.2, GREEN if one.passed else VERMILLION)
                text = f"{'✓' if one.passed else '✗'} {one.ground}; {one.end}"
                brush.text(JUDGED + 0.26, y, text, size=8, ha="left")

    svg = painted(WIDTH, TOP + ROW * len(life.moments) + 0.1, draw)
    return Picture(svg, title="The life of filter data", alt=_alt(life), table=_table(life))


def _band(brush: Brush, moments: Sequence[FilterMoment], colours: dict[str, str]) -> None:
    """The colour of the expression; hatched while the data is dead; a line of words wherever it changes."""
    before: tuple[str, int, bool] | None = None
    for number, moment in enumerate(moments):
        y = TOP + ROW * number
        held = moment.held
        colour = PALE if held is None else colours[held.expression]
        dead = held is not None and held.dead is not None
        hatch = "//" if dead else ""
        brush.block(BAND, y, BAND_WIDTH, ROW, colour, hatch=hatch)
        state = None if held is None else (held.expression, held.born, dead)
        if state == before and number:
            continue
        before = state
        ground = colour if hatch else None
        brush.text(BAND + 0.08, y + ROW / 2, _words(held), ha="left", colour=ink(colour), ground=ground)
        brush.line((BAND, BAND + BAND_WIDTH), (y, y), BLACK, 1)


def _words(held: HeldFilter | None) -> str:
    if held is None:
        return "none"
    if held.dead is not None:
        return f"{held.expression}: DEAD since {_time(held.dead)}"
    return f"{held.expression}: alive, born {_time(held.born)}"


def _time(ms: int) -> str:
    return f"{ms / HOUR_MS:.0f} h" if ms >= DAY_MS else f"{ms / 1_000:g} s"


def _alt(life: FilterLife) -> str:
    told = "; ".join(f"{one.message} (a = {one.value}): {one.ground}, {one.end}" for one in life.judged)
    return (
        f"{len(life.moments)} moments of the filter data of {GROUP}. When it pulls at {_time(life.pulled_at)}: {told}."
    )


def _table(life: FilterLife) -> Table:
    judged = {one.message: f"{one.ground}; {one.end}" for one in life.judged}
    rows = [
        (
            _time(moment.t), moment.text, _words(moment.held), moment.held.version if moment.held else None,
            None if moment.message is None else "set" if moment.bit else "0", judged.get(moment.message or ""),
        )
        for moment in life.moments
    ]  # fmt: skip
    headers = ("time", "what happens", "filter data", "version, ms", "its bits", "layer 1 and end")
    return Table("Filter data, moment by moment", headers, rows)
