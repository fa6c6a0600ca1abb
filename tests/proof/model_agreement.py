"""How far the reduced model of a starting group agrees with the whole core, run by run."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from rmqlab.lab.simulate import TOPICS_SETTLE_MS, simulate
from rmqlab.runtime.schedule import Timing
from rmqlab.spark.sweeps.reduced_group import group_runs
from rmqlab.spark.sweeps.tag_group import FATES, counts
from rmqlab.spark.sweeps.whole_group import scenario_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rmqlab.lab.run import Run
    from rmqlab.spark.sweeps.tag_group import GroupStart

_FIRST_CHECK_MS = 1_300  # of PullRequestHoldService, with the uptime that simulations begin with


def whole_run(start: GroupStart, seed: int, run: int) -> Run:
    """The whole core with these parameters; every frame takes ``delay_us`` (no jitter is drawn)."""
    return simulate(scenario_of(start, seed, run), timing=Timing((start.delay_us,)))


def check_phase_ms(start: GroupStart) -> float:
    """When, after the first start, the broker of ``whole_run`` first checks its held pulls (ms, 0 to 5000)."""
    # the first start comes 2.5 s and four frames after the cluster's, and the check 1.3 s after it
    return (_FIRST_CHECK_MS - TOPICS_SETTLE_MS - 4 * start.delay_us / 1_000) % 5_000


@dataclass(frozen=True, slots=True)
class ModelAgreement:
    """Of ``runs`` runs with ``messages`` messages: how many agree in every count, how many messages fare otherwise."""

    runs: int
    same: int
    messages: int
    otherwise: int
    delivered: int
    delivered_whole: int


def agreement(starts: Iterable[GroupStart], seed: int) -> ModelAgreement:
    """Both models for each of the parameters, run 0, 1, 2... of the seed."""
    runs = same = messages = otherwise = delivered = delivered_whole = 0
    for number, given in enumerate(starts):
        start = replace(given, jitter=0.0, check_phase_ms=check_phase_ms(given))
        reduced = dict(zip(FATES, map(int, group_runs(start, seed, number, 1)[0, 1:5]), strict=True))
        whole = counts(whole_run(start, seed, number))
        names = reduced.keys() | whole.keys()
        different = sum(abs(reduced.get(name, 0) - whole.get(name, 0)) for name in names) // 2
        runs, same, messages = runs + 1, same + (different == 0), messages + start.messages
        otherwise, delivered = otherwise + different, delivered + reduced["delivered"]
        delivered_whole += whole["delivered"]
    return ModelAgreement(runs, same, messages, otherwise, delivered, delivered_whole)
