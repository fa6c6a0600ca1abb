"""The witness of a run: writes events as recordings have them and keeps the facts, under the scenario's short names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rmqlab.lab.facts import BROKER, Fact
from rmqlab.lab.fates import SentMessage
from rmqlab.lab.group_view import GroupView, group_view
from rmqlab.message.java import from_utf8
from rmqlab.runtime.scheduler import US_PER_MS

if TYPE_CHECKING:
    from rmqlab.client.client_config import Observer
    from rmqlab.client.send_result import SendResult
    from rmqlab.lab.cluster import Cluster
    from rmqlab.lab.run import Event
    from rmqlab.lab.scenario import OutgoingMessage, Scenario, Start
    from rmqlab.message.message import Message, MessageExt

VIEW_FACTS = frozenset({"register", "unregister", "expired", "subscription"})
NOT_ONLINE: GroupView = {"offline": 206}


class Witness:
    """Sees one scenario on one cluster. ``events`` are as recorded ones, ``sent`` are the messages sent, in order.

    On the wire topics, groups and clients carry the scenario's id unless ``plain``; ``long`` adds it and ``short``
    takes it off. ``client_ids`` are those that do not tell the name a client was started under.
    """

    def __init__(
        self, scenario: Scenario, cluster: Cluster, client_ids: dict[str, str] | None = None, *, plain: bool = False
    ) -> None:
        self.events: list[Event] = []
        self.sent: list[SentMessage] = []
        self.results: list[SendResult] = []
        self.timing = cluster.world.timing
        self._scenario = scenario
        self._cluster = cluster
        self._scheduler = cluster.world.scheduler
        self._facts = cluster.facts.facts
        self._suffix = "" if plain else "_" + scenario.id
        self._names = {client_id: who for who, client_id in (client_ids or {}).items()}
        self._views: dict[str, GroupView] = {}
        self._view_pending = False
        cluster.broker.observe = self._at_broker

    def long(self, name: str) -> str:
        """The name on the wire."""
        return name + self._suffix

    def short(self, name: str) -> str:
        """The name in the scenario."""
        return name.replace(self._suffix, "") if self._suffix else name

    def event(self, kind: str, /, **fields: Any) -> None:
        """Write one event, stamped with the ms since the run began."""
        t = round(self._cluster.world.now_ms())
        self.events.append({"id": self._scenario.id, "t": t, "ev": kind, **fields})

    def fact(self, source: str, kind: str, fields: dict[str, Any]) -> None:
        """Keep one fact."""
        if self._suffix:
            fields = {k: v.replace(self._suffix, "") if v.__class__ is str else v for k, v in fields.items()}
        self._facts.append(Fact(self._scheduler.now_us / US_PER_MS, source, kind, fields))

    def observer(self, who: str) -> Observer:
        """A hook for one client; the facts carry its short name as their source."""

        def observe(kind: str, fields: dict[str, Any]) -> None:
            if kind == "restamp":
                self._cluster.world.stamped()
            self.fact(who, kind, {k: v for k, v in fields.items() if k != "who"})

        return observe

    def _at_broker(self, kind: str, fields: dict[str, Any]) -> None:
        if "client" in fields:
            fields = fields | {"client": self._started_as(fields["client"])}
        self.fact(BROKER, kind, fields)
        if kind in VIEW_FACTS and not self._view_pending:
            self._view_pending = True
            scheduler = self._cluster.world.scheduler
            scheduler.at(scheduler.now_us, self.look, priority=1)

    def look(self) -> None:
        """Write a group's clients and subscriptions when they changed, as the polling observer of a recording does."""
        self._view_pending = False
        epoch = self._cluster.config.epoch_ms
        for group in self._scenario.groups():
            view = group_view(self._cluster.broker, self.long(group), self.short, epoch)
            if view != self._views.get(group, NOT_ONLINE):
                self._views[group] = view
                self.event("broker", group=group, view=view)

    def sends(self, number: int, topic: str, outgoing: OutgoingMessage, message: Message, result: SendResult) -> None:
        """Write a send result."""
        self.results.append(result)
        queue = result.message_queue.queue_id
        self.event(
            "sent", i=number, tag=outgoing.tag, body=outgoing.body, queue=queue, offset=result.queue_offset,
            msgId=result.msg_id, offsetMsgId=result.offset_msg_id,
        )  # fmt: skip
        self.sent.append(
            SentMessage(
                topic, queue, result.queue_offset, outgoing.body, outgoing.tag, str(result.msg_id),
                self._cluster.world.now_ms(), dict(message.properties),
            ),
        )  # fmt: skip

    def consumes(self, step: Start, message: MessageExt, *, success: bool) -> None:
        """Write that a listener got a message, and whether it took it."""
        body = from_utf8(message.body or b"")
        place = {"topic": message.topic, "tag": message.tags, "queue": message.queue_id, "offset": message.queue_offset}
        self.event(
            "consume", who=step.who, **(place | {"topic": self.short(message.topic)}), body=body,
            reconsume=message.reconsume_times, msgId=message.unique_id,
        )  # fmt: skip
        self.fact(step.who, "consumed", place | {
            "group": step.group, "message_id": message.unique_id, "success": success, "message": message, "body": body,
        })  # fmt: skip

    def _started_as(self, client_id: object) -> object:
        """The name a client was started under, from its client id or the address of its connection."""
        if not isinstance(client_id, str):
            return client_id
        if "@" not in client_id and client_id not in self._names:
            connections = self._cluster.world.servers[self._cluster.broker_address].connections.values()
            self._names.update({connection.remote_address: connection.node.name for connection in connections})
        return self._names.get(client_id) or client_id.partition("@")[2] or client_id
