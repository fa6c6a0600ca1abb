"""Where a moment stands in a drawing, and the axis of seconds below it."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from rmqlab.show.palette import GREY

if TYPE_CHECKING:
    from rmqlab.show.canvas import Canvas

STEPS_S = (0.1, 0.5, 1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1_800, 3_600, 7_200)
MAX_TICKS = 16


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
        ticks = [step for step in STEPS_S if (self.end - self.begin) / 1_000 / step <= MAX_TICKS]
        step = ticks[0] if ticks else STEPS_S[-1]
        first, last = math.ceil((self.begin - zero) / 1_000 / step), math.floor((self.end - zero) / 1_000 / step)
        for number in range(first, last + 1):
            x = self.x(zero + number * step * 1_000)
            canvas.line((x, x), (y, y + 0.05), GREY, 1)
            canvas.text(x, y + 0.16, f"{number * step:g}", colour=GREY)
