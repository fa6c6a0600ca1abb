"""Gauges of a simulation, read again and again while virtual time passes."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

from rmqlab.client.push_consumer import DefaultMQPushConsumer
from rmqlab.events import SubscriptionChanged
from rmqlab.lab.gauges import Flips, GroupGauge, Owner, gauges
from rmqlab.runtime.scheduler import US_PER_MS

if TYPE_CHECKING:
    from rmqlab.lab.simulate import Simulation

AFTER_ALL = 9  # priority on the heap: what happens at this instant comes first


class Sample(NamedTuple):
    """The gauges of all groups of the scenario at ``t`` ms since the run began."""

    t: float
    groups: list[GroupGauge]


class GaugeSampler:
    """Reads the gauges of one simulation every ``every_ms``; keeps ``samples`` and writes events "gauge".

    Names are long, as on the wire, in the samples, and the scenario's own in the events.
    """

    def __init__(self, simulation: Simulation, every_ms: int) -> None:
        self.samples: list[Sample] = []
        self._simulation = simulation
        self._every_us = every_ms * US_PER_MS
        self._flips = Flips()
        self._facts_read = 0
        scheduler = simulation.world.scheduler
        scheduler.at(scheduler.now_us + self._every_us, self._sample, priority=AFTER_ALL)

    def read(self) -> list[GroupGauge]:
        """The gauges now."""
        simulation = self._simulation
        recorder, now = simulation.recorder, simulation.world.now_ms()
        facts = simulation.cluster.facts.facts
        for fact in facts[self._facts_read :]:
            if isinstance(fact.event, SubscriptionChanged):
                self._flips.saw(fact.t, replace(fact.event, group=recorder.long(fact.event.group)))
        self._facts_read = len(facts)
        return gauges(
            simulation.cluster.broker,
            simulation.cluster.broker_server.now(),
            groups=[recorder.long(group) for group in simulation.scenario.groups()],
            flips=self._flips,
            flips_now=now,
            owner_of=self._owner_of,
        )

    def _owner_of(self, group: str, topic: str, queue: int) -> Owner | None:
        for consumer in self._simulation.consumers.values():
            client = consumer.client
            if client.group_name != group:
                continue
            if any(one.topic == topic and one.queue_id == queue for one in client.rebalance_impl.process_queue_table):
                posts = isinstance(client, DefaultMQPushConsumer) and client.config.post_subscription_when_pull
                return Owner(client.subscription_inner[topic], posts) if topic in client.subscription_inner else None
        return None

    def _sample(self) -> None:
        simulation = self._simulation
        if simulation.done:
            return
        recorder, found = simulation.recorder, self.read()
        self.samples.append(Sample(simulation.world.now_ms(), found))
        for gauge in found:
            recorder.event(gauge.as_event(recorder.short))
        scheduler = simulation.world.scheduler
        scheduler.at(scheduler.now_us + self._every_us, self._sample, priority=AFTER_ALL)
