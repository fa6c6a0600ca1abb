"""The line of pops that wait: who stood first when each message came, who was woken, and what was skipped."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rmqlab.language import _, joined, ngettext
from rmqlab.run.fates import Fate, fate_words
from rmqlab.run.run_view import short
from rmqlab.run.waiting_line import WaitingLine
from rmqlab_tools.show.canvas import ROOM_TEXT, WIDTH, fitting, painted, text_width
from rmqlab_tools.show.charts import TimeScale
from rmqlab_tools.show.figure import Picture
from rmqlab_tools.show.palette import GREY, PALE, VERMILLION, WHITE, look_of
from rmqlab_tools.show.ribbons import DARK_RED
from rmqlab_tools.show.tables import Table
from rmqlab_tools.show.tag_colours import paint

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rmqlab.run.run import Run
    from rmqlab.run.waiting_line import Arrival
    from rmqlab_tools.show.canvas import Canvas
    from rmqlab_tools.show.tag_colours import Paint

NOBODY = _("nobody")
SETTLED_MS = 1_500  # what is drawn begins so long before the first message


@dataclass(frozen=True)
class LineLayout:
    """Sizes of a line of waiters, in inches."""

    left_edge: float = 1.75
    right_edge: float = 0.25
    messages: float = 0.74
    top: float = 1.4
    row: float = 0.46
    thick: float = 0.36
    fates: float = 0.4


LINE = LineLayout()


def waiting_line(run: Run, *, group: str | None = None, topic: str | None = None) -> Picture:
    """Who stood where in the line of a group's topic (the first ones by default), and what each message met there.

    Raises:
        BadInput: no member of that group subscribes that topic.
    """
    line = WaitingLine(run, group, topic)
    first = min((arrival.t for arrival in line.arrivals), default=line.zero + SETTLED_MS)
    begin = max(line.zero, first - SETTLED_MS)
    time = TimeScale(begin, max(line.end, begin + 1), LINE.left_edge, WIDTH - LINE.right_edge)
    rows = max(line.longest, 1)
    floor = LINE.top + rows * LINE.row

    def draw(canvas: Canvas) -> None:
        canvas.heading(_("Who stands in line for {topic}", topic=line.view.topic))
        canvas.text(0.08, LINE.messages, _("a message"), size=ROOM_TEXT, ha="left")
        for place in range(rows):
            y = LINE.top + place * LINE.row
            label = _("first in line") if place == 0 else _("place {place}", place=place + 1)
            size = fitting(label, LINE.left_edge - 0.16, bold=True)
            canvas.text(0.08, y + LINE.thick / 2, label, size=size, ha="left", bold=place == 0)
            canvas.block(LINE.left_edge, y, time.right - time.left, LINE.thick, PALE)
        for stand in line.stands:
            if stand.until > begin:
                words = stand.who, f"{stand.who}: {short(line.view.asked[stand.who])}"
                span = time.x(stand.since), time.x(stand.until)
                _stand(canvas, words, paint(line.view.asked[stand.who]), span, stand.place)
        for arrival in line.arrivals:
            _arrival(canvas, arrival, time.x(arrival.t), floor)
        time.axis(canvas, floor + LINE.fates, line.zero, size=ROOM_TEXT)
        canvas.text(0.08, floor + LINE.fates + 0.54, _summary(line), size=ROOM_TEXT, ha="left", bold=True)

    svg = painted(WIDTH, floor + LINE.fates + 0.74, draw)
    return Picture(svg, title=_("The line of waiting pops"), alt=_alt(line), table=_table(line))


def _stand(canvas: Canvas, words: Sequence[str], colour: Paint, span: tuple[float, float], place: int) -> None:
    """A time at a place, with the longest of the words that have room in it."""
    y = LINE.top + place * LINE.row
    left, right = span
    canvas.block(left, y, right - left, LINE.thick, colour, edge=WHITE, edge_width=0.6)
    roomy = [text for text in words if right - left > text_width(text) + 0.04]
    if roomy:
        size = fitting(roomy[-1], right - left - 0.04)
        canvas.text((left + right) / 2, y + LINE.thick / 2, roomy[-1], size=size, on=colour)


def _arrival(canvas: Canvas, arrival: Arrival, x: float, floor: float) -> None:
    fate, look = arrival.fate, look_of(arrival.fate)
    with canvas.saying(_told(arrival)):
        woken = arrival.woken is not None
        canvas.arrow((x, LINE.messages + 0.12), (x, LINE.top), GREY if woken else VERMILLION, dashed=not woken)
        canvas.text(x, LINE.messages, fate.tag or "", colour=GREY if woken else DARK_RED)
        canvas.text(x, LINE.messages - 0.24, fate.body.removeprefix("MsgStr"), size=ROOM_TEXT, bold=True)
        colour = DARK_RED if fate.lost else GREY
        got = fate.culprit if fate.fate is Fate.DELIVERED else None
        canvas.text(x, floor + LINE.fates / 2, f"{look.mark}{got or ''}", size=ROOM_TEXT, colour=colour, bold=True)


def _told(arrival: Arrival) -> str:
    fate = arrival.fate
    return _(
        "{body} ({tag}): first in line is {asked}, woken is {woken}; {fate}, {culprit}",
        body=fate.body,
        tag=fate.tag,
        asked=arrival.asked or NOBODY,
        woken=arrival.woken or NOBODY,
        fate=fate_words(fate.fate),
        culprit=fate.culprit or NOBODY,
    )


def _summary(line: WaitingLine) -> str:
    silent = sum(arrival.woken is None for arrival in line.arrivals)
    lost = sum(arrival.fate.lost for arrival in line.arrivals)
    return ngettext(
        "{count} message · {silent} woke nobody · {lost} lost",
        "{count} messages · {silent} woke nobody · {lost} lost",
        len(line.arrivals),
        silent=silent,
        lost=lost,
    )


def _alt(line: WaitingLine) -> str:
    return _(
        "The line of pops that wait for {topic}: {told}. {summary}.",
        topic=line.view.topic,
        told=joined("; ", map(_told, line.arrivals)) or _("no message came"),
        summary=_summary(line),
    )


def _table(line: WaitingLine) -> Table:
    rows = [
        (
            arrival.fate.body, arrival.fate.tag or "", f"{(arrival.t - line.zero) / 1_000:.3f}",
            arrival.asked or NOBODY, arrival.woken or NOBODY, fate_words(arrival.fate.fate), arrival.fate.culprit or "",
            line.view.asks.get(arrival.fate.culprit or "", ""),
        )
        for arrival in line.arrivals
    ]  # fmt: skip
    marked = frozenset(number for number, arrival in enumerate(line.arrivals) if arrival.fate.lost)
    headers = (
        _("message"), _("tag"), _("comes at, s"), _("first in line"), _("woken"), _("fate"), _("by"), _("who asked"),
    )  # fmt: skip
    return Table(_("What each message met in the line (marked: lost)"), headers, rows, marked)
