"""The change planner: runs each procedure through every schedule there is, or many, and says what it can cost.

A procedure is searched from the first step of its change on: every order of frames that matters (``open_search``),
within the budget, under the assumptions of such a search (``assumptions``). Beside it runs are drawn by seed with times
as they were recorded (``race``). A procedure is called safe only if no run lost a message and its checklist asks
nothing of the producers; one that asks something of them is safe on that condition. What comes before the
change is the same in all of them. Limits are counts of runs, never seconds, so that the same question has the same
answer everywhere.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from rmqlab.errors import BadInput
from rmqlab.lab.gc_tuning import gc_tuning
from rmqlab.lab.run import Run
from rmqlab.lab.simulate import TOPICS_SETTLE_MS, Simulation, simulate
from rmqlab.runtime.schedule import ScheduledChooser
from rmqlab.search.explorer.assumptions import assumed
from rmqlab.search.explorer.compare import default_settings
from rmqlab.search.explorer.explore import NotRepeatedError
from rmqlab.search.explorer.open_search import OpenSearch
from rmqlab.search.explorer.race import LATE_TIMING, RaceChooser
from rmqlab.search.explorer.shortest import Shortest
from rmqlab.search.plan.change import Change, Kind, change_between, parse_subscription, text_of
from rmqlab.search.plan.checklist import asks_of_producers
from rmqlab.search.plan.procedures import PROCEDURES, Course, Procedure, Producers, Setting, course
from rmqlab.search.plan.verdict import LostMessage, RunCost, cost_of, lost_messages

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from rmqlab.runtime.schedule import Chooser, Schedule
    from rmqlab.runtime.virtual import VirtualTime

BUDGET = 600
DRAWN = 20  # runs drawn beside a search that came to its end
ALONE = 10  # where it does not, one in so many of the budget is drawn, if that is more
HALF = 0.5 - 1e-9
LOOK = 40  # after so many runs it is clear enough whether a search can end within its budget
TELL_EVERY = 10  # runs between two reports of progress
SHORTENING = 60  # runs spent on the shortest schedule of a loss that only drawn runs reach


@dataclass(slots=True)
class Tried:
    """A procedure tried. ``losses``: share of the schedules by how many messages they lose.

    The shares are exact (each option of each choice counts the same) if ``exhausted``, else those of the drawn runs.

    ``conditions``: what the producers have to do, by the checklist or by how they were assumed to behave.
    ``exhausted``: no order of frames is left; ``runs`` = ``searched`` + ``drawn`` by seed. ``worst`` is the shortest
    run found that loses most (of those that lose nothing: one that takes most messages twice), ``cost`` what it cost;
    ``usual`` is the cost of the run in which every frame comes in the order it was sent.
    """

    procedure: Procedure
    producers: Producers
    course: Course
    exhausted: bool
    searched: int
    drawn: int
    losses: dict[int, float]
    worst: Run
    cost: RunCost
    usual: RunCost
    duplicates: int
    lost: list[LostMessage] = field(default_factory=list)
    conditions: list[str] = field(default_factory=list)

    @property
    def name(self) -> str:
        """The procedure and the producers, as files are called."""
        return f"{self.procedure.name}-{self.producers}"

    @property
    def lossless(self) -> bool:
        """Whether no run lost a message."""
        return self.cost.lost == ()

    @property
    def safe(self) -> bool:
        """Whether no run lost a message, and nothing is asked of the producers."""
        return self.lossless and not self.conditions

    @property
    def runs(self) -> int:
        """How many schedules were tried."""
        return self.searched + self.drawn

    @property
    def schedule(self) -> Schedule:
        """The choices of the worst run; replays with ``rmqlab simulate --schedule``."""
        return self.worst.schedule

    def spread(self) -> tuple[int, int, int]:
        """Messages lost at best, in the median, and at worst."""
        counts = sorted(self.losses)
        seen, median = 0.0, counts[-1]
        for lost in counts:
            seen += self.losses[lost]
            if seen >= HALF:
                median = lost
                break
        return counts[0], median, counts[-1]

    def as_json(self) -> dict[str, Any]:
        """The keys that others rely on, and what stands behind them."""
        best, median, worst = self.spread()
        return {
            "name": self.procedure.name,
            "producers": self.producers.value,
            "safe": self.safe,
            "conditional": self.lossless and bool(self.conditions),
            "conditions": self.conditions,
            "exhausted": self.exhausted,
            "runs": self.runs,
            "worst_loss": len(self.cost.lost),
            "duplicates": self.duplicates,
            "schedule": json.loads(self.schedule.to_json()),
            "title": self.procedure.title,
            "searched": self.searched,
            "drawn": self.drawn,
            "loss": {"best": best, "median": median, "worst": worst},
            "losses": {str(lost): round(share, 9) for lost, share in sorted(self.losses.items())},
            "wanted": self.cost.wanted,
            "lost": [one.as_json() for one in self.lost],
            "takes_ms": self.usual.takes_ms,
            "longest_wait_ms": self.usual.longest_wait_ms,
            "scenario": self.course.scenario.to_builtins(),
        }


@dataclass(slots=True, repr=False)
class Plan:
    """What a change of subscription costs by each procedure."""

    change: Change
    setting: Setting
    budget: int
    seed: int
    tried: list[Tried]

    def __repr__(self) -> str:
        """What the verb prints."""
        from rmqlab.search.plan.in_words import plan_lines

        return "\n".join(plan_lines(self))

    def of(self, name: str, producers: Producers = Producers.KEEP) -> Tried:
        """One procedure, as tried with these producers."""
        return next(one for one in self.tried if one.procedure.name == name and one.producers is producers)

    @property
    def lossless(self) -> list[Tried]:
        """Those that lost nothing: first the safe, then those that need not wait, each in the order of what it asks."""
        found = [one for one in self.tried if one.lossless]
        return sorted(found, key=lambda one: (not one.safe, one.producers is Producers.WAIT, _asks(one.procedure)))

    @property
    def safe(self) -> list[Tried]:
        """Those that lost nothing and ask nothing of the producers."""
        return [one for one in self.lossless if one.safe]

    def as_json(self) -> dict[str, Any]:
        """The plan; ``procedures`` has one object for each procedure and behaviour of the producers."""
        change, setting = self.change, self.setting
        return {
            "old": text_of(change.old),
            "new": text_of(change.new),
            "same": change.same,
            "messages": {kind.value: dict(properties) for kind, properties in change.kinds.items()},
            "union": None if change.union is None else text_of(change.union),
            "members": setting.members,
            "queues": setting.queues,
            "pause_ms": setting.pause_ms,
            "every_ms": setting.every_ms,
            "among": setting.among,
            "budget": self.budget,
            "seed": self.seed,
            "assumptions": assumed(()),
            "procedures": [one.as_json() for one in self.tried],
        }


# A restart is what every deployment does; a gap, a second group, a second rollout, new code in producers ask for more.
EASE = ("one-by-one", "stop-all", "new-group", "widen-then-narrow", "new-topic")


def _asks(procedure: Procedure) -> int:
    return EASE.index(procedure.name) if procedure.name in EASE else len(EASE)


class _LateRaceChooser(RaceChooser):
    """Draws what comes after the change has begun, and the broker's uptime; all else is as usual."""

    def __init__(self, seed: int, open_from_ms: float) -> None:
        super().__init__(seed)
        self.world: VirtualTime | None = None
        self._open_from_ms = open_from_ms

    def pick(self, number: int, label: str, n: int) -> int:
        late = self.world is not None and self.world.now_ms() >= self._open_from_ms
        return super().pick(number, label, n) if late or label == "broker uptime" else 0


class _Trial:
    """Tries one procedure; counts its runs, keeps the worst."""

    def __init__(self, procedure: Procedure, change: Change, setting: Setting, producers: Producers) -> None:
        self.procedure, self.change, self.producers = procedure, change, producers
        self.course = course(procedure, change, setting, producers)
        self.change_at_ms = TOPICS_SETTLE_MS + self.course.change_at
        self._drawn: Counter[int] = Counter()
        self._reached: set[int] = set()
        self.duplicates = 0
        self.on_run: Callable[[int], None] = _nobody
        self._runs = 0
        self.usual: RunCost | None = None
        self._worst: tuple[Run, RunCost] | None = None

    def go(self, budget: int, seed: int) -> Tried:
        with gc_tuning():
            return self._tried(budget, seed)

    def _tried(self, budget: int, seed: int) -> Tried:
        search = OpenSearch(
            self.course.scenario, self._count, cluster=default_settings(), open_from_ms=self.change_at_ms
        )
        while not search.exhausted and search.runs < budget and (search.runs != LOOK or search.waiting < budget):
            search.step()
            self._ran()
        drawn = min(DRAWN if search.exhausted else max(DRAWN, budget // ALONE), budget)
        found = self._worst
        for number in range(seed, seed + drawn):
            lost, _ = self._count(self._timed(_LateRaceChooser(number, self.change_at_ms)))
            self._drawn[len(lost)] += 1
            self._ran()
        if self._worst is None or self.usual is None:
            raise BadInput(f"budget is {budget}; {self.procedure.name} needs at least one whole run")
        run, cost = self._worst
        more_by_chance = found is not None and len(cost.lost) > len(found[1].lost)
        if found is not None and not more_by_chance:
            run, cost = found
        if more_by_chance or found is None:
            run = self._shortened(run, cost, min(budget, SHORTENING))
        told = run.lines()
        run, cost = self._replayed(run.schedule)
        if run.lines() != told:
            raise NotRepeatedError(f"schedule {run.schedule.to_json()} does not repeat its run")
        return Tried(
            self.procedure, self.producers, self.course, search.exhausted and not more_by_chance, search.runs, drawn,
            self._losses(search), run, cost, self.usual, self.duplicates, lost_messages(run, cost), self._conditions(),
        )  # fmt: skip

    def _ran(self) -> None:
        self._runs += 1
        if self._runs % TELL_EVERY == 1:
            self.on_run(self._runs)

    def like(self, other: Tried) -> Tried:
        """What another procedure with the same steps came to, under this one's name."""
        return replace(other, procedure=self.procedure, producers=self.producers, conditions=self._conditions())

    def _conditions(self) -> list[str]:
        asked = asks_of_producers(self.procedure, self.change)
        waits = self.producers is Producers.WAIT and set(self.change.kinds) - {Kind.BOTH}
        return asked or (["Producers wait: see the procedure."] if waits and self.procedure not in PROCEDURES else [])

    def _losses(self, search: OpenSearch) -> dict[int, float]:
        losses = dict.fromkeys(sorted(self._reached), 0.0)
        if search.exhausted:
            for number, share in search.graph.shares().items():
                losses[len(self.cost(search.endings[number].run).lost)] += share
        else:
            for lost, runs in self._drawn.items():
                losses[lost] += runs / self._drawn.total()
        return losses

    def cost(self, run: Run) -> RunCost:
        return cost_of(run, self.change, self.change_at_ms)

    def _count(self, run: Run) -> tuple[tuple[str, ...], int]:
        cost = self.cost(run)
        self.usual = self.usual or cost
        self._reached.add(len(cost.lost))
        self.duplicates = max(self.duplicates, cost.duplicates)
        if self._worst is None or _worse(cost, self._worst[1]):
            self._worst = (run, cost)
        return (cost.lost, cost.duplicates)

    def _timed(self, chooser: _LateRaceChooser | Chooser) -> Run:
        simulation = Simulation(self.course.scenario, chooser=chooser, timing=LATE_TIMING, cluster=default_settings())
        if isinstance(chooser, _LateRaceChooser):
            chooser.world = simulation.world
        return simulation.run()

    def _shortened(self, run: Run, cost: RunCost, most_runs: int) -> Run:
        if not cost.lost:
            return run
        return Shortest(self._timed, lambda other: len(self.cost(other).lost) >= len(cost.lost), most_runs).of(run)

    def _replayed(self, schedule: Schedule) -> tuple[Run, RunCost]:
        """A run from its schedule: what is handed out is what that does."""
        chooser = ScheduledChooser(schedule)
        run = simulate(self.course.scenario, chooser=chooser, timing=schedule.timing, cluster=default_settings())
        return run, self.cost(run)


def _worse(cost: RunCost, than: RunCost) -> bool:
    return (len(cost.lost), cost.duplicates) > (len(than.lost), than.duplicates)


def _nobody(_runs: int) -> None:
    return


def _counted(progress: Callable[[str], None], what: str) -> Callable[[int], None]:
    return lambda runs: progress(f"{what}, {runs} runs")


def procedures_named(names: Sequence[str | Procedure] | None) -> list[Procedure]:
    """Procedures by name (one of your own stands for itself), all without names.

    Raises:
        BadInput: there is none of this name.
    """
    known = {one.name: one for one in PROCEDURES}
    found = []
    for name in names or known:
        if isinstance(name, str) and name not in known:
            raise BadInput(f"no procedure {name!r}; there are: {', '.join(known)}")
        found.append(known[name] if isinstance(name, str) else name)
    return found


def plan(
    old: str,
    new: str,
    *,
    setting: Setting | None = None,
    budget: int = BUDGET,
    seed: int = 0,
    procedures: Sequence[str | Procedure] | None = None,
    producers: Sequence[Producers] = tuple(Producers),
    progress: Callable[[str], None] | None = None,
) -> Plan:
    """Compare the ways from ``old`` to ``new`` (texts as for ``parse_subscription``).

    ``budget``: schedules tried at most for each procedure and behaviour of the producers; those drawn by chance begin
    with ``seed``. ``progress`` hears what is being tried, and now and
    then how many runs of it were made.

    Raises:
        BadInput: a subscription that would be refused, a setting or a name that cannot be.
    """
    change = change_between(parse_subscription(old, "OLD"), parse_subscription(new, "NEW"))
    setting = (setting or Setting()).checked()
    if budget < 1:
        raise BadInput(f"budget is {budget}; it must be 1 or more")
    if not producers:
        raise BadInput(f"name how the producers behave: {', '.join(Producers)}")
    tried: list[Tried] = []
    for procedure, behaviour in _trials(procedures_named(procedures), producers):
        trial = _Trial(procedure, change, setting, behaviour)
        equal = next((one for one in tried if one.course == trial.course), None)
        if progress is not None:
            trial.on_run = _counted(progress, f"{procedure.name}, producers {behaviour}")
        tried.append(trial.go(budget, seed) if equal is None else trial.like(equal))
    return Plan(change, setting, budget, seed, tried)


def _trials(procedures: Sequence[Procedure], producers: Sequence[Producers]) -> Iterator[tuple[Procedure, Producers]]:
    for behaviour in Producers:
        if behaviour in producers:
            for procedure in procedures:
                yield procedure, behaviour
