"""Charts from rows: bars, lines in panels, a heat map. They know columns and numbers, and no experiment.

Rows are a list of dicts, a pandas frame, or the `Records` of a lab. A chart's table holds all its numbers.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from rmqlab.errors import BadInput, did_you_mean
from rmqlab.show.brush import Brush, painted, text_width
from rmqlab.show.figure import Picture
from rmqlab.show.palette import BLACK, BLUE, GREEN, GREY, ORANGE, PALE, PURPLE, SKY, VERMILLION, WHITE, ink
from rmqlab.show.tables import Table, as_rows, number_text

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

Row = Mapping[str, Any]
# Inches; a page's column is as wide as WIDTH.
WIDTH, MARGIN, TITLE, BAR, BAR_GAP, FOOT = 11.4, 0.1, 0.45, 0.27, 0.1, 0.1
CELL_HEIGHT, MAX_CELL, AXIS_WORDS = 0.36, 1.4, 0.42
PANEL_HEIGHT, PANEL_GAP, LEGEND_ROW = 2.6, 0.25, 0.24
LETTERS = 9.0  # points: 12 px
LINES = ((BLUE, "o"), (ORANGE, "s"), (GREEN, "^"), (VERMILLION, "D"), (PURPLE, "v"), (SKY, "P"), (BLACK, "X"))
# From pale to dark: the more, the darker.
RAMP = ("#F2F2F2", "#D3E5F1", "#A6CBE4", "#6DAAD3", "#3B88BF", "#0072B2", "#00517F", "#00334F")


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
    found = _checked(rows, x, value, *filter(None, (low, high)))
    ends = [row[high or value] for row in found]
    if min(row[value] for row in found) < 0:
        raise BadInput(f"bars: {value} is below zero in {min(found, key=lambda row: row[value])}; a bar begins at 0")
    stand_out = [bool(marked and marked(row)) for row in found]
    names = [f"▸ {row[x]}" if out else f"{row[x]}" for row, out in zip(found, stand_out, strict=True)]
    words = [_with_spread(row, value, low, high, unit) for row in found]
    left = MARGIN + max(text_width(name, LETTERS) for name in names) + 0.15
    scale = (WIDTH - left - max(text_width(word, LETTERS) for word in words) - 0.4) / (max(ends) or 1)

    def draw(brush: Brush) -> None:
        brush.text(MARGIN, TITLE / 2, title, ha="left", size=11, bold=True)
        for number, row in enumerate(found):
            y = TITLE + number * (BAR + BAR_GAP)
            colour = ORANGE if stand_out[number] else BLUE
            with brush.saying(f"{row[x]}: {words[number]}"):
                brush.text(left - 0.1, y + BAR / 2, names[number], ha="right", size=LETTERS, bold=stand_out[number])
                brush.block(left, y, max(0.02, row[value] * scale), BAR, colour)
                if low and high:
                    ends_x = left + row[low] * scale, left + row[high] * scale
                    brush.polyline([(ends_x[0], y + BAR / 2), (ends_x[1], y + BAR / 2)], BLACK, width=2)
                    for end in ends_x:
                        brush.polyline([(end, y + BAR / 4), (end, y + 3 * BAR / 4)], BLACK, width=2)
                brush.text(left + row[high or value] * scale + 0.1, y + BAR / 2, words[number], ha="left", size=LETTERS)

    svg = painted(WIDTH, TITLE + len(found) * (BAR + BAR_GAP) + FOOT, draw)
    alt = f"{title}: {', '.join(f'{row[x]} {word}' for row, word in zip(found, words, strict=True))}."
    columns = [x, *dict.fromkeys(filter(None, (low, value, high)))]
    table = Table(
        title,
        [f"{name}, {unit}" if unit and name != x else name for name in columns],
        [[row[name] for name in columns] for row in found],
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
    colour: Callable[[float], str] | None = None,
    text: Callable[[float], str] | None = None,
) -> Picture:
    """A cell for each pair of `x` (to the right) and `y` (downwards); the more `value`, the darker.

    `colour` gives another ground for a value, `text` other letters. A pair without a row stays empty.

    >>> cells = [{"queues": 4, "gap": 0, "lost": 6}, {"queues": 8, "gap": 0, "lost": 4}]
    >>> heat_map(cells, x="queues", y="gap", value="lost", title="Lost of eight").alt
    'Lost of eight: from 4 (queues 8, gap 0) to 6 (queues 4, gap 0).'

    Raises:
        BadInput: no rows, a column that is not there, or two rows for one cell.
    """
    found = _checked(rows, x, y, value)
    at = {(row[x], row[y]): row[value] for row in found}
    if len(at) != len(found):
        raise BadInput(f"heat_map: {len(found)} rows for {len(at)} cells of {x} and {y}; give one row a cell")
    across, down = _values(found, x), _values(found, y)
    least, most = min(at.values()), max(at.values())

    def ground(number: float) -> str:
        if colour is not None:
            return colour(number)
        return RAMP[round((number - least) / ((most - least) or 1) * (len(RAMP) - 1))]

    left = MARGIN + max(text_width(f"{y} {number_text(one)}", LETTERS) for one in down) + 0.15
    cell = min(MAX_CELL, (WIDTH - left - MARGIN) / len(across))
    top = TITLE + AXIS_WORDS

    def draw(brush: Brush) -> None:
        brush.text(MARGIN, TITLE / 2, title, ha="left", size=11, bold=True)
        brush.text(left - 0.1, TITLE + AXIS_WORDS / 2, f"{x} →", ha="right", size=LETTERS, colour=GREY)
        for column, over in enumerate(across):
            brush.text(left + (column + 0.5) * cell, TITLE + AXIS_WORDS / 2, number_text(over), size=LETTERS)
        for line, under in enumerate(down):
            mid = top + (line + 0.5) * CELL_HEIGHT
            brush.text(left - 0.1, mid, f"{y} {number_text(under)}", ha="right", size=LETTERS)
            for column, over in enumerate(across):
                if (over, under) not in at:
                    continue
                number = at[over, under]
                shown = number_text(number) if text is None else text(number)
                face = ground(number)
                with brush.saying(f"{x} {number_text(over)}, {y} {number_text(under)}: {shown}"):
                    brush.block(left + column * cell, mid - CELL_HEIGHT / 2, cell, CELL_HEIGHT, face, edge=WHITE)
                    brush.text(left + (column + 0.5) * cell, mid, shown, size=LETTERS, colour=ink(face))

    svg = painted(WIDTH, top + len(down) * CELL_HEIGHT + FOOT, draw)
    ends = [pick(found, key=lambda row: row[value]) for pick in (min, max)]
    low, high = (f"{number_text(r[value])} ({x} {number_text(r[x])}, {y} {number_text(r[y])})" for r in ends)
    table_rows = [[under, *(at.get((over, under)) for over in across)] for under in down]
    table = Table(f"{title}: {value}", [y, *(f"{x} {number_text(over)}" for over in across)], table_rows)
    return Picture(svg, title=title, alt=f"{title}: from {low} to {high}.", table=table)


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
    found = _checked(rows, x, value, *filter(None, (line, panel)))
    words = {name: name for name in (x, value, line, panel) if name} | {"law": "expected"} | dict(names or {})
    at = {(row[panel] if panel else None, row[line] if line else None, row[x]): row for row in found}
    if len(at) != len(found):
        raise BadInput(f"lines: {len(found)} rows for {len(at)} places; choose rows, or give line= and panel=")
    panels, along, over = (_values(found, name) if name else [None] for name in (panel, line, x))
    svg = _draw_lines(at, (panels, along, over), (value, line, panel, x), title, words, law)
    low, high = (pick(row[value] for row in found) for pick in (min, max))
    alt = f"{title}: {words[value]} over {words[x]}, from {number_text(low)} to {number_text(high)}."
    headers = [*(words[name] for name in (panel, line) if name), *(f"{words[x]} {number_text(one)}" for one in over)]
    table_rows = [
        [*(one for one, name in ((p, panel), (a, line)) if name), *(_at(at, p, a, one, value) for one in over)]
        for p in panels
        for a in along
    ]
    return Picture(svg, title=title, alt=alt, table=Table(f"{title}: {words[value]}", headers, table_rows))


def _draw_lines(
    at: Mapping[tuple[Any, Any, Any], Row],
    axes_values: tuple[list[Any], list[Any], list[Any]],
    columns: tuple[str, str | None, str | None, str],
    title: str,
    words: Mapping[str, str],
    law: Callable[[Row], float] | None,
) -> str:
    from rmqlab.show.chart import canvas, svg_of  # matplotlib: only those who draw lines need it

    panels, along, over = axes_values
    value, line, panel, x = columns
    most = max(row[value] for row in at.values())
    labels = [f"{words[line]} {number_text(one)}" if line else words[value] for one in along]
    legend = [*labels, words["law"]] if law else labels if line else []
    left = 0.35 + text_width(number_text(most), LETTERS) + 0.3
    each = (WIDTH - left - MARGIN - PANEL_GAP * (len(panels) - 1)) / len(panels)
    # Where ticks would run into each other, every second (third, ...) one is written.
    step = -(-len(over) * (max(text_width(number_text(one), LETTERS) for one in over) + 0.12) // each)
    in_a_row = max(1, int((WIDTH - left) / (0.6 + max([text_width(one, LETTERS) for one in legend] or [1]))))
    below = 0.62 + LEGEND_ROW * -(-len(legend) // in_a_row)
    above = TITLE + (0.28 if panel else 0.05)
    height = above + PANEL_HEIGHT + below
    with canvas(WIDTH, height) as figure:
        figure.text(MARGIN / WIDTH, 1 - TITLE / 2 / height, title, fontsize=11, fontweight="bold", va="center")
        for number, one_panel in enumerate(panels):
            place = (left + number * (each + PANEL_GAP)) / WIDTH, below / height, each / WIDTH, PANEL_HEIGHT / height
            axes = figure.add_axes(place)
            for order, one_line in enumerate(along):
                colour, mark = LINES[order % len(LINES)]
                points = [
                    (n, at[one_panel, one_line, one]) for n, one in enumerate(over) if (one_panel, one_line, one) in at
                ]
                axes.plot(
                    [n for n, _ in points], [row[value] for _, row in points], color=colour, marker=mark,
                    markeredgecolor=BLACK, markersize=6, linewidth=2, clip_on=False, zorder=3,
                    label=labels[order] if number == 0 else None,
                )  # fmt: skip
                if law is not None and order == 0:
                    axes.plot(
                        [n for n, _ in points], [law(row) for _, row in points], color=GREY, linewidth=1.6,
                        linestyle=(0, (4, 3)), zorder=2, label=words["law"] if number == 0 else None,
                    )  # fmt: skip
            if panel:
                axes.set_title(f"{words[panel]} {number_text(one_panel)}", fontsize=LETTERS, loc="left", pad=5)
            ticks = list(enumerate(over))[:: int(max(1, step))]
            axes.set_xticks([n for n, _ in ticks], [number_text(one) for _, one in ticks], fontsize=LETTERS)
            axes.set_xlabel(words[x], fontsize=LETTERS)
            axes.set_xlim(-0.3, len(over) - 0.7)
            axes.set_ylim(0, max(1e-9, 1.06 * most))
            axes.grid(axis="y", color=PALE, zorder=0)
            axes.tick_params(axis="y", labelsize=LETTERS)
            axes.spines[["top", "right"]].set_visible(False)
            if number == 0:
                axes.set_ylabel(words[value], fontsize=LETTERS)
            else:
                axes.set_yticklabels([])
        if legend:
            figure.legend(
                loc="lower left", bbox_to_anchor=(left / WIDTH, 0.01), ncols=in_a_row, frameon=False, fontsize=LETTERS,
                borderaxespad=0, handlelength=2,
            )  # fmt: skip
        return svg_of(figure)


def _at(at: Mapping[tuple[Any, Any, Any], Row], panel: object, line: object, over: object, value: str) -> object:
    row = at.get((panel, line, over))
    return None if row is None else number_text(row[value])


def _checked(rows: object, *columns: str) -> list[Row]:
    found = as_rows(rows)
    if not found:
        raise BadInput("a chart needs rows; there are none")
    for name in columns:
        for row in found:
            if name not in row:
                raise BadInput(f"no column {name!r}{did_you_mean(name, row)}; there are {', '.join(map(str, row))}")
    return found


def _with_spread(row: Row, value: str, low: str | None, high: str | None, unit: str) -> str:
    text = number_text(row[value])
    if low and high:
        text += f" ({number_text(row[low])} to {number_text(row[high])})"
    return f"{text} {unit}".rstrip()


def _values(rows: Sequence[Row], name: str) -> list[Any]:
    """The values of a column: numbers from low to high, words as they come."""
    values: Iterable[Any] = dict.fromkeys(row[name] for row in rows)
    listed = list(values)
    return sorted(listed) if all(isinstance(one, int | float) for one in listed) else listed
