"""What the frames of a recorder say of subscriptions: `rmqlab tap` between clients and a broker writes them.

Heartbeats say who asked for what and who was there, and what the broker held follows from them as in 4.8.0. Who owned a
queue does not: no heartbeat names the strategy. Where two members stamp different subscriptions in the same ms, the
broker keeps the one that it reads first, and no frame says which.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from rmqlab.client.client_config import ClientConfig
from rmqlab.errors import BadInput
from rmqlab.events import Heartbeat, SubscriptionChanged, Unregister
from rmqlab.language import _
from rmqlab.message.topics import is_retry_topic
from rmqlab.protocol.subscription_data import SubscriptionData
from rmqlab.rules import DEFAULT_RULES
from rmqlab_tools.recordings.frames import LineKind
from rmqlab_tools.recordings.recording_reader import members_of_frames, read_frames
from rmqlab_tools.spark.audit.subscriptions import NEVER, BrokerSubscription, ClientSubscription, Present, Subscriptions

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from rmqlab_tools.recordings.frames import RecordedLine
    from rmqlab_tools.spark.audit.subscriptions import Key

# How long (ms) a consumer says nothing, and commits nothing, at most, with 2 s to spare.
_MAX_SILENCE_MS = DEFAULT_RULES.rebalance_period_ms + 2_000
_MAX_UNCOMMITTED_MS = ClientConfig().persist_consumer_offset_interval + 2_000


def of_frames(folder: Path) -> Subscriptions:
    """Read a recording.

    Times become epoch ms where somebody asks for something, so that a version is a time. A message was stored before
    it was answered with, most often just.

    Raises:
        BadInput: what is none, or has no heartbeat of a consumer.
    """
    recording, account = read_frames(folder)
    members = members_of_frames(account)
    if not any(member.asked for member in members):
        raise BadInput(_("{folder}: no consumer beats in these frames, so they tell of no subscription", folder=folder))
    zero = round(max(account.zeros or account.version_zeros))

    def at(t: float) -> int:
        return zero + round(t)

    end = at(recording.lines[-1].t)
    client_subscriptions: dict[Key, list[ClientSubscription]] = defaultdict(list)
    for member in members:
        for index, (since, topic, kind, expression) in enumerate(member.asked):
            until = next((t for t, other, *_ in member.asked[index + 1 :] if other == topic), member.until)
            post = (member.who, member.group, topic) in account.posts
            client_subscriptions[member.group, topic].append(
                ClientSubscription(member.who, kind, expression, NEVER if until is None else at(until), post, at(since))
            )
    for of_topic in client_subscriptions.values():
        of_topic.sort(key=lambda wish: wish.since)
    broker_subscriptions: dict[Key, list[BrokerSubscription]] = defaultdict(list)
    present: dict[str, list[Present]] = defaultdict(list)
    there: dict[str, set[str]] = defaultdict(set)
    for fact in account.facts:
        match fact.event:
            case SubscriptionChanged(group=group, topic=str(topic), new=SubscriptionData() as new):
                if not is_retry_topic(topic) and (group, topic) not in account.tied:
                    broker_subscriptions[group, topic].append(
                        BrokerSubscription(str(new.expression_type), str(new.sub_string), at(fact.t))
                    )
            case Heartbeat(client=client, consumers=groups):
                for group in groups:
                    if client not in there[group]:
                        there[group].add(client)
                        present[group].append(Present(at(fact.t), tuple(sorted(there[group])), ""))
            case Unregister(group=group, client=client):
                there[group].discard(client)
                present[group].append(Present(at(fact.t), tuple(sorted(there[group])), ""))
    for group, clients in there.items():
        if clients:  # afterwards nobody looked
            present[group].append(Present(end, (), ""))
    reset: dict[Key, tuple[int, ...]] = defaultdict(tuple)
    for t, group, topic in account.resets:
        reset[group, topic] += (at(t),)
    paused: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for client, since, until in _silences(recording.lines):
        for group in {member.group for member in members if member.who == client}:
            paused[group].append((at(since), at(until)))
    span = zero, end
    return Subscriptions(
        dict(client_subscriptions),
        dict(broker_subscriptions),
        frozenset(client_subscriptions),
        dict(present),
        dict(reset),
        span,
        dict(paused),
    )


def _silences(lines: Sequence[RecordedLine]) -> Iterator[tuple[str, float, float]]:
    """Who said nothing on its connection for longer than a consumer does, and from when to when (ms).

    Whoever stands still, or whose link swallows everything, leaves no other trace. One whose connection ends says
    goodbye before, or commits offsets every 5 s.
    """
    clients = {line.conn: line.client for line in lines if line.client}
    heard: dict[int, float] = {}
    for line in lines:
        if line.conn in clients and (line.to_broker or line.kind is LineKind.CLOSE):
            before = heard.pop(line.conn, line.t)
            is_end = line.kind is LineKind.CLOSE
            if line.t - before > (_MAX_UNCOMMITTED_MS if is_end else _MAX_SILENCE_MS):
                yield clients[line.conn], before, line.t
            if not is_end:
                heard[line.conn] = line.t
    for conn, before in heard.items():
        if lines[-1].t - before > _MAX_UNCOMMITTED_MS:
            yield clients[conn], before, lines[-1].t
