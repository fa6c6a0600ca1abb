"""Who does what when: lanes of marks over time with a clock that a mark sets back, and the flow of frames.

The rows say what to draw; times are ms. With `limit_ms` every lane that has heartbeats gets a clock: the time since the
last one, with the limit as a dashed line. A mark named "forgotten" ends the clock.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from rmqlab.errors import BadInput
from rmqlab.show.canvas import Canvas, Shape, legend, painted, text_width
from rmqlab.show.charts import TimeScale
from rmqlab.show.figure import Picture
from rmqlab.show.palette import BLACK, BLUE, GREEN, GREY, ORANGE, PALE, PURPLE, SKY, VERMILLION, WHITE, YELLOW, ink
from rmqlab.show.tables import Table

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

# Inches.
WIDTH, RIGHT_EDGE, TOP = 11.4, 0.25, 0.3
LANE, CLOCK, BAND = 0.5, 0.95, 0.3
AXIS, LEGEND = 0.34, 0.36
FLOW_LEFT, FLOW_RIGHT, FLOW_TOP, FLOW_LINE, BOX = 1.9, 1.6, 0.62, 0.34, 0.26
RESETS, STOPS = "heartbeat", "forgotten"  # the clock of a lane
RISES, CLOSE = (0, -0.17, 0.17), 0.15  # where marks go that would cover each other
MARKS: tuple[tuple[Shape, str], ...] = (
    ("round", GREEN), ("cross", VERMILLION), ("down", ORANGE), ("square", BLUE), ("diamond", PURPLE), ("bar", GREY),
    ("square", YELLOW), ("round", SKY),
)  # fmt: skip


class LaneMark(NamedTuple):
    """Something at `t` (ms) in a lane; with `until` it lasts."""

    lane: str
    t: float
    what: str
    until: float | None = None

    @property
    def end(self) -> float:
        """When it is over."""
        return self.t if self.until is None else self.until


def clock_lane(
    rows: Iterable[Mapping[str, Any] | tuple[Any, ...]],
    *,
    title: str = "What happened when",
    limit_ms: float | None = None,
    start: float | None = None,
) -> Picture:
    """Marks in lanes over time; `rows` have `lane`, `t` (ms), `what`, and `until` where something lasts.

    Marks of one kind look the same and the legend names them; what lasts is a band with its name. What
    was over before `start` is left out, and so it is of the table.

    >>> print(clock_lane([("A", 0, "heartbeat"), ("A", 30_000, "heartbeat")]).table)
    What happened when
    when, s  lane  what
    0        A     heartbeat
    30       A     heartbeat

    Raises:
        BadInput: no row, or a row without lane, time or name.
    """
    marks = sorted((_mark(row) for row in rows), key=lambda one: one.t)
    start = min((one.t for one in marks), default=0) if start is None else start
    end = max((one.end for one in marks), default=0)
    shown = [one for one in marks if one.end >= start]
    if not shown:
        raise BadInput("clock_lane: no mark lies in the time that is to be drawn")
    drawing = _LaneDrawing(marks, shown, float(start), max(float(end), start + 1), limit_ms)
    svg = painted(WIDTH, drawing.height, drawing.draw)
    return Picture(svg, title=title, alt=drawing.alt(title), table=drawing.table(title))


def _mark(row: Mapping[str, Any] | tuple[Any, ...]) -> LaneMark:
    try:
        one = LaneMark(**row) if isinstance(row, Mapping) else LaneMark(*row)
    except TypeError as error:
        raise BadInput(f"clock_lane: {row!r} is no mark; right is lane, t, what and perhaps until") from error
    _require_times("clock_lane", row, one.t, one.end)
    return one


def _require_times(form: str, row: object, *times: object) -> None:
    if not all(isinstance(time, int | float) for time in times):
        raise BadInput(f"{form}: the time of {row!r} is no number of ms")


class _LaneDrawing:
    def __init__(
        self, marks: Sequence[LaneMark], shown: Sequence[LaneMark], start: float, end: float, limit: float | None
    ) -> None:
        self.marks, self.shown, self.start, self.end, self.limit = marks, shown, start, end, limit
        self.lanes = list(dict.fromkeys(one.lane for one in sorted(shown, key=lambda one: one.lane)))
        self.kinds = list(dict.fromkeys(one.what for one in shown if one.until is None))
        self.looks = {what: MARKS[number % len(MARKS)] for number, what in enumerate(self.kinds)}
        self.edge = max(0.9, *(text_width(str(lane)) + 0.25 for lane in self.lanes))
        self.clocks = {
            lane: self._clock(lane)
            for lane in self.lanes
            if limit is not None and any(one.what == RESETS and one.lane == lane for one in marks)
        }
        self.time = TimeScale(start, end, self.edge, WIDTH - RIGHT_EDGE)
        self.place = self.time.x
        self.tops = {}
        y = TOP
        for lane in self.lanes:
            self.tops[lane] = y
            y += LANE + (CLOCK if lane in self.clocks else 0)
        self.floor = y
        self.legend, below = legend(self.kinds, self.edge, WIDTH - 0.1, room=0.45)
        self.height = y + AXIS + LEGEND + below - 0.1

    def _clock(self, lane: str) -> list[tuple[float, float]]:
        """From when to when the clock of a lane runs, in the time that is drawn."""
        runs: list[tuple[float, float]] = []
        since: float | None = None
        for one in self.marks:
            if one.lane != lane or one.what not in {RESETS, STOPS}:
                continue
            if since is not None:
                runs.append((since, one.t))
            since = one.t if one.what == RESETS else None
        if since is not None:
            runs.append((since, max(self.end, since)))
        return [(since, until) for since, until in runs if until >= self.start and since <= self.end]

    def draw(self, canvas: Canvas) -> None:
        for lane in self.lanes:
            top = self.tops[lane]
            y = top + LANE / 2
            canvas.text(0.08, y, str(lane), ha="left", bold=True)
            canvas.line((self.edge, WIDTH - RIGHT_EDGE), (y, y), PALE, 5)
            if lane in self.clocks:
                self._draw_clock(canvas, lane, top + LANE)
        for one, level in self._levels():
            with canvas.saying(f"{one.lane}, {one.t / 1_000:g} s: {one.what}"):
                self._draw_mark(canvas, one, level)
        if self.start <= 0 <= self.end:
            canvas.line((self.place(0), self.place(0)), (TOP - 0.1, self.floor), VERMILLION, 1.2)
        self.time.axis(canvas, self.floor)
        for what, (x, below) in zip(self.kinds, self.legend, strict=True):
            y = self.floor + AXIS + LEGEND - 0.14 + below
            shape, colour = self.looks[what]
            canvas.spot(x + 0.08, y, 8, colour, shape=shape)
            canvas.text(x + 0.22, y, what, ha="left")

    def _levels(self) -> list[tuple[LaneMark, int]]:
        """Each mark with its height in the lane: marks that are close stand one above the other, equal ones as one."""
        found: list[tuple[LaneMark, int]] = []
        last: dict[tuple[str, int], tuple[float, str]] = {}
        for one in self.shown:
            x, level = self.place(one.t), 0
            while one.until is None and level < len(RISES) - 1 and (one.lane, level) in last:
                before, what = last[one.lane, level]
                if x - before > CLOSE or (what == one.what and x - before < CLOSE / 4):
                    break
                level += 1
            if one.until is None:
                last[one.lane, level] = (x, one.what)
            found.append((one, level))
        return found

    def _draw_mark(self, canvas: Canvas, one: LaneMark, level: int) -> None:
        y = self.tops[one.lane] + LANE / 2
        if one.until is None:
            shape, colour = self.looks[one.what]
            canvas.spot(self.place(one.t), y + RISES[level], 9, colour, shape=shape)
            return
        left, right = self.place(one.t), self.place(one.until)
        canvas.block(left, y - BAND / 2, right - left, BAND, SKY, edge=WHITE, layer=2)
        if right - left > text_width(one.what) + 0.06:
            canvas.text((left + right) / 2, y, one.what, colour=ink(SKY))

    def _draw_clock(self, canvas: Canvas, lane: str, top: float) -> None:
        limit = self.limit or 1
        high = max([limit, *(min(until, self.end) - since for since, until in self.clocks[lane])]) * 1.05
        floor, tall = top + CLOCK - 0.12, CLOCK - 0.12
        for since, until in self.clocks[lane]:
            first, last = max(since, self.start), min(until, self.end)
            edge = [(self.place(t), floor - tall * (t - since) / high) for t in (first, last)]
            canvas.area([(edge[0][0], floor), *edge, (edge[1][0], floor)], SKY)
            canvas.polyline(edge, BLUE, width=1.8)
        canvas.line((self.edge, WIDTH - RIGHT_EDGE), (floor, floor), GREY, 1)
        line = floor - tall * limit / high
        canvas.polyline([(self.edge, line), (WIDTH - RIGHT_EDGE, line)], VERMILLION, width=1.3, dashed=True)
        words = f"since the last heartbeat; limit {limit / 1_000:g} s"
        canvas.text(self.edge + 0.05, line + 0.13, words, ha="left", ground=WHITE)

    def alt(self, title: str) -> str:
        parts = []
        for lane in self.lanes:
            counts = {what: sum(one[0] == lane and one[2] == what for one in self.shown) for what in self.kinds}
            lasting = [one.what for one in self.shown if one.lane == lane and one.until is not None]
            told = [f"{what} {count} times" if count > 1 else what for what, count in counts.items() if count]
            parts.append(f"{lane}: {', '.join([*told, *lasting])}")
        return f"{title}. From {self.start / 1_000:g} to {self.end / 1_000:g} s. {'; '.join(parts)}."

    def table(self, title: str) -> Table:
        rows = [
            (
                f"{one.t / 1_000:g}" + ("" if one.until is None else f" to {one.until / 1_000:g}"),
                one.lane, one.what,
            )
            for one in self.shown
        ]  # fmt: skip
        return Table(title, ("when, s", "lane", "what"), rows)


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
        BadInput: no row, or a row that is no frame.
    """
    flows = [_flow(row) for row in rows]
    if not flows:
        raise BadInput("frame_flow: there is no frame to draw")
    columns = list(parties) or list(dict.fromkeys(one for flow in flows for one in (flow.source, flow.target)))
    missing = {one for flow in flows for one in (flow.source, flow.target)} - set(columns)
    if missing:
        raise BadInput(f"frame_flow: parties lacks {', '.join(sorted(missing))}")
    svg = painted(
        WIDTH, FLOW_TOP + FLOW_LINE * len(flows) + 0.2, lambda canvas: _draw_flows(canvas, flows, columns, title)
    )
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
    try:
        one = Flow(**row) if isinstance(row, Mapping) else Flow(*row)
    except TypeError as error:
        raise BadInput(f"frame_flow: {row!r} is no frame; right is t, source, target, what") from error
    _require_times("frame_flow", row, one.t)
    return one


def _draw_flows(canvas: Canvas, flows: Sequence[Flow], columns: Sequence[str], title: str) -> None:
    gap = (WIDTH - FLOW_LEFT - FLOW_RIGHT) / max(len(columns) - 1, 1)
    places: Mapping[str, float] = {name: FLOW_LEFT + gap * number for number, name in enumerate(columns)}
    canvas.heading(title)
    for name, x in places.items():
        canvas.line((x, x), (FLOW_TOP - 0.08, FLOW_TOP + FLOW_LINE * len(flows)), GREY, 1)
        canvas.text(x, FLOW_TOP - 0.2, name, bold=True)
    for number, one in enumerate(flows):
        y = FLOW_TOP + FLOW_LINE * (number + 0.6)
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
