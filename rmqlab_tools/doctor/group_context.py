"""A group at one look, with the look before: who asks for what, what each broker holds, whose each queue is.

Retry topics are left out: every clustering member subscribes its group's alike (row S-95).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from rmqlab.message.topics import is_retry_topic
from rmqlab.rules import DEFAULT_RULES
from rmqlab_tools.doctor.history import SnapshotHistory
from rmqlab_tools.doctor.snapshot import ClusterSnapshot, GroupSeen
from rmqlab_tools.search.lint.meaning import lint
from rmqlab_tools.search.lint.members import MEMBER_SETTINGS, LintGroup, LintMember, as_meant, text_key

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rmqlab.message.topics import MessageQueue
    from rmqlab.protocol.subscription_data import SubscriptionData
    from rmqlab_tools.doctor.snapshot import MemberSeen
    from rmqlab_tools.search.lint.findings import GroupLint

CLIENT_PROPERTIES = ("messageModel", "PROP_CONSUME_TYPE", "consumeFromWhere")  # as 307 names lint's SETTINGS
PUSH = "CONSUME_PASSIVELY"


@dataclass
class GroupCase:
    """A group of `look`; `before` is the same group at the look before, None when there is none."""

    look: ClusterSnapshot
    group: GroupSeen
    before: GroupCase | None = None
    history: SnapshotHistory = field(default_factory=SnapshotHistory)

    @property
    def now(self) -> int:
        """This machine's clock at the end of the look, epoch ms."""
        return self.look.at + self.look.took_ms

    @property
    def since_ms(self) -> int:
        """How long before this look the one before began; 0 without one."""
        return 0 if self.before is None else self.look.at - self.before.look.at

    @property
    def members_before(self) -> dict[str, MemberSeen]:
        """The members at the look before."""
        return {} if self.before is None else self.before.group.members

    @cached_property
    def told(self) -> dict[str, dict[str, SubscriptionData]]:
        """What each member that answered asks for, by client id and topic."""
        return {
            client: {topic: data for topic, data in subscriptions.items() if not is_retry_topic(topic)}
            for client, member in self.group.members.items()
            if (subscriptions := member.subscriptions) is not None
        }

    @cached_property
    def silent(self) -> list[MemberSeen]:
        """The members that did not say what they ask for."""
        return [member for member in self.group.members.values() if member.running is None]

    @cached_property
    def topics(self) -> list[str]:
        """The topics that a member asks for, or that a broker holds a subscription of; sorted."""
        named = {topic for slot in self.group.slots.values() for topic in slot.subscription_table}
        named.update(topic for subscriptions in self.told.values() for topic in subscriptions)
        return sorted(topic for topic in named if not is_retry_topic(topic))

    def setting(self, client: str, name: str) -> str | None:
        """One of a member's properties (307), None when it did not tell."""
        running = self.group.members[client].running
        return None if running is None else running.properties.get(name)

    def client_subscriptions(self, topic: str) -> dict[str, SubscriptionData]:
        """What the members that answered ask of a topic, by client id.

        When a group's only member cannot answer, what the brokers hold is its own.
        """
        if not self.told and len(self.group.members) == 1:
            return dict(zip(self.group.members, self.slots(topic).values(), strict=False))
        return {client: subscriptions[topic] for client, subscriptions in self.told.items() if topic in subscriptions}

    @cached_property
    def _held(self) -> dict[str, dict[str, SubscriptionData]]:
        by_topic: dict[str, dict[str, SubscriptionData]] = {}
        for broker, slot in self.group.slots.items():
            for topic, data in slot.subscription_table.items():
                by_topic.setdefault(topic, {})[broker] = data
        return by_topic

    def slots(self, topic: str) -> dict[str, SubscriptionData]:
        """What each broker holds for the group (203), by the broker's name."""
        return self._held.get(topic, {})

    @cached_property
    def lint(self) -> GroupLint:
        """The members that answered, compared by `search.lint`; the one that was stamped last is heard last."""
        counts = {topic: len(self.queues(topic)) for topic in self.topics}
        group = LintGroup(self.group.name, queues={topic: count for topic, count in counts.items() if count})
        reported = {client: table for client, table in self.told.items() if table}
        latest = {client: max(data.sub_version for data in table.values()) for client, table in reported.items()}
        for client in sorted(reported, key=lambda client_id: (latest[client_id], client_id)):
            names = zip(MEMBER_SETTINGS, CLIENT_PROPERTIES, strict=True)
            settings = {setting: value for setting, name in names if (value := self.setting(client, name)) is not None}
            group.hear(
                LintMember(
                    client,
                    {topic: as_meant(data) for topic, data in reported[client].items()},
                    settings,
                    kind="pop" if self.pops(client) else "push",
                )
            )
        return lint(group)

    @cached_property
    def broadcasting(self) -> bool:
        """Whether every member that answered is a broadcasting one; a broker's last word when none did."""
        models = {self.setting(client, "messageModel") for client in self.told}
        if not models:
            models = {getattr(slot.message_model, "name", None) for slot in self.group.slots.values()}
        return models == {"BROADCASTING"}

    @cached_property
    def owners(self) -> dict[MessageQueue, list[str]]:
        """The members that hold each queue, as push consumers report it; a pull consumer of 4.8.0 reports none."""
        by_queue: dict[MessageQueue, list[str]] = {}
        for client, member in sorted(self.group.members.items()):  # brokers list them in any order
            for queue in member.queues or ():
                if not is_retry_topic(queue.topic):
                    by_queue.setdefault(queue, []).append(client)
        return by_queue

    @cached_property
    def owners_known(self) -> bool:
        """Whether every member is a push consumer that answered, and none pops: who pops holds no queue."""
        types = {self.setting(client, "PROP_CONSUME_TYPE") for client in self.told}
        return types == {PUSH} and not self.silent and not any(map(self.pops, self.told))

    def request_mode(self, topic: str) -> str | None:
        """PULL or POP, as any broker has it for the group and topic; None: not known."""
        modes = {broker.request_mode(topic, self.group.name) for broker in self.look.brokers.values()} - {None}
        return "POP" if "POP" in modes else "PULL" if modes else None

    def pops(self, client: str, topic: str | None = None) -> bool:
        """Whether brokers hand a member messages of any queue of a topic (None: of one of its topics).

        A 5.x client says so; else it does where it leaves the rebalance to the broker, and that has no other mode for
        the topic (`RebalancePushImpl.clientRebalance`, `QueryAssignmentProcessor`).
        """
        if any(topic in {queue.topic, None} for queue in self.group.members[client].popped):
            return True
        kept = self.setting(client, "consumeOrderly") == "true" or self.broadcasting
        if self.setting(client, "clientRebalance") != "false" or kept:
            return False
        topics = self.told.get(client, {}) if topic is None else (topic,)
        return any(self.request_mode(name) != "PULL" for name in topics)

    def is_popped(self, topic: str) -> bool:
        """Whether members that answered pop a topic: then each of their requests carries its own expression."""
        return any(topic in subscriptions and self.pops(client, topic) for client, subscriptions in self.told.items())

    def queues(self, topic: str) -> list[MessageQueue]:
        """The readable queues of a topic."""
        return self.look.topics.get(topic, [])

    def posts(self, client: str) -> bool:
        """Whether a member's pulls carry its own subscription: pull consumers' and C++ clients' do, pops too.

        Others do by choice.

        4.8.0 `DefaultMQPushConsumer.postSubscriptionWhenPull`; row S-90.
        """
        pulls = self.setting(client, "PROP_CONSUME_TYPE") not in {PUSH, None}
        if pulls or self.group.members[client].language == "CPP":
            return True
        return self.pops(client) or self.setting(client, "postSubscriptionWhenPull") == "true"

    def in_force(self, client: str | None, topic: str, broker: str) -> SubscriptionData | None:
        """What filters the pulls of a queue's owner at a broker; None when that is not known, or nothing does.

        `client` None: the owner is not known, which matters where some members' pulls carry their own.
        """
        broker_subscription = self.slots(topic).get(broker)
        if client is None:
            return None if any(map(self.posts, self.group.members)) else broker_subscription
        if not self.posts(client):
            return broker_subscription
        own = self.client_subscriptions(topic).get(client)
        return None if own is None else DEFAULT_RULES.subscription_in_force(as_meant(own), broker_subscription)

    def sole_owner(self, queue: MessageQueue) -> str | None:
        """The one member that holds a queue, as far as is known: the one silent member when no other says so."""
        owners = self.owners.get(queue) or [member.client_id for member in self.silent]
        return owners[0] if len(owners) == 1 else None


def same_text(first: SubscriptionData, second: SubscriptionData) -> bool:
    """Whether two subscriptions have the same type and text."""
    return text_key(first) == text_key(second)


def unique(subscriptions: Iterable[SubscriptionData]) -> list[SubscriptionData]:
    """One subscription of each text."""
    return list({text_key(data): data for data in subscriptions}.values())
