"""A run's deviations, the choices that are not the usual ones: taken back one by one, or made once more.

The shortest schedule is found by delta debugging (Zeller and Hildebrandt): try without halves of the deviations, then
without quarters, down to single ones; what cannot be left out is then made as small as it can be. A deviation is known
by its label and by how often that label was asked before, so that taking one back does not move the others.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from rmqlab.scenario.schedule import Chooser
from rmqlab.sim.simulate import simulate
from rmqlab_tools.search.explorer.timings import chosen_times

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from rmqlab.run.run import Run
    from rmqlab.scenario.scenario import Scenario
    from rmqlab.scenario.schedule import Schedule
    from rmqlab.sim.cluster import ClusterConfig


Deviations = dict[tuple[str, int], int]  # (label, how often it was asked before) -> option
MAX_RUNS = 200


class DeviationsChooser(Chooser):
    """Takes the options given for the k-th time a label is asked, else the first."""

    def __init__(self, deviations: Mapping[tuple[str, int], int]) -> None:
        super().__init__()
        self._deviations = deviations
        self._asked: Counter[str] = Counter()

    def pick(self, number: int, label: str, n: int) -> int:
        """The option given, or the first one if there are fewer now."""
        time = self._asked[label]
        self._asked[label] += 1
        option = self._deviations.get((label, time), 0)
        return option if option < n else 0


def deviations_of(run: Run) -> Deviations:
    """What a run chose that was not the first option, in order."""
    times: Counter[str] = Counter()
    taken: Deviations = {}
    for choice in run.choices:
        if choice.taken:
            taken[choice.label, times[choice.label]] = choice.taken
        times[choice.label] += 1
    return taken


class ScheduleShortener:
    """Shortens runs. `run_with(chooser)` makes a run, `same(run)` says whether it still shows what matters.

    `runs` counts the runs it took; after `max_runs` it stays with what it has, and is not `finished`.
    """

    def __init__(
        self, run_with: Callable[[Chooser], Run], same: Callable[[Run], bool], max_runs: int = MAX_RUNS
    ) -> None:
        self.runs = 0
        self._run_with = run_with
        self._same = same
        self._max_runs = max_runs
        self.finished = True

    def of(self, run: Run) -> Run:
        """A run with as few deviations as were found to do, the options as small as possible."""
        best = self._take_back(run)
        return self._lower(best)

    def _try(self, deviations: Deviations) -> Run | None:
        if self.runs >= self._max_runs:
            self.finished = False
            return None
        self.runs += 1
        run = self._run_with(DeviationsChooser(deviations))
        return run if self._same(run) else None

    def _take_back(self, run: Run) -> Run:
        parts = 2
        present = deviations_of(run)
        nothing = self._try({}) if present else None
        if nothing is not None:
            return nothing
        while len(present) > 1:
            keys = list(present)
            size = -(-len(keys) // parts)
            for start in range(0, len(keys), size):
                left_out = set(keys[start : start + size])
                shorter = self._try({key: option for key, option in present.items() if key not in left_out})
                if shorter is not None and len(deviations_of(shorter)) < len(present):
                    run, present = shorter, deviations_of(shorter)
                    parts = max(parts - 1, 2)
                    break
            else:
                if parts >= len(keys):
                    break
                parts = min(2 * parts, len(keys))
        return run

    def _lower(self, run: Run) -> Run:
        present = deviations_of(run)
        for key in list(present):
            for option in range(1, present.get(key, 0)):
                lower = self._try(present | {key: option})
                if lower is not None and len(deviations_of(lower)) <= len(present):
                    run, present = lower, deviations_of(lower)
                    break
        return run


def replay_schedule(scenario: Scenario, schedule: Schedule, *, cluster: ClusterConfig | None = None) -> Run:
    """Run a schedule of `scenario` again.

    Raises:
        BadInput: it belongs to another scenario, or other settings.
    """
    times = chosen_times(scenario, schedule=schedule)
    return simulate(scenario, cluster=cluster, **times)
