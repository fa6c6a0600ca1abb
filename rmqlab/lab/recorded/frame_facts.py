"""What the frames between clients and a broker tell, as facts: heartbeats, slots, pulls, drops, ownership, commits.

What an answer to a pull leaves out between the offset asked for and the one to go on from, the broker dropped; what it
holds and the client's own tags do not name, the client dropped (4.8.0 `PullAPIWrapper.processPullResult`). Which layer
of the broker dropped a message is not on the wire: a TAG subscription drops at layer 1; what SQL92 drops is told as
layer 2, also where a bit map of layer 1 may have done it.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from rmqlab.broker.consumer_group_info import ConsumerGroupInfo, hear
from rmqlab.events import (
    ClientFiltered,
    Commit,
    Filtered,
    Given,
    Heartbeat,
    Rebalance,
    SubscriptionChanged,
    Unregister,
)
from rmqlab.filter.filter import Filter
from rmqlab.lab.facts import BROKER, Fact
from rmqlab.lab.fates import Owners
from rmqlab.lab.replay.frames import LineKind
from rmqlab.message.record import decode_records
from rmqlab.protocol.codes import PULLS, RequestCode, ResponseCode
from rmqlab.protocol.consumer_headers import FLAG_SUBSCRIPTION, UnregisterClientRequestHeader
from rmqlab.protocol.header import FrameError, RemotingCommandException
from rmqlab.protocol.heartbeat import HeartbeatData, MessageModel
from rmqlab.protocol.subscription_data import TAG, SubscriptionData

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from rmqlab.events import Event, Stage
    from rmqlab.lab.replay.frames import RecordedLine
    from rmqlab.protocol.command import RemotingCommand

ANSWERED: Final = frozenset({ResponseCode.SUCCESS, ResponseCode.PULL_NOT_FOUND, ResponseCode.PULL_RETRY_IMMEDIATELY})


@dataclass(slots=True)
class _Pull:
    who: str
    group: str
    topic: str
    queue: int
    offset: int
    own: SubscriptionData | None  # the client's at that time: 4.8.0 keeps it in the callback
    posted: SubscriptionData | None  # it comes with the pull, and the broker takes it instead of what it holds


@dataclass(slots=True)
class FrameAccount:
    """What the frames of one account have told so far; `suffix` ends the names it calls short, `zero` is its begin."""

    suffix: str
    facts: list[Fact] = field(default_factory=list)
    given: list[Fact] = field(default_factory=list)  # what clients took from answers; a listener comes after that
    groups: dict[str, ConsumerGroupInfo] = field(default_factory=dict)
    modes: dict[str, MessageModel] = field(default_factory=dict)
    reached: dict[tuple[str, str, int], int] = field(default_factory=dict)  # by (group, topic, queue): the offset after
    own: dict[tuple[str, str], dict[str, SubscriptionData]] = field(default_factory=dict)  # by (who, group)
    held: dict[tuple[str, str, str], set[int]] = field(default_factory=lambda: defaultdict(set))
    owners: Owners = field(default_factory=dict)
    zero: float = 0.0

    def short(self, name: object) -> str:
        """Return a name as this account calls it."""
        return str(name).replace(self.suffix, "")

    def fact(self, t: float, source: str, event: Event) -> None:
        """Note a fact at recorder's time `t`."""
        self.facts.append(Fact(round(t - self.zero, 1), source, event))

    def broadcasts(self, group: str) -> bool:
        """Tell whether every member of a group gets every message, as its last heartbeat said."""
        return self.modes.get(group) == MessageModel.BROADCASTING


class FrameReader:
    """Turns the lines of a recording into facts; `whose` gives the account of a client id and its name there."""

    def __init__(self, whose: Callable[[str], tuple[FrameAccount, str] | None], lines: Sequence[RecordedLine]) -> None:
        self._whose = whose
        # a client that connects anew pulls before it beats
        self._ids = {line.conn: line.client for line in lines if line.kind is LineKind.CLIENT}
        self._clients: dict[int, tuple[FrameAccount, str]] = {}
        self._pulls: dict[tuple[int, int], _Pull] = {}

    def see(self, line: RecordedLine) -> None:
        """Take in one line."""
        if line.kind is LineKind.OPEN and (found := self._whose(self._ids.get(line.conn, ""))) is not None:
            self._clients[line.conn] = found
        if line.kind is LineKind.CLOSE and line.conn in self._clients:
            account, who = self._clients.pop(line.conn)
            # who came back by another connection has not gone
            if not any(other is account and name == who for other, name in self._clients.values()):
                for group in list(account.groups):
                    self._leave(account, line.t, who, group)
        if line.command is None:
            return
        try:
            self._command(line, line.command)
        except (FrameError, RemotingCommandException, ValueError, KeyError):
            return  # what cannot be read, or lacks a field: who got it made nothing of it either

    def _command(self, line: RecordedLine, command: RemotingCommand) -> None:
        if command.is_response:
            pull = None if line.to_broker else self._pulls.pop((line.conn, command.opaque), None)
            if pull is not None and line.conn in self._clients:
                self._answer(self._clients[line.conn][0], line.t, pull, command)
        elif line.to_broker and command.code == RequestCode.HEART_BEAT:
            self._heartbeat(line, HeartbeatData.decode(command.body or b""))
        elif line.to_broker and line.conn in self._clients:
            self._request(line, command, *self._clients[line.conn])

    def _heartbeat(self, line: RecordedLine, data: HeartbeatData) -> None:
        found = self._whose(str(data.client_id))
        if found is None or not data.consumer_data_set:
            return
        account, who = found
        self._clients[line.conn] = (account, who)
        told, changes = [], []
        for consumer in data.consumer_data_set:
            group = account.short(consumer.group_name)
            account.modes[group] = consumer.message_model
            subscriptions = consumer.subscription_data_set
            told += [(group, subscription) for subscription in subscriptions]
            account.own[who, group] = {account.short(each.topic): each for each in subscriptions}
            changes += [(group, *change) for change in hear(account.groups, group, consumer, int(line.t))]
        groups = [account.short(consumer.group_name) for consumer in data.consumer_data_set]
        producers = [account.short(producer.group_name) for producer in data.producer_data_set]
        account.fact(line.t, BROKER, Heartbeat(who, groups, producers, told))
        for group, topic, old, new in changes:
            account.fact(line.t, BROKER, SubscriptionChanged(group, account.short(topic), who, old, new))

    def _request(self, line: RecordedLine, command: RemotingCommand, account: FrameAccount, who: str) -> None:
        if command.code == RequestCode.UNREGISTER_CLIENT:
            group = command.decode_header(UnregisterClientRequestHeader).consumer_group
            if group:
                self._leave(account, line.t, who, account.short(group))
            return
        fields = command.all_ext_fields() or {}
        if command.code in PULLS:
            group, topic = account.short(fields["consumerGroup"]), account.short(fields["topic"])
            own = account.own.get((who, group), {}).get(topic)
            queue, offset = int(fields["queueId"] or 0), int(fields["queueOffset"] or 0)
            pull = _Pull(who, group, topic, queue, offset, own, _posted(fields))
            self._pulls[line.conn, command.opaque] = pull
            self._owns(account, line.t, pull)
        elif command.code == RequestCode.UPDATE_CONSUMER_OFFSET:
            group, topic = account.short(fields["consumerGroup"]), account.short(fields["topic"])
            queue, offset = int(fields["queueId"] or 0), int(fields["commitOffset"] or 0)
            account.fact(line.t, BROKER, Commit(who, group, topic, queue, offset))

    def _owns(self, account: FrameAccount, t: float, pull: _Pull) -> None:
        """Who pulls a queue owns it, and in a clustering group it is nobody else's any more."""
        mine = account.held[pull.who, pull.group, pull.topic]
        if pull.queue in mine:
            return
        if not account.broadcasts(pull.group):
            for (who, group, topic), queues in account.held.items():
                if (group, topic) == (pull.group, pull.topic) and pull.queue in queues:
                    queues.discard(pull.queue)
                    account.fact(t, who, Rebalance(who, group, topic, sorted(queues)))
                    account.owners.get((group, topic, pull.queue), {}).pop(who, None)
        mine.add(pull.queue)
        account.fact(t, pull.who, Rebalance(pull.who, pull.group, pull.topic, sorted(mine)))

    def _leave(self, account: FrameAccount, t: float, who: str, group: str) -> None:
        for (holder, held_by, topic), queues in list(account.held.items()):
            if (holder, held_by) == (who, group):
                for queue in queues:
                    account.owners.get((group, topic, queue), {}).pop(who, None)
                del account.held[holder, held_by, topic]
        if account.own.pop((who, group), None) is not None:
            account.fact(t, BROKER, Unregister(group, who))
            if not any(other == group for _, other in account.own):
                account.groups.pop(group, None)

    def _answer(self, account: FrameAccount, t: float, pull: _Pull, answer: RemotingCommand) -> None:
        following = (answer.all_ext_fields() or {}).get("nextBeginOffset")
        if answer.code not in ANSWERED or following is None:
            return
        found = {} if answer.code != ResponseCode.SUCCESS else {
            message.queue_offset: message for message in decode_records(answer.body or b"")
        }  # fmt: skip
        account.owners.setdefault((pull.group, pull.topic, pull.queue), {})[pull.who] = int(following)
        info = account.groups.get(pull.group)
        slot = pull.posted or (info.subscription_table.get(pull.topic + account.suffix) if info else None)
        for offset in range(pull.offset, int(following)):
            if offset not in found and slot is not None:
                stage: Stage = "tags_code" if slot.is_tag else "sql"
                by = stage, slot.sub_string, slot.sub_version
                account.fact(t, BROKER, Filtered(pull.who, pull.group, pull.topic, pull.queue, offset, *by))
        queue = pull.group, pull.topic, pull.queue
        account.reached[queue] = max(account.reached.get(queue, 0), int(following))
        own = pull.own
        keeps = Filter.heard(own) if own is not None and own.is_tag else None
        for offset, message in found.items():
            at = pull.who, *queue, offset, message.tags
            if keeps is None or keeps.client_keeps(message.tags):
                account.given.append(Fact(round(t - account.zero, 1), pull.who, Given(*at)))
            elif own is not None:
                account.fact(t, pull.who, ClientFiltered(*at, own.sub_string, own.sub_version))


def _posted(fields: Mapping[str, str | None]) -> SubscriptionData | None:
    """Return what a pull says is asked for (4.8.0 `PullMessageProcessor`: its flag for a subscription is set)."""
    if not int(fields["sysFlag"] or 0) & FLAG_SUBSCRIPTION:
        return None
    topic, text, kind = (fields.get(name) for name in ("topic", "subscription", "expressionType"))
    return SubscriptionData(topic, text or "", sub_version=int(fields["subVersion"] or 0), expression_type=kind or TAG)
