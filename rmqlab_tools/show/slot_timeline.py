"""The slot of a group in the broker, and every heartbeat that could have written it.

Heartbeats stand side by side in the order they arrived, whatever the time between them; the version is written out, for
it alone decides.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rmqlab.language import _, joined
from rmqlab.run.run_view import Beat, RunView, seconds, short
from rmqlab_tools.show.canvas import WIDTH, RunCanvas, text_width
from rmqlab_tools.show.figure import Picture
from rmqlab_tools.show.moments import telling_beats
from rmqlab_tools.show.palette import BLACK, GREY, PALE, WHITE
from rmqlab_tools.show.tables import Table
from rmqlab_tools.show.tag_colours import ink_on, paint

if TYPE_CHECKING:
    from rmqlab.run.run import Run

MAX_BEATS_DRAWN = 8  # in one picture
BOLD = 1.15  # how much wider bold letters are


@dataclass(frozen=True)
class SlotTimelineLayout:
    """Sizes of the picture of a slot, in inches."""

    left: float = 1.5
    max_column: float = 1.6
    top: float = 0.34
    lane: float = 0.52
    ribbon: float = 0.44
    foot: float = 0.4


SLOT_TIMELINE = SlotTimelineLayout()


def slot_timeline(run: Run, *, group: str | None = None, topic: str | None = None) -> Picture:
    """Who wrote the group's subscription of a topic, when, with which version; and whose heartbeat was ignored."""
    view = RunView(run, group, topic)
    lanes = SLOT_TIMELINE.lane * len(view.names)
    canvas = RunCanvas(WIDTH, SLOT_TIMELINE.top + lanes + SLOT_TIMELINE.ribbon + SLOT_TIMELINE.foot, view)
    _draw(canvas)
    title = _("The group's one subscription in the broker")
    return Picture(canvas.svg(), title=title, alt=_alt(view), table=_table(view))


def _draw(canvas: RunCanvas) -> None:
    telling = [beat for beat, _ in telling_beats(canvas.view)]
    beats = telling[-MAX_BEATS_DRAWN:]
    column = min(SLOT_TIMELINE.max_column, (WIDTH - SLOT_TIMELINE.left - 0.15) / max(len(beats), 1))
    names = canvas.view.names
    lanes = {name: SLOT_TIMELINE.top + SLOT_TIMELINE.lane * (index + 0.5) for index, name in enumerate(names)}
    ribbon = SLOT_TIMELINE.top + SLOT_TIMELINE.lane * len(lanes)
    right = SLOT_TIMELINE.left + column * max(len(beats), 1) + 0.05
    taken = [index + 0.5 for index, beat in enumerate(beats) if beat.taken]
    # What the slot holds last is written from the middle of a column on: a long text needs the room of several.
    wide = 0.13 + BOLD * text_width(short(beats[int(taken[-1])].expression)) if taken else 0
    if taken and SLOT_TIMELINE.left + column * taken[-1] + wide > WIDTH:
        column, right = (WIDTH - SLOT_TIMELINE.left - wide) / taken[-1], WIDTH
    for name, y in lanes.items():
        colour = canvas.asked(name)
        canvas.block(0.08, y - 0.17, SLOT_TIMELINE.left - 0.3, 0.34, colour)
        canvas.text(0.08 + (SLOT_TIMELINE.left - 0.3) / 2, y, f"{name}: {short(canvas.view.asks[name])}", on=colour)
        canvas.line((SLOT_TIMELINE.left - 0.1, right), (y, y), PALE, 6)
    canvas.text(0.08, ribbon + SLOT_TIMELINE.ribbon / 2, _("slot in broker"), ha="left", bold=True)
    note = _("version, last {beats} of {told}:", beats=len(beats), told=len(telling))
    canvas.text(
        0.08, SLOT_TIMELINE.top / 2, note if telling[MAX_BEATS_DRAWN:] else _("version:"), colour=GREY, ha="left"
    )
    canvas.text(0.08, ribbon + SLOT_TIMELINE.ribbon + 0.17, _("arrived:"), colour=GREY, ha="left")
    for index, beat in enumerate(beats):
        answer = _("takes the slot") if beat.taken else "ignored"
        with canvas.saying(
            _(
                "{seconds}: {who} asks for {expression}, {seconds2}: {answer}",
                seconds=seconds(beat.t),
                who=beat.who,
                expression=beat.expression,
                seconds2=seconds(beat.version),
                answer=answer,
            )
        ):
            _beat(canvas, beat, SLOT_TIMELINE.left + column * (index + 0.5), lanes[beat.who], ribbon)
    _segments(canvas, beats, ribbon, right, column)


def _beat(canvas: RunCanvas, beat: Beat, x: float, y: float, ribbon: float) -> None:
    colour = paint(beat.expression)
    face = colour if beat.taken else (WHITE,)
    canvas.text(x, SLOT_TIMELINE.top / 2, seconds(beat.version))
    canvas.spot(x, y, 15, face, edge=colour[0])
    canvas.text(x, y, "✓" if beat.taken else "✗", colour=ink_on(face) or BLACK)
    if beat.taken:
        canvas.arrow((x, y + 0.13), (x, ribbon))
    else:
        canvas.text(x + 0.16, y, _("ignored"), ha="left")
    canvas.text(x, ribbon + SLOT_TIMELINE.ribbon + 0.17, seconds(beat.t), colour=GREY)


def _segments(canvas: RunCanvas, beats: list[Beat], ribbon: float, right: float, column: float) -> None:
    writers = [(SLOT_TIMELINE.left + column * (index + 0.5), beat) for index, beat in enumerate(beats) if beat.taken]
    for number, (start, beat) in enumerate(writers):
        end = writers[number + 1][0] if number + 1 < len(writers) else right
        colour = paint(beat.expression)
        canvas.block(start, ribbon, end - start, SLOT_TIMELINE.ribbon, colour, edge=WHITE, edge_width=1.5)
        canvas.text(
            start + 0.08,
            ribbon + SLOT_TIMELINE.ribbon / 2,
            short(beat.expression),
            on=colour,
            ha="left",
            bold=True,
        )


def _alt(view: RunView) -> str:
    writers = [beat for beat in view.beats if beat.taken]
    ignored = [beat for beat, _ in telling_beats(view) if not beat.taken]
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
            for beat in ignored
        ),
    )
    last = writers[-1].expression if writers else _("empty")
    parts = [_("The broker keeps one subscription for the group"), said, kept_out, _("It ends as {last}", last=last)]
    return _("{parts}.", parts=joined(". ", filter(None, parts)))


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
