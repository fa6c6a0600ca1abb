"""What a term of code comes to: constants, fields, enums, imports, joined texts and simple functions are followed.

What cannot be followed is not guessed: the answer says why. A parameter is known only by who calls the function; the
answer then names that function, and whoever asks may ask again for each of its callers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rmqlab.language import _
from rmqlab_tools.source.calls import CallFollower
from rmqlab_tools.source.names import DEEPEST
from rmqlab_tools.source.scopes import Placed, missing, shown
from rmqlab_tools.source.terms import Call, Items, Join, Make, Name, Pairs, Setting, Text, Unread
from rmqlab_tools.source.values import Known, NotKnown

if TYPE_CHECKING:
    from rmqlab_tools.source.code import Code
    from rmqlab_tools.source.settings import Settings
    from rmqlab_tools.source.values import Value


class Follower(CallFollower):
    """Follows terms through the code and settings of a code base."""

    def __init__(self, code: Code, settings: Settings) -> None:
        """See `NameFollower`."""
        super().__init__(code, settings)
        self._trail: list[tuple[object, ...]] = []
        self._texts: list[tuple[object, ...]] = []

    def text(self, placed: Placed) -> Value:
        """The text that a term comes to."""
        step = _step(placed)
        if step in self._texts:  # by way of a text that is joined of others
            return NotKnown(_circle(self._texts, step))
        if len(self._texts) >= DEEPEST:
            return NotKnown(_("{name} leads through more than {most} names", name=shown(placed.term), most=DEEPEST))
        self._texts.append(step)
        try:
            return self._text(placed)
        finally:
            self._texts.pop()

    def _text(self, placed: Placed) -> Value:
        reached = self.reach(placed)
        if isinstance(reached, NotKnown):
            return reached
        term, scope = reached.term, reached.scope
        match term:
            case Text():
                return Known(term.value)
            case Setting():
                return self.settings.filled(term.text, scope.unit.file)
            case Join():
                texts = [self.text(Placed(part, scope)) for part in term.parts]
                unknown = [value for value in texts if isinstance(value, NotKnown)]
                if unknown:
                    return NotKnown(unknown[0].why, frozenset().union(*(value.given for value in unknown)))
                return Known("".join(value.text for value in texts if isinstance(value, Known)))
            case Call():
                return NotKnown(_("{call}() is not followed", call=shown(term)))
            case Items() if len(term.items) == 1:
                return self.text(Placed(term.items[0], scope))
            case Make() | Items() | Pairs():
                return NotKnown(_("it is no text"))
            case Unread():
                return NotKnown(_("{text} is not followed", text=term.text))
        return NotKnown(missing(term))

    def reach(self, placed: Placed) -> Placed | NotKnown:
        """What a name or a call stands for: a term that is neither, or a call that is not ours."""
        term, scope = placed.term, placed.scope
        if not isinstance(term, Name | Call):
            return placed
        step = _step(placed)
        if step in self._trail:
            return NotKnown(_circle(self._trail, step))
        if len(self._trail) >= DEEPEST:
            return NotKnown(_("{name} leads through more than {most} names", name=shown(term), most=DEEPEST))
        self._trail.append(step)
        try:
            next_ = self.name_of(term, scope) if isinstance(term, Name) else self.call_of(term, scope)
            if next_ is None:
                return placed if isinstance(term, Call) else NotKnown(missing(term))
            if isinstance(next_, NotKnown):
                return next_
            return self.reach(next_)
        finally:
            self._trail.pop()


def _step(placed: Placed) -> tuple[object, ...]:
    scope = placed.scope
    type_ = None if scope.type is None else scope.type.name
    return placed.term, scope.unit.file, type_, scope.function, scope.entry


def _circle(trail: list[tuple[object, ...]], step: tuple[object, ...]) -> str:
    """That a name leads back to itself, and by which others."""
    names = [term for term, *_place in [*trail[trail.index(step) :], step] if isinstance(term, Name | Call)]
    cycle = " -> ".join(map(shown, names))
    return _("{name} leads back to itself: {cycle}", name=shown(step[0]), cycle=cycle)
