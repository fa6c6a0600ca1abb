"""The search through open orders: every order of frames that matters, each state looked at once.

Runs cannot be set back, so each begins at the start: it follows a path to an option that no run has tried, takes it,
and goes on with the oldest frame first until it comes to a state that is known (`Fingerprint`) or to its end.
Options wait by the number of deviations on their path, so the first run to reach an ending has the fewest that any
schedule needs. What waits is known beforehand, so runs may be made ahead (`path_runs`); the graph grows in the order in
which they wait all the same, and is the same.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from rmqlab.scenario.schedule import Timing
from rmqlab_tools.processors import processors
from rmqlab_tools.search.explorer.choice_graph import ChoiceGraph
from rmqlab_tools.search.explorer.path_runs import Space, Untried, run_path
from rmqlab_tools.search.explorer.runs_ahead import RunsAhead

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Sequence

    from rmqlab.run.run import Run
    from rmqlab.scenario.scenario import Scenario
    from rmqlab.sim.cluster import ClusterConfig
    from rmqlab_tools.search.explorer.path_runs import PathResult, Size, Visit

ALONE = 100  # runs after which, and options for which, helpers are worth their start


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
        helpers: bool = False,
    ) -> None:
        """`open_from_ms`: until then (since the run began) every choice takes its first option.

        `helpers`: where there are processors for it, helpers make runs ahead once there is enough to do; whoever asks
        for them calls `close`. `key_of` and its keys can then be pickled.
        """
        self.scenario = scenario
        self.open_from_ms = open_from_ms
        self.timing = timing or Timing(open_orders=True)
        self.graph = ChoiceGraph()
        self.endings: list[Run] = []
        self.runs = 0
        self._space = Space(scenario, key_of, self.timing, cluster, open_from_ms)
        self._numbers: dict[Hashable, int] = {}
        self._sizes: list[Size] = []
        self._states: dict[bytes, int] = {}
        self._waiting: deque[Untried] = deque([Untried(0, b"", None)])
        self._may_help = helpers and processors() > 1
        self._helpers: RunsAhead | None = None

    @property
    def exhausted(self) -> bool:
        """Whether every order was tried, or leads to a state from which every order was."""
        return not self._waiting

    @property
    def waiting(self) -> int:
        """How many options are known that no run has tried."""
        return len(self._waiting)

    def step(self, most: int = 1) -> Hashable | None:
        """Make one run; the key of its ending, None when it was given up. `most`: how many more steps are wanted."""
        option = self._waiting[0]
        if self._helpers is None and self._may_help and self.runs >= ALONE and min(most, self.waiting) >= ALONE:
            self._helpers = RunsAhead(self._space, self._states)
        result = None
        if self._helpers is not None:
            result = self._helpers.result(self._waiting, most)
        if result is None or not self._is_whole(result):
            result = run_path(self._space, option.path, self._states)
        self._waiting.popleft()
        self.runs += 1
        return self._add(option, result)

    def close(self) -> None:
        """End the helpers."""
        if self._helpers is not None:
            self._helpers.end()

    def _is_whole(self, result: PathResult) -> bool:
        """Whether a run that was given up came to a state that is known here too."""
        return result.ending is not None or any(visit.digest in self._states for visit in result.visits)

    def _add(self, option: Untried, result: PathResult) -> Hashable | None:
        """Let the graph grow by what a run came by, up to a state that is known."""
        source = option.source
        for visit in result.visits:
            if visit.digest is not None and visit.digest in self._states:
                self.graph.merged += 1
                self.graph.lead(source, self._states[visit.digest])
                return None
            source = (self._arrive(visit, option, source), visit.moves[0])
        if result.ending is None:
            raise AssertionError("a run that ends has an ending")
        key, size = result.ending
        self.graph.lead(source, -1 - self._ending(option.path, key, size, result.run))
        return key

    def _ending(self, path: bytes, key: Hashable, size: Size, run: Run | None) -> int:
        number = self._numbers.get(key)
        if number is None:
            number = self._numbers[key] = len(self.endings)
            self.endings.append(run or self.run_of(path))
            self._sizes.append(size)
        elif size < self._sizes[number]:
            self.endings[number], self._sizes[number] = run or self.run_of(path), size
        return number

    def run_of(self, path: bytes) -> Run:
        """The run of a path, to its end."""
        run = run_path(self._space, path, frozenset()).run
        if run is None:
            raise AssertionError("a run that knows no state is not given up")
        return run

    def _arrive(self, visit: Visit, option: Untried, source: tuple[int, int] | None) -> int:
        """A run asks something after its path; the number of the new node."""
        moves = visit.moves
        number = self.graph.add(_by_move(visit.label, moves), len(moves))
        if visit.digest is not None:
            self._states[visit.digest] = number
        self.graph.lead(source, number)
        path = option.path.ljust(visit.number, b"\0")
        for choice in range(1, len(moves)):
            self._waiting.append(Untried(option.deviations + 1, path + bytes([choice]), (number, moves[choice])))
        return number


def _by_move(label: str, moves: Sequence[int]) -> str:
    """The label with its texts in the order of the graph's targets: whoever was overtaken is asked last."""
    texts = label.split(" | ")
    if len(texts) != len(moves) or len(texts) == 1:
        return label
    return " | ".join(text for _, text in sorted(zip(moves, texts, strict=True)))
