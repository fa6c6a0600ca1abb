"""Gauges of a simulation, read again and again while virtual time passes."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

from rmqlab.client.push_consumer import DefaultMQPushConsumer
from rmqlab.events import SubscriptionChanged
from rmqlab.lab.gauges import Flips, GroupGauge, Owner, gauges
from rmqlab.runtime.scheduler import US_PER_MS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rmqlab.lab.cluster import Cluster
    from rmqlab.lab.consumers import Consumer
    from rmqlab.lab.run_recorder import RunRecorder

AFTER_ALL = 9  # priority on the heap: what happens at this instant comes first


class Sample(NamedTuple):
    """The gauges of all groups of the scenario at ``t`` ms since the run began."""

    t: float
    groups: list[GroupGauge]


class GaugeSampler:
    """Reads the gauges of some groups every ``every_ms``; keeps ``samples`` and writes events "gauge".

    Names are long, as on the wire, in the samples, and the scenario's own in the events.
    """

    def __init__(
        self,
        cluster: Cluster,
        consumers: Mapping[str, Consumer],
        recorder: RunRecorder,
        groups: list[str],
        every_ms: int,
    ) -> None:
        self.samples: list[Sample] = []
        self.stopped = False
        self._cluster = cluster
        self._consumers = consumers
        self._recorder = recorder
        self._groups = [recorder.long(group) for group in groups]
        self._every_us = every_ms * US_PER_MS
        self._flips = Flips()
        self._facts_read = 0
        self._again()

    def _again(self) -> None:
        scheduler = self._cluster.world.scheduler
        scheduler.at(scheduler.now_us + self._every_us, self._sample, priority=AFTER_ALL)

    def _read(self) -> list[GroupGauge]:
        cluster = self._cluster
        facts = cluster.facts.facts
        for fact in facts[self._facts_read :]:
            if isinstance(fact.event, SubscriptionChanged):
                self._flips.saw(fact.t, replace(fact.event, group=self._recorder.long(fact.event.group)))
        self._facts_read = len(facts)
        return gauges(
            cluster.broker,
            cluster.broker_server.now(),
            groups=self._groups,
            flips=self._flips,
            flips_now=cluster.world.now_ms(),
            owner_of=self._owner_of,
        )

    def _owner_of(self, group: str, topic: str, queue: int) -> Owner | None:
        for consumer in self._consumers.values():
            client = consumer.client
            if client.group_name != group:
                continue
            if any(one.topic == topic and one.queue_id == queue for one in client.rebalance_impl.process_queue_table):
                posts = isinstance(client, DefaultMQPushConsumer) and client.config.post_subscription_when_pull
                return Owner(client.subscription_inner[topic], posts) if topic in client.subscription_inner else None
        return None

    def _sample(self) -> None:
        if self.stopped:
            return
        short, found = self._recorder.short, self._read()
        self.samples.append(Sample(self._cluster.world.now_ms(), found))
        for gauge in found:
            self._recorder.event(gauge.as_event(short))
        self._again()
