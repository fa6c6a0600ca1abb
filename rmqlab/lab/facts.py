"""Facts: the events of a run with the time and the source of each, in order; the one stream that all else is read from.

Broker and clients tell theirs through an observer, the run recorder adds those that recordings have. Fates, pictures,
checks and tables are read from facts, never from the inside of broker or client.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from rmqlab.events import Event

if TYPE_CHECKING:
    from collections.abc import Iterator


BROKER = "broker"
SCENARIO = "scenario"


@dataclass(slots=True)
class Fact:
    """An event, ``t`` ms since the run began; ``source`` is "broker", a client's name, or "scenario"."""

    t: float
    source: str
    event: Event

    @property
    def kind(self) -> str:
        """What kind of event it is."""
        return self.event.kind

    def __getitem__(self, name: str) -> Any:
        """A field of the event."""
        return getattr(self.event, name)

    def get(self, name: str, default: object = None) -> Any:
        """A field of the event, `default` where it has none of that name."""
        return getattr(self.event, name, default)


@dataclass(slots=True)
class FactLog:
    """All facts of one run; ``clock`` gives the ms since the scenario began."""

    clock: Callable[[], float]
    facts: list[Fact] = field(default_factory=list)

    def of(self, *kinds: str) -> Iterator[Fact]:
        """The facts of the given kinds, in order."""
        return (fact for fact in self.facts if fact.event.kind in kinds)
