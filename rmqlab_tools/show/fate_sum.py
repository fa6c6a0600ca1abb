"""The sum of a run as a strip: how many were sent, what the broker let through, what the readers kept."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

from rmqlab.language import _, joined
from rmqlab.run.fates import Fate
from rmqlab.run.run_view import short
from rmqlab_tools.show.canvas import BOLD, ROOM_TEXT, WIDTH, fitted, fitting, text_width
from rmqlab_tools.show.palette import BLACK, GREY, LOOKS, PALE, UNASKED, by_fate, ink
from rmqlab_tools.show.tag_colours import NOTHING, Paint, paint

if TYPE_CHECKING:
    from rmqlab.run.fates import MessageFate
    from rmqlab.run.run_view import RunView
    from rmqlab_tools.show.canvas import RunCanvas

CHANGED = " → "
_Part = tuple[str, str, Paint]  # who, what it lets through, in which colours
STRIP = 1.5  # inches high
_NUMBER, _ARROW, _SIDE = 1.02, 0.18, 0.08  # inches: the width of a number, of what stands between, of the edges
_GATE = (WIDTH - 3 * _NUMBER - 4 * _ARROW - 2 * _SIDE) / 2
_BIG, _ROOM = 40.0, 16.5  # points
_MAX_READERS = 3  # that have a place of their own
# What became of a message before the broker gave it to anybody; all others were given out.
_AT_BROKER = frozenset({
    Fate.DROPPED_BY_BROKER_TAG, Fate.DROPPED_BY_BROKER_BITMAP, Fate.DROPPED_BY_BROKER_SQL, Fate.SKIPPED_BY_OFFSET,
    Fate.SKIPPED_BY_POP, Fate.NO_OWNER, Fate.WAITING,
})  # fmt: skip

_DROPPED = [
    LOOKS[fate]
    for fate in (
        Fate.DROPPED_BY_BROKER_TAG, Fate.DROPPED_BY_BROKER_BITMAP, Fate.DROPPED_BY_BROKER_SQL, Fate.DROPPED_BY_CLIENT
    )
]  # fmt: skip


def has_sum(view: RunView) -> bool:
    """Whether it is known of every message where it ended, and what the broker held meanwhile."""
    return bool(view.fates and view.slots) and all(fate.fate is not Fate.PASSED for fate in view.fates)


def let_through(view: RunView) -> str:
    """What the broker's one subscription said from the first fate to the last; each text once in a row."""
    first, last = (limit(fate.t for fate in view.fates) - view.zero for limit in (min, max))
    before = [slot.expression for slot in view.slots if slot.t <= first][-1:]
    since = [slot.expression for slot in view.slots if first < slot.t <= last]
    return CHANGED.join(expression for expression, _same in groupby([*before, *since]))


def sum_words(view: RunView) -> str:
    """The strip in words."""
    given = _given(view.fates)
    return _(
        "{sent} sent; the broker lets through {expression}: {given} left; {delivered} delivered",
        sent=len(view.fates),
        expression=let_through(view),
        given=len(given),
        delivered=_delivered(given),
    )


def draw_sum(canvas: RunCanvas, top: float) -> None:
    """Three numbers, and between them what took messages away: the broker by its slot, readers by what they ask for."""
    view, given = canvas.view, _given(canvas.view.fates)
    delivered = _delivered(given)
    x = _SIDE
    _number(canvas, x, top, len(view.fates), _("sent"))
    _gate(canvas, x + _NUMBER + _ARROW, top, [_part(_("the broker lets through"), let_through(view))],
          [fate for fate in view.fates if fate.fate in _AT_BROKER])  # fmt: skip
    x += _NUMBER + 2 * _ARROW + _GATE
    _number(canvas, x, top, len(given), _("left"))
    readers = [_part(_("{who} keeps", who=name), view.asks[name]) for name in view.names]
    if len(readers) > _MAX_READERS:
        readers = [(_("each reader keeps"), _("what it asks for"), NOTHING)]
    _gate(canvas, x + _NUMBER + _ARROW, top, readers, [fate for fate in given if fate.fate is not Fate.DELIVERED])
    x += _NUMBER + 2 * _ARROW + _GATE
    _number(canvas, x, top, delivered, _("delivered"), LOOKS[Fate.DELIVERED].colour)


def _given(fates: list[MessageFate]) -> list[MessageFate]:
    return [fate for fate in fates if fate.fate not in _AT_BROKER]


def _delivered(fates: list[MessageFate]) -> int:
    return sum(fate.fate is Fate.DELIVERED for fate in fates)


def _number(canvas: RunCanvas, x: float, top: float, number: int, word: str, colour: str = PALE) -> None:
    canvas.block(x, top, _NUMBER, 1.0, colour, corner=0.06)
    size = min(_BIG, _BIG * 0.8 * _NUMBER / text_width(str(number), _BIG))
    canvas.text(x + _NUMBER / 2, top + 0.38, str(number), size=size, bold=True, colour=ink(colour))
    canvas.text(x + _NUMBER / 2, top + 0.82, word, size=fitting(word, _NUMBER - 0.04), colour=ink(colour))


def _part(word: str, expression: str) -> _Part:
    """A part in the colours of an expression; one that changed has none."""
    return word, expression, NOTHING if CHANGED in expression else paint(expression)


def _gate(canvas: RunCanvas, x: float, top: float, parts: list[_Part], ended: list[MessageFate]) -> None:
    """Blocks side by side, and under them what ended here."""
    canvas.arrow((x - _ARROW, top + 0.5), (x, top + 0.5))
    canvas.line((x + _GATE, x + _GATE + _ARROW), (top + 0.5, top + 0.5), BLACK, 1.1)
    width = _GATE / len(parts)
    for number, (word, expression, ground) in enumerate(parts):
        left = x + number * width
        canvas.block(left + 0.02, top + 0.04, width - 0.04, 0.92, ground, corner=0.06)
        canvas.text(left + width / 2, top + 0.28, word, size=fitting(word, width - 0.08), on=ground)
        room = (width - 0.1) / BOLD
        shown = expression if text_width(expression) < room else short(expression)
        size = _ROOM if text_width(shown, _ROOM) < room else fitting(shown, room)
        canvas.text(left + width / 2, top + 0.66, fitted(shown, room, size=size), size=size, bold=True, on=ground)
    looks = by_fate(ended)
    if not looks:
        canvas.text(x + _GATE / 2, top + 1.2, _("nothing is lost here"), size=ROOM_TEXT, colour=GREY)
        return
    look = looks[0][0] if len(looks) == 1 else None
    words = joined(", ", (f"{look.mark} {counted}" for look, counted in looks))
    if look is UNASKED:
        words = _("{mark} {count} not asked for", mark=look.mark, count=len(ended))
    elif look in _DROPPED:  # whoever stands above did it
        words = _("{mark} {count} dropped", mark=look.mark, count=len(ended))
    colour = PALE if look is None else look.colour
    canvas.block(x + 0.02, top + 1.05, _GATE - 0.04, 0.3, colour, hatch=look.hatch if look else "")
    size = fitting(words, _GATE - 0.08, bold=True)
    canvas.text(x + _GATE / 2, top + 1.2, words, size=size, bold=True, colour=ink(colour),
                ground=colour if look and look.hatch else None)  # fmt: skip
