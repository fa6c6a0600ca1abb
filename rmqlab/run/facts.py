"""Facts: the events of a run with the time and the source of each, in order; the one stream that all else is read from.

Broker and clients tell theirs through an observer, the run recorder adds those that recordings have. Fates, pictures,
checks and tables are read from facts, never from the inside of broker or client.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, TypeVar, cast

from msgspec import Struct

from rmqlab.events import Event

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from rmqlab.events import Version


SCENARIO = "scenario"
E = TypeVar("E", bound=Event)
E_co = TypeVar("E_co", bound=Event, covariant=True)


class Fact(Struct, Generic[E_co]):
    """An event, `t` ms since the run began; `source` is "broker", a client's name, or "scenario"."""

    t: float
    source: str
    event: E_co

    def words(self, version: Version = int) -> str:
        """Who did what, as a sentence; `version` says how the version of a subscription (epoch ms) is written."""
        return self.event.words(self.source, version)


class FactLog(list[Fact[Event]]):
    """All facts of one run, in order."""

    def of(self, *kinds: type[E]) -> Iterator[Fact[E]]:
        """The facts whose events are of the given classes, in order; mypy knows their fields.

        >>> from rmqlab.events import Commit, Notify
        >>> log = FactLog([Fact(1.0, "broker", Notify("G", "A")), Fact(2.5, "broker", Commit("A", "G", "T", 0, 8))])
        >>> [(fact.t, fact.event.offset) for fact in log.of(Commit)]
        [(2.5, 8)]
        """
        return facts_of(self, *kinds)


def facts_of(facts: Iterable[Fact[Event]], *kinds: type[E]) -> Iterator[Fact[E]]:
    """Those of some facts whose events are of the given classes, in their order."""
    return cast("Iterator[Fact[E]]", (fact for fact in facts if isinstance(fact.event, kinds)))


def ms_text(ms: float) -> str:
    """A time in ms for people: from a million on without its fraction."""
    return f"{ms:.0f}" if abs(ms) >= 1e6 else f"{ms:g}"
