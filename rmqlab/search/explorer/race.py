"""Whether the outcome of a scenario depends on a race, and which outcomes it can have.

The rules of 4.8.0 leave some things open: how long a frame is under way, how long the broker takes to wake a held
pull, in which phase its timers are when a client starts, how long a start, a listener or a shutdown takes, how late a
client's threads and the broker's reput thread are. Starts, heartbeats, answers and notifications move with them. The
rule here is: run the scenario once with the nominal times (the first of each in ``race_timing``) and ``seeds`` times
with others drawn from a seed. If all runs end alike, the outcome does not depend on a race, as far as these runs can
tell; a single run that ends otherwise proves that it does, and its seed and schedule show how.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from rmqlab.lab.run import Outcome
from rmqlab.lab.scenario import Scenario
from rmqlab.lab.simulate import simulate
from rmqlab.runtime.schedule import Schedule, SeededChooser, Timing

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
# What the recordings under data/golden/broker-4.8.0 show (base, base-2, lite, lite-2, bitmap, noprop), in ms:
# - start, from the event "starting" to "started": 340 push consumers 8 to 358, medians of the sets 22 to 99; 68 lite
#   pull consumers 7 to 159;
# - threads, from a notification (40) to the client's question who is there (38): 822 times, 0.3 to 179, medians 1.4 to
#   6, 95 of 100 below 41;
# - reput and wake-up together, from a send's answer to the answer of a pull that was held for it: medians 2 to 4 (43 in
#   noprop), one in ten above 17 to 53. One message of base-2 was seen 1,400 late; that is left out here.
LATE_TIMING = replace(
    RACE_TIMING,
    start_ms=(0, 20, 100, 200, 350),
    thread_us=(0, 2_000, 15_000, 80_000),
    reput_us=(0, 1_000, 20_000),
)
# Those phases go through the broker's round of 5 s. A scan comes every 10 s and finds nobody before 120 s.
SCANNED_MS, SCAN_ROUND_MS = 120_000, 5_000
KINDS = (": start", "thread ", "reput ")
MOVED = ("delay ", "wake ", "thread ", "reput ")
MOVED_SHARE = 0.3
SEEDS = 40


def race_timing(scenario: Scenario) -> Timing:
    """``LATE_TIMING``, with the phases of a scan as well for a scenario that lasts until a scan may find somebody."""
    if not scenario.steps or scenario.steps[-1].at < SCANNED_MS:
        return LATE_TIMING
    usual = LATE_TIMING.uptime_ms
    return replace(LATE_TIMING, uptime_ms=(*usual, *(SCAN_ROUND_MS + uptime for uptime in usual)))


class RaceChooser(SeededChooser):
    """Moves a share of the frames, wake-ups and threads away from their nominal times, and draws all else evenly.

    On a real network most frames take their usual time and few a long one, and it is the few that decide races; a
    broker's uptime and a client's start, on the other hand, are anything. Every even seed leaves all kinds of
    ``KINDS`` out, every odd one half of them on average: what one kind brings about is hidden when all are at work
    ("swarm testing", Groce and others).
    """

    def __init__(self, seed: int) -> None:
        super().__init__(seed, MOVED_SHARE)
        kinds = random.Random(f"kinds of {seed}")  # of its own: what else is drawn does not depend on it
        self._without = tuple(kind for kind in KINDS if seed % 2 == 0 or kinds.random() < 0.5)

    def pick(self, number: int, label: str, n: int) -> int:
        """An option drawn from the seed."""
        if any(kind in label for kind in self._without):
            return 0
        if label.startswith(MOVED):
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
