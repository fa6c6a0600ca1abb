"""The slot of a group in the broker: who wrote it, and which messages came meanwhile.

Heartbeats and messages stand side by side in the order of their times, however long lies between them; a heartbeat's
version is written out, for it alone decides. A lane has the colours of what its member asks for at the time: one look
shows whether members differ. What repeats is left out: a heartbeat that writes what the slot holds already.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from rmqlab.language import _, joined
from rmqlab.run.fates import MessageFate
from rmqlab.run.recorded_events import Stopped
from rmqlab.run.run_view import Beat, RunView, seconds, short
from rmqlab_tools.show.canvas import BOLD, ROOM_TEXT, WIDTH, RunCanvas, fitted, fitting, text_width
from rmqlab_tools.show.figure import Picture
from rmqlab_tools.show.moments import slot_at, telling_beats
from rmqlab_tools.show.palette import GREY, PALE, WHITE, look_of, summary
from rmqlab_tools.show.tables import Table
from rmqlab_tools.show.tag_colours import paint, tag_colour

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from rmqlab.run.run import Run

MAX_COLUMNS = 8  # in one picture
MAX_TAGS = 4
LANE = 0.12  # how thick a lane is, in inches
MANY_SECONDS = 1_000  # from here on thousandths have no room


@dataclass(frozen=True)
class SlotTimelineLayout:
    """Sizes of the picture of a slot, in inches."""

    left: float = 1.85
    max_column: float = 1.1
    top: float = 0.36
    lane: float = 0.5
    ribbon: float = 0.46
    tag: float = 0.38
    foot: float = 0.34


SLOT_TIMELINE = SlotTimelineLayout()


@dataclass
class _Column:
    """A heartbeat, or the messages between two."""

    t: float
    beat: Beat | None = None
    fates: list[MessageFate] = field(default_factory=list)


def slot_timeline(run: Run, *, group: str | None = None, topic: str | None = None) -> Picture:
    """Who wrote the group's subscription of a topic, when, with which version; what became of messages meanwhile."""
    view = RunView(run, group, topic)
    columns = _columns(view)
    tags = list(dict.fromkeys(fate.tag for column in columns for fate in column.fates))[:MAX_TAGS]
    lanes = SLOT_TIMELINE.lane * len(view.names)
    height = SLOT_TIMELINE.top + lanes + SLOT_TIMELINE.ribbon + SLOT_TIMELINE.tag * len(tags) + SLOT_TIMELINE.foot
    canvas = RunCanvas(WIDTH, height + 0.05, view)
    _draw(canvas, columns[-MAX_COLUMNS:], len(columns), tags)
    title = _("The group's one subscription in the broker")
    return Picture(canvas.svg(), title=title, alt=_alt(view, columns), table=_table(view))


def _drawn(view: RunView) -> list[Beat]:
    """The heartbeats that change the slot, or show that a member asks for something else; and the first refused."""
    drawn: list[Beat] = []
    asks: dict[str, str] = {}
    held: str | None = None
    for beat, _holder in telling_beats(view):
        changes = beat.taken and (held is None or paint(held) != paint(beat.expression))
        if not beat.taken or changes or asks.get(beat.who) != beat.expression:
            drawn.append(beat)
        asks[beat.who] = beat.expression
        held = beat.expression if beat.taken else held
    return drawn


def _columns(view: RunView) -> list[_Column]:
    """Heartbeats and messages in order of time; messages with no heartbeat between them are one column."""
    beats = [_Column(beat.t, beat) for beat in _drawn(view)]
    messages = [_Column(fate.t - view.zero, fates=[fate]) for fate in view.fates]
    columns: list[_Column] = []
    for column in sorted([*beats, *messages], key=lambda column: column.t):
        if column.beat is None and columns and columns[-1].beat is None:
            columns[-1].fates += column.fates
        else:
            columns.append(column)
    return columns


def _draw(canvas: RunCanvas, columns: Sequence[_Column], count: int, tags: Sequence[str | None]) -> None:
    view = canvas.view
    wide = min(SLOT_TIMELINE.max_column, (WIDTH - SLOT_TIMELINE.left - 0.05) / max(len(columns), 1))
    lanes = {name: SLOT_TIMELINE.top + SLOT_TIMELINE.lane * (index + 0.5) for index, name in enumerate(view.names)}
    ribbon = SLOT_TIMELINE.top + SLOT_TIMELINE.lane * len(lanes)
    floor = ribbon + SLOT_TIMELINE.ribbon + SLOT_TIMELINE.tag * len(tags)
    right = SLOT_TIMELINE.left + wide * max(len(columns), 1)
    left_out = count - len(columns)
    time = _("time, last {shown} of {count}", shown=len(columns), count=count) if left_out else _("time, s")
    _label(canvas, _("version, s"), SLOT_TIMELINE.top / 2)
    _label(canvas, _("slot in broker"), ribbon + SLOT_TIMELINE.ribbon / 2, bold=True)
    _label(canvas, time, floor + SLOT_TIMELINE.foot / 2)
    for name, y in lanes.items():
        _label(canvas, name, y, bold=True)
        canvas.line((SLOT_TIMELINE.left, right), (y, y), PALE, 6)
        _lane(canvas, name, columns, wide, y)
    for row, tag in enumerate(tags):
        y = ribbon + SLOT_TIMELINE.ribbon + SLOT_TIMELINE.tag * row
        ground = (tag_colour(tag),)
        canvas.block(0.08, y + 0.04, SLOT_TIMELINE.left - 0.25, SLOT_TIMELINE.tag - 0.08, ground)
        words = _("sent: {tag}", tag=tag) if tag else _("sent: no tag")
        size = fitting(words, SLOT_TIMELINE.left - 0.35)
        words = fitted(words, SLOT_TIMELINE.left - 0.35, size=size)
        canvas.text((SLOT_TIMELINE.left - 0.09) / 2, y + SLOT_TIMELINE.tag / 2, words, size=size, on=ground)
    for number, column in enumerate(columns):
        x = SLOT_TIMELINE.left + wide * (number + 0.5)
        canvas.text(x, floor + SLOT_TIMELINE.foot / 2, _time(column.t), size=ROOM_TEXT, colour=GREY)
        if column.beat is None:
            for row, tag in enumerate(tags):
                y = ribbon + SLOT_TIMELINE.ribbon + SLOT_TIMELINE.tag * row
                _messages(canvas, [fate for fate in column.fates if fate.tag == tag], x, y, wide)
        else:
            canvas.text(x, SLOT_TIMELINE.top / 2, _time(column.beat.version), size=ROOM_TEXT)
            _beat(canvas, column.beat, x, lanes[column.beat.who], ribbon, wide)
    _segments(canvas, columns, wide, ribbon)


def _label(canvas: RunCanvas, text: str, y: float, *, bold: bool = False) -> None:
    room = SLOT_TIMELINE.left - 0.15
    size = fitting(text, room, bold=bold)
    canvas.text(0.08, y, fitted(text, room, size=size), size=size, ha="left", bold=bold)


def _time(ms: float) -> str:
    """Seconds, to the thousandth where there is room."""
    return f"{ms / 1_000:.1f}" if abs(ms) >= MANY_SECONDS * 1_000 else f"{ms / 1_000:.3f}"


def _lane(canvas: RunCanvas, name: str, columns: Sequence[_Column], wide: float, y: float) -> None:
    """What a member asks for from heartbeat to heartbeat; nothing while it is stopped."""
    view = canvas.view
    stops = [fact.t - view.zero for fact in view.run.recorded(Stopped) if fact.event.who == name]
    mine = [beat for beat in view.beats if beat.who == name]
    for number, column in enumerate(columns):
        last = next((beat for beat in reversed(mine) if beat.t <= column.t), None)
        if last is None or any(last.t < stop <= column.t for stop in stops):
            continue
        begin = SLOT_TIMELINE.left + wide * (number + (0.5 if column.beat is not None and column.beat is last else 0))
        end = SLOT_TIMELINE.left + wide * (number + 1)
        stripes = paint(last.expression)
        for row, colour in enumerate(stripes):
            thick = LANE / len(stripes)
            canvas.block(begin, y - LANE / 2 + row * thick, end - begin, thick, colour)


def _beat(canvas: RunCanvas, beat: Beat, x: float, y: float, ribbon: float, wide: float) -> None:
    ground = paint(beat.expression)
    answer = _("takes the slot") if beat.taken else _("ignored")
    said = _(
        "{seconds}: {who} asks for {expression}, {seconds2}: {answer}",
        seconds=seconds(beat.t),
        who=beat.who,
        expression=beat.expression,
        seconds2=seconds(beat.version),
        answer=answer,
    )
    with canvas.saying(said):
        face = ground if beat.taken else (WHITE,)
        canvas.chip(x, y, wide - 0.08, 0.34, face, ground[0])
        words = short(beat.expression) if beat.taken else f"✗ {_('ignored')}"
        size = fitting(words, wide - 0.12)
        canvas.text(x, y, fitted(words, wide - 0.09, size=size), size=size, on=face)
        if beat.taken:
            canvas.arrow((x, y + 0.17), (x, ribbon))


def _messages(canvas: RunCanvas, fates: Sequence[MessageFate], x: float, y: float, wide: float) -> None:
    """A box for each fate, with its mark and how many messages met it."""
    counts = Counter(map(look_of, fates))
    part = (wide - 0.06) / max(len(counts), 1)
    for number, (look, count) in enumerate(counts.items()):
        left = x - wide / 2 + 0.03 + part * number
        words = f"{look.mark}{'' if len(counts) > 2 else ' '}{count}"
        with canvas.saying(f"{fates[0].tag or _('no tag')}: {count} {_(look.words)}"):
            canvas.block(left, y + 0.04, part - 0.02, SLOT_TIMELINE.tag - 0.08, look.colour)
            size = fitting(words, part)
            canvas.text(left + part / 2, y + SLOT_TIMELINE.tag / 2, words, size=size, on=(look.colour,))


def _segments(canvas: RunCanvas, columns: Sequence[_Column], wide: float, y: float) -> None:
    """What the slot holds, from the column where it was written to the next one that changes it."""
    if not columns:
        return
    first = columns[0]
    before = None if first.beat is not None and first.beat.taken else slot_at(canvas.view, first.t)
    segments: list[tuple[float, str]] = [] if before is None else [(SLOT_TIMELINE.left, before)]
    for number, column in enumerate(columns):
        if column.beat is None or not column.beat.taken:
            continue
        if not segments or paint(segments[-1][1]) != paint(column.beat.expression):
            segments.append((SLOT_TIMELINE.left + wide * (number + 0.5), column.beat.expression))
    ends = [start for start, _ in segments[1:]] + [SLOT_TIMELINE.left + wide * len(columns)]
    for (start, expression), end in zip(segments, ends, strict=True):
        ground, room = paint(expression), end - start - 0.12
        canvas.block(start, y, end - start, SLOT_TIMELINE.ribbon, ground, edge=WHITE, edge_width=1.5)
        size = fitting(expression, room, bold=True)
        words = expression if BOLD * text_width(expression, size) < room else short(expression)
        words = fitted(words, room / BOLD, size=size)
        canvas.text(start + 0.06, y + SLOT_TIMELINE.ribbon / 2, words, size=size, ha="left", bold=True, on=ground)


def _alt(view: RunView, columns: Sequence[_Column]) -> str:
    drawn = [column.beat for column in columns if column.beat is not None]
    writers = [beat for beat in drawn if beat.taken]
    said = joined(
        "; ",
        (
            _(
                "{who} writes {expression} with version {seconds}",
                who=beat.who,
                expression=beat.expression,
                seconds=seconds(beat.version),
            )
            for beat in writers
        ),
    )
    kept_out = joined(
        "; ",
        (
            _("{who}'s heartbeat of {seconds} is ignored", who=beat.who, seconds=seconds(beat.version))
            for beat in drawn
            if not beat.taken
        ),
    )
    last = writers[-1].expression if writers else _("empty")
    parts = [
        _("The broker keeps one subscription for the group"),
        said,
        _told(view, columns),
        kept_out,
        _("It ends as {last}", last=last),
    ]
    return _("{parts}.", parts=joined(". ", filter(None, parts)))


def _told(view: RunView, columns: Iterable[_Column]) -> str:
    """What became of the messages while the slot held what."""
    return joined(
        "; ",
        (
            _(
                "while it is {slot}: {summary}",
                slot=slot_at(view, column.t) or _("empty"),
                summary=summary(column.fates),
            )
            for column in columns
            if column.fates
        ),
    )


def _table(view: RunView) -> Table:
    """Every heartbeat with the topic, those left out of the picture included."""
    rows = [
        (
            seconds(beat.t), beat.who, beat.expression, seconds(beat.version),
            _("takes the slot") if beat.taken else _("ignored: the version is not higher"),
        )
        for beat in view.beats
    ]  # fmt: skip
    headers = (_("arrived"), _("from"), _("subscription"), _("version"), _("broker"))
    return Table(_("Heartbeats as the broker got them"), headers, rows)
