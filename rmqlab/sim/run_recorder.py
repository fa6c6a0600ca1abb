"""The recorder of a run: keeps what happens as facts, under the scenario's short names."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from rmqlab.events import Event, Restamp
from rmqlab.message.java import from_utf8
from rmqlab.run.facts import SCENARIO, Fact
from rmqlab.run.fates import SendRecord
from rmqlab.run.recorded_events import Consumed, GroupViewed, MessageSent, Recorded
from rmqlab.scenario.fault_steps import BROKER
from rmqlab.sim.mqadmin import GroupView, group_view
from rmqlab.sim.scheduler import US_PER_MS

if TYPE_CHECKING:
    from rmqlab.client.mq_client_api import SendResult
    from rmqlab.events import Observer
    from rmqlab.message.message import Message, MessageExt
    from rmqlab.scenario.scenario import OutgoingMessage, Scenario, Start
    from rmqlab.sim.cluster import Cluster

VIEW_FACTS = frozenset({"register", "unregister", "expired", "subscription"})
# The fields of an event that carry the scenario's id on the wire.
RECORDED_NAMES = ("client", "who", "group", "topic", "retry_topic")
NOT_ONLINE: GroupView = {"offline": 206}


@cache
def _names_in(kind: type[Event]) -> list[str]:
    """The fields of an event of this kind that carry the scenario's id."""
    return [name for name in RECORDED_NAMES if name in kind.__struct_fields__]


class RunRecorder:
    """Sees one scenario on one cluster. `sent` are the messages sent, in order.

    On the wire topics, groups and clients carry the scenario's id unless `plain`; `wire_name` adds it and
    `scenario_name` takes it off. `client_ids` are those that do not tell the name a client was started under.
    """

    def __init__(
        self, scenario: Scenario, cluster: Cluster, client_ids: dict[str, str] | None = None, *, plain: bool = False
    ) -> None:
        self.sent: list[SendRecord] = []
        self.results: list[SendResult] = []
        self.timing = cluster.world.timing
        self._scenario = scenario
        self._cluster = cluster
        self._scheduler = cluster.world.scheduler
        self._facts = cluster.facts
        self._suffix = "" if plain else "_" + scenario.id
        self._names = {client_id: name for name, client_id in (client_ids or {}).items()}
        self._views: dict[str, GroupView] = {}
        self._view_pending = False
        cluster.broker.observe = self._at_broker

    def wire_name(self, name: str) -> str:
        """The name on the wire."""
        return name + self._suffix

    def scenario_name(self, name: str) -> str:
        """The name in the scenario."""
        return name.removesuffix(self._suffix)

    def event(self, event: Recorded, source: str = SCENARIO) -> None:
        """Keep an event that recordings have; its names are short."""
        self._facts.append(Fact(self._cluster.world.now_ms(), source, event))

    @property
    def events(self) -> list[dict[str, Any]]:
        """The events that recordings have, as they write them."""
        scenario = self._scenario.id
        return [fact.event.as_json(scenario, fact.t) for fact in self._facts if isinstance(fact.event, Recorded)]

    def observer(self, name: str) -> Observer:
        """A hook for one client; the facts carry its short name as their source."""

        def observe(event: Event) -> None:
            if event.__class__ is Restamp:
                self._cluster.world.stamped()
            if self._suffix:
                event = self._shortened(event)
            self._facts.append(Fact(self._scheduler.now_us / US_PER_MS, name, event))

        return observe

    def _shortened(self, event: Event, client: str | None = None) -> Event:
        """The event with short names, and with this client in the place of its own."""
        named = [(name, getattr(event, name)) for name in _names_in(event.__class__)]
        short = {name: value.removesuffix(self._suffix) for name, value in named if value}
        if client is not None:
            short["client"] = client.removesuffix(self._suffix)
        return replace(event, **short)

    def _at_broker(self, event: Event) -> None:
        client = getattr(event, "client", None)
        name = None if client is None else self._names.get(client) or self._started_as(client)
        if self._suffix:
            event = self._shortened(event, name)
        elif name is not None:
            event = replace(event, client=name)
        self._facts.append(Fact(self._scheduler.now_us / US_PER_MS, BROKER, event))
        if event.kind in VIEW_FACTS and not self._view_pending:
            self._view_pending = True
            scheduler = self._cluster.world.scheduler
            scheduler.at(scheduler.now_us, self.look, priority=1)

    def look(self) -> None:
        """Write a group's clients and subscriptions when they changed, as the polling observer of a recording does."""
        self._view_pending = False
        epoch = self._cluster.config.epoch_ms
        for group in self._scenario.groups():
            view = group_view(self._cluster.broker, self.wire_name(group), self.scenario_name, epoch)
            if view != self._views.get(group, NOT_ONLINE):
                self._views[group] = view
                self.event(GroupViewed(group, view))

    def sends(self, number: int, topic: str, outgoing: OutgoingMessage, message: Message, result: SendResult) -> None:
        """Write a send result."""
        self.results.append(result)
        queue = result.message_queue.queue_id
        self.event(
            MessageSent(
                number, outgoing.tag, outgoing.body, queue, result.queue_offset, result.msg_id, result.offset_msg_id,
            ),
        )  # fmt: skip
        self.sent.append(
            SendRecord(
                topic, queue, result.queue_offset, outgoing.body, outgoing.tag, str(result.msg_id),
                self._cluster.world.now_ms(), dict(message.properties),
            ),
        )  # fmt: skip

    def consumes(self, step: Start, message: MessageExt, *, success: bool) -> None:
        """Write that a listener got a message, and whether it took it."""
        body = from_utf8(message.body or b"")
        self.event(
            Consumed(
                step.who, self.scenario_name(message.topic), message.tags, message.queue_id, message.queue_offset, body,
                message.reconsume_times, message.unique_id, step.group, success, message,
            ),
            step.who,
        )  # fmt: skip

    def _started_as(self, client_id: str) -> str:
        """The name a client was started under, from its client id or the address of its connection."""
        if "@" not in client_id:
            connections = self._cluster.world.servers[self._cluster.broker_address].connections.values()
            self._names.update({connection.remote_address: connection.node.name for connection in connections})
            return self._names.get(client_id, client_id)
        name = self._names[client_id] = client_id.partition("@")[2] or client_id
        return name
