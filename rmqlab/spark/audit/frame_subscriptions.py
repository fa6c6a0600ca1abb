"""What the frames of a recorder tell of subscriptions: `rmqlab tap` between clients and a broker writes them.

Heartbeats say who asked for what and who was there, and what the broker held follows from them as in 4.8.0
(`ConsumerGroupInfo.updateSubscription`). Who owned a queue does not: no heartbeat names the strategy. Where two members
stamp different subscriptions in the same ms, the broker keeps the one that it reads first, and no frame tells which.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from rmqlab.broker.consumer_group_info import ConsumerGroupInfo, hear
from rmqlab.errors import BadInput
from rmqlab.lab.replay.frames import LineKind, read_recording
from rmqlab.message.record import decode_records
from rmqlab.message.topics import is_retry_topic
from rmqlab.protocol.codes import PULLS, RequestCode, ResponseCode
from rmqlab.protocol.consumer_headers import FLAG_SUBSCRIPTION, UnregisterClientRequestHeader
from rmqlab.protocol.header import FrameError, RemotingCommandException
from rmqlab.protocol.heartbeat import HeartbeatData
from rmqlab.spark.audit.subscriptions import NEVER, Asked, HeldSubscription, Present, Subscriptions

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from rmqlab.lab.replay.frames import RecordedLine
    from rmqlab.protocol.command import RemotingCommand
    from rmqlab.protocol.subscription_data import SubscriptionData
    from rmqlab.spark.audit.subscriptions import Key


def of_frames(folder: Path) -> Subscriptions:
    """Read a recording; raise `BadInput` for what is none, or has no heartbeat of a consumer."""
    lines = read_recording(folder).lines
    told = _FrameFacts()
    for line in lines:
        told.take(line)
    if not told.asked:
        raise BadInput(f"{folder}: no consumer beats in these frames, so they tell of no subscription")
    return told.subscriptions(round(lines[-1].t))


class _FrameFacts:
    """What the frames so far have told. Times are ms since the recorder started, as the lines have them."""

    def __init__(self) -> None:
        self.asked: dict[Key, list[Asked]] = defaultdict(list)
        self._held: dict[Key, list[HeldSubscription]] = defaultdict(list)
        self._tied: set[Key] = set()  # two members' subscriptions had the same stamp
        self._present: dict[str, list[Present]] = defaultdict(list)
        self._groups: dict[str, ConsumerGroupInfo] = {}
        self._members: dict[str, dict[str, int]] = defaultdict(dict)  # by group: client id, its connection
        self._clients: dict[int, str] = {}
        self._posts: set[tuple[str, str, str]] = set()
        self._reset: dict[Key, tuple[int, ...]] = {}
        # The broker's clock, from the messages it answered with; the clients' own, from the versions they stamp.
        self._zeros: tuple[list[float], list[float]] = ([], [])

    def take(self, line: RecordedLine) -> None:
        """Look at one line."""
        if line.kind is LineKind.CLOSE:
            for group, members in self._members.items():
                for client in [client for client, conn in members.items() if conn == line.conn]:
                    self._leave(line.t, group, client)
        command = line.command
        if command is None:
            return
        try:
            if command.is_response:
                self._answer(line.t, command)
            elif line.to_broker and command.code == RequestCode.HEART_BEAT:
                self._beat(line, HeartbeatData.decode(command.body or b""))
            elif line.to_broker:
                self._request(line, command)
        except (FrameError, RemotingCommandException, ValueError, KeyError):
            return  # a client may send what cannot be read; the broker made nothing of it either

    def _answer(self, t: float, answer: RemotingCommand) -> None:
        fields = answer.all_ext_fields() or {}
        if answer.code == ResponseCode.SUCCESS and "nextBeginOffset" in fields:
            self._zeros[0].extend(message.store_timestamp - t for message in decode_records(answer.body or b""))

    def _beat(self, line: RecordedLine, data: HeartbeatData) -> None:
        now = round(line.t)
        for consumer in data.consumer_data_set:
            group = str(consumer.group_name)
            client = self._clients[line.conn] = self._name(group, line.conn, data, consumer.subscription_data_set)
            for name, _, new in hear(self._groups, group, consumer, now):
                topic = str(name)
                if new is not None and not is_retry_topic(topic):
                    self._held[group, topic].append(
                        HeldSubscription(str(new.expression_type), str(new.sub_string), now)
                    )
            for one in consumer.subscription_data_set:
                self._zeros[1].append(one.sub_version - line.t)
                if not is_retry_topic(str(one.topic)):
                    self._asks(now, group, client, one)
                    if one.is_tied_with(self._groups[group].subscription_table[one.topic]):
                        self._tied.add((group, str(one.topic)))
            if client not in self._members[group]:
                self._members[group][client] = line.conn
                self._seen(now, group)
            self._members[group][client] = line.conn

    def _name(self, group: str, conn: int, data: HeartbeatData, told: Iterable[SubscriptionData]) -> str:
        """The client's id; with its connection when another member of that id is there and asks for something else.

        Two processes of one id are a mistake, and the broker has both: neither's wish ends the other's.
        """
        client = str(data.client_id)
        known, other = self._clients.get(conn), self._members[group].get(client)
        if known is not None and self._members[group].get(known) == conn:
            return known
        if other is None or other == conn:
            return client
        texts = {str(one.topic): str(one.sub_string) for one in told}
        asked = {
            topic: one.expression
            for (asking, topic), all_asked in self.asked.items()
            for one in all_asked
            if asking == group and one.client == client and one.until == NEVER
        }
        alike = all(texts.get(topic) == expression for topic, expression in asked.items())
        return client if alike else f"{client} (connection {conn})"

    def _asks(self, now: int, group: str, client: str, one: SubscriptionData) -> None:
        known = self.asked[group, str(one.topic)]
        last = next((place for place in reversed(range(len(known))) if known[place].client == client), None)
        text = str(one.expression_type), str(one.sub_string)
        if last is not None and known[last][1:3] == text and known[last].until == NEVER:
            return
        if last is not None and known[last].until == NEVER:
            known[last] = known[last]._replace(until=now)
        known.append(Asked(client, *text, since=now))

    def _request(self, line: RecordedLine, command: RemotingCommand) -> None:
        fields = command.all_ext_fields() or {}
        client = self._clients.get(line.conn)
        if command.code == RequestCode.UNREGISTER_CLIENT:
            header = command.decode_header(UnregisterClientRequestHeader)
            if header.consumer_group:
                self._leave(line.t, str(header.consumer_group), client or str(header.client_id))
        elif command.code in PULLS and client is not None:
            if int(fields["sysFlag"] or 0) & FLAG_SUBSCRIPTION:
                self._posts.add((str(fields["consumerGroup"]), str(fields["topic"]), client))
        elif command.code == RequestCode.INVOKE_BROKER_TO_RESET_OFFSET:
            key = str(fields["group"]), str(fields["topic"])
            self._reset[key] = (*self._reset.get(key, ()), round(line.t))

    def _leave(self, t: float, group: str, client: str) -> None:
        if self._members[group].pop(client, None) is None:
            return
        for (asking, topic), known in self.asked.items():
            if asking == group:
                self.asked[asking, topic] = [
                    one._replace(until=round(t)) if one.client == client and one.until == NEVER else one
                    for one in known
                ]
        self._seen(round(t), group)
        if not self._members[group]:
            self._groups.pop(group, None)

    def _seen(self, now: int, group: str) -> None:
        self._present[group].append(Present(now, tuple(sorted(self._members[group])), ""))

    def subscriptions(self, end: int) -> Subscriptions:
        """Return what all of it says, in epoch ms, where somebody asks for something, so that a version tells a time.

        A message was stored before it was answered with, most often just.
        """
        zero = round(max(self._zeros[0] or self._zeros[1]))
        asked = {
            (group, topic): [
                one._replace(
                    since=one.since + zero,
                    until=one.until if one.until == NEVER else one.until + zero,
                    post=(group, topic, one.client) in self._posts,
                )
                for one in known
            ]
            for (group, topic), known in self.asked.items()
        }
        held = {
            key: [one._replace(since=one.since + zero) for one in slots]
            for key, slots in self._held.items()
            if key not in self._tied
        }
        present = {
            group: [*_shifted(moments, zero), *([Present(end + zero, (), "")] if moments[-1].clients else [])]
            for group, moments in self._present.items()
        }
        reset = {key: tuple(at + zero for at in times) for key, times in self._reset.items()}
        return Subscriptions(asked, held, frozenset(asked), present, reset, (zero, zero + end))


def _shifted(moments: Iterable[Present], zero: int) -> list[Present]:
    return [one._replace(since=one.since + zero) for one in moments]
