"""One cell of the matrix: runs drawn by seed with times as recorded, and every order of frames where that ends."""

from __future__ import annotations

from collections import Counter
from itertools import count
from typing import TYPE_CHECKING, Any, NamedTuple

from rmqlab.broker.broker_config import BrokerConfig
from rmqlab.rules import rules_of
from rmqlab.run import records
from rmqlab.sim.cluster import ClusterConfig
from rmqlab.sim.simulate import simulate
from rmqlab_tools.search.explorer.explore import Explorer
from rmqlab_tools.search.explorer.timings import NETWORK_TIMING, NetworkChooser
from rmqlab_tools.spark.matrix.cells import MESSAGES, NEWEST, Cell, expression_of, scenario_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rmqlab.rules import Rules
    from rmqlab.run.run import Run
    from rmqlab.scenario.scenario import Scenario

RUNS, BUDGET = 40, 0
FIGURES = ("explored", "low", "mean", "high", "unfinished", "twice", "foreign")
_BROKER = (BrokerConfig(), BrokerConfig(enable_property_filter=True))


class Losses(NamedTuple):
    """What one run lost.

    `lost`: messages that no listener got, of eight; `unfinished`: such that a listener got and no listener took;
    `twice`: times that a listener took a message again; `foreign`: calls of a listener that had not asked for the
    message; `by`: (fate, whose expression) of each lost message, where whose is "own" (the asker's), "other" (another
    member's) or "nobody" (no expression is to blame).
    """

    lost: int
    unfinished: int
    twice: int
    foreign: int
    by: Counter[tuple[str, str]]


def losses_of(run: Run, cell: Cell) -> Losses:
    """Count what a run lost."""
    calls = list(records.consumed(run))
    got = {call.body for call in calls}
    taken = Counter((call.who, call.body) for call in calls if call.success)
    finished = {body for _who, body in taken}
    by: Counter[tuple[str, str]] = Counter()
    for fate in records.fates(run):
        if fate.lost and fate.body not in got:
            own = expression_of(cell, asker_of(fate.tag))
            whose = "nobody" if fate.subscription is None else "own" if fate.subscription == own else "other"
            by[fate.fate, whose] += 1
    return Losses(
        MESSAGES - len(got),
        len(got - finished),
        sum(times - 1 for times in taken.values()),
        0 if cell.same else sum(call.who != asker_of(call.tag) for call in calls),
        by,
    )


def asker_of(tag: str | None) -> str:
    """The member that asks for the tag, when the members differ."""
    return "A" if tag == "tagA" else "B"


def matrix_cell(
    receiver: str = "push",
    order: str = "burst_blocks",
    filter: str = "TAG",
    settled: bool = False,
    failed: bool = False,
    version: str = NEWEST,
    same: bool = False,
    *,
    runs: int = RUNS,
    budget: int = BUDGET,
    rules: Rules | None = None,
) -> dict[str, Any]:
    """Measure one cell: figures by name, the same for the same arguments. It is a function for `rmqlab.sweep`.

    `runs` scenarios are drawn by seeds 0, 1, ...; with a `budget` both orders of starts are also searched, each with
    at most about so many runs. `explored`: both searches came to their end, so `low` to `high` holds for every order
    of frames. `mean`, `unfinished`, `twice` and `foreign` are means over the runs drawn, in messages of eight; `by`
    has "MEAN FATE WHOSE" of what was lost.

    >>> cell = matrix_cell("push", runs=3)
    >>> cell["low"], cell["mean"], cell["high"], cell["explored"]
    (6, 6.0, 6, False)

    Raises:
        BadInput: there is no such cell.
    """
    cell = Cell(receiver, order, filter, settled, failed, version, same)
    cluster = ClusterConfig(rules=rules_of(version) if rules is None else rules, broker=_BROKER[filter == "SQL92"])
    drawn = [
        losses_of(
            simulate(scenario_of(cell, seed), chooser=NetworkChooser(seed), timing=NETWORK_TIMING, cluster=cluster),
            cell,
        )
        for seed in range(runs)
    ]
    searched, explored = _searched(cell, cluster, budget)
    lost = [*(losses.lost for losses in drawn), *searched]
    by = sum((losses.by for losses in drawn), Counter())
    return {
        "explored": explored,
        "low": min(lost),
        "mean": _mean(losses.lost for losses in drawn),
        "high": max(lost),
        "unfinished": _mean(losses.unfinished for losses in drawn),
        "twice": _mean(losses.twice for losses in drawn),
        "foreign": _mean(losses.foreign for losses in drawn),
        "by": ", ".join(f"{count / runs:.3g} {fate} {whose}" for (fate, whose), count in sorted(by.items())),
    }


def _mean(counts: Iterable[int]) -> float:
    values = list(counts)
    return round(sum(values) / len(values), 2)


def _searched(cell: Cell, cluster: ClusterConfig, budget: int) -> tuple[list[int], bool]:
    """What every order of frames loses when A starts first and when B does, and whether both searches ended."""
    if budget < 1:
        return [], False
    scenarios: dict[str, Scenario] = {}
    for seed in count():
        scenario = scenario_of(cell, seed)
        scenarios.setdefault(scenario.steps[0].who, scenario)  # type: ignore[union-attr]
        if len(scenarios) == 2:
            break
    lost, ended = [], True
    for scenario in scenarios.values():
        exploration = Explorer(scenario, budget=budget, samples=0, cluster=cluster).explore()
        lost += [losses_of(outcome.run, cell).lost for outcome in exploration.outcomes]
        ended = ended and exploration.exhausted
    return lost, ended
