"""A consumer group over time: members join, leave, die, pause and flap, messages flow, and everybody rebalances.

Rows H-46..H-48 and H-53, S-84..S-86: a member divides the queues at its start, when it is told, and every 20 s; nobody
decides for all. What came of it is read by ``ownership``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from rmqlab.broker.broker_config import BrokerConfig
from rmqlab.errors import BadInput
from rmqlab.lab.cluster import ClusterConfig
from rmqlab.lab.consumers import STRATEGIES
from rmqlab.lab.groups.ownership import Ownership
from rmqlab.lab.scenario import convert_scenario
from rmqlab.lab.simulate import ClientSettings, Simulation
from rmqlab.rules import DEFAULT_RULES
from rmqlab.runtime.schedule import Timing

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rmqlab.lab.scenario import Scenario

TOPIC, GROUP = "T", "G"
SEND_EVERY_MS = 200
# What may happen to a member: the step of a scenario that does it.
HAPPENINGS: dict[str, dict[str, Any]] = {
    "joins": {"do": "start"},
    "leaves": {"do": "stop"},
    "is killed": {"do": "kill"},
    "falls silent": {"do": "kill", "silent": True},
    "is cut off": {"do": "cut"},
    "pauses": {"do": "pause"},
}


class Happening(NamedTuple):
    """At ``at_s`` seconds ``who`` does ``what`` (of ``HAPPENINGS``); a pause lasts ``for_s`` seconds."""

    at_s: float
    who: str
    what: str
    for_s: float = 0


JOINING = (Happening(0, "A", "joins"), Happening(10, "B", "joins"), Happening(20, "C", "joins"))


def flapping(who: str, *, first_s: float, up_s: float, down_s: float, times: int) -> tuple[Happening, ...]:
    """A member that leaves and comes back, again and again: it leaves at ``first_s``."""
    period = up_s + down_s
    return tuple(
        happening
        for number in range(times)
        for happening in (
            Happening(first_s + number * period, who, "leaves"),
            Happening(first_s + number * period + down_s, who, "joins"),
        )
    )


@dataclass(frozen=True, slots=True)
class GroupLife:
    """What happens, and to what kind of group; ``run`` lets it happen.

    ``strategy``: avg, circle or hash, for every member that ``strategies`` does not name. ``notify`` is the broker's
    notifyConsumerIdsChangedEnable. ``per_s`` messages a second, sent from the first happening to the end, to the queues
    in turn; a listener takes ``consume_ms`` for one. ``client_ids``: client id ("ip@instance") by name; without one ids
    are ordered as the names.
    """

    happenings: tuple[Happening, ...] = (*JOINING, Happening(45, "B", "leaves"))
    seconds: float = 75
    queues: int = 5
    strategy: str = "avg"
    strategies: Mapping[str, str] = field(default_factory=dict)
    notify: bool = True
    per_s: int = 0
    rebalance_ms: int = 20_000
    consume_ms: int = 0
    client_ids: Mapping[str, str] = field(default_factory=dict)

    def scenario(self) -> Scenario:
        """The scenario, without periods and flags.

        Raises:
            BadInput: an unknown happening or strategy, something that cannot happen, a number out of its range.
        """
        for one in self.happenings:
            if one.what not in HAPPENINGS:
                raise BadInput(f"{one.who} {one.what!r}; what happens is one of {', '.join(HAPPENINGS)}")
            if not 0 <= one.at_s <= self.seconds:
                raise BadInput(f"{one.who} {one.what} at {one.at_s} s; that lies between 0 and {self.seconds}")
            if one.what == "pauses" and one.for_s <= 0:
                raise BadInput(f"{one.who} pauses for {one.for_s} s; give more than 0")
        for strategy in (self.strategy, *self.strategies.values()):
            if strategy not in STRATEGIES:
                raise BadInput(f"strategy is {strategy!r}; it is one of {', '.join(STRATEGIES)}")
        for name, low in (("per_s", 0), ("rebalance_ms", 1_000), ("consume_ms", 0)):
            if getattr(self, name) < low:
                raise BadInput(f"{name} is {getattr(self, name)}; it must be {low} or more")
        steps = sorted([*map(self._step, self.happenings), *self._traffic()], key=lambda step: step["at"])
        steps += [{"at": round(self.seconds * 1_000), "do": "offsets"}]
        return convert_scenario({"id": "life", "topics": {TOPIC: self.queues}, "steps": steps}, "group life")

    def run(self) -> Ownership:
        """Run it in virtual time."""
        scenario = self.scenario()
        simulation = Simulation(
            scenario,
            timing=Timing(consume_ms=(self.consume_ms,)),
            cluster=ClusterConfig(
                broker=BrokerConfig(notify_consumer_ids_changed_enable=self.notify),
                rules=DEFAULT_RULES.replace(rebalance_period_ms=self.rebalance_ms),
            ),
            clients=ClientSettings(client_ids=dict(self.client_ids)),
        )
        return Ownership(simulation.run(), GROUP, TOPIC)

    def _step(self, one: Happening) -> dict[str, Any]:
        step = {"at": round(one.at_s * 1_000), "who": one.who, **HAPPENINGS[one.what]}
        if one.what == "joins":
            strategy = self.strategies.get(one.who, self.strategy)
            step |= {"group": GROUP, "subscribe": {TOPIC: {"type": "TAG", "expr": "*"}}, "strategy": strategy}
        if one.what == "pauses":
            step["forMs"] = round(one.for_s * 1_000)
        return step

    def _traffic(self) -> Iterator[dict[str, Any]]:
        if not self.per_s:
            return
        first, end = round(min(one.at_s for one in self.happenings) * 1_000), round(self.seconds * 1_000)
        sent = 0
        for at in range(first + SEND_EVERY_MS, end, SEND_EVERY_MS):
            due = self.per_s * (at - first) // 1_000
            messages = [{"body": f"m{number}", "queue": number % self.queues} for number in range(sent, due)]
            sent = due
            if messages:
                yield {"at": at, "do": "send", "topic": TOPIC, "messages": messages}
