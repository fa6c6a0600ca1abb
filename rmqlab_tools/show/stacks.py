"""Stacked bars: what a sum is made of, sums one below the other on one axis that does not move."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING

from rmqlab.errors import BadInput
from rmqlab.language import _, joined
from rmqlab_tools.show.canvas import BOLD, ROOM_TEXT, WIDTH, fitting, legend, painted, text_width
from rmqlab_tools.show.charts import CHART, checked, column_values
from rmqlab_tools.show.figure import Picture
from rmqlab_tools.show.palette import BLACK, BLUE, GREEN, GREY, ORANGE, PURPLE, SKY, WHITE, YELLOW, ink
from rmqlab_tools.show.tables import Table, number_text

if TYPE_CHECKING:
    from rmqlab_tools.show.canvas import Canvas

PART_COLOURS = (BLUE, ORANGE, SKY, YELLOW, GREEN, PURPLE)
TICKS = 4
LEAST_TICK = 0.25  # of a unit of the axis


@dataclass(frozen=True)
class StackLayout:
    """Sizes of stacked bars, in inches."""

    bar: float = 0.55
    gap: float = 0.18
    axis: float = 0.4
    legend: float = 0.3


STACK = StackLayout()


def stacked_bars(
    rows: object, *, x: str, part: str, value: str, title: str, most: float | None = None, line: float | None = None
) -> Picture:
    """A bar for each `x`, made of the values of its parts in their order; the sum stands at its end.

    `most` ends the axis, so that pictures of one kind can be compared (the largest sum if it is not given, or if that
    is larger). `line` is a value that matters: a dashed line marks it.

    >>> rows = [{"way": "off", "part": "filter", "cost": 1}, {"way": "on", "part": "filter", "cost": 0.5},
    ...         {"way": "on", "part": "index", "cost": 1.5}]
    >>> stacked_bars(rows, x="way", part="part", value="cost", title="Cost", most=4).alt
    'Cost: off 1 (filter 1); on 2 (filter 0.5, index 1.5).'

    Raises:
        BadInput: no rows, a column that is not there, or a value below zero.
    """
    records = checked(rows, x, part, value)
    if min(row[value] for row in records) < 0:
        worst = min(records, key=lambda row: row[value])
        raise BadInput(_("stacked_bars: {value} is below zero in {found}; a bar begins at 0", value=value, found=worst))
    names, parts = column_values(records, x), column_values(records, part)
    colours = {name: PART_COLOURS[number % len(PART_COLOURS)] for number, name in enumerate(parts)}
    bars = {name: [row for row in records if row[x] == name] for name in names}
    sums = {name: sum(row[value] for row in bar) for name, bar in bars.items()}
    totals = {name: number_text(round(total, 3)) for name, total in sums.items()}
    end = max([*sums.values(), most or 0]) or 1
    left = CHART.margin + max(BOLD * text_width(str(name), ROOM_TEXT) for name in names) + 0.15
    scale = (WIDTH - left - 0.2 - max(BOLD * text_width(total, ROOM_TEXT) for total in totals.values())) / end
    top, step = CHART.title + 0.1, STACK.bar + STACK.gap
    floor = top + len(names) * step
    places, below = legend(parts, CHART.margin, WIDTH, room=0.5, line=STACK.legend, size=ROOM_TEXT)

    def draw(canvas: Canvas) -> None:
        canvas.heading(title)
        for number, (name, bar) in enumerate(bars.items()):
            y = top + number * step
            canvas.text(left - 0.1, y + STACK.bar / 2, str(name), size=ROOM_TEXT, ha="right", bold=True)
            ends = [0.0, *accumulate(row[value] * scale for row in bar)]
            for row, begin, until in zip(bar, ends, ends[1:], strict=False):
                words, colour = number_text(row[value]), colours[row[part]]
                with canvas.saying(f"{_(str(name))}, {_(str(row[part]))}: {words}"):
                    canvas.block(left + begin, y, until - begin, STACK.bar, colour, edge=WHITE, edge_width=1)
                    size = fitting(words, until - begin - 0.04)
                    if text_width(words, size) < until - begin - 0.02:  # else the pointer and the table tell it
                        middle = left + (begin + until) / 2
                        canvas.text(middle, y + STACK.bar / 2, words, size=size, colour=ink(colour))
            after = left + ends[-1] + 0.08
            canvas.text(after, y + STACK.bar / 2, totals[name], size=ROOM_TEXT, ha="left", bold=True)
        _axis(canvas, floor, left, scale, end)
        if line is not None:
            x_line = left + line * scale
            canvas.polyline([(x_line, top - 0.1), (x_line, floor)], BLACK, width=1.6, dashed=True, layer=4)
        for name, (begin, under) in zip(parts, places, strict=True):
            y = floor + STACK.axis + 0.12 + under
            canvas.block(begin, y - 0.1, 0.2, 0.2, colours[name])
            canvas.text(begin + 0.28, y, str(name), size=ROOM_TEXT, ha="left")

    svg = painted(WIDTH, floor + STACK.axis + below, draw)
    told = joined(
        "; ",
        (
            _(
                "{name} {total} ({parts})",
                name=_(str(name)),
                total=totals[name],
                parts=joined(", ", (f"{_(str(row[part]))} {number_text(row[value])}" for row in bar)),
            )
            for name, bar in bars.items()
        ),
    )
    table = Table(title, (x, part, value), [(row[x], row[part], row[value]) for row in records])
    return Picture(svg, title=title, alt=_("{title}: {bars}.", title=_(title), bars=told), table=table)


def _axis(canvas: Canvas, y: float, left: float, scale: float, end: float) -> None:
    step = max(LEAST_TICK, round(end / TICKS))
    canvas.line((left, left + end * scale), (y, y), GREY, 1)
    number = 0.0
    while number <= end:
        x = left + number * scale
        canvas.line((x, x), (y, y + 0.06), GREY, 1)
        canvas.text(x, y + 0.2, number_text(number if number % 1 else int(number)), size=ROOM_TEXT, colour=GREY)
        number += step
