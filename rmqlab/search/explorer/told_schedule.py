"""A schedule told: its run again, with the moment of each choice that is not the usual one."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from rmqlab.lab.run import Run
from rmqlab.lab.simulate import Simulation
from rmqlab.runtime.schedule import Choice, ScheduledChooser
from rmqlab.search.explorer.blame import deviation

if TYPE_CHECKING:
    from rmqlab.lab.cluster import ClusterConfig
    from rmqlab.lab.scenario import Scenario
    from rmqlab.lab.simulate import ClientSettings
    from rmqlab.runtime.schedule import Schedule


class Deviation(NamedTuple):
    """A choice that is not the usual one: when it was made (ms since the run began), its number, in words.

    ``order``: how many facts the run had by then.
    """

    t: float
    number: int
    text: str
    order: int


class ToldSchedule(NamedTuple):
    """The run of a schedule and its deviations, in order of time."""

    run: Run
    deviations: tuple[Deviation, ...]


class _Clocked(ScheduledChooser):
    """Replays a schedule and remembers when each answer was given."""

    def __init__(self, schedule: Schedule) -> None:
        super().__init__(schedule)
        self.simulation: Simulation | None = None
        self.asked: list[tuple[float, Choice, int]] = []

    def choose(self, label: str, n: int) -> int:
        """As before; the time goes with it."""
        taken = super().choose(label, n)
        if taken and self.simulation is not None:
            facts = len(self.simulation.cluster.facts.facts)
            self.asked.append((self.simulation.world.now_ms(), self.made[-1], facts))
        return taken


def tell_schedule(
    scenario: Scenario,
    schedule: Schedule,
    *,
    cluster: ClusterConfig | None = None,
    clients: ClientSettings | None = None,
) -> ToldSchedule:
    """Run a schedule of ``scenario`` again.

    Raises:
        ScheduleMismatchError: it belongs to another scenario, or other settings.
    """
    chooser = _Clocked(schedule)
    chooser.simulation = Simulation(scenario, chooser=chooser, timing=schedule.timing, cluster=cluster, clients=clients)
    run = chooser.simulation.run()
    told = [
        Deviation(t, choice.number, deviation(choice, schedule.timing), facts) for t, choice, facts in chooser.asked
    ]
    return ToldSchedule(run, tuple(told))
