"""The 2×2 matrix of the switches of layer 1: what each pair costs, what it saves, and that the result is the same."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rmqlab.show.brush import Brush, painted
from rmqlab.show.figure import Picture
from rmqlab.show.palette import GREEN, GREY, ORANGE, PALE, ink
from rmqlab.show.tables import Table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rmqlab.lab.filters.switch_matrix import Cell

# Inches.
LEFT, TOP, WIDE, HIGH, GAP = 2.15, 0.62, 3.55, 1.3, 0.12
CALC, EXT = "enableCalcFilterBitMap", "enableConsumeQueueExt"


def switch_matrix(cells: Sequence[Cell]) -> Picture:
    """Rows: the bitmap is computed or not; columns: it can be stored or not."""
    same = all(cell.delivered == cells[0].delivered for cell in cells)
    delivered = sum(len(names) for names in cells[0].delivered.values())
    most = max(cell.at_write + cell.on_pull for cell in cells) or 1

    def draw(brush: Brush) -> None:
        brush.text(LEFT + WIDE + GAP / 2, 0.17, EXT, size=9.5, bold=True, monospace=True)
        for column, name in enumerate(("off", "on")):
            brush.text(LEFT + column * (WIDE + GAP) + WIDE / 2, 0.42, name, size=10, bold=True)
        brush.text(0.1, TOP + HIGH + GAP / 2, CALC, size=9.5, ha="left", bold=True, monospace=True)
        for row, name in enumerate(("off", "on")):
            brush.text(LEFT - 0.12, TOP + row * (HIGH + GAP) + HIGH / 2, name, size=10, ha="right", bold=True)
        for cell in cells:
            _cell(brush, cell, most)
        text = (
            f"Each of the four delivers the same {delivered} messages."
            if same
            else "The four deliver different messages!"
        )
        brush.text(LEFT, TOP + 2 * (HIGH + GAP) + 0.1, text, size=9.5, ha="left", bold=True)

    svg = painted(LEFT + 2 * WIDE + GAP + 0.1, TOP + 2 * (HIGH + GAP) + 0.3, draw)
    rows = [
        (
            "on" if cell.calc_bit_map else "off", "on" if cell.queue_ext else "off", cell.at_write,
            cell.dropped_by_layer_1, cell.on_pull, cell.ext_bytes, sum(map(len, cell.delivered.values())),
        )
        for cell in cells
    ]  # fmt: skip
    headers = (CALC, EXT, "evaluations at write", "dropped by layer 1", "evaluations on pull", "bytes of extension",
               "delivered")  # fmt: skip
    last = cells[-1]
    alt = (
        f"With both switches on layer 1 drops {last.dropped_by_layer_1} entries, {last.on_pull} evaluations are left "
        f"on pull, at the price of {last.at_write} at write and {last.ext_bytes} bytes. With one or none of them on, "
        f"layer 1 drops nothing and {cells[0].on_pull} evaluations are made on pull. "
        f"The result is {'the same' if same else 'different'}."
    )
    return Picture(svg, title="The two switches of layer 1", alt=alt, table=Table("The four ways", headers, rows))


def _cell(brush: Brush, cell: Cell, most: int) -> None:
    x = LEFT + cell.queue_ext * (WIDE + GAP)
    y = TOP + cell.calc_bit_map * (HIGH + GAP)
    brush.block(x, y, WIDE, HIGH, PALE, edge=GREY, edge_width=0.8)
    lines = (("at write", cell.at_write, ORANGE), ("on pull", cell.on_pull, GREEN))
    brush.text(x + 0.12, y + 0.17, "evaluations of expressions", size=8, ha="left", colour=GREY)
    for number, (what, count, colour) in enumerate(lines):
        line = y + 0.42 + 0.27 * number
        brush.text(x + 0.12, line, what, size=9, ha="left")
        full = WIDE - 1.5
        length = full * count / most
        brush.block(x + 0.85, line - 0.1, length, 0.2, colour)
        if length > 0.3:
            brush.text(x + 0.85 + length / 2, line, str(count), size=9, colour=ink(colour), bold=True)
        else:
            brush.text(x + 0.92 + length, line, str(count), size=9, ha="left", bold=True)
    told = f"layer 1 drops {cell.dropped_by_layer_1}; the extension takes {cell.ext_bytes} bytes"
    brush.text(x + 0.12, y + 1.02, told, size=8.5, ha="left")
