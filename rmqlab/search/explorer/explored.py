"""What an exploration found: outcomes with shares and shortest schedules, and verdicts on properties."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from rmqlab.lab.run import Outcome, Run
from rmqlab.lab.scenario import Scenario
from rmqlab.search.explorer.blame import blame
from rmqlab.search.explorer.decisions import Decision
from rmqlab.search.explorer.properties import Property, duplicates

if TYPE_CHECKING:
    from rmqlab.runtime.schedule import Schedule


@dataclass(slots=True)
class FoundOutcome:
    """One way to end.

    ``share`` 0..1: of an exhausted space, where each option of each choice counts the same (not each order), else of
    the runs drawn; ``sampled``: of the runs drawn by seed; ``run`` has the shortest schedule.
    ``schedules``: how many schedules of the exhausted space end so, None when it is not exhausted. ``shortened``: False
    when the limit of runs was reached before its schedule was as short as it gets.
    """

    outcome: Outcome
    share: float
    sampled: int
    run: Run
    schedules: int | None = None
    shortened: bool = True

    @property
    def schedule(self) -> Schedule:
        """The shortest schedule found."""
        return self.run.schedule

    @property
    def lost(self) -> list[str]:
        """Bodies of the messages lost."""
        return list(dict.fromkeys(fate.body for fate in self.run.fates if fate.lost))

    def blame(self) -> list[str]:
        """Who is to blame, in words."""
        return blame(self.run)

    def as_json(self) -> dict[str, Any]:
        """Share, consumed and committed, schedule, and what explains it."""
        return {
            "share": self.share,
            **self.outcome.as_json(),
            "schedule": json.loads(self.schedule.to_json()),
            "sampled": self.sampled,
            "schedules": self.schedules,
            "deviations": len(self.schedule.taken),
            "shortened": self.shortened,
            "lost": self.lost,
            "under_way": self.run.under_way,
            "duplicates": duplicates(self.run),
            "blame": self.blame(),
        }


@dataclass(slots=True)
class Verdict:
    """Whether a property holds; ``run`` is the shortest counterexample, or for "sometimes" the shortest example."""

    property: Property
    holds: bool
    run: Run | None
    text: str | None

    def as_json(self) -> dict[str, Any]:
        """Kind, name, whether it holds, and the schedule that shows it."""
        schedule = None if self.run is None else json.loads(self.run.schedule.to_json())
        return {
            "kind": self.property.kind.value,
            "property": self.property.name,
            "holds": self.holds,
            "text": self.text,
            "schedule": schedule,
        }


@dataclass(slots=True, repr=False)
class Explored:
    """What an exploration found. ``outcomes``: the most frequent first; ``exhausted``: no order of frames is left.

    ``runs``: all that were made; ``searched`` and ``sampled`` of them in which part. ``states`` and ``merged``: of the
    searches. ``times_open``: a second search opened the timers as well. ``beyond``: outcomes that only runs by chance
    reached. ``shortening``: runs that shortening schedules took. ``decisions``: which choices decide, odds by index of
    ``outcomes``; None when the space was not exhausted. ``varied``: what the last search opened beside the order of
    frames; ``assumptions``: what it assumed of the rest.
    """

    scenario: Scenario
    exhausted: bool
    runs: int
    searched: int
    sampled: int
    states: int
    merged: int
    outcomes: list[FoundOutcome]
    verdicts: list[Verdict]
    lag_ms: int = 0
    times_open: bool = False
    beyond: list[FoundOutcome] = field(default_factory=list)
    shortening: int = 0
    decisions: Decision | None = None
    varied: tuple[str, ...] = ()
    assumptions: list[str] = field(default_factory=list)

    def __repr__(self) -> str:
        """What the verb prints."""
        from rmqlab.search.explorer.in_words import explored_lines

        return "\n".join(explored_lines(self))

    @property
    def not_shortened(self) -> int:
        """How many outcomes have longer schedules than need be, because shortening had used up its runs."""
        return sum(not found.shortened for found in self.outcomes)

    def find(self, outcome: Outcome) -> FoundOutcome | None:
        """An outcome among those found."""
        return next((found for found in self.outcomes if found.outcome == outcome), None)

    def as_json(self) -> dict[str, Any]:
        """The keys that others rely on, and what stands behind them."""
        return {
            "scenario": self.scenario.id,
            "exhausted": self.exhausted,
            "runs": self.runs,
            "outcomes": [found.as_json() for found in self.outcomes],
            "varied": ["order of frames", *self.varied],
            "assumptions": self.assumptions,
            "space": {
                "lag_ms": self.lag_ms,
                "times_open": self.times_open,
                "searched": self.searched,
                "states": self.states,
                "merged": self.merged,
                "sampled": self.sampled,
                "by_times_only": [self.outcomes.index(found) for found in self.beyond],
                "shortening": self.shortening,
                "not_shortened": self.not_shortened,
            },
            "decisions": None if self.decisions is None else self.decisions.as_json(),
            "properties": [verdict.as_json() for verdict in self.verdicts],
        }
