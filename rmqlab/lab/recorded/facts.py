"""A recording read as a run: facts and fates of real clients, as the frames between them and the broker tell them.

What an answer to a pull leaves out between the offset asked for and the one to go on from, the broker dropped; what it
holds and the client's own tags do not name, the client dropped (4.8.0 `PullAPIWrapper.processPullResult`). Which layer
of the broker dropped a message is not on the wire: a TAG subscription drops at layer 1; what SQL92 drops is told as
layer 2, also where a bit map of layer 1 may have done it.
"""

from __future__ import annotations

import gzip
import json
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from rmqlab.broker.consumer_group_info import ConsumerGroupInfo
from rmqlab.errors import BadInput
from rmqlab.filter import filter_api
from rmqlab.filter.expression_type import is_tag_type
from rmqlab.lab.account import Account, sent_messages
from rmqlab.lab.facts import BROKER, Fact
from rmqlab.lab.ledger import FinalState, Ledger, Member
from rmqlab.lab.replay.frames import Kind, read_recording
from rmqlab.lab.run import Event
from rmqlab.lab.scenario import Scenario, Start, Subscribe, convert_scenario
from rmqlab.message.record import decode_records
from rmqlab.protocol.codes import RequestCode, ResponseCode
from rmqlab.protocol.consumer_headers import UnregisterClientRequestHeader
from rmqlab.protocol.frame_error import FrameError
from rmqlab.protocol.header import RemotingCommandException
from rmqlab.protocol.heartbeat import HeartbeatData
from rmqlab.protocol.subscription_data import SubscriptionData
from rmqlab.rules import client_keeps

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from rmqlab.lab.replay.frames import Line
    from rmqlab.protocol.command import RemotingCommand

PULLS: Final = frozenset({RequestCode.PULL_MESSAGE, RequestCode.LITE_PULL_MESSAGE})
ANSWERED: Final = frozenset({ResponseCode.SUCCESS, ResponseCode.PULL_NOT_FOUND, ResponseCode.PULL_RETRY_IMMEDIATELY})


@dataclass(slots=True)
class _Pull:
    who: str
    group: str
    topic: str
    queue: int
    offset: int
    own: SubscriptionData | None  # the client's at that time: 4.8.0 keeps it in the callback


@dataclass(slots=True)
class _Told:
    """What the frames of one scenario have told so far."""

    scenario: Scenario
    events: list[Event]
    facts: list[Fact] = field(default_factory=list)
    groups: dict[str, ConsumerGroupInfo] = field(default_factory=dict)
    own: dict[tuple[str, str], dict[str, SubscriptionData]] = field(default_factory=dict)  # by (who, group)
    held: dict[tuple[str, str, str], set[int]] = field(default_factory=lambda: defaultdict(set))
    state: FinalState = field(default_factory=FinalState)
    zero: float = 0.0

    @property
    def suffix(self) -> str:
        return f"_{self.scenario.id}"

    def short(self, name: object) -> str:
        return str(name).replace(self.suffix, "")

    def fact(self, t: float, source: str, kind: str, **fields: Any) -> None:
        self.facts.append(Fact(round(t - self.zero, 1), source, kind, fields))

    def broadcasts(self, group: str) -> bool:
        return any(isinstance(s, Start) and s.group == group and s.mode == "broadcasting" for s in self.scenario.steps)


def recorded_accounts(folder: str | Path, ids: Iterable[str] = ()) -> Iterator[Account]:
    """Yield the scenarios of a recorded set (all, or those of these ids) in their order.

    Raises:
        BadInput: a file is missing or damaged, or an id is not in the set.
    """
    folder = Path(folder)
    told = {one.scenario.id: one for one in _events(folder)}
    wanted = list(ids) or list(told)
    for name in wanted:
        if name not in told:
            raise BadInput(f"{folder}: no scenario {name!r} in it; there are {', '.join(list(told)[:8])}, ...")
    lines = read_recording(folder).lines
    reader = _Frames(told)
    reader.align(lines)
    for line in lines:
        reader.see(line)
    for name in wanted:
        yield _account(told[name])


def _events(folder: Path) -> Iterator[_Told]:
    path = folder / "events.jsonl.gz"
    plain = folder / "events.jsonl"
    try:
        text = gzip.decompress(path.read_bytes()).decode() if path.is_file() else plain.read_text(encoding="utf-8")
        events = [json.loads(line) for line in text.splitlines()]
        by_id: dict[str, list[Event]] = defaultdict(list)
        for event in events:
            by_id[event["id"]].append(event)
    except (OSError, EOFError, ValueError, KeyError, TypeError) as error:
        raise BadInput(f"{path}: cannot be read ({error}); the folder of a recorded set has one") from error
    for name, mine in by_id.items():
        first = next((event for event in mine if event["ev"] == "scenario"), None)
        if first is None:
            raise BadInput(f"{path}: scenario {name!r} has no event 'scenario'")
        yield _Told(convert_scenario(first["scenario"], f"{path.name}, scenario {name!r}"), mine)


class _Frames:
    """Sorts the frames of a recording by scenario and turns them into facts."""

    def __init__(self, told: dict[str, _Told]) -> None:
        self._told = told
        self._clients: dict[int, tuple[_Told, str]] = {}
        self._pulls: dict[tuple[int, int], _Pull] = {}

    def align(self, lines: Iterable[Line]) -> None:
        """Find when each scenario began: a producer's answer arrives just before its event 'sent'."""
        sent = {event["offsetMsgId"]: (one, event["t"]) for one in self._told.values() for event in one.events
                if event["ev"] == "sent"}  # fmt: skip
        zeros: dict[str, float] = {}
        for line in lines:
            if line.kind is not Kind.FRAME or line.command is None or not line.command.is_response:
                continue
            found = sent.get(str((line.command.all_ext_fields() or {}).get("msgId")))
            if found is not None:
                one, t = found
                zeros[one.scenario.id] = max(zeros.get(one.scenario.id, float("-inf")), line.t - t)
        for name, zero in zeros.items():
            self._told[name].zero = zero

    def see(self, line: Line) -> None:
        """Take in one line."""
        if line.kind is Kind.CLOSE and line.conn in self._clients:
            one, who = self._clients.pop(line.conn)
            for group in list(one.groups):
                self._leave(one, line.t, who, group)
        if line.kind is not Kind.FRAME or line.command is None:
            return
        command = line.command
        if command.is_response:
            pull = None if line.to_broker else self._pulls.pop((line.conn, command.opaque), None)
            if pull is not None and line.conn in self._clients:
                self._answer(self._clients[line.conn][0], line.t, pull, command)
            return
        if not line.to_broker:
            return
        try:
            if command.code == RequestCode.HEART_BEAT:
                self._heartbeat(line, HeartbeatData.decode(command.body or b""))
            elif line.conn in self._clients:
                self._request(line, command, *self._clients[line.conn])
        except (FrameError, RemotingCommandException, ValueError):
            return  # a client may send what cannot be read; the broker made nothing of it either

    def _heartbeat(self, line: Line, data: HeartbeatData) -> None:
        name, _, scenario_id = str(data.client_id).partition("@")[2].partition("_")
        one = self._told.get(scenario_id)
        if one is None or not data.consumer_data_set:
            return
        who = one.short(name)
        self._clients[line.conn] = (one, who)
        told, changes = [], []
        for consumer in data.consumer_data_set:
            group = one.short(consumer.group_name)
            subscriptions = consumer.subscription_data_set
            told += [(group, subscription) for subscription in subscriptions]
            one.own[who, group] = {one.short(each.topic): each for each in subscriptions}
            info = one.groups.get(group)
            if info is None:
                info = one.groups[group] = ConsumerGroupInfo(
                    group, consumer.consume_type, consumer.message_model, consumer.consume_from_where, int(line.t)
                )
            info.update_subscription(
                subscriptions, int(line.t), lambda *change, group=group: changes.append((group, *change))
            )
        groups = [one.short(consumer.group_name) for consumer in data.consumer_data_set]
        one.fact(line.t, BROKER, "heartbeat", client=who, consumers=groups, subscriptions=told)
        for group, topic, old, new in changes:
            one.fact(line.t, BROKER, "subscription", group=group, topic=one.short(topic), client=who, old=old, new=new)

    def _request(self, line: Line, command: RemotingCommand, one: _Told, who: str) -> None:
        if command.code == RequestCode.UNREGISTER_CLIENT:
            group = command.decode_header(UnregisterClientRequestHeader).consumer_group
            if group:
                self._leave(one, line.t, who, one.short(group))
            return
        fields = command.all_ext_fields() or {}
        if command.code in PULLS:
            group, topic = one.short(fields["consumerGroup"]), one.short(fields["topic"])
            own = one.own.get((who, group), {}).get(topic)
            pull = _Pull(who, group, topic, int(fields["queueId"] or 0), int(fields["queueOffset"] or 0), own)
            self._pulls[line.conn, command.opaque] = pull
            self._owns(one, line.t, pull)
        elif command.code == RequestCode.UPDATE_CONSUMER_OFFSET:
            one.fact(
                line.t, BROKER, "commit", client=who, group=one.short(fields["consumerGroup"]),
                topic=one.short(fields["topic"]), queue=int(fields["queueId"] or 0),
                offset=int(fields["commitOffset"] or 0),
            )  # fmt: skip

    def _owns(self, one: _Told, t: float, pull: _Pull) -> None:
        """Who pulls a queue owns it, and in a clustering group it is nobody else's any more."""
        mine = one.held[pull.who, pull.group, pull.topic]
        if pull.queue in mine:
            return
        if not one.broadcasts(pull.group):
            for (who, group, topic), queues in one.held.items():
                if (group, topic) == (pull.group, pull.topic) and pull.queue in queues:
                    queues.discard(pull.queue)
                    one.fact(t, who, "rebalance", group=group, topic=topic, queues=sorted(queues))
                    one.state.owners.get((group, topic, pull.queue), {}).pop(who, None)
        mine.add(pull.queue)
        one.fact(t, pull.who, "rebalance", group=pull.group, topic=pull.topic, queues=sorted(mine))

    def _leave(self, one: _Told, t: float, who: str, group: str) -> None:
        for (holder, held_by, topic), queues in list(one.held.items()):
            if (holder, held_by) == (who, group):
                for queue in queues:
                    one.state.owners.get((group, topic, queue), {}).pop(who, None)
                del one.held[holder, held_by, topic]
        if one.own.pop((who, group), None) is not None:
            one.fact(t, BROKER, "unregister", group=group, client=who)
            if not any(other == group for _, other in one.own):
                one.groups.pop(group, None)

    def _answer(self, one: _Told, t: float, pull: _Pull, answer: RemotingCommand) -> None:
        following = (answer.all_ext_fields() or {}).get("nextBeginOffset")
        if answer.code not in ANSWERED or following is None:
            return
        one.state.owners.setdefault((pull.group, pull.topic, pull.queue), {})[pull.who] = int(following)
        found = {} if answer.code != ResponseCode.SUCCESS else {
            message.queue_offset: message for message in decode_records(answer.body or b"")
        }  # fmt: skip
        info = one.groups.get(pull.group)
        slot = info.find_subscription_data(pull.topic + one.suffix) if info else None
        place = {"group": pull.group, "topic": pull.topic, "queue": pull.queue}
        for offset in range(pull.offset, int(following)):
            if offset not in found and slot is not None:
                one.fact(
                    t, BROKER, "filtered", **place, offset=offset, client=pull.who,
                    stage="tags_code" if is_tag_type(slot.expression_type) else "sql",
                    subscription=slot.sub_string, version=slot.sub_version,
                )  # fmt: skip
        own = pull.own
        for offset, message in found.items():
            if own is None or not is_tag_type(own.expression_type):
                continue
            # the sets of codes and tags do not always travel: they follow from the text
            asked = filter_api.build(pull.topic, own.sub_string, own.expression_type)
            if not client_keeps(asked, message.tags):
                one.fact(
                    t, pull.who, "client_filtered", **place, offset=offset, tag=message.tags,
                    subscription=own.sub_string, version=own.sub_version,
                )  # fmt: skip


def _account(one: _Told) -> Account:
    group_of = {step.who: step.group for step in one.scenario.steps if isinstance(step, Start)}
    last: dict[tuple[str, str], int] = {}
    consumed = [event for event in one.events if event["ev"] == "consume" and event["who"] in group_of]
    for event in consumed:
        key = group_of[event["who"]], event["msgId"]
        last[key] = max(last.get(key, 0), event["reconsume"])
    for event in consumed:
        group = group_of[event["who"]]
        one.facts.append(
            Fact(event["t"], event["who"], "consumed", {
                "group": group, "topic": event["topic"], "tag": event["tag"], "queue": event["queue"],
                "offset": event["offset"], "message_id": event["msgId"], "body": event["body"],
                # it came again: this time was not the last
                "success": event["reconsume"] == last[group, event["msgId"]],
            })
        )  # fmt: skip
    one.facts.sort(key=lambda fact: fact.t)
    fates = Ledger(one.facts, one.state).fates(sent_messages(one.scenario, one.events), _members(one))
    return Account(one.scenario, one.events, one.facts, fates)


def _members(one: _Told) -> list[Member]:
    starts = {step.who: step for step in one.scenario.steps if isinstance(step, Start)}
    members: dict[str, Member] = {}
    changes = [step for step in one.scenario.steps if isinstance(step, Subscribe)]
    for event in one.events:
        who = str(event.get("who"))
        if event["ev"] == "starting":
            step = starts[who]
            member = members[who] = Member(who, step.group, step.mode == "broadcasting")
            member.asked = [(event["t"], topic, sub.type, sub.expr) for topic, sub in step.subscribe.items()]
        elif event["ev"] == "subscribed":
            change = next(step for step in changes if (step.who, step.expr) == (who, event["expr"]))
            members[who].asked.append((event["t"], change.topic, change.type, change.expr))
        elif event["ev"] == "stopped" and who in members:
            members[who].until = event["t"]
    return list(members.values())
