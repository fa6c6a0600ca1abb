"""A live group rebuilt in a `Lab`: its members, topics and traffic as far as they are known, to be explored."""

from __future__ import annotations

from itertools import chain, count, product
from string import ascii_uppercase
from typing import TYPE_CHECKING, Any, Final

from rmqlab.errors import BadInput, there_are
from rmqlab.filter.filter import Filter
from rmqlab.lab.lab import Lab
from rmqlab.language import _
from rmqlab.message.java import string_hash
from rmqlab.message.topics import is_retry_topic
from rmqlab_tools.doctor.group_context import GroupCase
from rmqlab_tools.search.lint.modes import POP_VERSION

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rmqlab.protocol.subscription_data import SubscriptionData
    from rmqlab_tools.doctor.snapshot import ClusterSnapshot, GroupSeen

BETWEEN_STARTS_S: Final = 60
"""Members start so far apart: each has sent its heartbeat, and the queues are shared out, before the next."""
MESSAGES_SENT: Final = 16
"""Messages that the lab sends, in the proportions of the tags that passed."""
FILTER_SETTINGS: Final = (
    "enablePropertyFilter", "enableCalcFilterBitMap", "enableConsumeQueueExt", "filterSupportRetry",
    "expectConsumerNumUseFilter", "maxErrorRateOfBloomFilter", "bitMapLengthConsumeQueueExt",
)  # fmt: skip


def rebuild(look: ClusterSnapshot, name: str | None) -> Lab:
    """The group `name` (None: no group was found) of a look, in a lab that has just run.

    Members are called A, B, ... in the order of their client ids, which is the order in which queues are shared out;
    they start in the order of their versions. What a silent member asks for is taken from the broker's table. Messages
    carry the tags that passed, as far as a member names them. The lab has the rules of 4.8.0, also for newer brokers;
    of a group with members that pop those of the newest version, and these members pop. `lab.scenario()` is the same as
    data.

    Raises:
        BadInput: there is no such group, or nothing is known of what its members ask for.
    """
    group = _chosen(look, name)
    client_subscriptions = _subscriptions_of(group)
    if not any(client_subscriptions.values()):
        raise BadInput(
            _("group {name}: nothing is known of what its members ask for, so nothing can be rebuilt", name=group.name)
        )
    topics = sorted({topic for subscriptions in client_subscriptions.values() for topic in subscriptions})
    broker_settings = next((broker.settings for broker in look.brokers.values()), None) or {}
    settings: dict[str, Any] = {
        setting: broker_settings[setting] for setting in FILTER_SETTINGS if setting in broker_settings
    }
    case = GroupCase(look, group)
    popping = {client for client in client_subscriptions if case.pops(client)}
    lab = Lab(
        {topic: len(look.topics.get(topic, ())) or 4 for topic in topics},
        name=group.name,
        version=POP_VERSION if popping else None,
        **settings,
    )
    names = dict(zip(sorted(client_subscriptions), _letters(), strict=False))
    for client in sorted(client_subscriptions, key=lambda member: _stamp(client_subscriptions[member])):
        options = _options(group, client, client_subscriptions[client])
        lab.consumer(names[client], **options, kind="pop" if client in popping else "push")
        lab.run(seconds=BETWEEN_STARTS_S)
    for topic in topics:
        _send(lab, group, topic, client_subscriptions)
    lab.run(seconds=BETWEEN_STARTS_S)
    return lab


def _chosen(look: ClusterSnapshot, name: str | None) -> GroupSeen:
    if name is None:
        raise BadInput(
            _("{namesrv}: no consumer group was found, so there is nothing to rebuild", namesrv=look.namesrv)
        )
    if name not in look.groups:
        hint = there_are(name, look.groups)
        raise BadInput(_("no group {name} was looked at{hint}", name=f"{name!r}", hint=hint))
    return look.groups[name]


def _letters() -> Iterator[str]:
    """A to Z, then AA, AB and so on."""
    return ("".join(letters) for length in count(1) for letters in product(ascii_uppercase, repeat=length))


def _subscriptions_of(group: GroupSeen) -> dict[str, dict[str, SubscriptionData]]:
    """What each member asks for, by client id and topic, as the lab can start it; retry topics are left out."""
    broker_subscriptions = {
        topic: data for slot in group.slots.values() for topic, data in slot.subscription_table.items()
    }
    client_subscriptions = {}
    for client, member in group.members.items():
        subscriptions = broker_subscriptions if member.subscriptions is None else member.subscriptions
        client_subscriptions[client] = {
            topic: data
            for topic, data in subscriptions.items()
            if not is_retry_topic(topic) and not data.class_filter_mode
        }
    return client_subscriptions


def _stamp(subscriptions: dict[str, SubscriptionData]) -> int:
    return max((data.sub_version for data in subscriptions.values()), default=0)


def _options(group: GroupSeen, client: str, subscriptions: dict[str, SubscriptionData]) -> dict[str, Any]:
    """How `Lab.consumer` starts a member."""
    running = group.members[client].running
    properties = {} if running is None else running.properties
    return {
        "group": group.name,
        "subscribe": {topic: str(data.sub_string) for topic, data in subscriptions.items() if data.is_tag},
        "sql92": {topic: str(data.sub_string) for topic, data in subscriptions.items() if not data.is_tag},
        "mode": "broadcasting" if properties.get("messageModel") == "BROADCASTING" else "clustering",
        "post_subscription": properties.get("postSubscriptionWhenPull") == "true",
    }


def _send(lab: Lab, group: GroupSeen, topic: str, client_subscriptions: dict[str, dict[str, SubscriptionData]]) -> None:
    """Send what passed the group's offsets in small; a topic of which nothing is known gets each tag twice."""
    subscriptions = [table[topic] for table in client_subscriptions.values() if topic in table]
    named = sorted({tag for data in subscriptions if data.is_tag for tag in Filter.heard(data).subscription.tags_set})
    tag_of = {string_hash(tag): tag for tag in named}
    passed = chain(group.passed.items(), group.behind.items())
    shares: dict[str | None, int] = {}
    for queue, entries in passed:
        for code, number in entries.codes.items() if queue.topic == topic else ():
            shares[tag_of.get(code)] = shares.get(tag_of.get(code), 0) + number
    if not shares:
        shares = dict.fromkeys(named, 2) or {None: 2}
    total = sum(shares.values())
    tags = [tag for tag, number in shares.items() for _ in range(max(1, round(MESSAGES_SENT * number / total)))]
    lab.send(topic, tags=tags)
