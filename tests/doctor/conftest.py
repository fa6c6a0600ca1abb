"""Looks made by hand: members with their subscriptions and queues, and what the brokers hold of them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import cycle

from rmqlab.client.allocate import AllocateMessageQueueAveragely
from rmqlab.message.java import string_hash
from rmqlab.message.topics import MessageQueue
from rmqlab.protocol.bodies import Connection, ConsumerConnection, ConsumerRunningInfo, ProcessQueueInfo
from rmqlab.protocol.heartbeat import ConsumeFromWhere, ConsumeType, MessageModel
from rmqlab.protocol.subscription_data import SubscriptionData, build_subscription
from rmqlab_tools.doctor.snapshot import BrokerSeen, ClusterSnapshot, GroupSeen, MemberSeen, PassedEntries, QueueSeen

NOW = 1_700_000_000_000
STARTED = NOW - 3_600_000


def subscription(topic, wish, version=STARTED):
    """A subscription of "tagA", "SQL92:a > 3", or one that is one already."""
    if isinstance(wish, SubscriptionData):
        return replace(wish, topic=topic, sub_version=version)
    kind, _, text = wish.partition(":") if wish.startswith("SQL92:") else ("TAG", "", wish)
    return build_subscription(topic, text, kind, version)


@dataclass
class M:
    """A member to be: `asks` maps topics to wishes; `queues` None lets the usual strategy decide."""

    client: str
    asks: dict = field(default_factory=lambda: {"T": "tagA"})
    version: int = STARTED
    queues: list | None = None
    mode: str = "CLUSTERING"
    kind: str = "CONSUME_PASSIVELY"
    silent: bool = False
    language: str = "JAVA"
    runs: str = "V4_8_0"
    brokers: tuple | None = None
    started: int = STARTED
    last_pull: int | None = None
    properties: dict = field(default_factory=dict)

    def subscriptions(self):
        return {topic: subscription(topic, wish, self.version) for topic, wish in self.asks.items()}


def group_seen(name, members, topics, brokers, slot=None, committed=100, end=100):
    """A group; `slot` is the client whose subscriptions the brokers hold: the one with the highest version if None."""
    by_client = {one.client: one for one in members}
    holder = by_client.get(slot) or max(members, key=lambda one: one.version, default=None)
    group = GroupSeen(name)
    held = {} if holder is None else holder.subscriptions()
    for broker in brokers:
        here = [one for one in members if one.brokers is None or broker in one.brokers]
        if not here:
            continue
        group.slots[broker] = ConsumerConnection(
            [Connection(one.client, "10.0.0.1:1", one.language, 0) for one in here],
            dict(held),
            ConsumeType[holder.kind],
            MessageModel[holder.mode],
            ConsumeFromWhere.CONSUME_FROM_LAST_OFFSET,
        )
    ids = sorted(by_client)
    for one in members:
        owned = one.queues
        if owned is None:
            owned = []
            for topic in one.asks:
                every = topics.get(topic, [])
                broadcast = one.mode == "BROADCASTING"
                owned += every if broadcast else AllocateMessageQueueAveragely().allocate(name, one.client, every, ids)
        pulled = NOW - 1_000 if one.last_pull is None else one.last_pull
        running = ConsumerRunningInfo(
            {
                "messageModel": one.mode,
                "PROP_CONSUME_TYPE": one.kind,
                "consumeFromWhere": "CONSUME_FROM_LAST_OFFSET",
                "PROP_CONSUMER_START_TIMESTAMP": str(one.started),
                "postSubscriptionWhenPull": "false",
                **one.properties,
            },
            list(one.subscriptions().values()),
            {
                queue: ProcessQueueInfo(last_pull_timestamp=pulled, last_consume_timestamp=pulled)
                for queue in (owned if one.kind == "CONSUME_PASSIVELY" else [])
            },
        )
        group.members[one.client] = MemberSeen(
            one.client,
            "10.0.0.1:1",
            one.language,
            one.runs,
            frozenset(brokers if one.brokers is None else one.brokers),
            None if one.silent else running,
            "no answer in 3000 ms" if one.silent else None,
            NOW,
            NOW + 5,
        )
    for topic in {topic for one in members for topic in one.asks}:
        for queue in topics.get(topic, []):
            group.offsets[queue] = QueueSeen(committed, end, NOW - 5_000)
    return group


def look(members=(), queues=4, *, topics=("T",), brokers=("broker-a",), at=NOW, settings=None, group="G", **more):
    """A look at one group; `more` goes to `group_seen`."""
    seen = ClusterSnapshot("127.0.0.1:9876", at, took_ms=100)
    for broker in brokers:
        seen.brokers[broker] = BrokerSeen(broker, "C", "10.0.0.9:10911", "V4_8_0", dict(settings or {}), {})
    for topic in topics:
        seen.topics[topic] = [MessageQueue(topic, broker, number) for broker in brokers for number in range(queues)]
    seen.groups[group] = group_seen(group, list(members), seen.topics, brokers, **more)
    return seen


def passed(seen, tags, *, start=100, topic="T", group="G", behind=False):
    """Lets the group's offsets pass entries of these tags in each queue of a topic, queue by queue alike."""
    group_ = seen.groups[group]
    for queue, _ in zip(seen.topics[topic], cycle([None])):
        one = PassedEntries(start, start + len(tags))
        for tag in tags:
            one.codes[0 if tag is None else string_hash(tag)] += 1
        (group_.behind if behind else group_.passed)[queue] = one
    return seen


def kinds(diagnosis, group="G"):
    """The kinds of findings of a group."""
    found = next(one for one in diagnosis.groups if one.group == group)
    return {finding.kind for finding in found.findings}


def finding(diagnosis, kind, group="G"):
    """The one finding of that kind."""
    every = [*(next(one for one in diagnosis.groups if one.group == group).findings), *diagnosis.cluster]
    (found,) = [one for one in every if one.kind == kind]
    return found
