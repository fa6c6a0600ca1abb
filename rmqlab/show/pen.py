"""The pen that draws a run: a brush that knows what was asked for, one colour a tag."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rmqlab.show.brush import Brush, Sheet
from rmqlab.show.palette import Colours

if TYPE_CHECKING:
    from collections.abc import Callable

    from rmqlab.lab.run_view import RunView


class Pen(Brush):
    """Draws one reading."""

    def __init__(self, sheet: Sheet, reading: RunView, *, top: float = 0) -> None:
        """`top` is where y = 0 lies on the sheet."""
        super().__init__(sheet, top=top)
        self.reading = reading
        self.colours = Colours(reading)

    def asked(self, who: str) -> str:
        """The colour of what a consumer asks for."""
        return self.colours[self.reading.asked[who]]


def drawn(width: float, height: float, reading: RunView, *parts: tuple[Callable[[Pen], None], float]) -> str:
    """SVG of a drawing: each part is a function that draws, and the y at which its own y = 0 lies."""
    sheet = Sheet(width, height)
    for draw, top in parts:
        draw(Pen(sheet, reading, top=top))
    return sheet.svg()
