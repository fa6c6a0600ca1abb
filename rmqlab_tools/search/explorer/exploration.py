"""What an exploration found: outcomes, shares, shortest schedules, verdicts on properties; as JSON and in words."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from rmqlab.language import _, joined
from rmqlab.run.run import Outcome, Run
from rmqlab.scenario.scenario import Scenario
from rmqlab_tools.search.explorer.choice_graph import Decision
from rmqlab_tools.search.explorer.explanation import blame
from rmqlab_tools.search.explorer.properties import RunProperty, duplicates
from rmqlab_tools.search.explorer.timings import assumed

if TYPE_CHECKING:
    from rmqlab.scenario.schedule import Schedule
    from rmqlab_tools.show.figure import Picture


@dataclass(slots=True, eq=False, repr=False)
class FoundOutcome:
    """One way to end.

    `share` 0..1: of an exhausted space, where each option of each choice counts the same (not each order), else of
    the runs drawn, None if none was; `sampled`: of the runs drawn by seed; `run` has the shortest schedule.
    `words` says who got what. `schedules`: how many schedules of the exhausted space end so, None when it is not
    exhausted. `shortened`: False when the limit of runs was reached before its schedule was as short as it gets.
    """

    outcome: Outcome
    share: float | None
    sampled: int
    run: Run
    schedules: int | None = None
    shortened: bool = True

    def __repr__(self) -> str:
        """Its share, who got what, and what is lost."""
        share = _("no share") if self.share is None else f"{self.share:.2%}"
        return str(
            _(
                "<outcome, {share}: {words}; lost: {lost}>",
                share=share,
                words=self.words,
                lost=joined(", ", self.lost) or _("nothing"),
            )
        )

    @property
    def words(self) -> str:
        """Who got which messages, in one line."""
        return self.outcome.words

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

    @property
    def moments(self) -> int:
        """How many moments its story has."""
        from rmqlab_tools.show.swimlane import scenes_of

        return sum(len(scene.moments) for scene in scenes_of(self.run))

    def story(self, title: str | None = None, *, step: int | None = None) -> Picture:
        """What happens in the shortest schedule, moment by moment; with `step` only the first so many moments."""
        from rmqlab_tools.show.swimlane import story_picture

        return story_picture(self.run, title or self.words, step=step)

    def text(self, title: str | None = None) -> str:
        """The same story as lines, with the scenario and the schedule that repeat it, to send to a colleague."""
        from rmqlab_tools.show.swimlane import story_text

        return story_text(self.run, title or self.words)

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
class PropertyVerdict:
    """Whether a property holds; `run` is the shortest counterexample found, or for "sometimes" the shortest example.

    `proved`: there is such a run, or the space was searched to its end; else `holds` says only what the runs made
    say. `shortened`: False when a limit of runs was reached before the schedule was as short as it gets.
    """

    property: RunProperty
    holds: bool
    proved: bool
    run: Run | None
    text: str | None
    shortened: bool = True

    def as_json(self) -> dict[str, Any]:
        """Kind, name, whether it holds and is proved, and the schedule that shows it."""
        schedule = None if self.run is None else json.loads(self.run.schedule.to_json())
        return {
            "kind": self.property.kind.value,
            "property": self.property.name,
            "holds": self.holds,
            "proved": self.proved,
            "text": self.text,
            "schedule": schedule,
            "shortened": self.shortened,
        }


@dataclass(slots=True, repr=False)
class Exploration:
    """What an exploration found. `outcomes`: the most frequent first; `exhausted`: no order of frames is left.

    `runs`: all that were made; `searched` and `sampled` of them in which part. `states` and `merged`: of the
    searches. `times_open`: a second search opened the timers as well. `beyond`: outcomes that only runs by chance
    reached. `shortening`: runs that shortening schedules took. `decisions`: which choices decide, odds by index of
    `outcomes`; None when the space was not exhausted. `varied`: what the last search opened beside the order of
    frames. `out_of_time`: runs were left out because a limit of time came first.
    """

    scenario: Scenario
    exhausted: bool
    runs: int
    searched: int
    sampled: int
    states: int
    merged: int
    outcomes: list[FoundOutcome]
    verdicts: list[PropertyVerdict]
    lag_ms: int = 0
    times_open: bool = False
    beyond: list[FoundOutcome] = field(default_factory=list)
    shortening: int = 0
    decisions: Decision | None = None
    varied: tuple[str, ...] = ()
    out_of_time: bool = False

    def __repr__(self) -> str:
        """What the verb prints."""
        from rmqlab_tools.search.explorer.exploration_text import exploration_lines  # it knows this class

        return "\n".join(map(str, exploration_lines(self)))

    def tree(self) -> Picture:
        """The outcomes with their shares, and below them which choices move the odds, if the search came to its end."""
        from rmqlab_tools.show.outcome_tree import outcome_tree

        return outcome_tree(self)

    @property
    def assumptions(self) -> list[str]:
        """What the last search assumed of all that it did not vary, in words."""
        return assumed(self.varied)

    @property
    def not_shortened(self) -> int:
        """How many outcomes may have longer schedules than need be, because shortening had used up its runs."""
        return sum(not outcome.shortened for outcome in self.outcomes)

    def as_json(self) -> dict[str, Any]:
        """The keys that others rely on, and what they hold."""
        return {
            "scenario": self.scenario.id,
            "exhausted": self.exhausted,
            "runs": self.runs,
            "outcomes": [outcome.as_json() for outcome in self.outcomes],
            "varied": [_("order of frames"), *self.varied],
            "assumptions": self.assumptions,
            "space": {
                "lag_ms": self.lag_ms,
                "times_open": self.times_open,
                "searched": self.searched,
                "states": self.states,
                "merged": self.merged,
                "sampled": self.sampled,
                "by_times_only": [self.outcomes.index(outcome) for outcome in self.beyond],
                "shortening": self.shortening,
                "not_shortened": self.not_shortened,
                "out_of_time": self.out_of_time,
            },
            "decisions": None if self.decisions is None else self.decisions.as_json(),
            "properties": [verdict.as_json() for verdict in self.verdicts],
        }
