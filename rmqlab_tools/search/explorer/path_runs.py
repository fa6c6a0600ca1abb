"""Runs of a search: each follows a path, then takes the first option of every new state; the result is what it came by.

A run cannot be set back, so it begins at the start. Forks of a process at choice points do not help: one costs more
(some 10 ms, most of it pages that are copied) than the steps that it saves.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING, NamedTuple

from rmqlab.run.run import Run
from rmqlab.scenario.scenario import Scenario
from rmqlab.scenario.schedule import Chooser, Timing
from rmqlab.sim.cluster import ClusterConfig
from rmqlab.sim.simulate import Simulation
from rmqlab_tools.search.explorer.fingerprint import Fingerprint
from rmqlab_tools.search.partial_order_reduction import PartialOrderReduction

if TYPE_CHECKING:
    from collections.abc import Container


class KnownStateError(BaseException):
    """The run has come to a state that was reached before: nothing new lies ahead. Not an `Exception`."""


class Space(NamedTuple):
    """What is searched, and `key_of(run)`, which says which endings count as equal.

    `open_from_ms`: until then (since the run began) every choice takes its first option.
    """

    scenario: Scenario
    key_of: Callable[[Run], Hashable]
    timing: Timing
    cluster: ClusterConfig | None
    open_from_ms: int


class Untried(NamedTuple):
    """An option that no run has tried: deviations on its path, the path, and its node and move in the graph."""

    deviations: int
    path: bytes
    source: tuple[int, int] | None


class Visit(NamedTuple):
    """A state with a choice beyond a path: which choice of the run, its digest (None: never merged), what was asked.

    `moves`: what each option moves. Equal states may offer the same moves in another order.
    """

    number: int
    digest: bytes | None
    label: str
    moves: tuple[int, ...]


Size = tuple[int, list[tuple[int, int]]]


class PathResult(NamedTuple):
    """What a run came by after its path; `ending` is the key and size of its end, None when it was given up.

    A run is given up at the last of its `visits`, a state that was met before. `run`: only of a run of this process.
    """

    visits: tuple[Visit, ...]
    ending: tuple[Hashable, Size] | None
    run: Run | None = None


def size_of(run: Run) -> Size:
    """How many deviations a run has; of as many the earlier and lower ones are fewer."""
    taken = run.schedule.taken
    return len(taken), [(number, option) for number, (_, option) in sorted(taken.items())]


def run_path(space: Space, path: bytes, known: Container[bytes]) -> PathResult:
    """One run; it is given up at a state that is `known`."""
    chooser = _Pathfinder(path, known, space.open_from_ms)
    simulation = Simulation(
        space.scenario,
        chooser=chooser,
        timing=space.timing,
        cluster=space.cluster,
        reduction=PartialOrderReduction,
    )
    chooser.attach(simulation)
    try:
        run = simulation.run()
    except KnownStateError:
        return PathResult(tuple(chooser.visits), None)
    return PathResult(tuple(chooser.visits), (space.key_of(run), size_of(run)), run)


class _Pathfinder(Chooser):
    """Follows a path, then takes the first option of every new state; `visits`: what it came by beyond the path.

    `simulation` asks; it is None only while it is being made.
    """

    def __init__(self, path: bytes, known: Container[bytes], open_from_ms: int) -> None:
        super().__init__()
        self.simulation: Simulation | None = None
        self.visits: list[Visit] = []
        self._fingerprint: Fingerprint | None = None
        self._path, self._known, self._open_from_ms = path, known, open_from_ms
        self._met: set[bytes] = set()

    def attach(self, simulation: Simulation) -> None:
        """Say which simulation asks."""
        self.simulation, self._fingerprint = simulation, Fingerprint(simulation)

    def pick(self, number: int, label: str, n: int) -> int:
        """The option on the path, or the first of a new state."""
        if number < len(self._path):
            return self._path[number]
        if not self._open_from_ms or self.now_is_from(self._open_from_ms):
            # While a coroutine asks (which queue is first?), its state cannot be read: such a node is never merged.
            lanes = None if self.simulation is None else self.simulation.world.lanes
            asking = None if lanes is None else lanes.asking
            digest = self._fingerprint.digest() if self._fingerprint is not None and asking else None
            self.visits.append(Visit(number, digest, label, asking or tuple(range(n))))
            if digest is not None:
                if digest in self._known or digest in self._met:
                    raise KnownStateError
                self._met.add(digest)
        return 0
