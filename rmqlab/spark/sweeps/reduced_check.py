"""The reduced model beside the whole core: the same parameters, the same tags, and what each says was lost.

One program starts the members and sends the messages, so the two can only agree where it keeps pace: starts at least
nine frames apart, messages at least three.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from rmqlab.lab.groups.tag_group import FATES, LAST_LOOK_MS, TOPIC, TagGroup, counts
from rmqlab.lab.scenario import Offsets, OutgoingMessage, Scenario, Send, Step
from rmqlab.lab.simulate import TOPICS_SETTLE_MS, simulate
from rmqlab.runtime.network import Timing
from rmqlab.spark.sweeps.reduced_group import GroupStart, group_runs, message_tags

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rmqlab.lab.run import Run

_FIRST_CHECK_MS = 1_300  # of PullRequestHoldService, with the uptime that simulations begin with


def scenario_of(start: GroupStart, seed: int, run: int) -> Scenario:
    """The scenario that the reduced run stands for."""
    start.checked()
    group = TagGroup(start.members, start.queues, start.shared, start.reverse)
    steps: list[Step] = [group.start(number, int(number * start.gap_ms)) for number in range(start.members)]
    for number, tag in enumerate(message_tags(start, seed, run)):
        message = OutgoingMessage(f"m{number}", group.tag(tag), queue=number % start.queues)
        steps.append(Send(int(start.first_ms + number * start.every_ms), topic=TOPIC, messages=[message]))
    steps.sort(key=lambda step: step.at)
    steps.append(Offsets(steps[-1].at + LAST_LOOK_MS))
    return Scenario("reduced", {TOPIC: start.queues}, steps)


def whole_run(start: GroupStart, seed: int, run: int) -> Run:
    """The whole core with these parameters; every frame takes ``delay_us`` (neither jitter nor skew is drawn)."""
    return simulate(scenario_of(start, seed, run), timing=Timing((start.delay_us,)))


def check_phase_ms(start: GroupStart) -> float:
    """When, after the first start, the broker of ``whole_run`` first checks its held pulls (ms, 0 to 5000)."""
    # the first start comes 2.5 s and four frames after the cluster's, and the check 1.3 s after it
    return (_FIRST_CHECK_MS - TOPICS_SETTLE_MS - 4 * start.delay_us / 1_000) % 5_000


@dataclass(frozen=True, slots=True)
class Agreement:
    """Of ``runs`` runs with ``messages`` messages: how many agree in every count, how many messages fare otherwise."""

    runs: int
    same: int
    messages: int
    otherwise: int
    delivered: int
    delivered_whole: int


def agreement(starts: Iterable[GroupStart], seed: int) -> Agreement:
    """Both models for each of the parameters, run 0, 1, 2... of the seed."""
    runs = same = messages = otherwise = delivered = delivered_whole = 0
    for number, given in enumerate(starts):
        start = replace(given, jitter=0.0, skew_ms=0.0, check_phase_ms=check_phase_ms(given))
        reduced = dict(zip(FATES, map(int, group_runs(start, seed, number, 1)[0, 1:5]), strict=True))
        whole = counts(whole_run(start, seed, number))
        names = reduced.keys() | whole.keys()
        different = sum(abs(reduced.get(name, 0) - whole.get(name, 0)) for name in names) // 2
        runs, same, messages = runs + 1, same + (different == 0), messages + start.messages
        otherwise, delivered = otherwise + different, delivered + reduced["delivered"]
        delivered_whole += whole["delivered"]
    return Agreement(runs, same, messages, otherwise, delivered, delivered_whole)
