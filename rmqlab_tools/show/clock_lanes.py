"""Who does what when: lanes of marks over time with a clock that a mark sets back, and the flow of frames.

The rows say what to draw; times are ms. With `limit_ms` every lane that has heartbeats gets a clock: the time since the
last one, with the limit as a dashed line. A mark named "forgotten" ends the clock.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from rmqlab.errors import BadInput
from rmqlab.language import _, joined
from rmqlab_tools.show.canvas import BOLD, ROOM_TEXT, WIDTH, Canvas, Shape, legend, painted, text_width
from rmqlab_tools.show.charts import TimeScale
from rmqlab_tools.show.figure import Picture
from rmqlab_tools.show.palette import (
    BLACK,
    BLUE,
    GREEN,
    GREY,
    ORANGE,
    PALE,
    PURPLE,
    SKY,
    VERMILLION,
    WHITE,
    YELLOW,
    ink,
)
from rmqlab_tools.show.tables import Table

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

RESETS, STOPS = _("heartbeat"), _("forgotten")  # the clock of a lane
RISES, CLOSE_MARKS = (0, -0.2, 0.2), 0.18  # where marks go that would cover each other
MARKS: tuple[tuple[Shape, str], ...] = (
    ("round", GREEN), ("cross", VERMILLION), ("down", ORANGE), ("square", BLUE), ("diamond", PURPLE), ("bar", GREY),
    ("square", YELLOW), ("round", SKY),
)  # fmt: skip


@dataclass(frozen=True)
class ClockLanesLayout:
    """Sizes of clock lanes and of a flow of frames, in inches."""

    right_edge: float = 0.25
    top: float = 0.3
    axis: float = 0.38
    legend: float = 0.38
    legend_line: float = 0.3
    lane: float = 0.6
    clock: float = 1.0
    band: float = 0.34
    flow_left: float = 1.3
    flow_right: float = 1.1
    flow_top: float = 0.62
    flow_line: float = 0.34
    box: float = 0.26


CLOCK_LANES = ClockLanesLayout()


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
    title: str = _("What happened when"),
    limit_ms: float | None = None,
    start: float | None = None,
    kinds: Sequence[str] = (),
) -> Picture:
    """Marks in lanes over time; `rows` have `lane`, `t` (ms), `what`, and `until` where something lasts.

    Marks of one kind look the same and the legend names them; those that `kinds` names look the same in each picture.
    What lasts is a band with its name. What was over before `start` is left out, and so it is of the table.

    >>> print(clock_lane([("A", 0, "heartbeat"), ("A", 30_000, "heartbeat")]).table)
    What happened when
    when, s  lane  what
    0        A     heartbeat
    30       A     heartbeat

    Raises:
        BadInput: no row, or a row without lane, time or name.
    """
    marks = sorted((_mark(row) for row in rows), key=lambda mark: mark.t)
    begin = float(min((mark.t for mark in marks), default=0) if start is None else start)
    shown = [mark for mark in marks if mark.end >= begin]
    if not shown:
        raise BadInput(_("clock_lane: no mark lies in the time that is to be drawn"))
    end = max(float(max(mark.end for mark in marks)), begin + 1)
    lanes = sorted({mark.lane for mark in shown})
    shown_kinds = list(dict.fromkeys(mark.what for mark in shown if mark.until is None))
    looks = {what: MARKS[number % len(MARKS)] for number, what in enumerate(dict.fromkeys([*kinds, *shown_kinds]))}
    reset = {mark.lane for mark in marks if mark.what == RESETS and limit_ms is not None}
    edge = max(1.2, *(BOLD * text_width(str(lane), ROOM_TEXT) + 0.25 for lane in lanes))
    time = TimeScale(begin, end, edge, WIDTH - CLOCK_LANES.right_edge)
    tops, floor = {}, CLOCK_LANES.top
    for lane in lanes:
        tops[lane] = floor
        floor += CLOCK_LANES.lane + (CLOCK_LANES.clock if lane in reset else 0)
    places, below = legend(shown_kinds, 0.1, WIDTH - 0.1, room=0.5, line=CLOCK_LANES.legend_line, size=ROOM_TEXT)

    def draw(canvas: Canvas) -> None:
        for lane, top in tops.items():
            y = top + CLOCK_LANES.lane / 2
            canvas.text(0.08, y, str(lane), size=ROOM_TEXT, ha="left", bold=True)
            canvas.line((edge, WIDTH - CLOCK_LANES.right_edge), (y, y), PALE, 5)
            if lane in reset:
                _draw_clock(canvas, time, top + CLOCK_LANES.lane, _runs(marks, lane, time), limit_ms or 1)
        for mark, level in _levels(shown, time):
            y = tops[mark.lane] + CLOCK_LANES.lane / 2
            with canvas.saying(f"{mark.lane}, {mark.t / 1_000:g} s: {mark.what}"):
                if mark.until is None:
                    shape, colour = looks[mark.what]
                    canvas.spot(time.x(mark.t), y + RISES[level], 11, colour, shape=shape)
                else:
                    _draw_band(canvas, time.x(mark.t), time.x(mark.until), y, mark.what)
        if begin <= 0 <= end:
            canvas.line((time.x(0), time.x(0)), (CLOCK_LANES.top - 0.1, floor), VERMILLION, 1.2)
        time.axis(canvas, floor, size=ROOM_TEXT)
        for what, (x, under) in zip(shown_kinds, places, strict=True):
            y = floor + CLOCK_LANES.axis + CLOCK_LANES.legend - 0.14 + under
            shape, colour = looks[what]
            canvas.spot(x + 0.08, y, 11, colour, shape=shape)
            canvas.text(x + 0.24, y, what, size=ROOM_TEXT, ha="left")

    svg = painted(WIDTH, floor + CLOCK_LANES.axis + CLOCK_LANES.legend + below - 0.1, draw)
    in_lanes = joined(
        "; ", (f"{lane}: {_told([mark for mark in shown if mark.lane == lane], shown_kinds)}" for lane in lanes)
    )
    alt = _(
        "{title}. From {begin} to {end} s. {told}.",
        title=title,
        begin=f"{begin / 1000:g}",
        end=f"{end / 1000:g}",
        told=in_lanes,
    )
    ends = ["" if mark.until is None else (" " + _("to {until}", until=f"{mark.until / 1000:g}")) for mark in shown]
    table = [(f"{mark.t / 1_000:g}{until}", mark.lane, mark.what) for mark, until in zip(shown, ends, strict=True)]
    return Picture(svg, title=title, alt=alt, table=Table(title, (_("when, s"), _("lane"), _("what")), table))


def _mark(row: Mapping[str, Any] | tuple[Any, ...]) -> LaneMark:
    try:
        mark = LaneMark(**row) if isinstance(row, Mapping) else LaneMark(*row)
    except TypeError as error:
        raise BadInput(
            _("clock_lane: {row} is no mark; right is lane, t, what and perhaps until", row=f"{row!r}")
        ) from error
    _require_times("clock_lane", row, mark.t, mark.end)
    return mark


def _require_times(form: str, row: object, *times: object) -> None:
    if not all(isinstance(time, int | float) for time in times):
        raise BadInput(_("{form}: the time of {row} is no number of ms", form=form, row=f"{row!r}"))


def _runs(marks: Iterable[LaneMark], lane: str, time: TimeScale) -> list[tuple[float, float]]:
    """From when to when the clock of a lane runs, in the time that is drawn."""
    runs: list[tuple[float, float]] = []
    since: float | None = None
    for mark in marks:
        if mark.lane != lane or mark.what not in {RESETS, STOPS}:
            continue
        if since is not None:
            runs.append((since, mark.t))
        since = mark.t if mark.what == RESETS else None
    if since is not None:
        runs.append((since, max(time.end, since)))
    return [(since, until) for since, until in runs if until >= time.begin and since <= time.end]


def _levels(shown: Iterable[LaneMark], time: TimeScale) -> list[tuple[LaneMark, int]]:
    """Each mark with its height in the lane: marks that are close stand one above the other, equal ones as one."""
    placed: list[tuple[LaneMark, int]] = []
    last: dict[tuple[str, int], tuple[float, str]] = {}
    for mark in shown:
        x, level = time.x(mark.t), 0
        while mark.until is None and level < len(RISES) - 1 and (mark.lane, level) in last:
            before, what = last[mark.lane, level]
            if x - before > CLOSE_MARKS or (what == mark.what and x - before < CLOSE_MARKS / 4):
                break
            level += 1
        if mark.until is None:
            last[mark.lane, level] = (x, mark.what)
        placed.append((mark, level))
    return placed


def _draw_band(canvas: Canvas, left: float, right: float, y: float, what: str) -> None:
    canvas.block(left, y - CLOCK_LANES.band / 2, right - left, CLOCK_LANES.band, SKY, edge=WHITE, layer=2)
    if right - left > text_width(what, ROOM_TEXT) + 0.06:
        canvas.text((left + right) / 2, y, what, size=ROOM_TEXT, colour=ink(SKY))


def _draw_clock(canvas: Canvas, time: TimeScale, top: float, runs: Sequence[tuple[float, float]], limit: float) -> None:
    high = max([limit, *(min(until, time.end) - since for since, until in runs)]) * 1.05
    floor, tall = top + CLOCK_LANES.clock - 0.12, CLOCK_LANES.clock - 0.12
    for since, until in runs:
        first, last = max(since, time.begin), min(until, time.end)
        edge = [(time.x(t), floor - tall * (t - since) / high) for t in (first, last)]
        canvas.area([(edge[0][0], floor), *edge, (edge[1][0], floor)], SKY)
        canvas.polyline(edge, BLUE, width=1.8)
    canvas.line((time.left, time.right), (floor, floor), GREY, 1)
    line = floor - tall * limit / high
    canvas.polyline([(time.left, line), (time.right, line)], VERMILLION, width=1.3, dashed=True)
    words = _("since the last heartbeat; limit {limit} s", limit=f"{limit / 1000:g}")
    canvas.text(time.left + 0.05, line + 0.17, words, size=ROOM_TEXT, ha="left", ground=WHITE)


def _told(marks: Sequence[LaneMark], kinds: Iterable[str]) -> str:
    """What happens in a lane, in words."""
    counts = {what: sum(mark.what == what for mark in marks) for what in kinds}
    counted = [
        _("{what} {count} times", what=what, count=count) if count > 1 else what
        for what, count in counts.items()
        if count
    ]
    return joined(", ", [*counted, *(mark.what for mark in marks if mark.until is not None)])


class Flow(NamedTuple):
    """At `t` (ms) `source` sends `what` to `target`; the same name twice: it does that itself."""

    t: float
    source: str
    target: str
    what: str


def frame_flow(
    rows: Iterable[Any], *, title: str = _("Who sends what to whom"), parties: Sequence[str] = ()
) -> Picture:
    """An arrow for each frame, in the order given; a column for each party (as they appear unless `parties` says).

    Rows are `lab.frames()`, or have `t` (ms), `source`, `target` and `what`; source and target alike is a box.

    >>> frame_flow([(0, "A", "broker", "HEART_BEAT"), (1, "broker", "broker", "update_channel")]).alt
    'Who sends what to whom. A to broker: HEART_BEAT; broker: update_channel.'

    Raises:
        BadInput: no row, or a row that is no frame.
    """
    flows = [_flow(row) for row in rows]
    if not flows:
        raise BadInput(_("frame_flow: there is no frame to draw"))
    columns = list(parties) or list(dict.fromkeys(party for flow in flows for party in (flow.source, flow.target)))
    missing = {party for flow in flows for party in (flow.source, flow.target)} - set(columns)
    if missing:
        raise BadInput(_("frame_flow: parties lacks {missing}", missing=joined(", ", sorted(missing))))
    high = CLOCK_LANES.flow_top + CLOCK_LANES.flow_line * len(flows) + 0.2
    svg = painted(WIDTH, high, lambda canvas: _draw_flows(canvas, flows, columns, title))
    sentences = [
        f"{arrow.source}: {arrow.what}"
        if arrow.source == arrow.target
        else _("{source} to {target}: {what}", source=arrow.source, target=arrow.target, what=arrow.what)
        for arrow in flows
    ]
    table = Table(title, ("ms", _("from"), _("to"), _("what")), [(f"{flow.t:.0f}", *flow[1:]) for flow in flows])
    return Picture(svg, title=title, alt=_("{title}. {told}.", title=title, told=joined("; ", sentences)), table=table)


def _flow(row: Any) -> Flow:
    if hasattr(row, "request"):
        what = row.request or row.response or "?"
        return Flow(
            row.t,
            row.source,
            row.target,
            _("{response} to {what}", response=row.response, what=what) if row.response else what,
        )
    try:
        flow = Flow(**row) if isinstance(row, Mapping) else Flow(*row)
    except TypeError as error:
        raise BadInput(_("frame_flow: {row} is no frame; right is t, source, target, what", row=f"{row!r}")) from error
    _require_times("frame_flow", row, flow.t)
    return flow


def _draw_flows(canvas: Canvas, flows: Sequence[Flow], columns: Sequence[str], title: str) -> None:
    gap = (WIDTH - CLOCK_LANES.flow_left - CLOCK_LANES.flow_right) / max(len(columns) - 1, 1)
    places: Mapping[str, float] = {name: CLOCK_LANES.flow_left + gap * number for number, name in enumerate(columns)}
    canvas.heading(title)
    for name, x in places.items():
        canvas.line(
            (x, x), (CLOCK_LANES.flow_top - 0.08, CLOCK_LANES.flow_top + CLOCK_LANES.flow_line * len(flows)), GREY, 1
        )
        canvas.text(x, CLOCK_LANES.flow_top - 0.2, name, bold=True)
    for number, flow in enumerate(flows):
        y = CLOCK_LANES.flow_top + CLOCK_LANES.flow_line * (number + 0.6)
        canvas.text(0.08, y, f"{flow.t:.0f} ms", ha="left", colour=GREY)
        with canvas.saying(
            _(
                "{t} ms: {source} to {target}: {what}",
                t=f"{flow.t:.0f}",
                source=flow.source,
                target=flow.target,
                what=flow.what,
            )
        ):
            start, end = places[flow.source], places[flow.target]
            if flow.source == flow.target:
                wide = text_width(flow.what) + 0.2
                canvas.chip(start, y, wide, CLOCK_LANES.box, PALE, GREY)
                canvas.text(start, y, flow.what)
                continue
            canvas.arrow((start, y + 0.06), (end, y + 0.06), ORANGE if flow.what.startswith("NOTIFY") else BLUE)
            canvas.text((start + end) / 2, y - 0.06, flow.what, colour=BLACK, ground=WHITE)
