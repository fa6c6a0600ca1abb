"""A recording read as a run: facts and fates of real clients, as `frame_facts` and the events beside them tell them.

Of a recording of `rmqlab tap` there are frames alone, and no frame says what a listener made of a message. So what a
client was given, and what an offset went past unseen, has the fate `passed`; only what broker or client dropped is
certain. A send whose place in its queue no answer says (it is delayed, or half a transaction; it was one-way, or the
answer is missing) is an event `unplaced`, and no message.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import asdict, astuple

from rmqlab.errors import BadInput, there_are
from rmqlab.events import Commit, Heartbeat, Unregister
from rmqlab.language import _
from rmqlab.message.batch import decode_messages
from rmqlab.message.message import Message
from rmqlab.message.properties import PROPERTY_DELAY_TIME_LEVEL, string_to_properties
from rmqlab.message.record import RecordError
from rmqlab.message.sysflag import COMPRESSED_FLAG, TRANSACTION_MASK, TRANSACTION_NOT_TYPE, CompressionError, uncompress
from rmqlab.message.topics import is_retry_topic
from rmqlab.protocol.codes import SENDS, RequestCode, ResponseCode
from rmqlab.protocol.header import RemotingCommandException
from rmqlab.protocol.producer_headers import (
    SendMessageRequestHeader,
    SendMessageRequestHeaderV2,
    SendMessageResponseHeader,
)
from rmqlab.protocol.subscription_data import TAG
from rmqlab.rules import DEFAULT_RULES
from rmqlab.run.facts import Fact, FactLog
from rmqlab.run.fates import NOTHING_SUBSCRIBED, Fate, FateClassifier, GroupMember, MessageFate, SendRecord
from rmqlab.run.recorded_events import (
    Assigned,
    Consumed,
    MessageSent,
    OfConsumer,
    Received,
    Recorded,
    Starting,
    Stopped,
    Subscribed,
    TapCommit,
    TapSent,
    TopicDeleted,
    Unplaced,
    Unsubscribed,
    recorded_facts,
)
from rmqlab.run.run import Run, recorded_events, sent_messages, tells_of
from rmqlab.scenario.scenario import Scenario, Start, Subscribe, convert_scenario
from rmqlab.scenario.schedule import Schedule
from rmqlab_tools.recordings.drop_attribution import LikelyDroppers
from rmqlab_tools.recordings.exchange import pair
from rmqlab_tools.recordings.frame_facts import RunFromFrames
from rmqlab_tools.recordings.frames import LineKind, read_recording

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from rmqlab.protocol.command import RemotingCommand
    from rmqlab.protocol.subscription_data import SubscriptionData
    from rmqlab.run.run import Event
    from rmqlab_tools.recordings.frames import RecordedLine, Recording

EVERY_TAG = DEFAULT_RULES.assigned_expression(None)


def recorded_ids(folder: str | Path) -> list[str]:
    """The ids of the scenarios of a recorded set, in their order.

    Raises:
        BadInput: a file is missing or damaged.
    """
    return list(recorded_events(Path(folder)))


def read_runs(folder: str | Path, ids: Iterable[str] = ()) -> Iterator[Run]:
    """The scenarios of a recorded set (all, or those of these ids) in their order.

    Raises:
        BadInput: a file is missing or damaged, or an id is not in the set.
    """
    folder = Path(folder)
    events = recorded_events(folder)
    scenarios = {name: _scenario(folder, name, mine) for name, mine in events.items()}
    wanted = list(ids) or list(scenarios)
    for name in wanted:
        if name not in scenarios:
            raise BadInput(
                _(
                    "{folder}: no scenario {name} in it{near}",
                    folder=folder,
                    name=f"{name!r}",
                    near=there_are(name, scenarios),
                )
            )
    lines = read_recording(folder).lines
    zeros = _zeros(events, lines)
    lines_of = _by_scenario(lines)
    for name in wanted:
        account = RunFromFrames(f"_{name}", zeros.get(name, 0.0))
        account.read(lines_of.get(name, []))
        yield _run(scenarios[name], events[name], account)


def _by_scenario(lines: Sequence[RecordedLine]) -> dict[str, list[RecordedLine]]:
    """The lines of each scenario's connections, whose clients' ids end with its own; who was frozen is known to all."""
    scenario_of = {line.conn: line.client.partition("@")[2].partition("_")[2] for line in lines if line.client}
    by_scenario: dict[str, list[RecordedLine]] = {name: [] for name in scenario_of.values()}
    for line in lines:
        if line.kind is LineKind.CONTROL:
            for each in by_scenario.values():
                each.append(line)
        elif line.conn in scenario_of:
            by_scenario[scenario_of[line.conn]].append(line)
    return by_scenario


def _scenario(folder: Path, name: str, events: Iterable[Event]) -> Scenario:
    first = next((event for event in events if event["ev"] == "scenario"), {})
    if "scenario" not in first:
        raise BadInput(_("{folder}: scenario {name} has no event 'scenario'", folder=folder, name=f"{name!r}"))
    return convert_scenario(first["scenario"], f"{folder.name}, scenario {name!r}")


def _zeros(events: Mapping[str, list[Event]], lines: Iterable[RecordedLine]) -> dict[str, float]:
    """Find when each scenario began: a producer's answer arrives just before its event 'sent'."""
    sent = {
        fact.event.offset_msg_id: (name, fact.t)
        for name, mine in events.items()
        for fact in recorded_facts(mine, MessageSent)
    }
    zeros: dict[str, float] = {}
    for line in lines:
        if line.command is None or not line.command.is_response:
            continue
        sent_at = sent.get(str((line.command.all_ext_fields() or {}).get("msgId")))
        if sent_at is not None:
            name, t = sent_at
            zeros[name] = max(zeros.get(name, float("-inf")), line.t - t)
    return zeros


def _run(scenario: Scenario, events: list[Event], account: RunFromFrames) -> Run:
    starts = {step.who: step for step in scenario.steps if isinstance(step, Start)}
    sent = sent_messages(scenario, events)
    facts = [*map(LikelyDroppers(account, sent).see, account.facts), *_consumed(events, starts)]
    facts += recorded_facts(events, TopicDeleted)
    facts.sort(key=lambda fact: fact.t)
    fates = FateClassifier(facts, account.owners).fates(sent, _members_of_events(scenario, events, starts))
    return Run(scenario, events, FactLog(facts), fates, Schedule(scenario.id), zero=_zero(scenario, events))


def _zero(scenario: Scenario, events: Iterable[Event]) -> int:
    """When the topics were ready: the first start was made `at` ms later."""
    at = next((step.at for step in scenario.steps if isinstance(step, Start)), 0)
    return next((round(fact.t) - at for fact in recorded_facts(events, Starting)), 0)


def _consumed(events: Iterable[Event], starts: Mapping[str, Start]) -> Iterator[Fact[Consumed]]:
    """What listeners got; a message that came again later was not taken before."""
    last: dict[tuple[str, str | None], int] = {}
    received = [fact for fact in recorded_facts(events, Received) if fact.event.who in starts]
    for fact in received:
        key = starts[fact.event.who].group, fact.event.message_id
        last[key] = max(last.get(key, 0), fact.event.reconsume)
    for fact in received:
        event, group = fact.event, starts[fact.event.who].group
        success = event.reconsume == last[group, event.message_id]
        yield Fact(fact.t, event.who, Consumed(**asdict(event), group=group, success=success))


def _members_of_events(scenario: Scenario, events: Iterable[Event], starts: Mapping[str, Start]) -> list[GroupMember]:
    members: dict[str, GroupMember] = {}
    changes = [step for step in scenario.steps if isinstance(step, Subscribe)]
    for fact in recorded_facts(events, OfConsumer):
        name, event, t = fact.event.who, fact.event, fact.t
        match event:
            case Starting():
                step = starts.get(name)
                if step is None:
                    raise BadInput(
                        _(
                            "scenario {scenario} does not start {who}, whom an event 'starting' names",
                            scenario=f"{scenario.id!r}",
                            who=f"{name!r}",
                        )
                    )
                member = members[name] = GroupMember(name, step.group, step.broadcasts)
                member.asked = [(t, topic, sub.type, sub.expr) for topic, sub in step.subscribe.items()]
                if step.assign is not None:
                    member.assign(step.assign, t, EVERY_TAG)
            case Unsubscribed(topic=topic) if name in members:
                members[name].asked.append((t, topic, NOTHING_SUBSCRIBED, ""))
            case Assigned(queues=queues) if name in members:
                members[name].assign(queues, t, EVERY_TAG)
            case Subscribed():
                change = next((step for step in changes if tells_of(event, step)), None)
                if change is None or name not in members:
                    line = {"id": scenario.id, "t": t, "ev": event.kind} | event.record()
                    raise BadInput(
                        _(
                            "scenario {scenario} has no step for the event {event}",
                            scenario=f"{scenario.id!r}",
                            event=line,
                        )
                    )
                changes.remove(change)  # the event names no topic, and the same may be asked for another one
                members[name].asked.append((t, change.topic, change.type, change.expr))
            case Stopped() if name in members:
                members[name].until = t
    return list(members.values())


# 4.8.0 `SendMessageProcessor.handlePutMessageResult`: with these the message is in the log
_STORED = frozenset({
    ResponseCode.SUCCESS, ResponseCode.FLUSH_DISK_TIMEOUT, ResponseCode.FLUSH_SLAVE_TIMEOUT,
    ResponseCode.SLAVE_NOT_AVAILABLE,
})  # fmt: skip


def read_frames(folder: Path) -> tuple[Recording, RunFromFrames]:
    """Read all frames of a recording as one account, with all names as they are on the wire.

    Raises:
        BadInput: there is no such recording.
    """
    recording = read_recording(folder)
    account = RunFromFrames()
    account.read(recording.lines)
    return recording, account


def tap_account(folder: Path) -> Run:
    """Read a recording as one account under its folder's name, with all names as they are on the wire.

    Times are ms since the tap began. Its events are `sent`, `unplaced` and `commit`.

    Raises:
        BadInput: there is no such recording, or its frames have neither a consumer's heartbeat nor a message sent.
    """
    recording, account = read_frames(folder)
    sends = list(_sends(recording.lines))
    if not sends and not any(isinstance(fact.event, Heartbeat) for fact in account.facts):
        raise BadInput(
            _(
                "{folder}: no consumer beats in these frames and nobody sends, so there is nothing to tell",
                folder=folder,
            )
        )
    sent = [message for message, _ in sends if message is not None]
    members = members_of_frames(account)
    facts = [*map(LikelyDroppers(account, sent).see, account.facts), *account.given]
    facts.sort(key=lambda fact: fact.t)
    fates = [_as_known(fate, account) for fate in FateClassifier(facts, account.owners).fates(sent, members)]
    events = [event for _, event in sends] + [
        _line(fact.t, TapCommit(*astuple(fact.event))) for fact in account.facts if isinstance(fact.event, Commit)
    ]
    scenario = Scenario(recording.name, topics={}, steps=[])
    ordered = sorted(events, key=lambda event: event["t"])
    return Run(scenario, ordered, FactLog(facts), fates, began_ms=recording.began_ms)


def _as_known(fate: MessageFate, account: RunFromFrames) -> MessageFate:
    """A look of a client that never beat, or that went another way than through the tap, says nothing here."""
    unseen = fate.fate in {Fate.WAITING, Fate.NO_OWNER} and fate.offset < account.reached.get(
        (fate.group, fate.topic, fate.queue), 0
    )
    return replace(fate, fate=Fate.PASSED) if unseen or fate.fate is Fate.SKIPPED_BY_OFFSET else fate


def members_of_frames(account: RunFromFrames) -> list[GroupMember]:
    """Who was in a group, from its first heartbeat until it left; who came again is there a second time."""
    members: list[GroupMember] = []
    there: dict[tuple[str, str], GroupMember] = {}
    for fact in account.facts:
        match fact.event:
            case Heartbeat(client=client, subscriptions=subscriptions):
                _end_missing(there, fact.t, client, subscriptions)
                for group, data in subscriptions:
                    if (client, group) not in there:
                        there[client, group] = GroupMember(client, group, account.broadcasts(group))
                        members.append(there[client, group])
                    if data.topic is None or is_retry_topic(data.topic):
                        continue
                    member, subscription = (
                        there[client, group],
                        (data.topic, data.expression_type or TAG, data.sub_string or ""),
                    )
                    last = next((entry[1:] for entry in reversed(member.asked) if entry[1] == data.topic), None)
                    if last != subscription:
                        member.asked.append((fact.t, *subscription))
            case Unregister(group=group, client=client) if (client, group) in there:
                there.pop((client, group)).until = fact.t
    return members


def _end_missing(
    there: Mapping[tuple[str, str], GroupMember],
    t: float,
    beating: str,
    subscriptions: Iterable[tuple[str, SubscriptionData]],
) -> None:
    """End the subscriptions of a client that its heartbeat at `t` names no more."""
    reported = {(group, data.topic) for group, data in subscriptions}
    for (client, group), member in there.items():
        if client == beating:
            member.end_missing({topic for its_group, topic in reported if its_group == group}, t)


def _sends(lines: Iterable[RecordedLine]) -> Iterator[tuple[SendRecord | None, Event]]:
    """Each message and its event, in the order of the answers; None for one whose place no answer has."""
    exchanges = pair(lines)
    for exchange in exchanges.by_answer.values():
        answer = exchange.expected
        if answer is not None and exchange.code in SENDS and answer.code in _STORED:
            yield from _stored(exchange.answered_at, exchange.command, answer)
    for exchange in exchanges.by_request.values():
        if exchange.expected is None and exchange.code in SENDS:
            for message in _messages(exchange.command)[1]:
                yield _unplaced(exchange.line.t, message)


def _stored(t: float, request: RemotingCommand, answer: RemotingCommand) -> Iterator[tuple[SendRecord | None, Event]]:
    header, messages = _messages(request)
    try:
        stored = answer.decode_header(SendMessageResponseHeader)
    except RemotingCommandException:
        return
    if None in (stored.queue_id, stored.queue_offset):
        return
    for number, (message, offset_id) in enumerate(zip(messages, str(stored.msg_id).split(","), strict=False)):
        properties = message.properties
        is_half = header.sys_flag & TRANSACTION_MASK != TRANSACTION_NOT_TYPE
        if is_half or properties.get(PROPERTY_DELAY_TIME_LEVEL, "0") != "0":
            yield _unplaced(t, message)
            continue
        offset = stored.queue_offset + number
        body = (message.body or b"").decode("utf-8", "replace")
        unique = message.unique_id or offset_id
        yield (
            SendRecord(message.topic, stored.queue_id, offset, body, message.tags, unique, t, properties),
            _line(t, TapSent(
                message.topic, stored.queue_id, offset, body, message.tags, unique, offset_id, header.producer_group,
            )),
        )  # fmt: skip


def _unplaced(t: float, message: Message) -> tuple[None, Event]:
    return None, _line(t, Unplaced(message.topic, message.tags))


def _line(t: float, event: Recorded) -> Event:
    return {"t": t, "ev": event.kind} | event.record()


def _messages(request: RemotingCommand) -> tuple[SendMessageRequestHeader, list[Message]]:
    """What a send says, and its messages; none if it cannot be read, then the broker refused it too."""
    try:
        header = (
            request.decode_header(SendMessageRequestHeader)
            if request.code == RequestCode.SEND_MESSAGE
            else request.decode_header(SendMessageRequestHeaderV2).v1()
        )
        if None in (header.topic, header.sys_flag):
            return header, []
        body = request.body or b""
        if request.code == RequestCode.SEND_BATCH_MESSAGE:
            messages = decode_messages(body)
        else:
            plain = uncompress(body) if header.sys_flag & COMPRESSED_FLAG else body
            messages = [Message("", plain, header.flag, string_to_properties(header.properties))]
    except (RemotingCommandException, RecordError, CompressionError):
        return SendMessageRequestHeader(), []
    for message in messages:
        message.topic = header.topic
    return header, messages
