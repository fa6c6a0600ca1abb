"""Facts: what the core reported while a scenario ran, in order, with the time since the scenario began.

The rooms below report through an ``observe(kind, fields)`` hook and know nothing of experiments; here each report
becomes a ``Fact``. Fates, pictures and checks are read from facts, never from the inside of broker or client.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

BROKER = "broker"


@dataclass(slots=True)
class Fact:
    """One report: ``t`` in ms since the run began, ``source`` "broker" or a client's name, ``kind``, and its fields."""

    t: float
    source: str
    kind: str
    fields: dict[str, Any]

    def __getitem__(self, name: str) -> Any:
        """A field of the report."""
        return self.fields[name]


@dataclass(slots=True)
class FactLog:
    """All facts of one run; ``clock`` gives the ms since the scenario began."""

    clock: Callable[[], float]
    facts: list[Fact] = field(default_factory=list)

    def of(self, *kinds: str) -> Iterator[Fact]:
        """The facts of the given kinds, in order."""
        return (fact for fact in self.facts if fact.kind in kinds)
