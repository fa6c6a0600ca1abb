"""What becomes of one message in a group whose members disagree: by which member owns its queue, and by whose slot.

The broker keeps one subscription a group and topic: that of the highest version, which is the last one stamped. Its
filter comes first, the owner's own check of the tag second; a member that does not subscribe the topic is given
queues all the same (queues are allocated among all members of the group), and pulls none of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from rmqlab.client.allocate import AllocateMessageQueueAveragely
from rmqlab.filter.consistency import lets_pass
from rmqlab.filter.filter import Filter
from rmqlab.lab.fates import OF_STAGE, Fate
from rmqlab.message.java import utf16_key
from rmqlab.message.message import MessageQueue

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rmqlab.protocol.subscription_data import SubscriptionData
    from rmqlab.search.lint.members import LintMember

Properties = dict[str, str]


@dataclass(frozen=True, slots=True)
class Loss:
    """What becomes of a message while the slot is ``holder``'s: by owner of its queue, and in which share of queues.

    ``lost``: the share of the queues (in a broadcasting group: of the members that ask for it) where it is lost;
    ``stuck``: where it waits, because nobody pulls. ``fates``: fate by owner. ``unasked``: owners that get it although
    they did not ask for it.
    """

    holder: str
    lost: Fraction
    stuck: Fraction
    fates: dict[str, Fate]
    unasked: tuple[str, ...]


def shares(members: Sequence[LintMember], queues: int | None) -> dict[str, Fraction]:
    """Which share of a topic's queues each member is given: exactly for a number of queues, else evenly.

    With the usual strategy (`AllocateMessageQueueAveragely`), the client ids sorted.
    """
    if queues is None:
        return {one.client: Fraction(1, len(members)) for one in members}
    every = [MessageQueue("T", "broker", number) for number in range(queues)]
    ids = sorted((one.client for one in members), key=utf16_key)
    allocate = AllocateMessageQueueAveragely().allocate
    return {one: Fraction(len(allocate("G", one, every, ids)), queues) for one in ids}


def loss(
    topic: str, message: Properties, members: Sequence[LintMember], holder: LintMember, queues: int | None
) -> Loss:
    """What becomes of ``message`` while the broker holds ``holder``'s subscription of ``topic``."""
    slot = holder.subscriptions[topic]
    part = shares(members, queues)
    wanted = [one.client for one in members if asks(one, topic, message)]
    fates = {one.client: fate(one.subscriptions.get(topic), slot, message) for one in members}
    got = {client for client, one in fates.items() if one is Fate.DELIVERED}
    if all(one.settings.get("messageModel") == "BROADCASTING" for one in members):
        part = {client: Fraction(1, len(wanted)) for client in wanted}
    stuck = sum((share for client, share in part.items() if fates[client] is Fate.NO_OWNER), Fraction(0))
    kept = sum((share for client, share in part.items() if client in got), Fraction(0))
    unasked = tuple(client for client in fates if client in got and client not in wanted)
    return Loss(holder.client, sum(part.values(), Fraction(0)) - kept - stuck, stuck, fates, unasked)


def asks(member: LintMember, topic: str, message: Mapping[str, str]) -> bool:
    """Whether a member's own subscription lets a message pass."""
    mine = member.subscriptions.get(topic)
    return mine is not None and lets_pass(mine, message)


def fate(owner: SubscriptionData | None, slot: SubscriptionData, message: Mapping[str, str]) -> Fate:
    """What becomes of a message in a queue of ``owner`` (None: a member without the topic) under ``slot``'s filter."""
    if owner is None:
        return Fate.NO_OWNER
    dropped = Filter(slot).fate(message, Filter(owner))
    return Fate.DELIVERED if dropped is None else OF_STAGE[dropped]
