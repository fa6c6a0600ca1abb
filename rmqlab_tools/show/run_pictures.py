"""What a run came to: the grid of fates, and the slot of the group with every heartbeat that could have written it.

The grid has a column for each queue, a row for each tag, a box for each message. At the slot heartbeats stand side by
side in the order they arrived, whatever the time between them; the version is written out, for it alone decides.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rmqlab.language import _, joined
from rmqlab.run.fates import Fate
from rmqlab.run.run_view import Beat, RunView, seconds, short
from rmqlab_tools.show.canvas import WIDTH, RunCanvas, legend, text_width
from rmqlab_tools.show.figure import Picture
from rmqlab_tools.show.moments import telling_beats
from rmqlab_tools.show.palette import GREY, LOOKS, PALE, WHITE, by_fate, counted, ink, summary
from rmqlab_tools.show.tables import Table

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rmqlab.run.fates import MessageFate
    from rmqlab.run.run import Run

# Inches.
LEFT, HEADLINE, TOP, BOX, GAP, FOOT, MAX_COLUMN = 1.1, 0.36, 1.0, 0.5, 0.06, 0.4, 2.6
ROOMY, NARROW = 1.55, 0.8  # what a column needs for all its words, and for the word "queue"
# Of the slot.
SLOT_LEFT, MAX_SLOT_COLUMN, SLOT_TOP, LANE, RIBBON = 1.5, 1.6, 0.34, 0.52, 0.44
MAX_BEATS = 8  # in one picture
BOLD = 1.15  # how much wider bold letters are


def fate_grid(run: Run, *, group: str | None = None, topic: str | None = None) -> Picture:
    """What became of every message of a topic in a group, by queue and tag, with owners and offsets."""
    reading = RunView(run, group, topic)
    depth = sum(_depth(row.values()) for row in cells(reading).values())
    looks = by_fate(reading.fates)
    words = [f"{look.mark} {told}" for look, told in looks]
    places, below = legend(words, 0.08, WIDTH + 0.2, room=0.44)
    foot = TOP + depth + FOOT
    canvas = RunCanvas(WIDTH, foot + below + 0.1, reading)
    _draw(canvas, min(MAX_COLUMN, (WIDTH - LEFT - 0.1) / max(1, reading.queues)))
    for (look, _ignored), text, (x, y) in zip(looks, words, places, strict=True):
        canvas.block(x, foot + y, 0.16, 0.16, look.colour, hatch=look.hatch)
        canvas.text(x + 0.24, foot + y + 0.08, text, ha="left")
    if not looks:
        canvas.text(0.08, foot + 0.08, _("no message was sent"), ha="left", colour=GREY)
    return Picture(canvas.svg(), title=_("What became of each message"), alt=_alt(reading), table=_table(reading))


def cells(reading: RunView) -> dict[str | None, dict[int, list[MessageFate]]]:
    """Messages by tag, then by queue, in order of their offsets; tags in sending order."""
    found: dict[str | None, dict[int, list[MessageFate]]] = {}
    for fate in reading.fates:
        found.setdefault(fate.tag, {}).setdefault(fate.queue, []).append(fate)
    for row in found.values():
        for stack in row.values():
            stack.sort(key=lambda fate: fate.offset)
    return found


def _depth(stacks: Iterable[list[MessageFate]]) -> float:
    return max(map(len, stacks)) * BOX + 2 * GAP


def _draw(canvas: RunCanvas, column: float) -> None:
    reading = canvas.reading
    canvas.text(0.08, HEADLINE / 2, headline(reading), size=13, ha="left", bold=True)
    for queue in range(reading.queues):
        _header(canvas, queue, column)
    y = TOP
    for tag, row in cells(reading).items():
        depth = _depth(row.values())
        colour = canvas.colours[tag]
        canvas.block(0.05, y + GAP, LEFT - 0.15, depth - 2 * GAP, colour)
        label = tag or _("no tag")
        canvas.text(0.05 + (LEFT - 0.15) / 2, y + depth / 2, label, size=11, colour=ink(colour), bold=True)
        for queue, stack in row.items():
            for place, fate in enumerate(stack):
                with canvas.saying(_in_words(fate)):
                    _box(canvas, fate, LEFT + queue * column, y + GAP + place * BOX, column)
        y += depth
    for queue, (committed, maximum) in sorted(reading.offsets.items()):
        behind = maximum - committed if isinstance(committed, int) else "?"
        if reading.broadcasting:  # each member keeps its own offsets: the broker knows of no lag
            text = _("next offset {maximum}", maximum=maximum) if column >= ROOMY else str(maximum)
        else:
            text = (
                _("offset {committed} of {maximum}: lag {behind}", committed=committed, maximum=maximum, behind=behind)
                if column >= ROOMY
                else f"{committed}/{maximum}"
            )
        canvas.text(LEFT + (queue + 0.5) * column, y + 0.15, text)


def _header(canvas: RunCanvas, queue: int, column: float) -> None:
    x = LEFT + queue * column
    owners = canvas.reading.owners.get(queue, [])
    colour = canvas.asked(owners[0]) if len(owners) == 1 else PALE
    canvas.block(x + GAP / 2, HEADLINE + 0.06, column - GAP, 0.5, colour)
    name = _("queue {queue}", queue=queue) if column >= NARROW else f"q{queue}"
    if column < ROOMY:
        owned = joined(", ", owners) or _("nobody's")
    else:
        owned = (
            _("{owners} owns it", owners=owners[0])
            if len(owners) == 1
            else _("{owners} own it", owners=joined(", ", owners))
            if owners
            else _("nobody's")
        )
    canvas.text(x + column / 2, HEADLINE + 0.21, name, colour=ink(colour), bold=True)
    canvas.text(x + column / 2, HEADLINE + 0.43, owned, colour=ink(colour))


def _box(canvas: RunCanvas, fate: MessageFate, x: float, y: float, column: float) -> None:
    look = LOOKS[fate.fate]
    canvas.block(x + GAP / 2, y + 0.02, column - GAP, BOX - 0.04, look.colour, hatch=look.hatch)
    wide = column >= ROOMY
    body = fate.body if wide else fate.body.removeprefix("MsgStr")
    words = f"{look.mark} {_(_where(fate))}" if wide else look.mark
    # Letters stand on plain colour, not on hatching.
    ground = look.colour if look.hatch else None
    canvas.text(x + column / 2, y + 0.16, body, colour=ink(look.colour), bold=True, ground=ground)
    canvas.text(x + column / 2, y + 0.35, words, colour=ink(look.colour), ground=ground)


def _in_words(fate: MessageFate) -> str:
    """What the pointer is told of a message."""
    told = _(
        "{body}, {tag}, queue {queue} offset {offset}: {words}",
        body=fate.body,
        tag=fate.tag or _("no tag"),
        queue=fate.queue,
        offset=fate.offset,
        words=LOOKS[fate.fate].words,
    )
    return (
        told
        if fate.subscription is None
        else _("{told}; the subscription that decided: {subscription}", told=told, subscription=fate.subscription)
    )


def _where(fate: MessageFate) -> str:
    match fate.fate:
        case Fate.DELIVERED:
            return _("delivered to {culprit}", culprit=fate.culprit)
        case Fate.DROPPED_BY_CLIENT | Fate.DROPPED_BY_HOOK:
            return _("dropped by {culprit} itself", culprit=fate.culprit)
        case Fate.DROPPED_BY_BROKER_TAG | Fate.DROPPED_BY_BROKER_BITMAP | Fate.DROPPED_BY_BROKER_SQL:
            return _("dropped by broker for {member}", member=fate.member) if fate.member else _("dropped by broker")
        case _:
            return LOOKS[fate.fate].words


def headline(reading: RunView) -> str:
    """The outcome in one line."""
    delivered = sum(fate.fate is Fate.DELIVERED for fate in reading.fates)
    lost = sum(fate.lost for fate in reading.fates)
    if reading.broadcasting:
        return _(
            "{delivered} of {fates} copies delivered, {lost} lost; each member gets its own copies",
            delivered=delivered,
            fates=len(reading.fates),
            lost=lost,
        )
    unasked = sum(not fate.asked for fate in reading.fates)
    nobody = _(", {unasked} that nobody asked for", unasked=unasked) if unasked else ""
    lag = sum(end - done for done, end in reading.offsets.values() if isinstance(done, int))
    return _(
        "{delivered} of {fates} delivered, {lost} lost{nobody}, lag {lag}",
        delivered=delivered,
        fates=len(reading.fates),
        lost=lost,
        nobody=nobody,
        lag=lag,
    )


def _alt(reading: RunView) -> str:
    owned: dict[str, list[int]] = {}
    for queue, owners in sorted(reading.owners.items()):
        for owner in owners:
            owned.setdefault(owner, []).append(queue)
    told = joined(
        "; ", (_("{who} owns queues {mine}", who=who, mine=joined(", ", mine)) for who, mine in sorted(owned.items()))
    )
    return _(
        "{headline}. Grid of {queues} queues by message tag: {told}. {counted}: {summary}.",
        headline=headline(reading),
        queues=reading.queues,
        told=told or _("nobody owns a queue"),
        counted=counted(reading),
        summary=summary(reading.fates),
    )


def _table(reading: RunView) -> Table:
    """One row for each message, in sending order."""
    rows = [
        (
            fate.body, fate.tag, fate.queue, fate.offset, joined(", ", reading.owners.get(fate.queue, [])) or None,
            LOOKS[fate.fate].words, fate.culprit, fate.subscription,
        )
        for fate in reading.fates
    ]  # fmt: skip
    headers = (
        _("message"),
        _("tag"),
        _("queue"),
        _("offset"),
        _("owner"),
        _("fate"),
        _("at"),
        _("subscription that decided"),
    )
    lost = frozenset(number for number, fate in enumerate(reading.fates) if fate.lost)
    return Table(_("Messages and their fates (marked: lost)"), headers, rows, lost)


def slot_timeline(run: Run, *, group: str | None = None, topic: str | None = None) -> Picture:
    """Who wrote the group's subscription of a topic, when, with which version; and whose heartbeat was ignored."""
    reading = RunView(run, group, topic)
    canvas = RunCanvas(WIDTH, SLOT_TOP + LANE * len(reading.names) + RIBBON + FOOT, reading)
    _draw_slot(canvas)
    title = _("The group's one subscription in the broker")
    return Picture(canvas.svg(), title=title, alt=_slot_alt(reading), table=_slot_table(reading))


def _draw_slot(canvas: RunCanvas) -> None:
    told = [beat for beat, _ in telling_beats(canvas.reading)]
    beats = told[-MAX_BEATS:]
    column = min(MAX_SLOT_COLUMN, (WIDTH - SLOT_LEFT - 0.15) / max(len(beats), 1))
    lanes = {name: SLOT_TOP + LANE * (index + 0.5) for index, name in enumerate(canvas.reading.names)}
    ribbon = SLOT_TOP + LANE * len(lanes)
    right = SLOT_LEFT + column * max(len(beats), 1) + 0.05
    taken = [index + 0.5 for index, beat in enumerate(beats) if beat.taken]
    # What the slot holds last is written from the middle of a column on: a long text needs the room of several.
    wide = 0.13 + BOLD * text_width(short(beats[int(taken[-1])].expression)) if taken else 0
    if taken and SLOT_LEFT + column * taken[-1] + wide > WIDTH:
        column, right = (WIDTH - SLOT_LEFT - wide) / taken[-1], WIDTH
    for name, y in lanes.items():
        colour = canvas.asked(name)
        canvas.block(0.08, y - 0.17, SLOT_LEFT - 0.3, 0.34, colour)
        canvas.text(0.08 + (SLOT_LEFT - 0.3) / 2, y, f"{name}: {short(canvas.reading.asks[name])}", colour=ink(colour))
        canvas.line((SLOT_LEFT - 0.1, right), (y, y), PALE, 6)
    canvas.text(0.08, ribbon + RIBBON / 2, _("slot in broker"), ha="left", bold=True)
    some = _("version, last {beats} of {told}:", beats=len(beats), told=len(told))
    canvas.text(0.08, SLOT_TOP / 2, some if told[MAX_BEATS:] else _("version:"), colour=GREY, ha="left")
    canvas.text(0.08, ribbon + RIBBON + 0.17, _("arrived:"), colour=GREY, ha="left")
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
            _beat(canvas, beat, SLOT_LEFT + column * (index + 0.5), lanes[beat.who], ribbon)
    _segments(canvas, beats, ribbon, right, column)


def _beat(canvas: RunCanvas, beat: Beat, x: float, y: float, ribbon: float) -> None:
    colour = canvas.colours[beat.expression]
    face = colour if beat.taken else WHITE
    canvas.text(x, SLOT_TOP / 2, seconds(beat.version))
    canvas.spot(x, y, 15, face, edge=colour)
    canvas.text(x, y, "✓" if beat.taken else "✗", colour=ink(face))
    if beat.taken:
        canvas.arrow((x, y + 0.13), (x, ribbon))
    else:
        canvas.text(x + 0.16, y, _("ignored"), ha="left")
    canvas.text(x, ribbon + RIBBON + 0.17, seconds(beat.t), colour=GREY)


def _segments(canvas: RunCanvas, beats: list[Beat], ribbon: float, right: float, column: float) -> None:
    writers = [(SLOT_LEFT + column * (index + 0.5), beat) for index, beat in enumerate(beats) if beat.taken]
    for number, (start, beat) in enumerate(writers):
        end = writers[number + 1][0] if number + 1 < len(writers) else right
        colour = canvas.colours[beat.expression]
        canvas.block(start, ribbon, end - start, RIBBON, colour, edge=WHITE, edge_width=1.5)
        canvas.text(start + 0.08, ribbon + RIBBON / 2, short(beat.expression), colour=ink(colour), ha="left", bold=True)


def _slot_alt(reading: RunView) -> str:
    writers = [beat for beat in reading.beats if beat.taken]
    ignored = [beat for beat, _ in telling_beats(reading) if not beat.taken]
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


def _slot_table(reading: RunView) -> Table:
    """Every heartbeat with the topic, those left out of the picture included."""
    rows = [
        (
            seconds(beat.t), beat.who, beat.expression, seconds(beat.version),
            _("takes the slot") if beat.taken else _("ignored: the version is not higher"),
        )
        for beat in reading.beats
    ]  # fmt: skip
    headers = (_("arrived"), _("from"), _("subscription"), _("version"), _("broker"))
    return Table(_("Heartbeats as the broker got them"), headers, rows)
