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

from rmqlab.broker.heard_groups import HeardGroups
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
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from rmqlab.events import Event, Stage
    from rmqlab.lab.replay.frames import RecordedLine
    from rmqlab.message.message import MessageExt
    from rmqlab.protocol.command import RemotingCommand

ANSWERED: Final = frozenset({ResponseCode.SUCCESS, ResponseCode.PULL_NOT_FOUND, ResponseCode.PULL_RETRY_IMMEDIATELY})


@dataclass(slots=True)
class _Pull:
    """A pull on its way; `held` names group and topic as they are on the wire."""

    who: str
    group: str
    topic: str
    queue: int
    offset: int
    held: tuple[str, str]
    own: SubscriptionData | None  # the client's at that time: 4.8.0 keeps it in the callback
    posted: SubscriptionData | None  # it comes with the pull, and the broker takes it instead of what it holds


@dataclass(slots=True, eq=False)
class FrameAccount:
    """What the frames of one account have told so far; `suffix` ends the names it calls short, `zero` is its begin."""

    suffix: str
    facts: list[Fact] = field(default_factory=list)
    given: list[Fact] = field(default_factory=list)  # what clients took from answers; a listener comes after that
    modes: dict[str, MessageModel] = field(default_factory=dict)
    reached: dict[tuple[str, str, int], int] = field(default_factory=dict)  # by (group, topic, queue): the offset after
    own: dict[tuple[str, str], dict[str, SubscriptionData]] = field(default_factory=dict)  # by (who, group)
    posts: set[tuple[str, str, str]] = field(default_factory=set)  # (who, group, topic) of pulls with a subscription
    tied: set[tuple[str, str]] = field(default_factory=set)  # (group, topic) with two subscriptions of one version
    held: dict[tuple[str, str, str], set[int]] = field(default_factory=lambda: defaultdict(set))
    owners: Owners = field(default_factory=dict)
    zero: float = 0.0

    def short(self, name: object) -> str:
        """Return a name as this account calls it."""
        return str(name).removesuffix(self.suffix)

    def fact(self, t: float, source: str, event: Event) -> None:
        """Note a fact at recorder's time `t`."""
        self.facts.append(Fact(round(t - self.zero, 1), source, event))

    def broadcasts(self, group: str) -> bool:
        """Tell whether every member of a group gets every message, as its last heartbeat said."""
        return self.modes.get(group) == MessageModel.BROADCASTING


class FrameReader:
    """Turns the lines of a recording into facts; `whose` gives the account of a client id and its name there.

    `resets`: when (ms of the recording) somebody set a group's offsets of a topic, in names of the wire. `zeros` are
    bounds of time 0 by the broker's clock: of each message in an answer, its store time (epoch ms) less the time of
    the answer; `version_zeros` by the clients' clocks: of each subscription, its version less the time of its beat.
    """

    def __init__(self, whose: Callable[[str], tuple[FrameAccount, str] | None], lines: Sequence[RecordedLine]) -> None:
        self._whose = whose
        # a client that connects anew pulls before it beats
        self._ids = {line.conn: line.client for line in lines if line.kind is LineKind.CLIENT}
        self._clients: dict[int, tuple[FrameAccount, str]] = {}
        self._groups = HeardGroups()
        self._pulls: dict[tuple[int, int], _Pull] = {}
        self._names: dict[int, str] = {}  # of connections that have sent a heartbeat
        self._frozen: set[int] = set()
        self.resets: list[tuple[float, str, str]] = []
        self.zeros: list[float] = []
        self.version_zeros: list[float] = []

    def see(self, line: RecordedLine) -> None:
        """Take in one line."""
        if line.kind is LineKind.OPEN and (found := self._whose(self._ids.get(line.conn, ""))) is not None:
            self._clients[line.conn] = found
        if line.kind is LineKind.CLOSE and line.conn in self._clients:
            account, who = self._clients.pop(line.conn)
            self._names.pop(line.conn, None)
            self._note(account, line.t, self._groups.close(line.conn))
            if (account, who) not in self._clients.values():  # a tool pulls in groups that it never joins
                self._disown(account, who, {group for _, group, _ in account.held})
        if line.kind is LineKind.CONTROL and line.control == "freeze":
            self._frozen.update(line.conns)
        if line.command is None:
            return
        try:
            self._command(line, line.command)
        except (FrameError, RemotingCommandException, ValueError, KeyError):
            return  # what cannot be read, or lacks a field: who got it made nothing of it either

    def _command(self, line: RecordedLine, command: RemotingCommand) -> None:
        if command.is_response and not line.to_broker:
            pull = self._pulls.pop((line.conn, command.opaque), None)
            following = (command.all_ext_fields() or {}).get("nextBeginOffset")
            if command.code in ANSWERED and following is not None:
                found = decode_records(command.body or b"") if command.code == ResponseCode.SUCCESS else []
                self.zeros += [message.store_timestamp - line.t for message in found]
                if pull is not None and line.conn in self._clients:
                    self._answer(self._clients[line.conn][0], line.t, pull, int(following), found)
        elif command.is_response:
            return
        elif line.to_broker and command.code == RequestCode.HEART_BEAT:
            self._heartbeat(line, HeartbeatData.decode(command.body or b""))
        elif line.to_broker and command.code == RequestCode.INVOKE_BROKER_TO_RESET_OFFSET:
            fields = command.all_ext_fields() or {}
            self.resets.append((line.t, str(fields["group"]), str(fields["topic"])))
        elif line.to_broker and line.conn in self._clients:
            self._request(line, command, *self._clients[line.conn])

    def _heartbeat(self, line: RecordedLine, data: HeartbeatData) -> None:
        found = self._whose(str(data.client_id))
        if found is None or not data.consumer_data_set:
            return
        account, who = found
        who = self._name(account, who, line.conn, data)
        self._clients[line.conn] = (account, who)
        told: list[tuple[str, SubscriptionData]] = []
        for consumer in data.consumer_data_set:
            group = account.short(consumer.group_name)
            account.modes[group] = consumer.message_model
            subscriptions = consumer.subscription_data_set
            told += [(group, subscription) for subscription in subscriptions]
            self.version_zeros += [subscription.sub_version - line.t for subscription in subscriptions]
            account.own[who, group] = {account.short(each.topic): each for each in subscriptions}
        groups = [account.short(consumer.group_name) for consumer in data.consumer_data_set]
        producers = [account.short(producer.group_name) for producer in data.producer_data_set]
        account.fact(line.t, BROKER, Heartbeat(who, groups, producers, told))
        self._note(account, line.t, self._groups.beat(line.conn, who, data, line.t))
        for consumer in data.consumer_data_set:
            for one in consumer.subscription_data_set:
                slot = self._groups.held(consumer.group_name, str(one.topic))
                if slot is not None and one.is_tied_with(slot):
                    account.tied.add((account.short(consumer.group_name), account.short(one.topic)))

    def _name(self, account: FrameAccount, who: str, conn: int, data: HeartbeatData) -> str:
        """The client's name; with its connection when another one has that name, and asks for something else.

        Two processes of one id are a mistake, and the broker has both: neither's wish ends the other's. Who was frozen
        comes again by another connection, and is the same.
        """
        if conn in self._names:
            return self._names[conn]
        if any(self._clients[other] == (account, who) for other in self._names.keys() - self._frozen):
            for consumer in data.consumer_data_set:
                asked = {account.short(one.topic): one.sub_string for one in consumer.subscription_data_set}
                known = account.own.get((who, account.short(consumer.group_name)), {})
                if any(asked.get(topic) != one.sub_string for topic, one in known.items()):
                    who = f"{who} (connection {conn})"
                    break
        self._names[conn] = who
        return who

    def _note(self, account: FrameAccount, t: float, events: Iterable[Event]) -> None:
        """Tell what changed in the groups of the broker."""
        for event in events:
            if isinstance(event, SubscriptionChanged):
                group, topic = account.short(event.group), account.short(event.topic)
                account.fact(t, BROKER, SubscriptionChanged(group, topic, event.client, event.old, event.new))
            elif isinstance(event, Unregister) and not self._groups.is_member(event.group, event.client):
                group = account.short(event.group)
                account.own.pop((event.client, group), None)
                self._disown(account, event.client, {group})
                account.fact(t, BROKER, Unregister(group, event.client))

    def _request(self, line: RecordedLine, command: RemotingCommand, account: FrameAccount, who: str) -> None:
        if command.code == RequestCode.UNREGISTER_CLIENT:
            group = command.decode_header(UnregisterClientRequestHeader).consumer_group
            if group:
                self._note(account, line.t, self._groups.leave(line.conn, group))
            return
        fields = command.all_ext_fields() or {}
        if command.code in PULLS:
            held = str(fields["consumerGroup"]), str(fields["topic"])
            group, topic = account.short(held[0]), account.short(held[1])
            own, posted = account.own.get((who, group), {}).get(topic), _posted(fields)
            queue, offset = int(fields["queueId"] or 0), int(fields["queueOffset"] or 0)
            if posted is not None:
                account.posts.add((who, group, topic))
            pull = self._pulls[line.conn, command.opaque] = _Pull(who, group, topic, queue, offset, held, own, posted)
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

    def _disown(self, account: FrameAccount, who: str, groups: set[str]) -> None:
        for key in [key for key in account.held if key[0] == who and key[1] in groups]:
            for queue in account.held.pop(key):
                account.owners.get((*key[1:], queue), {}).pop(who, None)

    def _answer(
        self, account: FrameAccount, t: float, pull: _Pull, following: int, found: Iterable[MessageExt]
    ) -> None:
        queue = pull.group, pull.topic, pull.queue
        messages = {message.queue_offset: message for message in found}
        account.owners.setdefault(queue, {})[pull.who] = following
        account.reached[queue] = max(account.reached.get(queue, 0), following)
        slot = pull.posted or self._groups.held(*pull.held)
        if slot is not None:
            stage: Stage = "tags_code" if slot.is_tag else "sql"
            for offset in range(pull.offset, following):
                if offset not in messages:
                    dropped = Filtered(pull.who, *queue, offset, stage, slot.sub_string, slot.sub_version)
                    account.fact(t, BROKER, dropped)
        own = pull.own
        keeps = Filter.heard(own) if own is not None and own.is_tag else None
        for offset, message in messages.items():
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
