"""The search through open orders: every order of frames that matters, each state looked at once.

Runs cannot be set back, so each begins at the start: it follows a path to an option that no run has tried, takes it,
and goes on with the oldest frame first until it comes to a state that is known (`Fingerprint`) or to its end.
Options wait by the number of deviations on their path, so the first run to reach an ending has the fewest that any
schedule needs.
"""

from __future__ import annotations

from heapq import heappop, heappush
from typing import TYPE_CHECKING

from rmqlab.scenario.schedule import Chooser, Timing
from rmqlab.sim.simulate import Simulation
from rmqlab_tools.search.explorer.choice_graph import ChoiceGraph
from rmqlab_tools.search.explorer.fingerprint import Fingerprint
from rmqlab_tools.search.partial_order_reduction import PartialOrderReduction

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Sequence

    from rmqlab.run.run import Run
    from rmqlab.scenario.scenario import Scenario
    from rmqlab.sim.cluster import ClusterConfig


class KnownStateError(BaseException):
    """The run has come to a state that was reached before: nothing new lies ahead. Not an `Exception`."""


class OpenSearch:
    """Searches one scenario. `key_of(run)` says which endings count as equal; `timing` what else is open.

    `graph`, `endings` (of each a run with the fewest deviations, as the graph numbers them) and `runs` grow with
    every `step`; `exhausted` is True once nothing is left to try.
    """

    def __init__(
        self,
        scenario: Scenario,
        key_of: Callable[[Run], Hashable],
        *,
        timing: Timing | None = None,
        cluster: ClusterConfig | None = None,
        open_from_ms: int = 0,
    ) -> None:
        """`open_from_ms`: until then (since the run began) every choice takes its first option."""
        self.scenario = scenario
        self.open_from_ms = open_from_ms
        self.timing = timing or Timing(open_orders=True)
        self.graph = ChoiceGraph()
        self.endings: list[Run] = []
        self.runs = 0
        self._key_of = key_of
        self._cluster = cluster
        self._numbers: dict[Hashable, int] = {}
        self._states: dict[bytes, int] = {}
        self._waiting: list[tuple[int, int, bytes, tuple[int, int] | None]] = [(0, 0, b"", None)]
        self._count = 0

    @property
    def exhausted(self) -> bool:
        """Whether every order was tried, or leads to a state from which every order was."""
        return not self._waiting

    @property
    def waiting(self) -> int:
        """How many options are known that no run has tried."""
        return len(self._waiting)

    def step(self) -> None:
        """Make one run."""
        _, _, path, source = heappop(self._waiting)
        chooser = _Pathfinder(self, path, source)
        simulation = Simulation(
            self.scenario, chooser=chooser, timing=self.timing, cluster=self._cluster, reduction=PartialOrderReduction
        )
        chooser.attach(simulation)
        self.runs += 1
        try:
            run = simulation.run()
        except KnownStateError:
            return
        self.graph.lead(chooser.source, -1 - self._ending(run))

    def _ending(self, run: Run) -> int:
        key = self._key_of(run)
        number = self._numbers.get(key)
        if number is None:
            number = self._numbers[key] = len(self.endings)
            self.endings.append(run)
        elif _size(run) < _size(self.endings[number]):
            self.endings[number] = run
        return number

    def arrive(
        self, digest: bytes | None, label: str, moves: Sequence[int], source: tuple[int, int] | None, path: bytes
    ) -> int:
        """A run asks something after its path; the number of the new node.

        `moves`: what each option moves. Equal states may offer the same moves in another order.

        Raises:
            KnownStateError: the state was reached before.
        """
        if digest is not None and digest in self._states:
            self.graph.merged += 1
            self.graph.lead(source, self._states[digest])
            raise KnownStateError
        number = self.graph.add(_by_move(label, moves), len(moves))
        if digest is not None:
            self._states[digest] = number
        self.graph.lead(source, number)
        deviations = 1 + sum(map(bool, path))
        for option in range(1, len(moves)):
            self._count += 1
            heappush(self._waiting, (deviations, self._count, path + bytes([option]), (number, moves[option])))
        return number


def _by_move(label: str, moves: Sequence[int]) -> str:
    """The label with its texts in the order of the graph's targets: whoever was overtaken is asked last."""
    texts = label.split(" | ")
    if len(texts) != len(moves) or len(texts) == 1:
        return label
    return " | ".join(text for _, text in sorted(zip(moves, texts, strict=True)))


def _size(run: Run) -> tuple[int, list[tuple[int, int]]]:
    """How many deviations a run has; of as many the earlier and lower ones are fewer."""
    taken = run.schedule.taken
    return len(taken), [(number, option) for number, (_, option) in sorted(taken.items())]


class _Pathfinder(Chooser):
    """Follows a path, then takes the first option of every new state; `source` is the option taken last.

    `simulation` asks; it is None only while it is being made.
    """

    def __init__(self, search: OpenSearch, path: bytes, source: tuple[int, int] | None) -> None:
        super().__init__()
        self.source = source
        self.simulation: Simulation | None = None
        self._fingerprint: Fingerprint | None = None
        self._search = search
        self._path = path
        self._taken = bytearray()

    def attach(self, simulation: Simulation) -> None:
        """Say which simulation asks."""
        self.simulation, self._fingerprint = simulation, Fingerprint(simulation)

    def pick(self, number: int, label: str, n: int) -> int:
        """The option on the path, or the first of a new state."""
        option = 0
        if number < len(self._path):
            option = self._path[number]
        elif self._open():
            # While a coroutine asks (which queue is first?), its state cannot be read: such a node is never merged.
            lanes = None if self.simulation is None else self.simulation.world.lanes
            asking = None if lanes is None else lanes.asking
            digest = self._fingerprint.digest() if self._fingerprint is not None and asking else None
            moves = asking or tuple(range(n))
            node = self._search.arrive(digest, label, moves, self.source, bytes(self._taken))
            self.source = (node, moves[0])
        self._taken.append(option)
        return option

    def _open(self) -> bool:
        open_from_ms = self._search.open_from_ms
        return not open_from_ms or self.now_is_from(open_from_ms)
