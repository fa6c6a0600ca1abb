"""The line of pops that wait for a topic's messages: who stood where when, whom each message asked, who was woken.

The pop whose poll ends first stands first. In 5.x a message that arrives asks him alone; when his expression does not
want it no pop is woken, and his next pop goes past it.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from rmqlab.events import NotWoken, Waits, Woken
from rmqlab.run.fates import MessageFate
from rmqlab.run.recorded_events import MessageSent
from rmqlab.run.run_view import RunView

if TYPE_CHECKING:
    from rmqlab.run.facts import Fact
    from rmqlab.run.run import Run


class Stand(NamedTuple):
    """`who` stood at `place` of the line, 0 is the first, from `since` to `until` (ms since the run began)."""

    place: int
    who: str
    since: float
    until: float


class Arrival(NamedTuple):
    """A message came: what became of it, who stood first and was asked, and who was woken (None: no pop)."""

    t: float
    fate: MessageFate
    asked: str | None
    woken: str | None


class WaitingLine:
    """Reads one group and topic of a run (the first ones by default). Times are ms since the run began."""

    def __init__(self, run: Run, group: str | None = None, topic: str | None = None) -> None:
        """Read the run.

        Raises:
            BadInput: no member of that group subscribes that topic.
        """
        self.view = RunView(run, group, topic)
        self.zero, self.end = self.view.zero, self.view.zero + self.view.end
        self.changes = self._changes()
        self.stands = self._stands()
        self.arrivals = self._arrivals()

    @property
    def longest(self) -> int:
        """How many pops stood in line at most."""
        return max((len(line) for _, line in self.changes), default=0)

    def line_at(self, t: float) -> tuple[str, ...]:
        """Who stood in line just before `t`, the first one first."""
        line: tuple[str, ...] = ()
        for since, names in self.changes:
            if since >= t:
                break
            line = names
        return line

    def _changes(self) -> list[tuple[float, tuple[str, ...]]]:
        """The line after each change of it."""
        line: list[tuple[int, int, str]] = []
        changes: list[tuple[float, tuple[str, ...]]] = []
        facts: list[Fact[Waits | Woken]] = [*self.view.facts(Waits), *self.view.facts(Woken)]
        for number, fact in enumerate(sorted(facts, key=self.view.place)):
            event = fact.event
            if isinstance(event, Waits):
                line.append((event.until, number, event.client))
                line.sort()
            else:
                line = _without(line, event.client)
            changes.append((fact.t, tuple(name for *_, name in line)))
        return changes

    def _stands(self) -> list[Stand]:
        stands: list[Stand] = []
        for (since, line), (until, _) in pairwise([*self.changes, (self.end, ())]):
            for place, name in enumerate(line):
                last = next((stand for stand in reversed(stands) if stand.place == place), None)
                if last is not None and (last.who, last.until) == (name, since):
                    stands[stands.index(last)] = last._replace(until=until)
                else:
                    stands.append(Stand(place, name, since, until))
        return stands

    def _arrivals(self) -> list[Arrival]:
        sent = {
            (fact.event.queue, fact.event.offset, fact.event.body): fact.t
            for fact in self.view.run.recorded(MessageSent)
        }
        asked: dict[tuple[int, int], tuple[float, str]] = {}
        woken: dict[tuple[int, int], tuple[float, str]] = {}
        for fact in [*self.view.facts(NotWoken), *self.view.facts(Woken)]:
            event = fact.event
            clients = asked if isinstance(event, NotWoken) else woken
            clients.setdefault((event.queue, event.offset), (fact.t, event.client))
        arrivals = []
        for fate in self.view.fates:
            place = fate.queue, fate.offset
            t, first = asked.get(place) or woken.get(place) or (sent.get((*place, fate.body), fate.t), None)
            arrivals.append(Arrival(t, fate, first, woken.get(place, (t, None))[1]))
        return arrivals


def _without(line: list[tuple[int, int, str]], client: str) -> list[tuple[int, int, str]]:
    """A line that the first pop of a client has left."""
    first = next((waiter for waiter in line if waiter[2] == client), None)
    return [waiter for waiter in line if waiter is not first]
