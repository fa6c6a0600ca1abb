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
from rmqlab_tools.show.canvas import BOLD, MIN_TEXT, WIDTH, largest, painted, text_width
from rmqlab_tools.show.figure import Picture
from rmqlab_tools.show.palette import BLACK, BLUE, GREY, ORANGE
from rmqlab_tools.show.tables import Table, as_rows, number_text

if TYPE_CHECKING:
    from collections.abc import Callable

    from rmqlab_tools.show.canvas import Canvas

Row = Mapping[str, Any]
# Of an axis of time.
STEPS_S = (0.1, 0.5, 1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1_800, 3_600, 7_200)
MAX_TICKS = 16


@dataclass(frozen=True)
class ChartLayout:
    """Sizes of bars and heat maps, in inches."""

    margin: float = 0.1
    title: float = 0.45
    bar: float = 0.3
    bar_gap: float = 0.1
    least_scale: float = 3.4  # of the longest bar
    foot: float = 0.1
    cell_height: float = 0.42
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

    def edge(size: float) -> float:
        widths = (text_width(name, size) * (BOLD if out else 1) for name, out in zip(names, stand_out, strict=True))
        return CHART.margin + max(widths) + 0.15

    def room(size: float) -> float:
        return WIDTH - edge(size) - max(text_width(word, size) for word in words) - 0.2

    size = largest(lambda size: room(size) >= CHART.least_scale)
    left, scale = edge(size), room(size) / (max(ends) or 1)

    def draw(canvas: Canvas) -> None:
        canvas.heading(title)
        for number, row in enumerate(records):
            y = CHART.title + number * (CHART.bar + CHART.bar_gap)
            colour = ORANGE if stand_out[number] else BLUE
            with canvas.saying(f"{_(str(row[x]))}: {words[number]}"):
                canvas.text(left - 0.1, y + CHART.bar / 2, names[number], size=size, ha="right", bold=stand_out[number])
                canvas.block(left, y, max(0.02, row[value] * scale), CHART.bar, colour)
                if low and high:
                    ends_x = left + row[low] * scale, left + row[high] * scale
                    canvas.polyline([(ends_x[0], y + CHART.bar / 2), (ends_x[1], y + CHART.bar / 2)], BLACK, width=2)
                    for end in ends_x:
                        canvas.polyline([(end, y + CHART.bar / 4), (end, y + 3 * CHART.bar / 4)], BLACK, width=2)
                canvas.text(
                    left + row[high or value] * scale + 0.1, y + CHART.bar / 2, words[number], size=size, ha="left"
                )

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

    def axis(self, canvas: Canvas, y: float, zero: float = 0, *, size: float = MIN_TEXT) -> None:
        """Ticks at `y`, with the seconds since `zero` (ms) below them."""
        canvas.text(0.08, y + 0.16, _("seconds"), size=size, ha="left", colour=GREY)
        most = MAX_TICKS * MIN_TEXT / size
        ticks = [step for step in STEPS_S if (self.end - self.begin) / 1_000 / step <= most]
        step = ticks[0] if ticks else STEPS_S[-1]
        first, last = math.ceil((self.begin - zero) / 1_000 / step), math.floor((self.end - zero) / 1_000 / step)
        for number in range(first, last + 1):
            x = self.x(zero + number * step * 1_000)
            canvas.line((x, x), (y, y + 0.05), GREY, 1)
            canvas.text(x, y + 0.16, f"{number * step:g}", size=size, colour=GREY)
