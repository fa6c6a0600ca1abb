"""Lines over a few values, in panels: drawn by the same canvas as everything else."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rmqlab.errors import BadInput
from rmqlab.language import _, ngettext
from rmqlab_tools.show.canvas import WIDTH, Canvas, Shape, legend, painted, text_width
from rmqlab_tools.show.charts import CHART, Row, checked, column_values
from rmqlab_tools.show.figure import Picture
from rmqlab_tools.show.palette import BLUE, GREEN, GREY, ORANGE, PALE, PURPLE, SKY, VERMILLION
from rmqlab_tools.show.tables import Table, number_text

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

LINES: tuple[tuple[str, Shape], ...] = (
    (BLUE, "round"), (ORANGE, "square"), (GREEN, "down"), (VERMILLION, "diamond"), (PURPLE, "cross"), (SKY, "bar"),
)  # fmt: skip


@dataclass(frozen=True)
class LineChartLayout:
    """Sizes of panels of lines, in inches."""

    panel_height: float = 2.6
    panel_gap: float = 0.25
    head_row: float = 0.34


LINE_CHART = LineChartLayout()


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
    records = checked(rows, x, value, *filter(None, (line, panel)))
    words = {name: name for name in (x, value, line, panel) if name} | {"law": _("expected")} | dict(names or {})
    at = {(row[panel] if panel else None, row[line] if line else None, row[x]): row for row in records}
    if len(at) != len(records):
        raise BadInput(
            ngettext(
                "lines: {found} rows for {at} place; choose rows, or give line= and panel=",
                "lines: {found} rows for {at} places; choose rows, or give line= and panel=",
                len(at),
                found=len(records),
                at=len(at),
            )
        )
    panels, along, over = (column_values(records, name) if name else [None] for name in (panel, line, x))
    low, high = (pick(row[value] for row in records) for pick in (min, max))
    most = high if law is None else max(high, *(law(row) for row in records))
    step = _round_step(most / 5)
    ticks = [step * number for number in range(max(1, math.ceil(most / step - 1e-9)) + 1)]
    left = CHART.margin + max(text_width(number_text(tick_value)) for tick_value in ticks) + 0.15
    wide = (WIDTH - left - 2 * CHART.margin - LINE_CHART.panel_gap * (len(panels) - 1)) / len(panels)
    top = CHART.title + LINE_CHART.head_row * (2 if panel else 1)
    floor = top + LINE_CHART.panel_height
    labels_of_lines = [f"{words[line]} {number_text(value_along)}" if line else words[value] for value_along in along]
    labels = [*labels_of_lines, words["law"]] if law else labels_of_lines if line else []
    places, below = legend(labels, left, WIDTH, room=0.7)

    def y_of(number: float) -> float:
        return floor - LINE_CHART.panel_height * number / ticks[-1]

    def draw(canvas: Canvas) -> None:
        canvas.heading(title)
        canvas.text(CHART.margin, CHART.title + 0.1, words[value], ha="left", colour=GREY)
        for number, panel_value in enumerate(panels):
            draw_panel(canvas, panel_value, left + number * (wide + LINE_CHART.panel_gap))
        canvas.text(left + (WIDTH - left) / 2, floor + 0.46, words[x])
        for order, (name, (begin, under)) in enumerate(zip(labels, places, strict=True)):
            y, ends = floor + 0.78 + under, (begin, begin + 0.4)
            if order < len(along):
                colour, shape = LINES[order % len(LINES)]
                canvas.polyline([(end, y) for end in ends], colour, width=2)
                canvas.spot(begin + 0.2, y, 6, colour, shape=shape)
            else:
                canvas.polyline([(end, y) for end in ends], GREY, width=1.6, dashed=True)
            canvas.text(begin + 0.5, y, name, ha="left")

    def draw_panel(canvas: Canvas, of: Any, edge: float) -> None:
        if panel:
            canvas.text(edge, top - 0.2, f"{words[panel]} {number_text(of)}", ha="left", bold=True)
        for tick in ticks:
            canvas.line((edge, edge + wide), (y_of(tick), y_of(tick)), PALE if tick else GREY, 1)
            if edge == left:
                canvas.text(edge - 0.08, y_of(tick), number_text(tick), ha="right", colour=GREY)
        gap = wide / len(over)
        x_of = {over_value: edge + gap * (number + 0.5) for number, over_value in enumerate(over)}
        # Where ticks would run into each other, every second (third, ...) one is written.
        stride = math.ceil((max(text_width(number_text(over_value)) for over_value in over) + 0.12) / gap)
        for over_value in over[::stride]:
            canvas.text(x_of[over_value], floor + 0.17, number_text(over_value), colour=GREY)
        for order, name in enumerate(along):
            colour, shape = LINES[order % len(LINES)]
            mine = [at[of, name, over_value] for over_value in over if (of, name, over_value) in at]
            if law is not None and order == 0:
                expected = [(x_of[row[x]], y_of(law(row))) for row in mine]
                canvas.polyline(expected, GREY, width=1.6, dashed=True, layer=1)
            points = [(x_of[row[x]], y_of(row[value])) for row in mine]
            canvas.polyline(points, colour, width=2)
            for row, point in zip(mine, points, strict=True):
                with canvas.saying(f"{words[x]} {number_text(row[x])}: {number_text(row[value])}"):
                    canvas.spot(*point, 6, colour, shape=shape)

    svg = painted(WIDTH, floor + 0.72 + (below if labels else 0), draw)
    alt = _(
        "{title}: {words} over {words2}, from {low} to {high}.",
        title=title,
        words=words[value],
        words2=words[x],
        low=number_text(low),
        high=number_text(high),
    )
    headers = [
        *(words[name] for name in (panel, line) if name),
        *(f"{words[x]} {number_text(over_value)}" for over_value in over),
    ]
    table_rows = [
        [
            *(group_value for group_value, column in ((of, panel), (name, line)) if column),
            *(
                number_text(at[of, name, over_value][value]) if (of, name, over_value) in at else None
                for over_value in over
            ),
        ]
        for of in panels
        for name in along
    ]
    return Picture(svg, title=title, alt=alt, table=Table(f"{title}: {words[value]}", headers, table_rows))


def _round_step(least: float) -> float:
    """The next of 1, 2, 5, 10, 20, ... and of 0.5, 0.2, 0.1, ...

    >>> _round_step(0.15), _round_step(3), _round_step(0)
    (0.2, 5.0, 1.0)
    """
    if least <= 0:
        return 1.0
    power = 10.0 ** math.floor(math.log10(least))
    rounded: float = next(step * power for step in (1, 2, 5, 10) if step * power >= least * (1 - 1e-9))
    return rounded
