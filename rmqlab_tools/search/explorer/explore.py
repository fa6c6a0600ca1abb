"""Every outcome a scenario can have: by searching all orders of frames, by sampling times, or both.

The search of open orders (`open_search`) is exhaustive when it comes to its end within the budget. Then shares are
exact: each option of each choice counts the same (not each order). What the search does not vary it assumes
(`timings`), and says so. Beside it runs are drawn by seed with times as they were recorded: they show how likely an
outcome is on a real network, are all there is when the space is too large, and test the assumptions. An outcome that
only they reach means that the space was too small: a second search opens times as well, a third one how late threads
are; when that too leaves out what was drawn, or the budget is used up, nothing is claimed.
"""

from __future__ import annotations

import math
from collections import Counter
from contextlib import closing
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING, Any

from rmqlab.errors import BadInput, whole_number
from rmqlab.language import _
from rmqlab.rules import RULES
from rmqlab.sim.simulate import simulate
from rmqlab_tools.gc_tuning import gc_tuning
from rmqlab_tools.search.defaults import RUN_BUDGET, SAMPLES, SHORTENING_BUDGET
from rmqlab_tools.search.explorer.choice_graph import decisions
from rmqlab_tools.search.explorer.deviations import MAX_RUNS, ScheduleShortener, replay_schedule
from rmqlab_tools.search.explorer.exploration import Exploration, FoundOutcome, PropertyVerdict
from rmqlab_tools.search.explorer.open_search import OpenSearch
from rmqlab_tools.search.explorer.properties import PropertyKind, RunProperty, usual_properties
from rmqlab_tools.search.explorer.timings import (
    ALL_ASSUMED,
    VARIED_TIMES,
    RaceChooser,
    checked_vary,
    race_timing,
    search_timing,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from rmqlab.run.run import Outcome, Run
    from rmqlab.scenario.scenario import Scenario
    from rmqlab.scenario.schedule import Chooser
    from rmqlab.sim.cluster import ClusterConfig
    from rmqlab_tools.search.explorer.choice_graph import Decision

RUNS_PER_REPORT = 20  # runs between two reports of progress


class NotRepeatedError(RuntimeError):
    """A schedule did not lead where it led before: something in the core is not a function of its inputs."""


class Explorer:
    """Explores one scenario with a broker's and clients' settings. All runs count against `budget`."""

    def __init__(
        self,
        scenario: Scenario,
        *,
        budget: int = RUN_BUDGET,
        seconds: float | None = None,
        seed: int = 0,
        samples: int = SAMPLES,
        shortening: int = SHORTENING_BUDGET,
        lag_ms: int = 0,
        vary: Sequence[str] = (),
        cluster: ClusterConfig | None = None,
        properties: Sequence[RunProperty] | None = None,
        helpers: bool = False,
    ) -> None:
        """`samples` runs at least are drawn from `seed` on, of which 0 draws none.

        After `seconds` of the clock no further run is begun (None: the budget alone ends it). What was found till
        then is given, and `out_of_time` of the answer says so: then another machine may find more, or less.

        `vary`: what the search opens from the beginning beside the order of frames, by the names in `ASSUMED`.

        Schedules of outcomes that no search reaches are made shorter with at most `shortening` runs beyond the
        budget, those of properties first, then the most frequent outcomes.

        `helpers`: other processes make runs of a long search ahead, one for each processor; the answer is the same.

        Raises:
            BadInput: a budget below 1, no time at all, a negative number of samples, runs for shortening, or ms, or a
                name to vary that is unknown.
        """
        limits = (("budget", budget, 1), ("samples", samples, 0), ("shortening", shortening, 0), ("lag_ms", lag_ms, 0))
        for name, value, least in limits:
            whole_number(name, value, least)
        if seconds is not None and not seconds > 0:
            raise BadInput(_("seconds is {seconds}; it must be more than 0", seconds=seconds))
        self.scenario = scenario
        self._cluster = cluster
        self._budget, self._seed, self._samples, self._lag_ms = budget, seed, min(samples, budget // 2), lag_ms
        self._properties = usual_properties(scenario) if properties is None else list(properties)
        self._key = partial(_key_of, [judged.says for judged in self._properties])
        self._helpers = helpers and self._can_be_sent()
        self._varied: tuple[str, ...] = checked_vary(vary)  # by the last of the searches
        self._searches: list[OpenSearch] = []
        self._drawn: dict[tuple[Any, ...], Run] = {}
        self._counts: Counter[Outcome] = Counter()
        self._may_shorten = shortening
        self._shortening = self._checks = 0
        self._seconds, self._until, self._cut = seconds, math.inf, False

    def explore(self, progress: Callable[[int], None] | None = None) -> Exploration:
        """Search, sample, shorten, check. `progress` hears the number of runs now and then.

        Raises:
            BadInput: the scenario cannot be simulated.
        """
        if self._seconds is not None:
            self._until = monotonic() + self._seconds
        with gc_tuning():
            self._run_all(progress)
            return self._result()

    def _run_all(self, progress: Callable[[int], None] | None) -> None:
        search = self._search(self._budget - self._samples, progress)
        drawn = self._samples if search.exhausted else self._budget - search.runs
        if self._samples:
            for number, seed in enumerate(range(self._seed, self._seed + drawn), 1):
                if self._is_over():
                    return
                self._draw(seed)
                if progress is not None and number % RUNS_PER_REPORT == 0:
                    progress(search.runs + number)
        left = self._budget - search.runs - drawn
        for more in (VARIED_TIMES, ALL_ASSUMED):
            if not (search.exhausted and left > 0 and self._unreached()) or self._is_over():
                break
            wider = checked_vary([*self._varied, *more])
            if wider != self._varied:
                self._varied = wider
                search = self._search(left, progress)
                left -= search.runs

    # Runs.

    def _search(self, max_runs: int, progress: Callable[[int], None] | None) -> OpenSearch:
        """Search what is varied now, with at most so many runs."""
        timing = search_timing(self.scenario, self._varied, self._lag_ms * 1_000)
        search = OpenSearch(self.scenario, self._key, timing=timing, cluster=self._cluster, helpers=self._helpers)
        self._searches.append(search)
        with closing(search):
            while not search.exhausted and search.runs < max_runs and not (search.runs and self._is_over()):
                search.step(max_runs - search.runs)
                if progress is not None and search.runs % RUNS_PER_REPORT == 0:
                    progress(sum(earlier.runs for earlier in self._searches) + self._counts.total())
        return search

    def _can_be_sent(self) -> bool:
        """Whether another process knows the properties and the rules: those that somebody wrote stay in this one."""
        return all(_is_ours(judged.says) for judged in self._properties) and (
            self._cluster is None or self._cluster.rules in RULES.values()
        )

    def _is_over(self) -> bool:
        """Whether the time is over; asked before each run that would follow, so a yes means that one is left out."""
        self._cut = self._cut or monotonic() >= self._until
        return self._cut

    def _unreached(self) -> set[Outcome]:
        """Outcomes that were drawn and that no search has reached."""
        return self._counts.keys() - {run.outcome() for run in self._endings()}

    def _endings(self) -> Iterator[Run]:
        for search in self._searches:
            yield from search.endings

    def _timed(self, chooser: Chooser) -> Run:
        return simulate(self.scenario, chooser=chooser, timing=race_timing(self.scenario), cluster=self._cluster)

    def _draw(self, seed: int) -> None:
        run = self._timed(RaceChooser(seed))
        key, outcome = self._key(run), run.outcome()
        self._counts[outcome] += 1
        self._drawn[key] = min(self._drawn.get(key, run), run, key=_deviations)

    def _shorten(self, run: Run, same: Callable[[Run], bool]) -> tuple[Run, bool]:
        """A shorter run, and whether shortening came to its end: not when a limit of runs came first."""
        left = 0 if self._is_over() else self._may_shorten - self._shortening
        shortener = ScheduleShortener(self._timed, same, min(MAX_RUNS, left))
        result = shortener.of(run)
        self._shortening += shortener.runs
        return self._checked(result), shortener.finished

    def _checked(self, run: Run) -> Run:
        """The schedule of a run, replayed: what is handed out does what it says."""
        schedule = run.schedule
        again = replay_schedule(self.scenario, schedule, cluster=self._cluster)
        self._checks += 1
        if self._key(again) != self._key(run):
            raise NotRepeatedError(_("schedule {to_json} does not repeat its run", to_json=schedule.to_json()))
        return again

    # Results.

    def _result(self) -> Exploration:
        last, by_outcome = self._searches[-1], self._reached()
        whole = last if last.exhausted and self._counts.keys() <= by_outcome.keys() else None
        verdicts = [self._judge(judged, whole is not None) for judged in self._properties]
        beyond = self._beyond(by_outcome)
        total = self._counts.total()
        if whole is not None:
            _weigh(whole, by_outcome)
        else:
            for outcome in by_outcome.values():
                outcome.share = outcome.sampled / total if total else None
        outcomes = sorted(
            by_outcome.values(), key=lambda outcome: (-round(outcome.share or 0.0, 9), len(outcome.schedule.taken))
        )
        for outcome in outcomes:
            if outcome not in beyond:
                outcome.run = self._checked(outcome.run)
        searched = sum(search.runs for search in self._searches)
        return Exploration(
            self.scenario,
            whole is not None,
            searched + total + self._shortening + self._checks,
            searched,
            total,
            sum(len(search.graph.nodes) for search in self._searches),
            sum(search.graph.merged for search in self._searches),
            outcomes,
            verdicts,
            self._lag_ms,
            len(self._searches) > 1,
            beyond,
            self._shortening,
            None if whole is None else _decisions(whole, outcomes),
            self._varied,
            self._cut,
        )

    def _reached(self) -> dict[Outcome, FoundOutcome]:
        """The outcomes that a search has reached, each with the run of fewest deviations."""
        by_outcome: dict[Outcome, FoundOutcome] = {}
        for run in self._endings():
            outcome = run.outcome()
            reached = by_outcome.setdefault(outcome, FoundOutcome(outcome, None, self._counts[outcome], run))
            reached.run = min(reached.run, run, key=_deviations)
        return by_outcome

    def _beyond(self, by_outcome: dict[Outcome, FoundOutcome]) -> list[FoundOutcome]:
        """Add the outcomes that only other times reach, with shortened schedules."""
        beyond = []
        for outcome, count in sorted(self._counts.items(), key=lambda pair: -pair[1]):
            if outcome not in by_outcome:
                run = min((drawn for drawn in self._drawn.values() if drawn.outcome() == outcome), key=_deviations)
                run, short = self._shorten(run, partial(_ends_with, outcome))
                beyond.append(FoundOutcome(outcome, None, count, run, shortened=short))
                by_outcome[outcome] = beyond[-1]
        return beyond

    def _judge(self, judged: RunProperty, exhausted: bool) -> PropertyVerdict:
        """Whether a property holds in all runs made, and the shortest of them that speaks against it or for it."""

        def speaks(run: Run) -> bool:
            return judged.says(run) is not None

        shortened, wanted = True, judged.kind is PropertyKind.SOMETIMES
        run = min(filter(speaks, self._endings()), key=_deviations, default=None)
        if run is None:
            run = min(filter(speaks, self._drawn.values()), key=_deviations, default=None)
            if run is not None:
                run, shortened = self._shorten(run, speaks)
        elif not wanted:
            run = self._checked(run)
        text = None if run is None else judged.says(run)
        return PropertyVerdict(judged, (run is not None) == wanted, run is not None or exhausted, run, text, shortened)


def _key_of(says: Sequence[Callable[[Run], str | None]], run: Run) -> tuple[Any, ...]:
    said = tuple(judge(run) is None for judge in says)
    return (run.outcome(), said, tuple(sorted({fate.body for fate in run.fates if fate.lost})))


def _is_ours(says: object) -> bool:
    return getattr(getattr(says, "func", says), "__module__", "").startswith("rmqlab_tools.")


def _weigh(search: OpenSearch, by_outcome: dict[Outcome, FoundOutcome]) -> None:
    """Give the outcomes their shares and numbers of schedules in a space that was searched to its end."""
    shares, paths = search.graph.shares(), search.graph.schedules()
    for number, run in enumerate(search.endings):
        outcome = by_outcome[run.outcome()]
        outcome.share = (outcome.share or 0.0) + shares.get(number, 0.0)
        outcome.schedules = (outcome.schedules or 0) + paths.get(number, 0)


def _decisions(search: OpenSearch, outcomes: Sequence[FoundOutcome]) -> Decision:
    ends = [run.outcome() for run in search.endings]
    return decisions(search.graph, ends, [outcome.outcome for outcome in outcomes])


def _deviations(run: Run) -> int:
    return len(run.schedule.taken)


def _ends_with(outcome: Outcome, run: Run) -> bool:
    return run.outcome() == outcome
