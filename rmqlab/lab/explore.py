"""Every outcome a scenario can have: by searching all orders of frames, by sampling times, or both.

The search of open orders (``open_search``) is exhaustive when it comes to its end within the budget. Then shares are
exact: each option of each choice counts the same. Beside it runs are drawn by seed with times as they were recorded
(``race``): they show how likely an outcome is on a real network, they are all there is when the space is too large, and
they test the search: an outcome that only they reach means that its space was too small, and then nothing is claimed.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from rmqlab.errors import BadInput
from rmqlab.lab.blame import blame
from rmqlab.lab.open_search import Ending, OpenSearch
from rmqlab.lab.properties import Kind, Property, duplicates, usual_properties
from rmqlab.lab.race import RACE_TIMING, RaceChooser
from rmqlab.lab.run import Outcome, Run
from rmqlab.lab.scenario import Scenario
from rmqlab.lab.shortest import Shortest
from rmqlab.lab.simulate import simulate
from rmqlab.runtime.schedule import ScheduledChooser

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from rmqlab.lab.cluster import ClusterConfig
    from rmqlab.lab.simulate import ClientSettings
    from rmqlab.runtime.schedule import Chooser, Schedule

BUDGET = 2_000
SAMPLES = 200  # drawn beside a search that came to its end


class NotRepeatedError(RuntimeError):
    """A schedule did not lead where it led before: something in the core is not a function of its inputs."""


@dataclass(slots=True)
class FoundOutcome:
    """One way to end. ``share`` 0..1; ``sampled``: of the runs drawn by seed; ``run`` has the shortest schedule.

    ``schedules``: how many schedules of the exhausted space end so, None when it is not exhausted.
    """

    outcome: Outcome
    share: float
    sampled: int
    run: Run
    schedules: int | None = None

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
            "lost": self.lost,
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


@dataclass(slots=True)
class Explored:
    """What an exploration found. ``outcomes``: the most frequent first; ``exhausted``: no order of frames is left.

    ``runs``: all that were made; ``searched``, ``sampled`` and ``shortening`` of them in which part. ``states`` and
    ``merged``: of the search.
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
    beyond: list[FoundOutcome] = field(default_factory=list)

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
            "space": {
                "lag_ms": self.lag_ms,
                "searched": self.searched,
                "states": self.states,
                "merged": self.merged,
                "sampled": self.sampled,
                "by_times_only": [self.outcomes.index(found) for found in self.beyond],
            },
            "properties": [verdict.as_json() for verdict in self.verdicts],
        }


class Explorer:
    """Explores one scenario with a broker's and clients' settings. All runs count against ``budget``."""

    def __init__(
        self,
        scenario: Scenario,
        *,
        budget: int = BUDGET,
        seed: int = 0,
        samples: int = SAMPLES,
        lag_ms: int = 0,
        cluster: ClusterConfig | None = None,
        clients: ClientSettings | None = None,
        properties: Sequence[Property] | None = None,
    ) -> None:
        """``samples`` runs at least are drawn from ``seed`` on, of which 0 draws none.

        Raises:
            BadInput: a budget below 1, or a negative number of samples or ms.
        """
        for name, value, least in (("budget", budget, 1), ("samples", samples, 0), ("lag_ms", lag_ms, 0)):
            if value < least:
                raise BadInput(f"{name} is {value}; it must be {least} or more")
        self.scenario = scenario
        self._budget, self._seed, self._samples, self._lag_ms = budget, seed, min(samples, budget // 2), lag_ms
        self._cluster, self._clients = cluster, clients
        self._properties = usual_properties(scenario) if properties is None else list(properties)
        self._search = OpenSearch(scenario, self._key, lag_ms=lag_ms, cluster=cluster, clients=clients)
        self._drawn: dict[tuple[Any, ...], Ending] = {}
        self._counts: dict[Outcome, int] = {}
        self._shortening = 0

    def explore(self, progress: Callable[[int], None] | None = None) -> Explored:
        """Search, sample, shorten, check. ``progress`` hears the number of runs now and then.

        Raises:
            BadInput: the scenario cannot be simulated.
        """
        search = self._search
        while not search.exhausted and search.runs < self._budget - self._samples:
            search.step()
            if progress is not None and search.runs % 100 == 0:
                progress(search.runs)
        drawn = self._samples if search.exhausted else self._budget - search.runs
        if self._samples:
            for seed in range(self._seed, self._seed + drawn):
                self._draw(seed)
        return self._result()

    # Runs.

    def _key(self, run: Run) -> tuple[Any, ...]:
        said = tuple(one.says(run) is None for one in self._properties)
        return (run.outcome(), said, tuple(sorted({fate.body for fate in run.fates if fate.lost})))

    def _timed(self, chooser: Chooser) -> Run:
        return simulate(
            self.scenario, chooser=chooser, timing=RACE_TIMING, cluster=self._cluster, clients=self._clients
        )

    def _draw(self, seed: int) -> None:
        run = self._timed(RaceChooser(seed))
        key, outcome = self._key(run), run.outcome()
        self._counts[outcome] = self._counts.get(outcome, 0) + 1
        ending = self._drawn.get(key)
        if ending is None or len(run.schedule.taken) < ending.deviations:
            self._drawn[key] = Ending(key, run, len(run.schedule.taken))

    def _shorten(self, run: Run, same: Callable[[Run], bool]) -> Run:
        shortest = Shortest(self._timed, same)
        result = shortest.of(run)
        self._shortening += shortest.runs
        return self._checked(result)

    def _checked(self, run: Run) -> Run:
        """The schedule of a run, replayed: what is handed out does what it says."""
        schedule = run.schedule
        again = simulate(
            self.scenario, chooser=ScheduledChooser(schedule), timing=schedule.timing, cluster=self._cluster,
            clients=self._clients,
        )  # fmt: skip
        self._shortening += 1
        if self._key(again) != self._key(run):
            raise NotRepeatedError(f"schedule {schedule.to_json()} does not repeat its run")
        return again

    # Results.

    def _result(self) -> Explored:
        search = self._search
        shares, paths = (search.graph.shares(), search.graph.schedules()) if search.exhausted else ({}, {})
        by_outcome: dict[Outcome, FoundOutcome] = {}
        for number, ending in enumerate(search.endings):
            outcome = ending.run.outcome()
            found = by_outcome.get(outcome)
            if found is None:
                count = self._counts.get(outcome, 0)
                found = by_outcome[outcome] = FoundOutcome(outcome, 0.0, count, ending.run)
            if search.exhausted:
                found.share += shares.get(number, 0.0)
                found.schedules = (found.schedules or 0) + paths.get(number, 0)
            if ending.deviations < len(found.schedule.taken):
                found.run = ending.run
        beyond = self._beyond(by_outcome)
        total = sum(self._counts.values())
        exhausted = search.exhausted and not beyond
        for found in by_outcome.values():
            if not exhausted:
                found.share = found.sampled / total if total else 0.0
                found.schedules = None
        outcomes = sorted(by_outcome.values(), key=lambda found: (-round(found.share, 9), len(found.schedule.taken)))
        for found in outcomes:
            if found not in beyond:
                found.run = self._checked(found.run)
        verdicts = [self._judge(one) for one in self._properties]
        return Explored(
            self.scenario,
            exhausted,
            search.runs + total + self._shortening,
            search.runs,
            total,
            len(search.graph.nodes),
            search.graph.merged,
            outcomes,
            verdicts,
            self._lag_ms,
            beyond,
        )

    def _beyond(self, by_outcome: dict[Outcome, FoundOutcome]) -> list[FoundOutcome]:
        """Add the outcomes that only other times reach, with shortened schedules."""
        beyond = []
        for outcome, count in self._counts.items():
            if outcome not in by_outcome:
                run = min(
                    (one.run for one in self._drawn.values() if one.run.outcome() == outcome),
                    key=lambda run: len(run.schedule.taken),
                )
                run = self._shorten(run, _ends_with(outcome))
                beyond.append(FoundOutcome(outcome, 0.0, count, run))
                by_outcome[outcome] = beyond[-1]
        return beyond

    def _judge(self, one: Property) -> Verdict:
        """Whether a property holds in all runs made, and the shortest run that shows it."""
        speaking = [ending for ending in self._search.endings if one.says(ending.run) is not None]
        wanted = one.kind is Kind.SOMETIMES
        run = min(speaking, key=lambda ending: ending.deviations).run if speaking else None
        if run is None:
            drawn = [ending for ending in self._drawn.values() if one.says(ending.run) is not None]
            if drawn:
                shortest = min(drawn, key=lambda ending: ending.deviations).run
                run = self._shorten(shortest, lambda other: one.says(other) is not None)
        elif not wanted:
            run = self._checked(run)
        return Verdict(one, (run is not None) == wanted, run, None if run is None else one.says(run))


def _ends_with(outcome: Outcome) -> Callable[[Run], bool]:
    return lambda run: run.outcome() == outcome


def explore(scenario: Scenario, **settings: Any) -> Explored:
    """Explore a scenario; the settings are those of ``Explorer``.

    Raises:
        BadInput: a setting that cannot be, or a scenario that cannot be simulated.
    """
    return Explorer(scenario, **settings).explore()
