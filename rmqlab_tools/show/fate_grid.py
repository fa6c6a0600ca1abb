"""What a run came to: the grid of fates has a column for each queue, a row for each tag, a box for each message."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rmqlab.language import _, joined, ngettext
from rmqlab.run.fates import Fate
from rmqlab.run.run_view import RunView
from rmqlab_tools.show.canvas import BOLD, ROOM_TEXT, WIDTH, RunCanvas, fitted, fitting, legend
from rmqlab_tools.show.fate_sum import STRIP, draw_sum, has_sum, sum_words
from rmqlab_tools.show.figure import Picture
from rmqlab_tools.show.palette import GREY, LOOKS, UNASKED, by_fate, counted, ink, look_of, summary
from rmqlab_tools.show.run_tables import fate_table
from rmqlab_tools.show.tag_colours import tag_colour

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rmqlab.run.fates import MessageFate
    from rmqlab.run.run import Run
    from rmqlab_tools.show.tables import Table


@dataclass(frozen=True)
class FateGridLayout:
    """Sizes of a grid of fates, in inches."""

    left: float = 1.1
    headline: float = 0.4
    top: float = 1.1
    box: float = 0.58
    gap: float = 0.06
    foot: float = 0.42
    legend: float = 0.3
    max_column: float = 2.6
    roomy: float = 1.55  # what a column needs for all its words, and for the word "queue"
    narrow: float = 0.8


FATE_GRID = FateGridLayout()


def fate_grid(run: Run, *, group: str | None = None, topic: str | None = None) -> Picture:
    """What became of every message of a topic in a group, by queue and tag, with owners and offsets."""
    view = RunView(run, group, topic)
    depth = sum(_depth(row.values()) for row in cells(view).values())
    looks = by_fate(view.fates)
    words = [f"{look.mark} {counted}" for look, counted in looks]
    places, below = legend(words, 0.08, WIDTH, room=0.5, line=FATE_GRID.legend, size=ROOM_TEXT)
    strip = STRIP if has_sum(view) else 0.0
    foot = strip + FATE_GRID.top + depth + FATE_GRID.foot
    canvas = RunCanvas(WIDTH, foot + below + 0.1, view)
    _draw(canvas, min(FATE_GRID.max_column, (WIDTH - FATE_GRID.left - 0.1) / max(1, view.queues)), strip)
    if strip:
        draw_sum(canvas, FATE_GRID.headline)
    for (look, _ignored), text, (x, y) in zip(looks, words, places, strict=True):
        canvas.block(x, foot + y, 0.2, 0.2, look.colour, hatch=look.hatch)
        canvas.text(x + 0.28, foot + y + 0.1, text, size=ROOM_TEXT, ha="left")
    if not looks:
        canvas.text(0.08, foot + 0.08, _("no message was sent"), size=ROOM_TEXT, ha="left", colour=GREY)
    return Picture(canvas.svg(), title=_("What became of each message"), alt=_alt(view), table=_table(view))


def cells(view: RunView) -> dict[str | None, dict[int, list[MessageFate]]]:
    """Messages by tag, then by queue, in order of their offsets; tags in sending order."""
    by_tag: dict[str | None, dict[int, list[MessageFate]]] = {}
    for fate in view.fates:
        by_tag.setdefault(fate.tag, {}).setdefault(fate.queue, []).append(fate)
    for row in by_tag.values():
        for stack in row.values():
            stack.sort(key=lambda fate: fate.offset)
    return by_tag


def _depth(stacks: Iterable[list[MessageFate]]) -> float:
    return max(map(len, stacks)) * FATE_GRID.box + 2 * FATE_GRID.gap


def _draw(canvas: RunCanvas, column: float, strip: float) -> None:
    view = canvas.view
    said = headline(view)
    canvas.text(0.08, FATE_GRID.headline / 2, said, size=fitting(said, WIDTH - 0.1, bold=True), ha="left", bold=True)
    for queue in range(view.queues):
        _header(canvas, queue, column, strip)
    y = strip + FATE_GRID.top
    for tag, row in cells(view).items():
        depth = _depth(row.values())
        colour = tag_colour(tag)
        canvas.block(0.05, y + FATE_GRID.gap, FATE_GRID.left - 0.15, depth - 2 * FATE_GRID.gap, colour)
        label = tag or _("no tag")
        wide = FATE_GRID.left - 0.2
        size = fitting(label, wide, bold=True)
        label = fitted(label, wide / BOLD, size=size)
        canvas.text(0.05 + (FATE_GRID.left - 0.15) / 2, y + depth / 2, label, size=size, colour=ink(colour), bold=True)
        for queue, stack in row.items():
            for place, fate in enumerate(stack):
                with canvas.saying(_in_words(fate)):
                    _box(
                        canvas, fate, FATE_GRID.left + queue * column, y + FATE_GRID.gap + place * FATE_GRID.box, column
                    )
        y += depth
    for queue, (committed, maximum) in sorted(view.offsets.items()):
        behind = maximum - committed if isinstance(committed, int) else "?"
        if view.broadcasting:  # each member keeps its own offsets: the broker knows of no lag
            text = _("next offset {maximum}", maximum=maximum) if column >= FATE_GRID.roomy else str(maximum)
        else:
            text = (
                _("read {committed} of {maximum}, lag {behind}", committed=committed, maximum=maximum, behind=behind)
                if column >= FATE_GRID.roomy
                else f"{committed}/{maximum}"
            )
        canvas.text(FATE_GRID.left + (queue + 0.5) * column, y + 0.17, text, size=fitting(text, column - 0.02))


def _header(canvas: RunCanvas, queue: int, column: float, strip: float) -> None:
    x = FATE_GRID.left + queue * column
    owners = canvas.view.owners.get(queue, [])
    top = strip + FATE_GRID.headline
    ground = canvas.asked_by(owners)
    canvas.block(x + FATE_GRID.gap / 2, top + 0.06, column - FATE_GRID.gap, 0.58, ground)
    name = _("queue {queue}", queue=queue) if column >= FATE_GRID.narrow else f"q{queue}"
    if column < FATE_GRID.roomy:
        owned = joined(", ", owners) or _("nobody's")
    else:
        owned = (
            _("{owners} owns it", owners=owners[0])
            if len(owners) == 1
            else _("{owners} own it", owners=joined(", ", owners))
            if owners
            else _("nobody's")
        )
    canvas.text(x + column / 2, top + 0.22, name, size=fitting(name, column - 0.1, bold=True), on=ground, bold=True)
    owned = fitted(owned, column - 0.08, size=fitting(owned, column - 0.1))
    canvas.text(x + column / 2, top + 0.48, owned, size=fitting(owned, column - 0.08), on=ground)


def _box(canvas: RunCanvas, fate: MessageFate, x: float, y: float, column: float) -> None:
    look = look_of(fate)
    canvas.block(
        x + FATE_GRID.gap / 2, y + 0.02, column - FATE_GRID.gap, FATE_GRID.box - 0.04, look.colour, hatch=look.hatch
    )
    wide = column >= FATE_GRID.roomy
    body = fate.body if wide else fate.body.removeprefix("MsgStr")
    words = f"{look.mark} {_(_where(fate))}" if wide else look.mark
    # Letters stand on plain colour, not on hatching.
    ground = look.colour if look.hatch else None
    room = column - FATE_GRID.gap - 0.04
    size = fitting(body, room, bold=True)
    canvas.text(x + column / 2, y + 0.17, body, size=size, colour=ink(look.colour), bold=True, ground=ground)
    canvas.text(x + column / 2, y + 0.42, words, size=fitting(words, room), colour=ink(look.colour), ground=ground)


def _in_words(fate: MessageFate) -> str:
    """What the pointer shows of a message."""
    sentence = _(
        "{body}, {tag}, queue {queue} offset {offset}: {words}",
        body=fate.body,
        tag=fate.tag or _("no tag"),
        queue=fate.queue,
        offset=fate.offset,
        words=LOOKS[fate.fate].words,
    )
    if look_of(fate) is UNASKED:
        sentence = joined("; ", (sentence, _("nobody asked for it")))
    return (
        sentence
        if fate.subscription is None
        else _("{told}; the subscription that decided: {subscription}", told=sentence, subscription=fate.subscription)
    )


def _where(fate: MessageFate) -> str:
    if look_of(fate) is UNASKED:
        return _("not asked for")
    match fate.fate:
        case Fate.DELIVERED:
            return _("{who} gets it", who=fate.culprit)
        case Fate.DROPPED_BY_CLIENT | Fate.DROPPED_BY_HOOK:
            return _("{who} drops it", who=fate.culprit)
        case Fate.DROPPED_BY_BROKER_TAG | Fate.DROPPED_BY_BROKER_BITMAP | Fate.DROPPED_BY_BROKER_SQL:
            return _("broker drops it for {member}", member=fate.member) if fate.member else _("broker drops it")
        case _:
            return LOOKS[fate.fate].words


def headline(view: RunView) -> str:
    """The outcome in one line."""
    delivered = sum(fate.fate is Fate.DELIVERED for fate in view.fates)
    lost = sum(fate.lost for fate in view.fates)
    if view.broadcasting:
        return ngettext(
            "{delivered} of {fates} copy delivered, {lost} lost; each member gets its own copies",
            "{delivered} of {fates} copies delivered, {lost} lost; each member gets its own copies",
            len(view.fates),
            delivered=delivered,
            fates=len(view.fates),
            lost=lost,
        )
    unasked = sum(not fate.asked for fate in view.fates)
    nobody = _(", {unasked} that nobody asked for", unasked=unasked) if unasked else ""
    lag = sum(end - done for done, end in view.offsets.values() if isinstance(done, int))
    return _(
        "{delivered} of {fates} delivered, {lost} lost{nobody}, lag {lag}",
        delivered=delivered,
        fates=len(view.fates),
        lost=lost,
        nobody=nobody,
        lag=lag,
    )


def _alt(view: RunView) -> str:
    owned: dict[str, list[int]] = {}
    for queue, owners in sorted(view.owners.items()):
        for owner in owners:
            owned.setdefault(owner, []).append(queue)
    owning = joined(
        "; ",
        (
            ngettext(
                "{who} owns queue {mine}", "{who} owns queues {mine}", len(mine), who=client, mine=joined(", ", mine)
            )
            for client, mine in sorted(owned.items())
        ),
    )
    return ngettext(
        "{headline}. Grid of {count} queue by message tag: {told}. {counted}: {summary}.",
        "{headline}. Grid of {count} queues by message tag: {told}. {counted}: {summary}.",
        view.queues,
        headline=joined(". ", [headline(view), *([sum_words(view)] if has_sum(view) else [])]),
        told=owning or _("nobody owns a queue"),
        counted=counted(view),
        summary=summary(view.fates),
    )


def _table(view: RunView) -> Table:
    """One row for each message, in sending order."""
    return fate_table(_("Messages and their fates (marked: lost)"), view.fates, view.owners)
