"""Verbs of life beside start and stop: subscriptions that end, queues assigned by hand, topics and groups deleted.

Deleting is what mqadmin's deleteTopic and deleteSubGroup do (4.8.0 `DeleteTopicSubCommand`,
`DeleteSubscriptionGroupCommand`): consumers are not notified, and offsets stay in `consumerOffset.json`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from rmqlab.language import _
from rmqlab.scenario.fault_steps import ScenarioStep

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping


EXCLUSIVE = _("subscribe and assign exclude each other (`DefaultLitePullConsumerImpl.setSubscriptionType`)")


class Unsubscribe(ScenarioStep, frozen=True, tag="unsubscribe", kw_only=True):
    """Consumer `who` ends its subscription of a topic; the broker learns of it by the next heartbeat.

    4.8.0 `DefaultMQPushConsumerImpl.unsubscribe`, `DefaultLitePullConsumerImpl.unsubscribe`.
    """

    who: str
    topic: str


class Assign(ScenarioStep, frozen=True, tag="assign", kw_only=True):
    """Lite pull consumer `who` reads these queues from now on, by topic, and no others.

    4.8.0 `DefaultLitePullConsumerImpl.assign`.
    """

    who: str
    queues: dict[str, list[int]]


class DeleteTopic(ScenarioStep, frozen=True, tag="deleteTopic"):
    """Delete a topic at broker and name server, as mqadmin's deleteTopic does."""

    topic: str


class CreateGroup(ScenarioStep, frozen=True, tag="createGroup"):
    """Make a consumer group, as mqadmin's updateSubGroup does; needed where autoCreateSubscriptionGroup is off."""

    group: str


class DeleteGroup(ScenarioStep, frozen=True, tag="deleteGroup"):
    """Delete a group's configuration, its retry and its dead letter topic, as mqadmin's deleteSubGroup does."""

    group: str


LifeStep: TypeAlias = Unsubscribe | Assign | DeleteTopic | CreateGroup | DeleteGroup


class LifeOrder:
    """Looks at the steps of life of a scenario in their order: `queues_of` and `groups` are those it knows."""

    def __init__(self, queues_of: Mapping[str, int], groups: Collection[str]) -> None:
        self.queues_of = dict(queues_of)
        self._groups = groups
        self._subscribed: dict[str, set[str]] = {}
        self._assigned: set[str] = set()
        self._lite: set[str] = set()
        self._deleted: set[str] = set()

    def starts(
        self,
        client: str,
        topics: Collection[str],
        assigned: Mapping[str, list[int]] | None,
        field: str,
        *,
        is_lite: bool,
    ) -> Iterator[str]:
        """A consumer starts: what is wrong with what it assigns itself, beside what it subscribes."""
        self._subscribed[client] = set(topics)
        self._assigned.discard(client)
        self._lite.discard(client)
        if is_lite:
            self._lite.add(client)
        if assigned is None:
            return
        if not is_lite:
            yield _("{field}.assign is for lite pull consumers; write kind lite, or subscribe", field=field)
        elif topics:
            yield _("{field} has subscribe and assign; {why}, so give one of the two", field=field, why=EXCLUSIVE)
        yield from self._queue_problems(assigned, f"{field}.assign")
        self._assigned.add(client)

    def subscribes(self, client: str, topic: str, field: str) -> Iterator[str]:
        """A running consumer subscribes."""
        if client in self._assigned:
            yield _("{field}: {who} assigned itself queues before; {why}", field=field, who=client, why=EXCLUSIVE)
        self._subscribed.setdefault(client, set()).add(topic)

    def resized(self, topic: str, queues: int) -> None:
        """A topic has another number of queues, or is there again."""
        self.queues_of[topic] = queues
        self._deleted.discard(topic)

    def is_deleted(self, topic: str) -> bool:
        """Whether a topic was deleted, and not made again by a step."""
        return topic in self._deleted

    def problems(self, step: LifeStep, field: str) -> Iterator[str]:
        """What is wrong with a step of life; `field` is where it stands. Whoever it is about runs."""
        match step:
            case Unsubscribe(who=client, topic=topic):
                mine = self._subscribed.get(client, set())
                if topic not in mine:
                    yield _(
                        "{field}.topic is {topic}; {who} subscribes {mine}",
                        field=field,
                        topic=repr(topic),
                        who=client,
                        mine=", ".join(sorted(mine)) or _("nothing"),
                    )
                mine.discard(topic)
            case Assign(who=client, queues=queues):
                if client not in self._lite:
                    yield _(
                        "{field}.who is {who}, a push consumer; only lite pull consumers assign themselves queues",
                        field=field,
                        who=repr(client),
                    )
                elif self._subscribed.get(client):
                    yield _(
                        "{field}: {who} subscribed {topics} before; {why}",
                        field=field,
                        who=client,
                        topics=", ".join(sorted(self._subscribed[client])),
                        why=EXCLUSIVE,
                    )
                yield from self._queue_problems(queues, f"{field}.queues")
                self._assigned.add(client)
            case DeleteTopic(topic=topic):
                if topic not in self.queues_of:
                    yield _(
                        "{field}.topic is {topic}; known topics: {known}",
                        field=field,
                        topic=repr(topic),
                        known=", ".join(self.queues_of) or _("none"),
                    )
                elif topic in self._deleted:
                    yield _(
                        "{field}.topic is {topic}, which was deleted before; resize makes it again",
                        field=field,
                        topic=repr(topic),
                    )
                self._deleted.add(topic)
            case DeleteGroup(group=group) if group not in self._groups:
                yield _(
                    "{field}.group is {group}; known groups: {known}",
                    field=field,
                    group=repr(group),
                    known=", ".join(sorted(self._groups)) or _("none"),
                )
            case CreateGroup(group=""):
                yield _("{field}.group is empty; name the group to make", field=field)
            case _other:
                pass

    def _queue_problems(self, queues: Mapping[str, list[int]], field: str) -> Iterator[str]:
        if not any(queues.values()):
            yield _(
                "{field} names no queue; right is a topic and ids of queues: {example}",
                field=field,
                example='{"T": [0, 1]}',
            )
        for topic, numbers in queues.items():
            if topic not in self.queues_of:
                yield _(
                    "{field} names topic {topic}; known topics: {known}",
                    field=field,
                    topic=repr(topic),
                    known=", ".join(self.queues_of) or _("none"),
                )
                continue
            for number in numbers:
                if not 0 <= number < self.queues_of[topic]:
                    yield _(
                        "{field}.{topic} has {number}; {topic} has queues 0..{last}",
                        field=field,
                        topic=topic,
                        number=number,
                        last=self.queues_of[topic] - 1,
                    )
            if len(set(numbers)) < len(numbers):
                yield _("{field}.{topic} names a queue twice: {numbers}", field=field, topic=topic, numbers=numbers)
