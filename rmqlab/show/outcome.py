"""The outcome of a run in one picture: the grid of fates, and below it the slot that explains it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rmqlab.lab.run_view import RunView
from rmqlab.show import fate_grid, slot_timeline
from rmqlab.show.figure import Picture
from rmqlab.show.pen import drawn

if TYPE_CHECKING:
    from rmqlab.lab.run import Run


def outcome(run: Run, *, group: str | None = None, topic: str | None = None) -> Picture:
    """Fates by queue and tag above, the group's subscription in the broker below; the table lists the messages."""
    reading = RunView(run, group, topic)
    grid_width, grid_height = fate_grid.size(reading)
    slot_width, slot_height = slot_timeline.size(reading)
    svg = drawn(
        max(grid_width, slot_width), grid_height + slot_height, reading, (fate_grid.draw, 0),
        (slot_timeline.draw, grid_height),
    )  # fmt: skip
    alt = f"{fate_grid.alt(reading)} {slot_timeline.alt(reading)}"
    return Picture(svg, title="Fates of the messages, and the slot", alt=alt, table=fate_grid.table(reading))
