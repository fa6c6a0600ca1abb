"""The one procedure behind every figure of the bloom profile: several processes, each of them all workloads in rounds.

What a JVM compiles differs from process to process more than from round to round, so a process is what is repeated: its
stages are the medians of its rounds, and what is told is the median of the processes with the lowest and the highest. A
round goes through all workloads one after the other, with and without the switch side by side, so what else the machine
does hits both alike. Our classes and the real ones take turns, on the same records; both count CPU time of one thread.
"""

from __future__ import annotations

import gc
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import TYPE_CHECKING, Final

from tests.proof.bloom.java import RealBloom
from tests.proof.bloom.map import ProfileCell
from tests.proof.bloom.stages import StageCounts, Stages, timed_stages
from tests.proof.bloom.workload import ARTICLE, EXPRESSIONS, BloomBroker, Workload

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tests.proof.bloom.map import Side

PROCESSES: Final = 5
ROUNDS: Final = 3
JAVA_ROUNDS: Final = 9
# Java compiles what ran ten thousand times, in the background: with fewer pairs of message and group the first rounds
# that count are slower than the last.
WARM_PAIRS: Final = 2_000_000
SELECTIVITIES: Final = (0.0, 0.05, 0.1, 0.25, 0.5, 0.75, 1.0)
GROUPS: Final = (1, 2, 4, 8, 16, 32, 64, 128)
# So many messages that messages times groups is about `PAIRS`.
PAIRS: Final = 3_000
MIN_MESSAGES, MAX_MESSAGES = 60, 2_000


def map_workloads() -> list[Workload]:
    """Every setting of the map, with five user properties; and behind them the article's case without any."""
    grid = [(name, many, share) for name in EXPRESSIONS for many in GROUPS for share in SELECTIVITIES]
    cells = [
        Workload(messages_for(many), many, share, name, user_properties=True, seed=seed)
        for seed, (name, many, share) in enumerate(grid, 1)
    ]
    return [*cells, ARTICLE]


def messages_for(groups: int) -> int:
    """How many messages a cell of the map has."""
    return max(MIN_MESSAGES, min(MAX_MESSAGES, PAIRS // groups))


def measure(
    workloads: Sequence[Workload],
    processes: int = PROCESSES,
    *,
    real: bool = True,
    announce: Callable[[str], None] = lambda _: None,
) -> list[ProfileCell]:
    """Measure workloads; ``announce`` hears what begins.

    Raises:
        RealFilterMissingError: ``real``, and the jars cannot be had.
        ValueError: the real filters match or pass other pairs than ours.
    """
    times: list[dict[Side, list[Stages]]] = [{"ours": [], **({"java": []} if real else {})} for _ in workloads]
    counts: list[StageCounts] = []
    records = [_records(workload) for workload in workloads] if real else []
    for number in range(1, processes + 1):
        if real:
            announce(f"process {number} of {processes}: the real classes")
            java = _java(list(zip(workloads, records, strict=True)))
        announce(f"process {number} of {processes}: our classes")
        with ProcessPoolExecutor(1, get_context("spawn")) as pool:
            ours = pool.submit(_ours, workloads).result()
        counts = [workload for workload, _ in ours]
        for at, (_, stages) in enumerate(ours):
            times[at]["ours"].append(stages)
            if real:
                matched, passed, of_java = java[at]
                if (matched, passed) != (counts[at].matched, counts[at].passed):
                    raise ValueError(f"the real filters match {matched} and pass {passed}, ours {counts[at]}")
                times[at]["java"].append(of_java)
    return [
        ProfileCell(workload, counted, {side: tuple(stages) for side, stages in sides.items()})
        for workload, counted, sides in zip(workloads, counts, times, strict=True)
    ]


def _ours(workloads: Sequence[Workload]) -> list[tuple[StageCounts, Stages]]:
    gc.disable()  # the collector would go through all workloads between two stages
    spent = timed_stages(workloads, ROUNDS)
    return [
        (counts, Stages.of_rounds(rounds, workload.messages))
        for workload, (counts, rounds) in zip(workloads, spent, strict=True)
    ]


def _java(workloads: Sequence[tuple[Workload, Sequence[bytes]]]) -> list[tuple[int, int, Stages]]:
    pairs = sum(workload.messages * workload.groups for workload, _ in workloads)
    with RealBloom() as java:
        measured = java.measure(workloads, max(3, -(-WARM_PAIRS // pairs)), JAVA_ROUNDS)
    return [
        (matched, passed, Stages.of_rounds(rounds, workload.messages))
        for (workload, _), (matched, passed, rounds) in zip(workloads, measured, strict=True)
    ]


def _records(workload: Workload) -> list[bytes]:
    broker = BloomBroker(workload, switch=False)
    broker.dispatch()
    return broker.records()
