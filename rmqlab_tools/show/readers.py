"""Who reads which queue, and what is about to be sent: the situation before anything happens."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

from rmqlab.language import _, joined, ngettext, sentences
from rmqlab.run.run_view import RunView
from rmqlab_tools.show.canvas import BOLD, WIDTH, RunCanvas, fitted, fitting
from rmqlab_tools.show.figure import Picture
from rmqlab_tools.show.palette import GREY, PALE, ink
from rmqlab_tools.show.tables import Table
from rmqlab_tools.show.tag_colours import tag_colour

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rmqlab.run.run import Run

NOBODY = _("nobody reads it")
_SIDE, _GAP = 0.06, 0.06  # inches: the edge of the sheet, what stands between boxes
_TITLE, _MESSAGE, _ARROW, _QUEUE, _READER = 0.4, 0.5, 0.4, 0.46, 0.8  # inches high
_FULL = WIDTH - 2 * _SIDE
_WIDEST = 0.9  # of a message: narrower than a queue, so that it stands above none


def readers(run: Run, sends: Sequence[str] = (), *, group: str | None = None, topic: str | None = None) -> Picture:
    """A topic's queues and their readers in a group (the first ones by default); `sends`: tags, in sending order.

    Raises:
        BadInput: no member of that group subscribes that topic.
    """
    view = RunView(run, group, topic)
    rows = [_MESSAGE + _ARROW] * bool(sends) + [_QUEUE, _ARROW, _READER]
    canvas = RunCanvas(WIDTH, _TITLE + sum(rows) + _SIDE, view)
    title = _("Group {group} reads topic {topic}: who reads which queue", group=view.group, topic=view.topic)
    canvas.heading(title)
    top = _TITLE
    if sends:
        _messages(canvas, sends, top)
        top += _MESSAGE + _ARROW
    owned = [tuple(view.owners.get(queue, ())) for queue in range(view.queues)]
    column = _FULL / max(1, view.queues)
    for queue, owners in enumerate(owned):
        x = _SIDE + queue * column
        canvas.block(x + _GAP / 2, top, column - _GAP, _QUEUE, PALE, edge=GREY, corner=0.06)
        name = _("queue {queue}", queue=queue)
        size = fitting(name, column - _GAP, bold=True)
        canvas.text(x + column / 2, top + _QUEUE / 2, fitted(name, column / BOLD, size=size), size=size, bold=True)
        if owners:
            canvas.arrow((x + column / 2, top + _QUEUE + 0.02), (x + column / 2, top + _QUEUE + _ARROW - 0.02))
    top += _QUEUE + _ARROW
    first = 0
    for owners, neighbours in groupby(owned):
        queues = len(list(neighbours))
        _reader(canvas, owners, _SIDE + first * column, top, queues * column)
        first += queues
    return Picture(canvas.svg(), title=title, alt=_alt(view, owned, sends), table=_table(view, owned))


def _messages(canvas: RunCanvas, sends: Sequence[str], top: float) -> None:
    """A box for each message in the colour of its tag, and an arrow from all of them to the queues."""
    width = min(_WIDEST, _FULL / len(sends))
    for number, tag in enumerate(sends):
        colour = tag_colour(tag)
        size = fitting(tag, width - _GAP, bold=True)
        canvas.block(_SIDE + number * width + _GAP / 2, top, width - _GAP, _MESSAGE - 0.06, colour, corner=0.06)
        canvas.text(
            _SIDE + (number + 0.5) * width, top + _MESSAGE / 2 - 0.03, fitted(tag, width / BOLD, size=size),
            size=size, bold=True, colour=ink(colour),
        )  # fmt: skip
    y = top + _MESSAGE
    canvas.arrow((0.6, y), (0.6, y + _ARROW - 0.04))
    sending = ngettext(
        "a producer sends {count} message",
        "a producer sends {count} messages, to one queue after the other",
        len(sends),
    )
    canvas.text(0.8, y + _ARROW / 2 - 0.03, sending, size=fitting(sending, WIDTH - 0.9), ha="left")


def _reader(canvas: RunCanvas, owners: Sequence[str], x: float, top: float, width: float) -> None:
    """A box below the queues of one reader, in the colours of what it asks for."""
    ground = canvas.asked_by(owners)
    canvas.block(x + _GAP / 2, top, width - _GAP, _READER - 0.1, ground, corner=0.06)
    room = width - _GAP - 0.1
    name = joined(", ", owners) or NOBODY
    size = fitting(name, room, bold=True)
    canvas.text(x + width / 2, top + 0.22, fitted(name, room / BOLD, size=size), size=size, bold=True, on=ground)
    if owners:
        request = _(
            "asks for {expression}",
            expression=joined(", ", dict.fromkeys(canvas.view.asked[owner] for owner in owners)),
        )
        size = fitting(request, room)
        canvas.text(x + width / 2, top + 0.5, fitted(request, room, size=size), size=size, on=ground)


def _alt(view: RunView, owned: Sequence[tuple[str, ...]], sends: Sequence[str]) -> str:
    members = [
        _("{who} asks for {expression} and reads {queues}", who=name, expression=view.asked[name],
          queues=_of([queue for queue, owners in enumerate(owned) if name in owners]))
        for name in view.names
    ]  # fmt: skip
    reading = _(
        "Queues of topic {topic}: {queues}. Group {group}: {reading}.",
        topic=view.topic,
        queues=view.queues,
        group=view.group,
        reading=joined("; ", members),
    )
    tags = joined(", ", (f"{len(list(same))} × {tag}" for tag, same in groupby(sends)))
    return sentences(reading, _("To be sent, in this order: {tags}.", tags=tags)) if sends else reading


def _of(queues: Sequence[int]) -> str:
    """Queues in words: none, one, several."""
    names = joined(", ", queues)
    return ngettext("queue {queues}", "queues {queues}", len(queues), queues=names) if queues else _("no queue")


def _table(view: RunView, owned: Sequence[tuple[str, ...]]) -> Table:
    """One row for each queue."""
    rows = [
        (queue, joined(", ", owners) or NOBODY, joined(", ", [view.asked[owner] for owner in owners]) or "–")
        for queue, owners in enumerate(owned)
    ]
    return Table(_("Queues and their readers"), (_("queue"), _("reader"), _("asks for")), rows)
