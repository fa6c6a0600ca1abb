"""The change planner: runs each procedure through every schedule there is, or many, and says what it can cost.

A procedure is searched from the first step of its change on: every order of frames that matters (`open_search`),
within the budget, under the assumptions of such a search (`timings`). Beside it runs are drawn by seed with times
as they were recorded (`timings`). A procedure is called safe only if no run lost a message and its checklist asks
nothing of the producers; one that asks something of them is safe on that condition. What comes before the
change is the same in all of them. Limits are counts of runs, so that the same question has the same answer everywhere;
whoever asks for a limit of time learns that it cut the search.
"""

from __future__ import annotations

import math
import sys
from collections import Counter
from dataclasses import replace
from itertools import product
from time import monotonic
from typing import TYPE_CHECKING, NamedTuple

from rmqlab.errors import BadInput, did_you_mean, whole_number
from rmqlab.language import _, joined, ngettext
from rmqlab.rules import DEFAULT_RULES, RULES, Rules
from rmqlab.sim.cluster import default_settings
from rmqlab.sim.simulate import TOPICS_SETTLE_MS, simulate
from rmqlab_tools.gc_tuning import gc_tuning
from rmqlab_tools.processors import processors
from rmqlab_tools.search.defaults import SCHEDULE_BUDGET
from rmqlab_tools.search.explorer.deviations import ScheduleShortener, replay_schedule
from rmqlab_tools.search.explorer.explore import NotRepeatedError
from rmqlab_tools.search.explorer.open_search import OpenSearch
from rmqlab_tools.search.explorer.timings import LATE_TIMING, RaceChooser
from rmqlab_tools.search.plan.change import Change, change_between, parse_subscription
from rmqlab_tools.search.plan.procedures import PROCEDURES, Course, Procedure, Producers, Setting, course
from rmqlab_tools.search.plan.results import Plan, ProcedureResult
from rmqlab_tools.search.plan.run_cost import RunCost, cost_of
from rmqlab_tools.side_by_side import side_by_side

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from rmqlab.run.run import Run
    from rmqlab.scenario.schedule import Chooser


DRAWN = 20  # runs drawn beside a search that came to its end
ALONE = 10  # where it does not, one in so many of the budget is drawn, if that is more
LOOK = 40  # after so many runs it is clear enough whether a search can end within its budget
WORTH_HELPERS = 1_000  # runs of all searches together; a helper takes as long to start as some tens of runs
SCHEDULES_PER_REPORT = 10  # runs between two reports of progress
SHORTENING_RUNS = 60  # runs spent on a shorter schedule of a loss that only drawn runs reach


class _LateRaceChooser(RaceChooser):
    """Draws what comes after the change has begun, and the broker's uptime; all else is as usual."""

    def __init__(self, seed: int, open_from_ms: float) -> None:
        super().__init__(seed)
        self._open_from_ms = open_from_ms
        self._is_late = False

    def pick(self, number: int, label: str, n: int) -> int:
        self._is_late = self._is_late or self.now_is_from(self._open_from_ms)
        return super().pick(number, label, n) if self._is_late or label == "broker uptime" else 0


class _Trial:
    """Tries one procedure; counts its runs, keeps the worst."""

    def __init__(self, task: _Task, written: Course, progress: Callable[[str], None], until: float) -> None:
        self.task, self.course = task, written
        self.change_at_ms = TOPICS_SETTLE_MS + written.change_at
        self._progress = progress
        self._until = until
        self._cluster = replace(default_settings(), rules=task.rules)
        self.cut = False
        self._drawn: Counter[int] = Counter()
        self._reached: set[int] = set()
        self.duplicates = 0
        self._runs = 0
        self.takes_ms = self.longest_wait_ms = 0
        self._worst: tuple[Run, RunCost] | None = None

    def run(self) -> ProcedureResult:
        with gc_tuning():
            return self._result()

    def _result(self) -> ProcedureResult:
        task, budget = self.task, self.task.budget
        search = OpenSearch(self.course.scenario, self._count, cluster=self._cluster, open_from_ms=self.change_at_ms)
        while not search.exhausted and search.runs < budget and (search.runs != LOOK or search.waiting < budget):
            if search.runs and self._is_over():
                break
            search.step()
            self._ran()
        drawn = min(DRAWN if search.exhausted else max(DRAWN, budget // ALONE), budget)
        by_search = self._worst
        for number in range(task.seed, task.seed + drawn):
            if self._drawn and self._is_over():
                break
            lost, _ignored = self._count(self._timed(_LateRaceChooser(number, self.change_at_ms)))
            self._drawn[len(lost)] += 1
            self._ran()
        if self._worst is None:
            raise BadInput(
                _("budget is {budget}; {name} needs at least one whole run", budget=budget, name=task.procedure.name)
            )
        worst, cost = self._worst
        by_chance = by_search is None or len(cost.lost) > len(by_search[1].lost)
        if by_search is not None and not by_chance:
            worst, cost = by_search
        elif cost.lost and not self._is_over():
            worst = self._shortened(worst, len(cost.lost), min(budget, SHORTENING_RUNS))
        again = replay_schedule(self.course.scenario, worst.schedule, cluster=self._cluster)
        if again.lines() != worst.lines():
            raise NotRepeatedError(_("schedule {to_json} does not repeat its run", to_json=worst.schedule.to_json()))
        return ProcedureResult(
            task.procedure, task.change, task.producers, self.course, search.exhausted and not by_chance, search.runs,
            self._drawn.total(), self._losses(search), again, self.cost(again), self.takes_ms,
            self.longest_wait_ms, self.duplicates,
        )  # fmt: skip

    def _is_over(self) -> bool:
        """Whether the time is over; asked before each run that would follow, so a yes means that one is left out."""
        self.cut = self.cut or monotonic() >= self._until
        return self.cut

    def _ran(self) -> None:
        self._runs += 1
        if self._runs % SCHEDULES_PER_REPORT == 1:
            self._progress(
                ngettext(
                    "{name}, producers {producers}, {runs} run",
                    "{name}, producers {producers}, {runs} runs",
                    self._runs,
                    name=self.task.procedure.name,
                    producers=self.task.producers,
                    runs=self._runs,
                )
            )

    def _losses(self, search: OpenSearch) -> dict[int, float]:
        losses = dict.fromkeys(sorted(self._reached), 0.0)
        if search.exhausted:
            for number, share in search.graph.shares().items():
                losses[len(self.cost(search.endings[number]).lost)] += share
        else:
            for lost, runs in self._drawn.items():
                losses[lost] += runs / self._drawn.total()
        return losses

    def cost(self, run: Run) -> RunCost:
        return cost_of(run, self.task.change, self.change_at_ms)

    def _count(self, run: Run) -> tuple[tuple[str, ...], int]:
        cost = self.cost(run)
        self._reached.add(len(cost.lost))
        self.takes_ms = max(self.takes_ms, cost.takes_ms)
        self.longest_wait_ms = max(self.longest_wait_ms, cost.longest_wait_ms)
        self.duplicates = max(self.duplicates, cost.duplicates)
        if self._worst is None or _badness(cost) > _badness(self._worst[1]):
            self._worst = (run, cost)
        return (cost.lost, cost.duplicates)

    def _timed(self, chooser: Chooser) -> Run:
        return simulate(self.course.scenario, chooser=chooser, timing=LATE_TIMING, cluster=self._cluster)

    def _shortened(self, run: Run, lost: int, max_runs: int) -> Run:
        """A run with fewer unusual choices that loses as many messages."""
        return ScheduleShortener(self._timed, lambda other: len(self.cost(other).lost) >= lost, max_runs).of(run)


def _badness(cost: RunCost) -> tuple[int, int]:
    return len(cost.lost), cost.duplicates


def procedures_named(names: Sequence[str] | None) -> list[Procedure]:
    """Procedures by name, all without names.

    Raises:
        BadInput: there is none of this name.
    """
    known = {procedure.name: procedure for procedure in PROCEDURES}
    for name in names or ():
        if name not in known:
            raise BadInput(
                _(
                    "no procedure {name}{near}; there are: {known}",
                    name=f"{name!r}",
                    near=did_you_mean(name, known),
                    known=joined(", ", known),
                )
            )
    return [known[name] for name in names or known]


def plan(
    old: str,
    new: str,
    *,
    setting: Setting | None = None,
    budget: int = SCHEDULE_BUDGET,
    seed: int = 0,
    procedures: Sequence[str] | None = None,
    producers: Sequence[Producers] = tuple(Producers),
    progress: Callable[[str], None] | None = None,
    seconds: float | None = None,
    rules: Rules = DEFAULT_RULES,
) -> Plan:
    """Compare the ways from `old` to `new` (texts as for `parse_subscription`).

    `budget`: runs of the search at most for each procedure and behaviour of the producers. Runs drawn by chance, from
    `seed` on, and those that shorten the worst one come on top. `progress` hears what is being tried and how many
    runs of it were made. `rules` are those of broker and clients. After `seconds` of the clock each procedure
    has two more runs at most, one of the search and one by chance (None: the budget alone ends it); what they show is
    then less sure, and the plan says so.

    Raises:
        BadInput: a subscription that would be refused, a budget or a name that cannot be.
    """
    change = change_between(parse_subscription(old, "OLD", rules), parse_subscription(new, "NEW", rules), rules)
    setting = setting or Setting()
    whole_number("budget", budget, 1)
    whole_number("seed", seed)
    if seconds is not None and not seconds > 0:
        raise BadInput(_("seconds is {seconds}; it must be more than 0", seconds=seconds))
    until, cut = math.inf if seconds is None else monotonic() + seconds, False
    if not producers:
        raise BadInput(_("name how the producers behave: {Producers}", Producers=joined(", ", Producers)))
    chosen = procedures_named(procedures)
    tasks = [
        _Task(procedure, change, setting, behaviour, rules, budget, seed)
        for behaviour, procedure in product((kind for kind in Producers if kind in producers), chosen)
    ]
    courses = [task.course() for task in tasks]
    firsts = [number for number, written in enumerate(courses) if courses.index(written) == number]
    different = [tasks[number] for number in firsts]
    hear = progress or _unheard
    if seconds is None and _is_worth_helpers(different):
        results = side_by_side(_try, different, hear)
        for number, result in zip(firsts, results, strict=True):
            result.course = courses[number]
            result.worst.scenario = result.course.scenario
    else:
        trials = [_Trial(tasks[number], courses[number], hear, until) for number in firsts]
        results = [trial.run() for trial in trials]
        cut = any(trial.cut for trial in trials)
    by_course = dict(zip(firsts, results, strict=True))
    tried = [
        replace(by_course[courses.index(written)], procedure=task.procedure, producers=task.producers)
        for task, written in zip(tasks, courses, strict=True)
    ]
    return Plan(change, setting, budget, seed, tried, cut)


class _Task(NamedTuple):
    """One procedure to be tried."""

    procedure: Procedure
    change: Change
    setting: Setting
    producers: Producers
    rules: Rules
    budget: int
    seed: int

    def course(self) -> Course:
        return course(self.procedure, self.change, self.setting, self.producers)


def _try(task: _Task, progress: Callable[[str], None]) -> ProcedureResult:
    """In another process. What a scenario leaves out because it is the default is known by identity (msgspec)."""
    task = task._replace(setting=replace(task.setting, kind=sys.intern(task.setting.kind)))
    return _Trial(task, task.course(), progress, math.inf).run()


def _is_worth_helpers(tasks: Sequence[_Task]) -> bool:
    """Whether there is enough to do for other processors; rules that somebody wrote stay in this process."""
    enough = len(tasks) > 1 and sum(task.budget for task in tasks) >= WORTH_HELPERS
    return enough and processors() > 1 and all(task.rules in RULES.values() for task in tasks)


def _unheard(_text: str) -> None:
    """Progress is not asked for."""
