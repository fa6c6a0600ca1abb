"""Lines over a few values, in panels: drawn by the same canvas as everything else."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from rmqlab.errors import BadInput
from rmqlab.show.canvas import Canvas, Shape, legend, painted, text_width
from rmqlab.show.charts import MARGIN, TITLE, WIDTH, Row, checked, column_values
from rmqlab.show.figure import Picture
from rmqlab.show.palette import BLUE, GREEN, GREY, ORANGE, PALE, PURPLE, SKY, VERMILLION
from rmqlab.show.tables import Table, number_text

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

# Inches.
PANEL_HEIGHT, PANEL_GAP, HEAD_ROW = 2.6, 0.25, 0.34
LINES: tuple[tuple[str, Shape], ...] = (
    (BLUE, "round"), (ORANGE, "square"), (GREEN, "down"), (VERMILLION, "diamond"), (PURPLE, "cross"), (SKY, "bar"),
)  # fmt: skip


def lines(
    rows: object,
    *,
    x: str,
    value: str,
    title: str,
    line: str | None = None,
    panel: str | None = None,
    names: Mapping[str, str] | None = None,
    law: Callable[[Row], float] | None = None,
) -> Picture:
    """`value` over `x`: a line for each value of `line`, a panel for each value of `panel`.

    The values of `x` stand at equal distances. `names` gives columns their words; a `law` (a function of a row) is
    drawn dashed beside, under the words `names["law"]`.

    Raises:
        BadInput: no rows, a column that is not there, or two rows for one place.
    """
    found = checked(rows, x, value, *filter(None, (line, panel)))
    words = {name: name for name in (x, value, line, panel) if name} | {"law": "expected"} | dict(names or {})
    at = {(row[panel] if panel else None, row[line] if line else None, row[x]): row for row in found}
    if len(at) != len(found):
        raise BadInput(f"lines: {len(found)} rows for {len(at)} places; choose rows, or give line= and panel=")
    chart = _LinePanels(at, (value, line, panel, x), title, words, law)
    panels, along, over = chart.panels, chart.along, chart.over
    svg = painted(WIDTH, chart.height, chart.draw)
    low, high = (pick(row[value] for row in found) for pick in (min, max))
    alt = f"{title}: {words[value]} over {words[x]}, from {number_text(low)} to {number_text(high)}."
    headers = [*(words[name] for name in (panel, line) if name), *(f"{words[x]} {number_text(one)}" for one in over)]
    table_rows = [
        [*(one for one, name in ((p, panel), (a, line)) if name), *(_at(at, p, a, one, value) for one in over)]
        for p in panels
        for a in along
    ]
    return Picture(svg, title=title, alt=alt, table=Table(f"{title}: {words[value]}", headers, table_rows))


class _LinePanels:
    """Where the panels of `lines` are, and what is drawn in them."""

    def __init__(
        self,
        at: Mapping[tuple[Any, Any, Any], Row],
        columns: tuple[str, str | None, str | None, str],
        title: str,
        words: Mapping[str, str],
        law: Callable[[Row], float] | None,
    ) -> None:
        """`at` has the rows by panel, line and x; `columns` are the names of value, line, panel and x."""
        self.at, self.title, self.words, self.law = at, title, words, law
        self.value, self.line, self.panel, self.x = columns
        self.panels, self.along, self.over = (
            column_values(list(at.values()), name) if name else [None] for name in (self.panel, self.line, self.x)
        )
        most = max(row[self.value] for row in at.values())
        if law is not None:
            most = max(most, *(law(row) for row in at.values()))
        step = _round_step(most / 5)
        self.ticks = [step * number for number in range(max(1, math.ceil(most / step - 1e-9)) + 1)]
        self.left = MARGIN + max(text_width(number_text(one)) for one in self.ticks) + 0.15
        self.each = (WIDTH - self.left - 2 * MARGIN - PANEL_GAP * (len(self.panels) - 1)) / len(self.panels)
        self.top = TITLE + HEAD_ROW * (2 if self.panel else 1)
        self.floor = self.top + PANEL_HEIGHT
        names = [f"{words[self.line]} {number_text(one)}" if self.line else words[self.value] for one in self.along]
        self.labels = [*names, words["law"]] if law else names if self.line else []
        self.legend, below = legend(self.labels, self.left, WIDTH, room=0.7)
        self.height = self.floor + 0.72 + (below if self.labels else 0)

    def draw(self, canvas: Canvas) -> None:
        """Title, panels and legend."""
        canvas.heading(self.title)
        canvas.text(MARGIN, TITLE + 0.1, self.words[self.value], ha="left", colour=GREY)
        for number, panel in enumerate(self.panels):
            self._panel(canvas, panel, self.left + number * (self.each + PANEL_GAP), is_first=number == 0)
        canvas.text(self.left + (WIDTH - self.left) / 2, self.floor + 0.46, self.words[self.x])
        for order, (name, (x, below)) in enumerate(zip(self.labels, self.legend, strict=True)):
            y = self.floor + 0.78 + below
            if order < len(self.along):
                colour, shape = LINES[order % len(LINES)]
                canvas.polyline([(x, y), (x + 0.4, y)], colour, width=2)
                canvas.spot(x + 0.2, y, 6, colour, shape=shape)
            else:
                canvas.polyline([(x, y), (x + 0.4, y)], GREY, width=1.6, dashed=True)
            canvas.text(x + 0.5, y, name, ha="left")

    def _panel(self, canvas: Canvas, panel: Any, left: float, *, is_first: bool) -> None:
        if self.panel:
            canvas.text(left, self.top - 0.2, f"{self.words[self.panel]} {number_text(panel)}", ha="left", bold=True)
        for tick in self.ticks:
            y = self._y(tick)
            canvas.line((left, left + self.each), (y, y), PALE if tick else GREY, 1)
            if is_first:
                canvas.text(left - 0.08, y, number_text(tick), ha="right", colour=GREY)
        gap = self.each / len(self.over)
        places = [left + gap * (number + 0.5) for number in range(len(self.over))]
        # Where ticks would run into each other, every second (third, ...) one is written.
        every = math.ceil((max(text_width(number_text(one)) for one in self.over) + 0.12) / gap)
        for x, one in list(zip(places, self.over, strict=True))[::every]:
            canvas.text(x, self.floor + 0.17, number_text(one), colour=GREY)
        for order, line in enumerate(self.along):
            colour, shape = LINES[order % len(LINES)]
            points = [
                (x, self.at[panel, line, one])
                for x, one in zip(places, self.over, strict=True)
                if (panel, line, one) in self.at
            ]
            if self.law is not None and order == 0:
                law = [(x, self._y(self.law(row))) for x, row in points]
                canvas.polyline(law, GREY, width=1.6, dashed=True, layer=1)
            canvas.polyline([(x, self._y(row[self.value])) for x, row in points], colour, width=2)
            for x, row in points:
                with canvas.saying(f"{self.words[self.x]} {number_text(row[self.x])}: {number_text(row[self.value])}"):
                    canvas.spot(x, self._y(row[self.value]), 6, colour, shape=shape)

    def _y(self, value: float) -> float:
        return self.floor - PANEL_HEIGHT * value / self.ticks[-1]


def _round_step(least: float) -> float:
    """The next of 1, 2, 5, 10, 20, ... and of 0.5, 0.2, 0.1, ...

    >>> _round_step(0.15), _round_step(3), _round_step(0)
    (0.2, 5.0, 1.0)
    """
    if least <= 0:
        return 1.0
    power = 10.0 ** math.floor(math.log10(least))
    found: float = next(step * power for step in (1, 2, 5, 10) if step * power >= least * (1 - 1e-9))
    return found


def _at(at: Mapping[tuple[Any, Any, Any], Row], panel: object, line: object, over: object, value: str) -> object:
    row = at.get((panel, line, over))
    return None if row is None else number_text(row[value])
