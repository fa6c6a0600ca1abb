"""Who is told what when a group changes: each cause tried by itself (rows H-29, H-30, H-34..H-36, H-43..H-45)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from rmqlab.broker.broker_config import BrokerConfig
from rmqlab.lab.cluster import ClusterConfig
from rmqlab.lab.facts import BROKER
from rmqlab.lab.scenario import convert_scenario
from rmqlab.lab.simulate import Simulation

AT_MS, WATCHED_MS = 40_000, 200_000
GROUP, TOPIC, OTHER_TOPIC = "G", "T", "U"
AT_ONCE_MS = 1_000  # told sooner than that is told at once


@dataclass(frozen=True, slots=True)
class Cause:
    """Something that happens to a group of A and B: a step of its own, or ``act`` on the running simulation."""

    name: str
    step: dict[str, Any] | None = None
    act: Callable[[Simulation], None] | None = None
    broker_flag: bool = True


@dataclass(frozen=True, slots=True)
class Notice:
    """What followed. ``told``: each member that got code 40, and after how many ms; ``rebalanced``: B's queues changed.

    ``slot_changed``: the group's subscriptions in the broker say something else than before.
    """

    cause: str
    told: list[tuple[str, float]]
    rebalanced_ms: float | None
    slot_changed: bool

    @property
    def at_once(self) -> list[str]:
        """Who was told at once, sorted."""
        return sorted({who for who, ms in self.told if ms <= AT_ONCE_MS})


def _start(who: str, at: int, *topics: str) -> dict[str, Any]:
    subscribe = {topic: {"type": "TAG", "expr": "a"} for topic in topics}
    return {"at": at, "do": "start", "who": who, "group": GROUP, "subscribe": subscribe}


def _change(topic: str, expression: str) -> dict[str, Any]:
    return {"do": "subscribe", "who": "A", "topic": topic, "expr": expression}


def _unsubscribe(simulation: Simulation) -> None:
    client = simulation.consumers["A"].client
    client.unsubscribe(simulation.recorder.long(OTHER_TOPIC))


CAUSES = (
    Cause("nothing: the same heartbeats again"),
    Cause("a member joins", _start("C", AT_MS, TOPIC, OTHER_TOPIC)),
    Cause("a member joins, notifyConsumerIdsChangedEnable=false", _start("C", AT_MS, TOPIC, OTHER_TOPIC), None, False),
    Cause("A subscribes a third topic", _change("V", "a")),
    Cause("A subscribes another tag", _change(TOPIC, "b")),
    Cause("A unsubscribes a topic", None, _unsubscribe),
    Cause("A stops in good order", {"do": "stop", "who": "A"}),
    Cause("A's connection breaks", {"do": "cut", "who": "A"}),
    Cause("A falls silent", {"do": "kill", "who": "A", "silent": True}),
)


def notices() -> list[Notice]:
    """Every cause, each in a run of its own."""
    return [notice_of(cause) for cause in CAUSES]


def notice_of(cause: Cause) -> Notice:
    """One cause, 40 s after the start of A, watched for 200 s."""
    topics = {TOPIC: 4, OTHER_TOPIC: 4, "V": 4}
    steps = [_start("A", 0, TOPIC, OTHER_TOPIC), _start("B", 1_000, TOPIC, OTHER_TOPIC)]
    if cause.step is not None:
        steps.append({**cause.step, "at": AT_MS})
    steps.append({"at": AT_MS + WATCHED_MS, "do": "alloc"})
    scenario = convert_scenario({"id": "notice", "topics": topics, "steps": steps}, cause.name)
    broker = BrokerConfig(notify_consumer_ids_changed_enable=cause.broker_flag)
    simulation = Simulation(scenario, cluster=ClusterConfig(broker=broker))
    begin = _until_started(simulation) + AT_MS
    if cause.act is not None:
        simulation.world.run_until_ms(begin)
        cause.act(simulation)
    run = simulation.run()
    facts = [fact for fact in run.facts.facts if begin <= fact.t <= begin + WATCHED_MS]
    told = [(str(fact["client"]), fact.t - begin) for fact in facts if fact.kind == "notify"]
    moved = [fact.t - begin for fact in facts if fact.kind == "rebalance" and fact.source == "B"]
    changed = [
        fact for fact in facts
        if fact.kind == "subscription" and fact.source == BROKER and _says(fact["old"]) != _says(fact["new"])
    ]  # fmt: skip
    return Notice(cause.name, told, moved[0] if moved else None, bool(changed))


def _until_started(simulation: Simulation) -> float:
    """Run up to the first step; when that was (ms since the run began)."""
    while not any(simulation.cluster.facts.of("starting")):
        simulation.world.step()
    return simulation.world.now_ms()


def _says(subscription: Any) -> object:
    return None if subscription is None else subscription.sub_string
