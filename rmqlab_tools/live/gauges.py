"""Gauges of consumer groups: how old their members' heartbeats are, how far they lag, how often their slot flips.

The advice of the third article is to watch heartbeats at the broker and backlog at the client (row H-49). The usual
lag counts every message between the committed offset and the end of a queue; what a group subscribes decides how many
of them it will really receive. So there are two: the raw lag, as the admin tool shows it, and the filtered lag, which
lets each message through the broker's filter and the client's second look. A raw lag that falls says nothing about
messages that were dropped; a filtered lag that is lower than what the members asked for does.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

from rmqlab.broker.consumer_manage_processor import TOPIC_GROUP_SEPARATOR
from rmqlab.client.push_consumer import DefaultMQPushConsumer
from rmqlab.events import SubscriptionChanged
from rmqlab.filter.filter import Filter
from rmqlab.protocol.heartbeat import MessageModel
from rmqlab.protocol.subscription_data import SubscriptionData
from rmqlab.run.recorded_events import Gauge
from rmqlab.sim.mqadmin import consume_stats
from rmqlab.sim.scheduler import US_PER_MS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from rmqlab.broker.broker import Broker
    from rmqlab.sim.simulate import Simulation

FLIP_WINDOW_MS = 60_000
MOST_MESSAGES_LOOKED_AT = 100_000  # messages of one queue; what lies behind is not looked at


class Owner(NamedTuple):
    """Who holds a queue: its own subscription, and whether its pulls carry it (row S-90)."""

    subscription: SubscriptionData
    posts: bool = False


OwnerOf = Callable[[str, str, int], Owner | None]
"""Group, topic, queue id to the owner, None when nobody holds the queue."""


class QueueLag(NamedTuple):
    """A queue's lag in messages: `raw` counts all after the committed offset, as the admin tool does.

    `filtered` is None when no member subscribes the topic, and for a broadcasting group, whose members keep their
    offsets to themselves; `complete`: every message was looked at.
    """

    raw: int
    filtered: int | None
    complete: bool = True


class Flips:
    """Counts how often what a group's slot says was changed. Feed it what the broker observes."""

    def __init__(self) -> None:
        self._times: dict[tuple[str, str], deque[float]] = {}

    def saw(self, t: float, event: SubscriptionChanged) -> None:
        """Take a change at `t` ms: a new stamp alone is no flip, another expression is."""
        old, new = event.old, event.new
        if old is None or new is None or says(old) == says(new):
            return
        self._times.setdefault((event.group, str(new.topic)), deque()).append(t)

    def a_minute(self, group: str, t: float) -> dict[str, int]:
        """Flips by topic in the minute before `t`."""
        by_topic = {}
        for (name, topic), times in self._times.items():
            while times and times[0] <= t - FLIP_WINDOW_MS:
                times.popleft()
            if name == group and times:
                by_topic[topic] = len(times)
        return by_topic


def says(subscription: SubscriptionData) -> tuple[object, ...]:
    """What a subscription asks for, without its stamp: equal for two that ask alike."""
    if subscription.is_tag:
        return ("TAG", frozenset(subscription.tags_set))
    return (subscription.expression_type, subscription.sub_string)


def gauges(
    broker: Broker,
    now: int,
    flips: Flips,
    *,
    groups: Iterable[str] | None = None,
    flips_now: float | None = None,
    owner_of: OwnerOf | None = None,
    scenario_name: Callable[[str], str] = str,
    most: int = MOST_MESSAGES_LOOKED_AT,
) -> list[Gauge]:
    """The gauges of consumer groups (all that are online or have committed offsets) at `now` (epoch ms).

    The broker does not know who owns a queue, nor what that member's own subscription is, if the slot says otherwise.
    With `owner_of` the second look is the owner's; without it the slot's own tags are compared. `flips_now` is the
    time (ms) by which `flips` counts, if not `now`. `scenario_name` makes the names in the gauges of those on the wire.
    """
    known = set(broker.consumer_manager.consumer_table)
    known.update(key.rpartition(TOPIC_GROUP_SEPARATOR)[2] for key in broker.consumer_offset_manager.offset_table)
    read = []
    for group in sorted(known if groups is None else groups):
        info = broker.consumer_manager.get_consumer_group_info(group)
        clients = [] if info is None else list(info.channel_info_table.values())
        ages = {str(client.client_id): now - client.last_update_timestamp for client in clients}
        topics = set(broker.consumer_offset_manager.which_topic_by_consumer(group))
        topics.update(() if info is None else map(str, info.subscription_table))
        queues = [lag for topic in sorted(topics) for lag in _queues(broker, group, topic, owner_of, most)]
        filtered = [queue.filtered for queue in queues if queue.filtered is not None]
        changed = flips.a_minute(group, now if flips_now is None else flips_now)
        read.append(
            Gauge(
                scenario_name(group),
                {scenario_name(client): ages[client] for client in sorted(ages)},
                max(ages.values(), default=None),
                sum(queue.raw for queue in queues),
                sum(filtered) if filtered or not queues else None,
                all(queue.complete for queue in queues),
                {scenario_name(topic): count for topic, count in changed.items()},
            )
        )
    return read


def _queues(broker: Broker, group: str, topic: str, owner_of: OwnerOf | None, most: int) -> Iterator[QueueLag]:
    store, info = broker.message_store, broker.consumer_manager.get_consumer_group_info(group)
    shared = info is not None and info.message_model is not MessageModel.BROADCASTING
    slot = broker.consumer_manager.find_subscription_data(group, topic) if shared else None
    for queue, committed in consume_stats(broker, group, topic).items():
        end = store.get_max_offset_in_queue(topic, queue)
        begin = min(committed, end)
        if slot is None:
            yield QueueLag(end - begin, None)
            continue
        owner = None if owner_of is None else owner_of(group, topic, queue)
        last = min(end, begin + most)
        at_broker = owner.subscription if owner is not None and owner.posts else slot
        at_client = slot if owner is None else owner.subscription
        first, second = Filter(at_broker, broker.rules), Filter(at_client, broker.rules)
        messages = (store.look_message_in_queue(topic, queue, offset) for offset in range(begin, last))
        count = sum(message is not None and first.fate(message.properties, second) is None for message in messages)
        yield QueueLag(end - begin, count, last == end)


AFTER_ALL = 9  # priority on the heap: what happens at this instant comes first


class GaugeSampler:
    """Observes a simulation: reads its groups' gauges every `every_ms` and writes them as its events.

    >>> from functools import partial
    >>> from rmqlab.scenario.scenario import Scenario
    >>> from rmqlab.sim.simulate import simulate
    >>> run = simulate(Scenario("one", {"T": 1}, []), observers=[partial(GaugeSampler, every_ms=1_000)])
    """

    def __init__(self, simulation: Simulation, every_ms: int) -> None:
        self._simulation = simulation
        self._cluster = simulation.cluster
        self._consumers = simulation.consumers
        self._recorder = simulation.recorder
        self._groups = [self._recorder.wire_name(group) for group in simulation.scenario.groups()]
        self._every_us = every_ms * US_PER_MS
        self._flips = Flips()
        self._facts_read = 0
        self._again()

    def _again(self) -> None:
        scheduler = self._cluster.world.scheduler
        scheduler.at(scheduler.now_us + self._every_us, self._sample, priority=AFTER_ALL)

    def _owner_of(self, group: str, topic: str, queue: int) -> Owner | None:
        for consumer in self._consumers.values():
            client = consumer.owner
            if consumer.step.pops or client.group_name != group:
                continue
            if any(
                message_queue.topic == topic and message_queue.queue_id == queue
                for message_queue in client.rebalance_impl.process_queue_table
            ):
                posts = isinstance(client, DefaultMQPushConsumer) and client.config.post_subscription_when_pull
                return Owner(client.subscription_inner[topic], posts) if topic in client.subscription_inner else None
        return None

    def _sample(self) -> None:
        if self._simulation.done:
            return
        cluster, recorder = self._cluster, self._recorder
        for fact in cluster.facts[self._facts_read :]:
            if isinstance(fact.event, SubscriptionChanged):
                self._flips.saw(fact.t, replace(fact.event, group=recorder.wire_name(fact.event.group)))
        self._facts_read = len(cluster.facts)
        sampled = gauges(
            cluster.broker,
            cluster.broker_server.now(),
            self._flips,
            groups=self._groups,
            flips_now=cluster.world.now_ms(),
            owner_of=self._owner_of,
            scenario_name=recorder.scenario_name,
        )
        for gauge in sampled:
            recorder.event(gauge)
        self._again()
