"""Charts from rows, bars and a heat map, and the axis of time. They know columns and numbers, and no experiment.

Rows are a list of dicts, a pandas frame, or the `Records` of a lab. The table of a chart holds all its numbers.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from rmqlab.errors import BadInput, did_you_mean
from rmqlab.language import _, joined
from rmqlab_tools.show.canvas import WIDTH, painted, text_width
from rmqlab_tools.show.figure import Picture
from rmqlab_tools.show.palette import BLACK, BLUE, GREY, ORANGE, VERDICT_COLOURS, WHITE, ink
from rmqlab_tools.show.tables import Table, as_rows, number_text

if TYPE_CHECKING:
    from collections.abc import Callable

    from rmqlab_tools.show.canvas import Canvas

Row = Mapping[str, Any]
# From pale to dark: the more, the darker.
RAMP = ("#F2F2F2", "#D3E5F1", "#A6CBE4", "#6DAAD3", "#3B88BF", "#0072B2", "#00517F", "#00334F")
# Of an axis of time.
STEPS_S = (0.1, 0.5, 1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1_800, 3_600, 7_200)
MAX_TICKS = 16


@dataclass(frozen=True)
class ChartLayout:
    """Sizes of bars and heat maps, in inches."""

    margin: float = 0.1
    title: float = 0.45
    bar: float = 0.27
    bar_gap: float = 0.1
    foot: float = 0.1
    cell_height: float = 0.36
    max_cell: float = 1.4
    axis_words: float = 0.42


CHART = ChartLayout()


def bars(
    rows: object,
    *,
    x: str,
    value: str,
    title: str,
    unit: str = "",
    low: str | None = None,
    high: str | None = None,
    marked: Callable[[Row], bool] | None = None,
) -> Picture:
    """A bar for each row: `x` names it, `value` is its length; `low` and `high` (columns) draw its spread.

    A row for which `marked` is true is drawn in another colour and gets a mark.

    >>> ways = [{"way": "stop all", "lost": 0}, {"way": "one by one", "lost": 6}]
    >>> bars(ways, x="way", value="lost", title="Messages lost").alt
    'Messages lost: stop all 0, one by one 6.'

    Raises:
        BadInput: no rows, a column that is not there, or a value below zero.
    """
    records = checked(rows, x, value, *filter(None, (low, high)))
    ends = [row[high or value] for row in records]
    if min(row[value] for row in records) < 0:
        raise BadInput(
            _(
                "bars: {value} is below zero in {found}; a bar begins at 0",
                value=value,
                found=min(records, key=lambda row: row[value]),
            )
        )
    stand_out = [bool(marked and marked(row)) for row in records]
    names = [f"▸ {row[x]}" if out else f"{row[x]}" for row, out in zip(records, stand_out, strict=True)]
    words = [_with_spread(row, value, low, high, unit) for row in records]
    left = CHART.margin + max(text_width(name) for name in names) + 0.15
    scale = (WIDTH - left - max(text_width(word) for word in words) - 0.4) / (max(ends) or 1)

    def draw(canvas: Canvas) -> None:
        canvas.heading(title)
        for number, row in enumerate(records):
            y = CHART.title + number * (CHART.bar + CHART.bar_gap)
            colour = ORANGE if stand_out[number] else BLUE
            with canvas.saying(f"{_(str(row[x]))}: {words[number]}"):
                canvas.text(left - 0.1, y + CHART.bar / 2, names[number], ha="right", bold=stand_out[number])
                canvas.block(left, y, max(0.02, row[value] * scale), CHART.bar, colour)
                if low and high:
                    ends_x = left + row[low] * scale, left + row[high] * scale
                    canvas.polyline([(ends_x[0], y + CHART.bar / 2), (ends_x[1], y + CHART.bar / 2)], BLACK, width=2)
                    for end in ends_x:
                        canvas.polyline([(end, y + CHART.bar / 4), (end, y + 3 * CHART.bar / 4)], BLACK, width=2)
                canvas.text(left + row[high or value] * scale + 0.1, y + CHART.bar / 2, words[number], ha="left")

    svg = painted(WIDTH, CHART.title + len(records) * (CHART.bar + CHART.bar_gap) + CHART.foot, draw)
    bars = joined(", ", (f"{_(str(row[x]))} {word}" for row, word in zip(records, words, strict=True)))
    alt = _("{title}: {bars}.", title=_(title), bars=bars)
    columns = [x, *dict.fromkeys(filter(None, (low, value, high)))]
    table = Table(
        title,
        [f"{name}, {unit}" if unit and name != x else name for name in columns],
        [[row[name] for name in columns] for row in records],
        marked=frozenset(number for number, out in enumerate(stand_out) if out),
    )
    return Picture(svg, title=title, alt=alt, table=table)


def heat_map(
    rows: object,
    *,
    x: str,
    y: str,
    value: str,
    title: str,
    colour: Callable[[Any], str] | None = None,
    text: Callable[[Any], str] | None = None,
    framed: Callable[[Row], bool] | None = None,
    alt: str = "",
) -> Picture:
    """A cell for each pair of `x` (to the right) and `y` (downwards); the more `value`, the darker.

    `colour` gives another ground for a value, `text` other letters. A row for which `framed` is true has a frame. A
    pair without a row stays empty. Values can be what conditions come to as well, "true", "false", "null" and "error":
    each has a mark and a colour. `alt` describes the picture by other words than its values.

    >>> cells = [{"queues": 4, "gap": 0, "lost": 6}, {"queues": 8, "gap": 0, "lost": 4}]
    >>> heat_map(cells, x="queues", y="gap", value="lost", title="Lost of eight").alt
    'Lost of eight: from 4 (queues 8, gap 0) to 6 (queues 4, gap 0).'

    Raises:
        BadInput: no rows, a column that is not there, or two rows for one cell.
    """
    records = checked(rows, x, y, value)
    at = {(row[x], row[y]): row for row in records}
    if len(at) != len(records):
        raise BadInput(
            _(
                "heat_map: {found} rows for {at} cells of {x} and {y}; give one row a cell",
                found=len(records),
                at=len(at),
                x=x,
                y=y,
            )
        )
    across, down = column_values(records, x), column_values(records, y)
    numbers = [row[value] for row in records]
    least, most = min(numbers), max(numbers)

    def ground(number: Any) -> str:
        if colour is not None:
            return colour(number)
        if number in VERDICT_COLOURS:
            return VERDICT_COLOURS[number][1]
        return RAMP[round((number - least) / ((most - least) or 1) * (len(RAMP) - 1))]

    letters = text or _cell_text
    left = CHART.margin + max(text_width(_named(y, value_down)) for value_down in down) + 0.15
    widest = max(text_width(letters(cell_value)) for cell_value in numbers) + 0.15
    cell = min(max(CHART.max_cell, widest), (WIDTH - left - CHART.margin) / len(across))
    top = CHART.title + CHART.axis_words

    def draw(canvas: Canvas) -> None:
        canvas.heading(title)
        canvas.text(left - 0.1, CHART.title + CHART.axis_words / 2, f"{x} →", ha="right", colour=GREY)
        for column, over in enumerate(across):
            canvas.text(left + (column + 0.5) * cell, CHART.title + CHART.axis_words / 2, number_text(over))
        for line, under in enumerate(down):
            mid = top + (line + 0.5) * CHART.cell_height
            canvas.text(left - 0.1, mid, _named(y, under), ha="right")
            for column, over in enumerate(across):
                if (over, under) not in at:
                    continue
                row = at[over, under]
                shown, face = letters(row[value]), ground(row[value])
                with canvas.saying(f"{_named(x, over)}, {_named(y, under)}: {shown}"):
                    place = (left + column * cell, mid - CHART.cell_height / 2, cell, CHART.cell_height)
                    canvas.block(*place, face, edge=WHITE)
                    if text_width(shown) < cell:  # else the pointer and the table tell it
                        canvas.text(left + (column + 0.5) * cell, mid, shown, colour=ink(face))
                    if framed is not None and framed(row):
                        canvas.block(*place, "none", edge=BLACK, edge_width=2.2, layer=4)

    svg = painted(WIDTH, top + len(down) * CHART.cell_height + CHART.foot, draw)
    said = [f"{number_text(row[value])} ({_named(x, row[x])}, {_named(y, row[y])})" for row in records]
    if isinstance(least, str):
        alt = alt or _("{title}: {bars}.", title=_(title), bars=joined(", ", said))
    else:
        low, high = (said[numbers.index(end)] for end in (least, most))
        alt = alt or _("{title}: from {low} to {high}.", title=_(title), low=low, high=high)
    table_rows = [[under, *(at.get((over, under), {}).get(value) for over in across)] for under in down]
    table = Table(f"{title}: {value}", [y, *(_named(x, over) for over in across)], table_rows)
    return Picture(svg, title=title, alt=alt, table=table)


def _named(column: str, value: object) -> str:
    """A value after the name of its column, if it has one; each is translated by itself."""
    return f"{_(column)} {_(number_text(value))}".strip()


def _cell_text(value: Any) -> str:
    return f"{VERDICT_COLOURS[value][0]} {value}" if value in VERDICT_COLOURS else number_text(value)


def checked(rows: object, *columns: str) -> list[Row]:
    """Rows as dicts that have all these columns.

    Raises:
        BadInput: there are no rows, or one lacks a column.
    """
    records = as_rows(rows)
    if not records:
        raise BadInput(_("a chart needs rows; there are none"))
    for name in columns:
        for row in records:
            if name not in row:
                raise BadInput(
                    _(
                        "no column {name}{near}; there are {row}",
                        name=f"{name!r}",
                        near=did_you_mean(name, row),
                        row=joined(", ", row),
                    )
                )
    return records


def _with_spread(row: Row, value: str, low: str | None, high: str | None, unit: str) -> str:
    text = number_text(row[value])
    if low and high:
        text += " " + _("({row} to {row2})", row=number_text(row[low]), row2=number_text(row[high]))
    return f"{text} {unit}".rstrip()


def column_values(rows: Iterable[Row], name: str) -> list[Any]:
    """The values of a column: numbers from low to high, words as they come."""
    values: Iterable[Any] = dict.fromkeys(row[name] for row in rows)
    listed = list(values)
    return sorted(listed) if all(isinstance(value, int | float) for value in listed) else listed


class TimeScale(NamedTuple):
    """The time from `begin` to `end` (ms) lies between `left` and `right` (inches); what is outside stands at an end.

    >>> TimeScale(0, 1_000, 2, 4).x(500)
    3.0
    """

    begin: float
    end: float
    left: float
    right: float

    def x(self, t: float) -> float:
        """Where a moment stands."""
        inside = min(max(t, self.begin), self.end) - self.begin
        return self.left + (self.right - self.left) * inside / (self.end - self.begin)

    def axis(self, canvas: Canvas, y: float, zero: float = 0) -> None:
        """Ticks at `y`, with the seconds since `zero` (ms) below them."""
        canvas.text(0.08, y + 0.16, _("seconds"), ha="left", colour=GREY)
        ticks = [step for step in STEPS_S if (self.end - self.begin) / 1_000 / step <= MAX_TICKS]
        step = ticks[0] if ticks else STEPS_S[-1]
        first, last = math.ceil((self.begin - zero) / 1_000 / step), math.floor((self.end - zero) / 1_000 / step)
        for number in range(first, last + 1):
            x = self.x(zero + number * step * 1_000)
            canvas.line((x, x), (y, y + 0.05), GREY, 1)
            canvas.text(x, y + 0.16, f"{number * step:g}", colour=GREY)
