"""The heat map: a cell for each pair of two columns, the darker the more; in two hues where a value parts them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rmqlab.errors import BadInput
from rmqlab.language import _, joined
from rmqlab_tools.show.canvas import ROOM_TEXT, WIDTH, largest, painted, text_width
from rmqlab_tools.show.charts import CHART, checked, column_values
from rmqlab_tools.show.figure import Picture
from rmqlab_tools.show.palette import BLACK, GREY, VERDICT_COLOURS, WHITE, ink
from rmqlab_tools.show.tables import Table, number_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from rmqlab_tools.show.canvas import Canvas
    from rmqlab_tools.show.charts import Row

# From pale to dark: the more, the darker.
RAMP = ("#F2F2F2", "#D3E5F1", "#A6CBE4", "#6DAAD3", "#3B88BF", "#0072B2", "#00517F", "#00334F")
# On the two sides of a split, from near to far.
BELOW = ("#CFE3F0", "#8FC0E0", "#3B88BF", "#00517F")
ABOVE = ("#FBE3B3", "#F4C04D", "#D98200", "#8A4B00")
SIDES_FOOT = 0.36  # inches, for what the hues mean


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
    split: float | None = None,
    alt: str = "",
) -> Picture:
    """A cell for each pair of `x` (to the right) and `y` (downwards); the more `value`, the darker.

    `colour` gives another ground for a value, `text` other letters. A row for which `framed` is true has a frame. A
    pair without a row stays empty. Values can be what conditions come to as well, "true", "false", "null" and "error":
    each has a mark and a colour. With `split` what lies below it is blue and what lies above is orange, the darker the
    further, and a black line parts them. `alt` describes the picture by other words than its values.

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
        if split is not None:
            ramp, furthest = (ABOVE, most - split) if number > split else (BELOW, split - least)
            return ramp[min(int(abs(number - split) / (furthest or 1) * len(ramp)), len(ramp) - 1)]
        return RAMP[round((number - least) / ((most - least) or 1) * (len(RAMP) - 1))]

    letters = text or _cell_text
    heads, lines_of_heads = [number_text(over) for over in across], [number_text(over).split(" ") for over in across]

    def edge(size: float) -> float:
        return (
            CHART.margin
            + max(text_width(words, size) for words in [*(_named(y, under) for under in down), f"{x} →"])
            + 0.15
        )

    def widest(size: float, heads: Iterable[str]) -> float:
        return max(text_width(words, size) for words in [*map(letters, numbers), *heads]) + 0.12

    def room(size: float) -> float:
        return (WIDTH - edge(size) - CHART.margin) / len(across)

    # Where the heads are what needs more room, their words stand one below the other.
    size = largest(lambda size: widest(size, (word for words in lines_of_heads for word in words)) <= room(size))
    folded = widest(size, heads) > room(size)
    left, cell = edge(size), min(max(CHART.max_cell, widest(size, heads)), room(size))
    leading = 1.25 * size / 72
    top = CHART.title + CHART.axis_words + (leading * (max(map(len, lines_of_heads)) - 1) if folded else 0)

    def draw(canvas: Canvas) -> None:
        canvas.heading(title)
        canvas.text(left - 0.1, top - CHART.axis_words / 2, f"{x} →", size=size, ha="right", colour=GREY)
        for column, words in enumerate(lines_of_heads if folded else [[head] for head in heads]):
            for above, word in enumerate(reversed(words)):
                middle = top - CHART.axis_words / 2 - above * leading
                canvas.text(left + (column + 0.5) * cell, middle, word, size=size)
        for line, under in enumerate(down):
            mid = top + (line + 0.5) * CHART.cell_height
            canvas.text(left - 0.1, mid, _named(y, under), size=size, ha="right")
            for column, over in enumerate(across):
                if (over, under) not in at:
                    continue
                row = at[over, under]
                shown, face = letters(row[value]), ground(row[value])
                with canvas.saying(f"{_named(x, over)}, {_named(y, under)}: {shown}"):
                    place = (left + column * cell, mid - CHART.cell_height / 2, cell, CHART.cell_height)
                    canvas.block(*place, face, edge=WHITE)
                    if text_width(shown, size) < cell:  # else the pointer and the table tell it
                        canvas.text(left + (column + 0.5) * cell, mid, shown, size=size, colour=ink(face))
                    if framed is not None and framed(row):
                        canvas.block(*place, "none", edge=BLACK, edge_width=2.2, layer=4)

        if split is not None:
            _parting(canvas, at, value, split, across, down, (left, top, cell))
            _sides(canvas, split, top + len(down) * CHART.cell_height)

    foot = SIDES_FOOT if split is not None else 0
    svg = painted(WIDTH, foot + top + len(down) * CHART.cell_height + CHART.foot, draw)
    said = [f"{number_text(row[value])} ({_named(x, row[x])}, {_named(y, row[y])})" for row in records]
    if isinstance(least, str):
        alt = alt or _("{title}: {bars}.", title=_(title), bars=joined(", ", said))
    else:
        low, high = (said[numbers.index(end)] for end in (least, most))
        alt = alt or _("{title}: from {low} to {high}.", title=_(title), low=low, high=high)
    table_rows = [[under, *(at.get((over, under), {}).get(value) for over in across)] for under in down]
    table = Table(f"{title}: {value}", [y, *(_named(x, over) for over in across)], table_rows)
    return Picture(svg, title=title, alt=alt, table=table)


def _parting(
    canvas: Canvas,
    at: Mapping[tuple[Any, Any], Row],
    value: str,
    split: float,
    across: Sequence[Any],
    down: Sequence[Any],
    place: tuple[float, float, float],
) -> None:
    """A black line between cells on different sides of `split`; `place`: left and upper edge, width of a cell."""
    left, top, cell = place

    def above(column: int, row: int) -> bool | None:
        if column >= len(across) or row >= len(down) or (across[column], down[row]) not in at:
            return None
        return bool(at[across[column], down[row]][value] > split)

    for row in range(len(down)):
        for column in range(len(across)):
            here = above(column, row)
            x, y = left + (column + 1) * cell, top + (row + 1) * CHART.cell_height
            if {here, above(column + 1, row)} == {True, False}:
                canvas.polyline([(x, y - CHART.cell_height), (x, y)], BLACK, width=3, layer=4)
            if {here, above(column, row + 1)} == {True, False}:
                canvas.polyline([(x - cell, y), (x, y)], BLACK, width=3, layer=4)


def _sides(canvas: Canvas, split: float, y: float) -> None:
    """What the two hues mean."""
    x = CHART.margin
    for colour, words in (
        (BELOW[2], _("below {split}", split=number_text(split))),
        (ABOVE[2], _("above {split}", split=number_text(split))),
    ):
        canvas.block(x, y + 0.14, 0.2, 0.2, colour)
        canvas.text(x + 0.28, y + 0.24, words, size=ROOM_TEXT, ha="left")
        x += 0.6 + text_width(words, ROOM_TEXT)


def _named(column: str, value: object) -> str:
    """A value after the name of its column, if it has one; each is translated by itself."""
    return f"{_(column)} {_(number_text(value))}".strip()


def _cell_text(value: Any) -> str:
    return f"{VERDICT_COLOURS[value][0]} {value}" if value in VERDICT_COLOURS else number_text(value)
