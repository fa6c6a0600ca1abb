"""Whether the outcome of a scenario depends on a race, and which outcomes it can have.

The rules of 4.8.0 leave some things open: how long a frame is under way, how long the broker takes to wake a held
pull, in which phase its timers are when a client starts, how long a listener or a shutdown takes. Starts, heartbeats,
answers and notifications move with them. The rule here is: run the scenario once with the nominal times (the first of
each in ``race_timing``) and ``seeds`` times with others drawn from a seed. If all runs end alike, the outcome does not
depend on a race, as far as these runs can tell; a single run that ends otherwise proves that it does, and its seed and
schedule show how.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from rmqlab.lab.run import Outcome
from rmqlab.lab.scenario import Scenario
from rmqlab.lab.simulate import simulate
from rmqlab.runtime.network import Timing
from rmqlab.runtime.schedule import Schedule, SeededChooser

if TYPE_CHECKING:
    from rmqlab.lab.cluster import ClusterConfig
    from rmqlab.lab.run import Run
    from rmqlab.lab.simulate import ClientSettings
    from rmqlab.runtime.schedule import Chooser

# When the recordings were made a frame took 0.2 to 1 ms, some ms when the machine was busy, and tens of ms when a
# thread or a garbage collection stood in its way. These options reach every recorded outcome with the fewest seeds.
RACE_TIMING = Timing(
    delays_us=(1_000, 200, 3_000, 10_000, 40_000),
    wake_us=(500, 2_000, 10_000),
    uptime_ms=(3_700, 100, 1_200, 2_400, 4_900),
    shutdown_ms=(5, 10, 20),
    consume_ms=(0, 1, 4),
)
# Those phases go through the broker's round of 5 s. A scan comes every 10 s and finds nobody before 120 s.
SCANNED_MS, SCAN_ROUND_MS = 120_000, 5_000
MOVED_SHARE = 0.3
SEEDS = 40


def race_timing(scenario: Scenario) -> Timing:
    """``RACE_TIMING``, with the phases of a scan as well for a scenario that lasts until a scan may find somebody."""
    if not scenario.steps or scenario.steps[-1].at < SCANNED_MS:
        return RACE_TIMING
    usual = RACE_TIMING.uptime_ms
    return replace(RACE_TIMING, uptime_ms=(*usual, *(SCAN_ROUND_MS + uptime for uptime in usual)))


class RaceChooser(SeededChooser):
    """Moves a share of the frames and wake-ups away from their nominal times, and draws all else evenly.

    On a real network most frames take their usual time and few a long one, and it is the few that decide races; a
    broker's uptime, on the other hand, is anything.
    """

    def __init__(self, seed: int) -> None:
        super().__init__(seed, MOVED_SHARE)

    def pick(self, number: int, label: str, n: int) -> int:
        """An option drawn from the seed."""
        if label.startswith(("delay ", "wake ")):
            return super().pick(number, label, n)
        return self._random.randrange(n)


@dataclass(slots=True)
class Reached:
    """An outcome that was reached: in how many runs, and in which one first (``seed`` None: the nominal run)."""

    outcome: Outcome
    seed: int | None
    schedule: Schedule
    runs: int = 1


@dataclass(slots=True)
class Survey:
    """The outcomes of one scenario, the nominal run's first, and the number of runs made."""

    scenario: Scenario
    reached: dict[Outcome, Reached] = field(default_factory=dict)
    runs: int = 0

    @property
    def depends_on_race(self) -> bool:
        """Whether two runs ended differently."""
        return len(self.reached) > 1

    @property
    def nominal(self) -> Outcome:
        """How the run with nominal times ended."""
        return next(iter(self.reached))

    def add(self, run: Run, seed: int | None) -> None:
        """Count one more run."""
        self.runs += 1
        outcome = run.outcome()
        if outcome in self.reached:
            self.reached[outcome].runs += 1
        else:
            self.reached[outcome] = Reached(outcome, seed, run.schedule)


def survey(
    scenario: Scenario,
    *,
    seeds: int = SEEDS,
    wanted: Outcome | None = None,
    cluster: ClusterConfig | None = None,
    clients: ClientSettings | None = None,
) -> Survey:
    """Run a scenario with nominal times and with ``seeds`` seeds, and collect its outcomes.

    With ``wanted`` it stops early: when that outcome was reached and another one proved the race.

    Raises:
        BadInput: the scenario cannot be simulated.
    """
    result, timing = Survey(scenario), race_timing(scenario)

    def run(chooser: Chooser | None, seed: int | None) -> None:
        result.add(simulate(scenario, chooser=chooser, timing=timing, cluster=cluster, clients=clients), seed)

    run(None, None)
    for seed in range(seeds):
        if wanted is not None and wanted in result.reached and result.depends_on_race:
            break
        run(RaceChooser(seed), seed)
    return result
