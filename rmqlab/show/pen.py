"""The pen that draws a run: a brush that knows what was asked for, one colour a tag."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rmqlab.show.brush import Brush
from rmqlab.show.palette import Colours

if TYPE_CHECKING:
    from rmqlab.lab.run_view import RunView


class Pen(Brush):
    """Draws one reading."""

    def __init__(self, width: float, height: float, reading: RunView) -> None:
        """`width` and `height` of the sheet, in inches."""
        super().__init__(width, height)
        self.reading = reading
        self.colours = Colours(reading)

    def asked(self, who: str) -> str:
        """The colour of what a consumer asks for."""
        return self.colours[self.reading.asked[who]]
