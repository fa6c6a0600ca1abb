"""What the frames between clients and a broker tell, as facts: heartbeats, slots, pulls, drops, ownership, commits.

What an answer to a pull leaves out between the offset asked for and the one to go on from, the broker dropped; what it
holds and the client's own tags do not name, the client dropped (4.8.0 `PullAPIWrapper.processPullResult`). Which layer
of the broker dropped a message is not on the wire: a TAG subscription drops at layer 1; what SQL92 drops is shown as
layer 2, also where a bit map of layer 1 may have done it.
"""

from __future__ import annotations

from collections import defaultdict
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from rmqlab.events import ClientFiltered, Commit, Filtered, Given, Heartbeat, Rebalance, SubscriptionChanged, Unregister
from rmqlab.filter.filter import Filter
from rmqlab.message.record import decode_records
from rmqlab.protocol.admin_headers import ResetOffsetRequestHeader
from rmqlab.protocol.codes import PULLS, RequestCode, ResponseCode
from rmqlab.protocol.consumer_headers import (
    FLAG_SUBSCRIPTION,
    PullMessageRequestHeader,
    PullMessageResponseHeader,
    UnregisterClientRequestHeader,
    UpdateConsumerOffsetRequestHeader,
)
from rmqlab.protocol.header import FrameError, RemotingCommandException
from rmqlab.protocol.heartbeat import HeartbeatData, MessageModel
from rmqlab.protocol.subscription_data import TAG, SubscriptionData
from rmqlab.run.facts import Fact
from rmqlab.scenario.fault_steps import BROKER
from rmqlab_tools.live.extra.groups_from_heartbeats import HeardGroups
from rmqlab_tools.recordings.frames import LineKind

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from rmqlab.events import Event, Stage
    from rmqlab.message.message import MessageExt
    from rmqlab.protocol.command import RemotingCommand
    from rmqlab.run.fates import Owners
    from rmqlab_tools.recordings.frames import RecordedLine

ANSWERED: Final = frozenset({ResponseCode.SUCCESS, ResponseCode.PULL_NOT_FOUND, ResponseCode.PULL_RETRY_IMMEDIATELY})


@dataclass(slots=True)
class _Pull:
    """A pull on its way; `group` and `topic` as the account calls them, those of the header are of the wire."""

    who: str
    group: str
    topic: str
    header: PullMessageRequestHeader
    own: SubscriptionData | None  # the client's at that time: 4.8.0 keeps it in the callback

    @property
    def posted(self) -> SubscriptionData | None:
        """What comes with the pull, and the broker takes it instead of what it holds (4.8.0 `PullMessageProcessor`)."""
        header = self.header
        if not header.sys_flag & FLAG_SUBSCRIPTION:
            return None
        text, kind, version = header.subscription or "", header.expression_type or TAG, header.sub_version or 0
        return SubscriptionData(header.topic, text, sub_version=version, expression_type=kind)


class RunFromFrames:
    """What the frames of one account have shown so far; `suffix` ends the names it calls short, `zero` is its begin.

    `reached` by (group, topic, queue): the offset after all that was answered; `posts`: (who, group, topic) of pulls
    with a subscription; `tied`: (group, topic) with two subscriptions of one version. `given` are facts, too: what
    clients took from answers; a listener comes after that.

    `resets`: when (ms of the recording) somebody set a group's offsets of a topic, in names of the wire. `zeros` are
    bounds of time 0 by the broker's clock: of each message in an answer, its store time (epoch ms) less the time of
    the answer; `version_zeros` by the clients' clocks: of each subscription, its version less the time of its beat.
    """

    def __init__(self, suffix: str = "", zero: float = 0.0) -> None:
        self._suffix = suffix
        self._zero = zero
        self.facts: list[Fact[Event]] = []
        self.given: list[Fact[Event]] = []
        self.reached: dict[tuple[str, str, int], int] = {}
        self.posts: set[tuple[str, str, str]] = set()
        self.tied: set[tuple[str, str]] = set()
        self.owners: Owners = {}
        self.resets: list[tuple[float, str, str]] = []
        self.zeros: list[float] = []
        self.version_zeros: list[float] = []
        self._modes: dict[str, MessageModel] = {}
        self._own: dict[tuple[str, str], dict[str, SubscriptionData]] = {}  # by (who, group)
        self._held: dict[tuple[str, str, str], set[int]] = defaultdict(set)  # by (who, group, topic)
        self._clients: dict[int, str] = {}
        self._groups = HeardGroups()
        self._pulls: dict[tuple[int, int], _Pull] = {}
        self._names: dict[int, str] = {}  # of connections that have sent a heartbeat
        self._frozen: set[int] = set()

    def scenario_name(self, name: object) -> str:
        """A name as this account calls it."""
        return str(name).removesuffix(self._suffix)

    def broadcasts(self, group: str) -> bool:
        """Whether every member of a group gets every message, as its last heartbeat said."""
        return self._modes.get(group) == MessageModel.BROADCASTING

    def read(self, lines: Sequence[RecordedLine]) -> None:
        """Take in the lines of all connections of this account, and those of no connection."""
        # a client that connects anew pulls before it beats
        ids = {line.conn: line.client for line in lines if line.kind is LineKind.CLIENT}
        for line in lines:
            if line.kind is LineKind.OPEN and line.conn in ids:
                self._clients[line.conn] = self._client(ids[line.conn])
            elif line.kind is LineKind.CLOSE and line.conn in self._clients:
                self._close(line)
            elif line.kind is LineKind.CONTROL and line.control == "freeze":
                self._frozen.update(line.conns)
            elif line.command is not None:
                with suppress(FrameError, RemotingCommandException):
                    # what cannot be read, or lacks a field: who got it made nothing of it either
                    self._command(line, line.command)

    def _client(self, client_id: str) -> str:
        """A client's name; where names are short, it is without the host that its id begins with."""
        return self.scenario_name(client_id.partition("@")[2]) if self._suffix else client_id

    def _fact(self, t: float, source: str, event: Event) -> None:
        """Note a fact at recorder's time `t`."""
        self.facts.append(Fact(round(t - self._zero, 1), source, event))

    def _close(self, line: RecordedLine) -> None:
        client = self._clients.pop(line.conn)
        self._names.pop(line.conn, None)
        self._note(line.t, self._groups.close(line.conn))
        if client not in self._clients.values():  # a tool pulls in groups that it never joins
            self._disown(client, {group for _, group, _ in self._held})

    def _command(self, line: RecordedLine, command: RemotingCommand) -> None:
        if command.is_response and not line.to_broker:
            pull = self._pulls.pop((line.conn, command.opaque), None)
            following = command.decode_header(PullMessageResponseHeader).next_begin_offset
            if command.code in ANSWERED and following is not None:
                messages = decode_records(command.body or b"") if command.code == ResponseCode.SUCCESS else []
                self.zeros += [message.store_timestamp - line.t for message in messages]
                if pull is not None and line.conn in self._clients:
                    self._answer(line.t, pull, following, messages)
        elif command.is_response or not line.to_broker:
            return
        elif command.code == RequestCode.HEART_BEAT:
            self._heartbeat(line, HeartbeatData.decode(command.body or b""))
        elif command.code == RequestCode.INVOKE_BROKER_TO_RESET_OFFSET:
            reset = command.decode_header(ResetOffsetRequestHeader)
            self.resets.append((line.t, reset.group, reset.topic))
        elif line.conn in self._clients:
            self._request(line, command, self._clients[line.conn])

    def _heartbeat(self, line: RecordedLine, data: HeartbeatData) -> None:
        client_id = str(data.client_id)
        if not client_id or not data.consumer_data_set:
            return
        client = self._clients[line.conn] = self._name(self._client(client_id), line.conn, data)
        reported: list[tuple[str, SubscriptionData]] = []
        for consumer in data.consumer_data_set:
            group = self.scenario_name(consumer.group_name)
            self._modes[group] = consumer.message_model
            subscriptions = consumer.subscription_data_set
            reported += [(group, subscription) for subscription in subscriptions]
            self.version_zeros += [subscription.sub_version - line.t for subscription in subscriptions]
            self._own[client, group] = {self.scenario_name(each.topic): each for each in subscriptions}
        groups = [self.scenario_name(consumer.group_name) for consumer in data.consumer_data_set]
        producers = [self.scenario_name(producer.group_name) for producer in data.producer_data_set]
        self._fact(line.t, BROKER, Heartbeat(client, groups, producers, reported))
        self._note(line.t, self._groups.beat(line.conn, client, data, line.t))
        for consumer in data.consumer_data_set:
            for data_of in consumer.subscription_data_set:
                slot = self._groups.held(consumer.group_name, str(data_of.topic))
                if slot is not None and data_of.is_tied_with(slot):
                    self.tied.add((self.scenario_name(consumer.group_name), self.scenario_name(data_of.topic)))

    def _name(self, client: str, conn: int, data: HeartbeatData) -> str:
        """The client's name; with its connection when another one has that name, and asks for something else.

        Two processes of one id are a mistake, and the broker has both: neither's wish ends the other's. Who was frozen
        comes again by another connection, and is the same.
        """
        if conn in self._names:
            return self._names[conn]
        if any(self._clients[other] == client for other in self._names.keys() - self._frozen):
            for consumer in data.consumer_data_set:
                texts = {
                    self.scenario_name(data_of.topic): data_of.sub_string for data_of in consumer.subscription_data_set
                }
                known = self._own.get((client, self.scenario_name(consumer.group_name)), {})
                if any(texts.get(topic) != data_of.sub_string for topic, data_of in known.items()):
                    client = f"{client} (connection {conn})"
                    break
        self._names[conn] = client
        return client

    def _note(self, t: float, events: Iterable[Event]) -> None:
        """What changed in the groups of the broker."""
        for event in events:
            if isinstance(event, SubscriptionChanged):
                group, topic = self.scenario_name(event.group), self.scenario_name(event.topic)
                self._fact(t, BROKER, SubscriptionChanged(group, topic, event.client, event.old, event.new))
            elif isinstance(event, Unregister) and not self._groups.is_member(event.group, event.client):
                group = self.scenario_name(event.group)
                self._own.pop((event.client, group), None)
                self._disown(event.client, {group})
                self._fact(t, BROKER, Unregister(group, event.client))

    def _request(self, line: RecordedLine, command: RemotingCommand, client: str) -> None:
        if command.code in PULLS:
            self._pull(line, command, client)
        elif command.code == RequestCode.UPDATE_CONSUMER_OFFSET:
            commit = command.decode_header(UpdateConsumerOffsetRequestHeader)
            group, topic = self.scenario_name(commit.consumer_group), self.scenario_name(commit.topic)
            if None not in (commit.consumer_group, commit.topic, commit.queue_id, commit.commit_offset):
                self._fact(line.t, BROKER, Commit(client, group, topic, commit.queue_id, commit.commit_offset))
        elif command.code == RequestCode.UNREGISTER_CLIENT:
            left = command.decode_header(UnregisterClientRequestHeader).consumer_group
            if left:
                self._note(line.t, self._groups.leave(line.conn, left))

    def _pull(self, line: RecordedLine, command: RemotingCommand, client: str) -> None:
        header = command.decode_header(PullMessageRequestHeader)
        if None in (header.consumer_group, header.topic, header.queue_id, header.queue_offset, header.sys_flag):
            return
        group, topic = self.scenario_name(header.consumer_group), self.scenario_name(header.topic)
        pull = _Pull(client, group, topic, header, self._own.get((client, group), {}).get(topic))
        if pull.posted is not None:
            self.posts.add((client, group, topic))
        self._pulls[line.conn, command.opaque] = pull
        self._owns(line.t, pull)

    def _owns(self, t: float, pull: _Pull) -> None:
        """Who pulls a queue owns it, and in a clustering group no other client owns it any more."""
        mine, queue = self._held[pull.who, pull.group, pull.topic], pull.header.queue_id
        if queue in mine:
            return
        if not self.broadcasts(pull.group):
            for (client, group, topic), queues in self._held.items():
                if (group, topic) == (pull.group, pull.topic) and queue in queues:
                    queues.discard(queue)
                    self._fact(t, client, Rebalance(client, group, topic, sorted(queues)))
                    self.owners.get((group, topic, queue), {}).pop(client, None)
        mine.add(queue)
        self._fact(t, pull.who, Rebalance(pull.who, pull.group, pull.topic, sorted(mine)))

    def _disown(self, client: str, groups: set[str]) -> None:
        for key in [key for key in self._held if key[0] == client and key[1] in groups]:
            for queue in self._held.pop(key):
                self.owners.get((*key[1:], queue), {}).pop(client, None)

    def _answer(self, t: float, pull: _Pull, following: int, answered: Iterable[MessageExt]) -> None:
        queue = pull.group, pull.topic, pull.header.queue_id
        messages = {message.queue_offset: message for message in answered}
        self.owners.setdefault(queue, {})[pull.who] = following
        self.reached[queue] = max(self.reached.get(queue, 0), following)
        slot = pull.posted or self._groups.held(pull.header.consumer_group, pull.header.topic)
        if slot is not None:
            stage: Stage = "tags_code" if slot.is_tag else "sql"
            for offset in range(pull.header.queue_offset, following):
                if offset not in messages:
                    dropped = Filtered(pull.who, *queue, offset, stage, slot.sub_string, slot.sub_version)
                    self._fact(t, BROKER, dropped)
        own = pull.own
        keeps = Filter.heard(own) if own is not None and own.is_tag else None
        for offset, message in messages.items():
            at = pull.who, *queue, offset, message.tags
            if keeps is None or keeps.client_keeps(message.tags):
                self.given.append(Fact(round(t - self._zero, 1), pull.who, Given(*at)))
            elif own is not None:
                self._fact(t, pull.who, ClientFiltered(*at, own.sub_string, own.sub_version))
