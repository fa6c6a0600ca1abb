"""The flow of frames: who sends what to whom, one line after the other; what somebody does alone is a box."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from rmqlab.errors import BadInput
from rmqlab.show.canvas import Canvas, painted, text_width
from rmqlab.show.figure import Picture
from rmqlab.show.palette import BLACK, BLUE, GREY, ORANGE, PALE, WHITE
from rmqlab.show.tables import Table

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

# Inches.
WIDTH, LEFT_EDGE, RIGHT_EDGE = 11.4, 1.9, 1.6
TOP, LINE, BOX = 0.62, 0.34, 0.26


class Flow(NamedTuple):
    """At `t` (ms) `source` sends `what` to `target`; the same name twice: it does that itself."""

    t: float
    source: str
    target: str
    what: str


def frame_flow(rows: Iterable[Any], *, title: str = "Who sends what to whom", parties: Sequence[str] = ()) -> Picture:
    """An arrow for each frame, in the order given; a column for each party (as they appear unless `parties` says).

    Rows are `lab.frames()`, or have `t` (ms), `source`, `target` and `what`; source and target alike is a box.

    >>> frame_flow([(0, "A", "broker", "HEART_BEAT"), (1, "broker", "broker", "update_channel")]).alt
    'Who sends what to whom. A to broker: HEART_BEAT; broker: update_channel.'

    Raises:
        BadInput: no row.
    """
    flows = [_flow(row) for row in rows]
    if not flows:
        raise BadInput("frame_flow: there is no frame to draw")
    columns = list(parties) or list(dict.fromkeys(one for flow in flows for one in (flow.source, flow.target)))
    missing = {one for flow in flows for one in (flow.source, flow.target)} - set(columns)
    if missing:
        raise BadInput(f"frame_flow: parties lacks {', '.join(sorted(missing))}")
    svg = painted(WIDTH, TOP + LINE * len(flows) + 0.2, lambda canvas: _draw(canvas, flows, columns, title))
    told = [
        f"{one.source}: {one.what}" if one.source == one.target else f"{one.source} to {one.target}: {one.what}"
        for one in flows
    ]
    table = Table(title, ("ms", "from", "to", "what"), [(f"{one.t:.0f}", *one[1:]) for one in flows])
    return Picture(svg, title=title, alt=f"{title}. {'; '.join(told)}.", table=table)


def _flow(row: Any) -> Flow:
    if hasattr(row, "request"):
        what = row.request or row.response or "?"
        return Flow(row.t, row.source, row.target, f"{row.response} to {what}" if row.response else what)
    return Flow(**row) if hasattr(row, "keys") else Flow(*row)


def _draw(canvas: Canvas, flows: Sequence[Flow], columns: Sequence[str], title: str) -> None:
    gap = (WIDTH - LEFT_EDGE - RIGHT_EDGE) / max(len(columns) - 1, 1)
    places: Mapping[str, float] = {name: LEFT_EDGE + gap * number for number, name in enumerate(columns)}
    canvas.heading(title)
    for name, x in places.items():
        canvas.line((x, x), (TOP - 0.08, TOP + LINE * len(flows)), GREY, 1)
        canvas.text(x, TOP - 0.2, name, bold=True)
    for number, one in enumerate(flows):
        y = TOP + LINE * (number + 0.6)
        canvas.text(0.08, y, f"{one.t:.0f} ms", ha="left", colour=GREY)
        with canvas.saying(f"{one.t:.0f} ms: {one.source} to {one.target}: {one.what}"):
            start, end = places[one.source], places[one.target]
            if one.source == one.target:
                wide = text_width(one.what) + 0.2
                canvas.chip(start, y, wide, BOX, PALE, GREY)
                canvas.text(start, y, one.what)
                continue
            canvas.arrow((start, y + 0.06), (end, y + 0.06), ORANGE if one.what.startswith("NOTIFY") else BLUE)
            canvas.text((start + end) / 2, y - 0.06, one.what, colour=BLACK, ground=WHITE)
