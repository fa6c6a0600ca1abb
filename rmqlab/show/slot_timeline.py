"""The group's slot in the broker: every heartbeat that could have written it, and the colour it has from then on.

Heartbeats stand side by side in the order they arrived, whatever the time between them; the version is written out, for
the version alone decides.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rmqlab.lab.run_view import Beat, RunView, seconds, short
from rmqlab.show.canvas import RunCanvas, text_width
from rmqlab.show.figure import Picture
from rmqlab.show.moments import telling_beats
from rmqlab.show.palette import GREY, PALE, WHITE, ink
from rmqlab.show.tables import Table

if TYPE_CHECKING:
    from rmqlab.lab.run import Run

# Inches.
WIDTH, LEFT, MAX_COLUMN, TOP, LANE, RIBBON, FOOT = 11.4, 1.5, 1.6, 0.34, 0.52, 0.44, 0.4
MAX_BEATS = 8  # in one picture
BOLD = 1.15  # how much wider bold letters are


def slot_timeline(run: Run, *, group: str | None = None, topic: str | None = None) -> Picture:
    """Who wrote the group's subscription of a topic, when, with which version; and whose heartbeat was ignored."""
    reading = RunView(run, group, topic)
    canvas = RunCanvas(WIDTH, TOP + LANE * len(reading.names) + RIBBON + FOOT, reading)
    _draw(canvas)
    title = "The group's one subscription in the broker"
    return Picture(canvas.svg(), title=title, alt=_alt(reading), table=_table(reading))


def _draw(canvas: RunCanvas) -> None:
    beats = [beat for beat, _ in telling_beats(canvas.reading)][-MAX_BEATS:]
    column = min(MAX_COLUMN, (WIDTH - LEFT - 0.15) / max(len(beats), 1))
    lanes = {name: TOP + LANE * (index + 0.5) for index, name in enumerate(canvas.reading.names)}
    ribbon = TOP + LANE * len(lanes)
    right = LEFT + column * max(len(beats), 1) + 0.05
    taken = [index + 0.5 for index, beat in enumerate(beats) if beat.taken]
    # What the slot holds last is written from the middle of a column on: a long text needs the room of several.
    wide = 0.13 + BOLD * text_width(short(beats[int(taken[-1])].expression)) if taken else 0
    if taken and LEFT + column * taken[-1] + wide > WIDTH:
        column, right = (WIDTH - LEFT - wide) / taken[-1], WIDTH
    for name, y in lanes.items():
        colour = canvas.asked(name)
        canvas.block(0.08, y - 0.17, LEFT - 0.3, 0.34, colour)
        label = f"{name}: {short(canvas.reading.asked[name])}"
        canvas.text(0.08 + (LEFT - 0.3) / 2, y, label, colour=ink(colour))
        canvas.line((LEFT - 0.1, right), (y, y), PALE, 6)
    canvas.text(0.08, ribbon + RIBBON / 2, "slot in broker", ha="left", bold=True)
    canvas.text(0.08, TOP / 2, "version:", colour=GREY, ha="left")
    canvas.text(0.08, ribbon + RIBBON + 0.17, "arrived:", colour=GREY, ha="left")
    for index, beat in enumerate(beats):
        answer = "takes the slot" if beat.taken else "ignored"
        with canvas.saying(
            f"{seconds(beat.t)}: {beat.who} asks for {beat.expression}, {seconds(beat.version)}: {answer}"
        ):
            _beat(canvas, beat, LEFT + column * (index + 0.5), lanes[beat.who], ribbon)
    _segments(canvas, beats, ribbon, right, column)


def _beat(canvas: RunCanvas, beat: Beat, x: float, y: float, ribbon: float) -> None:
    colour = canvas.colours[beat.expression]
    face = colour if beat.taken else WHITE
    canvas.text(x, TOP / 2, seconds(beat.version))
    canvas.spot(x, y, 15, face, edge=colour)
    canvas.text(x, y, "✓" if beat.taken else "✗", colour=ink(face))
    if beat.taken:
        canvas.arrow((x, y + 0.13), (x, ribbon))
    else:
        canvas.text(x + 0.16, y, "ignored", ha="left")
    canvas.text(x, ribbon + RIBBON + 0.17, seconds(beat.t), colour=GREY)


def _segments(canvas: RunCanvas, beats: list[Beat], ribbon: float, right: float, column: float) -> None:
    writers = [(LEFT + column * (index + 0.5), beat) for index, beat in enumerate(beats) if beat.taken]
    for number, (start, beat) in enumerate(writers):
        end = writers[number + 1][0] if number + 1 < len(writers) else right
        colour = canvas.colours[beat.expression]
        canvas.block(start, ribbon, end - start, RIBBON, colour, edge=WHITE, edge_width=1.5)
        words = short(beat.expression)
        canvas.text(start + 0.08, ribbon + RIBBON / 2, words, colour=ink(colour), ha="left", bold=True)


def _alt(reading: RunView) -> str:
    writers = [beat for beat in reading.beats if beat.taken]
    ignored = [beat for beat, _ in telling_beats(reading) if not beat.taken]
    said = "; ".join(f"{beat.who} writes {beat.expression} with version {seconds(beat.version)}" for beat in writers)
    kept_out = "; ".join(f"{beat.who}'s heartbeat of {seconds(beat.version)} is ignored" for beat in ignored)
    last = writers[-1].expression if writers else "empty"
    parts = ["The broker keeps one subscription for the group", said, kept_out, f"It ends as {last}"]
    return ". ".join(filter(None, parts)) + "."


def _table(reading: RunView) -> Table:
    """Every heartbeat with the topic, those left out of the picture included."""
    rows = [
        (
            seconds(beat.t), beat.who, beat.expression, seconds(beat.version),
            "takes the slot" if beat.taken else "ignored: the version is not higher",
        )
        for beat in reading.beats
    ]  # fmt: skip
    headers = ("arrived", "from", "subscription", "version", "broker")
    return Table("Heartbeats as the broker got them", headers, rows)
