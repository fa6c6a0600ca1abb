"""A run that ends as a recorded one did: found by going from run to run along their choice points.

Random times reach what often happens. What rarely happens needs several choices to fall together, so here a run is
kept as what it chose, and changed in a few places at a time, most of them near the sends; what comes no further away
from the wanted outcome is kept. Choices go by label and by how often that label came before, not by their number in
the run: so a change early in a run leaves the later ones where they are.
"""

from __future__ import annotations

import dataclasses
import random
from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

from rmqlab.scenario.scenario import Offsets, Send, Start
from rmqlab.sim.simulate import simulate
from rmqlab_tools.search.explorer.deviations import Deviations, DeviationsChooser, ScheduleShortener, deviations_of
from rmqlab_tools.search.explorer.timings import RaceChooser, race_timing

if TYPE_CHECKING:
    from rmqlab.run.run import Outcome, Run
    from rmqlab.scenario.scenario import Scenario
    from rmqlab.scenario.schedule import Chooser, Timing
    from rmqlab.sim.cluster import ClusterConfig

# The machine of the recordings was busy. From a send to the answer of a pop that waited, in ms (medians 1 to 6): in one
# of twenty 19 (pop), 85 (grpc), 153 (popslow) or more, the longest 1,553 (grpc); that is reput and wake-up together.
BUSY_WAKE_US, PROXIED_WAKE_US = (100_000,), (300_000, 1_500_000)
PROXIED_POP_US = (150_000,)
# From the answer that had messages to the next pop of that client of a proxy, in ms: medians 16 to 26, one in ten above
# 31 (slow) to 734 (grpc), the longest 2,691.
PROXY_US = (0, 2_000, 15_000, 80_000, 300_000, 900_000, 2_700_000)
BUDGET, SHORTENING = 2_000, 1_000
"""How many runs are made to find one, and to leave out what it does not need."""
DRAWN, DRAWN_SLOW = 12, 60
"""So many drawn runs are made, and the nearest is changed; of a slow stream more, where few choices decide."""
PATIENCE, PATIENCE_SLOW = 120, 40
"""After so many changes without a step nearer others are drawn."""
BEFORE_MS, AFTER_MS = 500, 3_000
"""How long before the first send and after the last the choices lie that are changed most of the time."""
SLOW_MS = 5_000
START = ": start"
SHARES = {START: 0.1, "pop ": 0.3, "reput ": 0.1, "wake ": 0.1, "broker: first queue": 0.1, " P ": 0.1}
"""How often a point of each of these is changed, by what is in its label; the rest of the time any."""


class Point(NamedTuple):
    """A choice point that was passed: which, how many options, when (ms since the run began)."""

    label: str
    nth: int
    options: int
    t: float


class PointsChooser(DeviationsChooser):
    """Takes the options given; `points` are those it passed, the usual ones too, each with its moment."""

    def __init__(self, deviations: Deviations) -> None:
        super().__init__(deviations)
        self.points: list[Point] = []

    def pick(self, number: int, label: str, n: int) -> int:
        """The option given, or the first one."""
        self.points.append(Point(label, self._asked[label], n, -1.0 if self.clock is None else self.clock()[0]))
        return super().pick(number, label, n)


def distance(outcome: Outcome, wanted: Outcome, *, offsets: bool = True) -> int:
    """How many messages were consumed by somebody else, or so often more or less, and how many offsets differ."""
    ours, theirs = (
        Counter({(client, body): times for client, body, times in each.consumed}) for each in (outcome, wanted)
    )
    away = (ours - theirs).total() + (theirs - ours).total()
    return away + (len({*outcome.committed} - {*wanted.committed}) if offsets else 0)


def busy_timing(scenario: Scenario) -> Timing:
    """The times of `race_timing`, and those that a busy machine had beside them."""
    timing = race_timing(scenario)
    starts = [step for step in scenario.steps if isinstance(step, Start)]
    if any(step.pops for step in starts):
        timing = dataclasses.replace(timing, wake_us=(*timing.wake_us, *BUSY_WAKE_US))
    if any(step.asks_as in {"grpc", "simple"} for step in starts):
        timing = dataclasses.replace(
            timing, wake_us=(*timing.wake_us, *PROXIED_WAKE_US), pop_us=(*timing.pop_us, *PROXIED_POP_US),
            proxy_us=PROXY_US,
        )  # fmt: skip
    return timing


def end_of(scenario: Scenario, choices: Deviations, cluster: ClusterConfig) -> Outcome:
    """How a scenario ends with these choices."""
    run = simulate(scenario, chooser=DeviationsChooser(choices), timing=busy_timing(scenario), cluster=cluster)
    return run.outcome()


def shortened(scenario: Scenario) -> Scenario:
    """A scenario up to the first offsets after its last send: nobody gets anything later, unless it comes again.

    Offsets may still move: a poll that ends passes what nobody took.
    """
    steps = scenario.steps
    if any(isinstance(step, Start) and (step.later_times or step.change) for step in steps):
        return scenario
    last = max((index for index, step in enumerate(steps) if isinstance(step, Send)), default=len(steps))
    asked = next((index for index, step in enumerate(steps) if index > last and isinstance(step, Offsets)), None)
    return scenario if asked is None else replace(scenario, steps=steps[: asked + 1])


class OutcomeSearch:
    """Looks for a run of a scenario that ends as `wanted`; `runs` counts those made."""

    def __init__(self, scenario: Scenario, wanted: Outcome, cluster: ClusterConfig, seed: int = 1) -> None:
        """Reproducible: the same seed makes the same runs."""
        self._scenario = scenario
        self._short = shortened(scenario)
        self._wanted = wanted
        self._cluster = cluster
        self._timing = busy_timing(scenario)
        self._random = random.Random(seed)
        sends = [step.at for step in scenario.steps if isinstance(step, Send)] or [0]
        self._from, self._to = min(sends) - BEFORE_MS, max(sends) + AFTER_MS
        # In a slow stream the phases of the polls decide, which begin with the starts.
        is_slow = max(sends) - min(sends) > SLOW_MS
        self._share_early = 0.5 if is_slow else 0.15
        self._drawn, self._patience = (DRAWN_SLOW, PATIENCE_SLOW) if is_slow else (DRAWN, PATIENCE)
        if self._short is scenario:
            self._to = scenario.steps[-1].at
        self.runs = 0

    def find(self, budget: int = BUDGET) -> Deviations | None:
        """The choices of a run that ends as wanted, as few as it needs; None after so many runs without one."""
        choices: Deviations = {}  # the nominal run first
        while self.runs < budget:
            passed, away = self._run(choices)
            stale = 0 if choices else self._patience
            while away and stale < self._patience and self.runs < budget:
                changed = self._changed(choices, passed)
                points, now_away = self._run(changed)
                stale = 0 if now_away < away else stale + 1
                if now_away <= away:
                    choices, passed, away = changed, points, now_away
            if not away:
                whole = self._whole(DeviationsChooser(choices))
                if self._ends_as_wanted(whole):
                    return self._needed(whole)
            choices = self._nearest_drawn()
        return None

    def _run(self, choices: Deviations) -> tuple[list[Point], int]:
        chooser = PointsChooser(choices)
        return chooser.points, self._away(self._simulate(self._short, chooser))

    def _whole(self, chooser: Chooser) -> Run:
        return self._simulate(self._scenario, chooser)

    def _simulate(self, scenario: Scenario, chooser: Chooser) -> Run:
        self.runs += 1
        return simulate(scenario, chooser=chooser, timing=self._timing, cluster=self._cluster)

    def _ends_as_wanted(self, whole: Run) -> bool:
        return whole.outcome() == self._wanted

    def _away(self, run: Run) -> int:
        return distance(run.outcome(), self._wanted, offsets=self._short is self._scenario)

    def _needed(self, run: Run) -> Deviations:
        shortener = ScheduleShortener(self._whole, self._ends_as_wanted, SHORTENING)
        while True:
            needed = deviations_of(run)
            run = shortener.of(run)
            if deviations_of(run) == needed:
                return needed  # else a smaller option may make another choice needless

    def _nearest_drawn(self) -> Deviations:
        nearest: tuple[int, Deviations] | None = None
        for _ in range(self._drawn):
            run = self._simulate(self._short, RaceChooser(self._random.randrange(10**6)))
            away = self._away(run)
            if nearest is None or away < nearest[0]:
                nearest = away, deviations_of(run)
            if not away:
                break
        return {} if nearest is None else nearest[1]

    def _changed(self, choices: Deviations, passed: list[Point]) -> Deviations:
        """Other choices at some of the points that a run passed."""
        draw = self._random
        open_points = [point for point in passed if point.options > 1]
        near = [point for point in open_points if self._from <= point.t <= self._to]
        early = [point for point in open_points if point.t < self._from]
        points = early if early and draw.random() < self._share_early else near or open_points
        of_kind = {kind: [point for point in points if kind in point.label] for kind in SHARES}
        of_kind[START] = [point for point in open_points if START in point.label]
        changed = dict(choices)
        for _ in range(draw.choice((1, 1, 2, 3, 5))):
            kind = draw.choices([*SHARES, ""], [*SHARES.values(), 1 - sum(SHARES.values())])[0]
            point = draw.choice(of_kind.get(kind) or points)
            changed[point.label, point.nth] = draw.randrange(point.options) if draw.random() < 0.7 else 0
        return changed
