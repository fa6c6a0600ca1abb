"""Truth tables: rows whose cells are true, false, null or error, each with a mark and a colour."""

from __future__ import annotations

from typing import Any

from rmqlab.errors import BadInput
from rmqlab.show.brush import Brush, painted, text_width
from rmqlab.show.expression_trees import KINDS
from rmqlab.show.figure import Picture
from rmqlab.show.palette import GREY, WHITE, ink
from rmqlab.show.tables import Table, as_rows

# Inches.
ROW, HEAD, TITLE, MARGIN, LEAST, WIDTH = 0.34, 0.34, 0.34, 0.15, 1.0, 11.4


def truth_table(rows: object, *, title: str = "Truth table", side: str | None = None) -> Picture:
    """A row for each of `rows`; cells that are "true", "false", "null" or "error" are coloured, the others are text.

    True, False and None count as such words. `side` names a column that heads its row.

    >>> truth_table([{"left": "true", "left AND null": "null"}]).alt
    'Truth table: left true, left AND null null.'

    Raises:
        BadInput: there are no rows.
    """
    found = as_rows(rows)
    if not found:
        raise BadInput("truth_table: no rows")
    columns = list(found[0])
    cells = [[_word(row[name]) for name in columns] for row in found]
    widths = [
        max(LEAST, *(text_width(text) + 0.45 for text in (str(name), *(row[at] for row in cells))))
        for at, name in enumerate(columns)
    ]
    lefts = [MARGIN + sum(widths[:at]) for at in range(len(columns))]

    def draw(brush: Brush) -> None:
        brush.heading(title)
        for at, name in enumerate(columns):
            brush.text(lefts[at] + widths[at] / 2, TITLE + HEAD / 2, str(name), colour=GREY, monospace=True)
        for number, row in enumerate(cells):
            y = TITLE + HEAD + ROW * number
            for at, word in enumerate(row):
                middle = lefts[at] + widths[at] / 2
                if word not in KINDS or columns[at] == side:
                    brush.text(middle, y + ROW / 2, word, bold=columns[at] == side)
                    continue
                mark, colour = KINDS[word]
                with brush.saying(f"{columns[at]}: {word}"):
                    brush.block(lefts[at], y, widths[at], ROW, colour, edge=WHITE, edge_width=1.5)
                    brush.text(middle, y + ROW / 2, f"{mark} {word}", colour=ink(colour))

    svg = painted(max(WIDTH, sum(widths) + 2 * MARGIN), TITLE + HEAD + ROW * len(cells) + 0.1, draw)
    lines = ("; ".join(", ".join(f"{name} {word}" for name, word in zip(columns, row, strict=True)) for row in cells),)
    table = Table(title, list(map(str, columns)), cells)
    return Picture(svg, title=title, alt=f"{title}: {lines[0]}.", table=table)


def _word(value: Any) -> str:
    if value is None:
        return "null"
    return str(value).lower() if isinstance(value, bool) else str(value)
