"""A recording of `rmqlab tap` read as an account: what its frames tell of messages sent, members, drops and ownership.

No frame tells what a listener made of a message. So what a client was given, and what an offset went past unseen, has
the fate `passed`; only what broker or client dropped is certain. A send whose place in its queue no answer tells (it
is delayed, or half a transaction; it was one-way, or the answer is missing) is an event `unplaced`, and no message.
"""

from __future__ import annotations

import zlib
from dataclasses import replace
from typing import TYPE_CHECKING

from msgspec.structs import astuple

from rmqlab.errors import BadInput
from rmqlab.events import Commit, Recorded, TapCommit, TapSent, Unplaced
from rmqlab.lab.fates import Fate, FateClassifier, GroupMember, MessageFate, SendRecord
from rmqlab.lab.recorded.frame_facts import FrameAccount, FrameReader
from rmqlab.lab.replay.frames import LineKind, read_recording
from rmqlab.lab.run import Account
from rmqlab.lab.scenario import Scenario
from rmqlab.message.batch import decode_messages
from rmqlab.message.message import Message
from rmqlab.message.properties import PROPERTY_DELAY_TIME_LEVEL, string_to_properties
from rmqlab.message.record import RecordError
from rmqlab.message.sysflag import COMPRESSED_FLAG, TRANSACTION_NOT_TYPE, transaction_value
from rmqlab.message.topics import is_retry_topic
from rmqlab.protocol.codes import RequestCode, ResponseCode
from rmqlab.protocol.header import RemotingCommandException
from rmqlab.protocol.producer_headers import (
    SendMessageRequestHeader,
    SendMessageRequestHeaderV2,
    SendMessageResponseHeader,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from rmqlab.lab.facts import Fact
    from rmqlab.lab.replay.frames import RecordedLine
    from rmqlab.lab.run import Event
    from rmqlab.protocol.command import RemotingCommand

_SENDS = frozenset({RequestCode.SEND_MESSAGE, RequestCode.SEND_MESSAGE_V2, RequestCode.SEND_BATCH_MESSAGE})
# 4.8.0 `SendMessageProcessor.handlePutMessageResult`: with these the message is in the log
_STORED = frozenset({
    ResponseCode.SUCCESS, ResponseCode.FLUSH_DISK_TIMEOUT, ResponseCode.FLUSH_SLAVE_TIMEOUT,
    ResponseCode.SLAVE_NOT_AVAILABLE,
})  # fmt: skip


def tap_account(folder: Path) -> Account:
    """Read a recording as one account under its folder's name, with all names as they are on the wire.

    Times are ms since the tap began. Its events are `sent`, `unplaced` and `commit`.

    Raises:
        BadInput: there is no such recording, or its frames have neither a consumer's heartbeat nor a message sent.
    """
    recording = read_recording(folder)
    told = FrameAccount("")
    frames = FrameReader(lambda client: (told, client) if client else None, recording.lines)
    for line in recording.lines:
        frames.see(line)
    sends = list(_sends(recording.lines))
    if not sends and not any(fact.kind == "heartbeat" for fact in told.facts):
        raise BadInput(f"{folder}: no consumer beats in these frames and nobody sends, so there is nothing to tell")
    sent = [message for message, _ in sends if message is not None]
    members = _members(told)
    facts = sorted([*told.facts, *told.given], key=lambda fact: fact.t)
    fates = [_as_known(fate, told) for fate in FateClassifier(facts, told.state).fates(sent, members)]
    events = [event for _, event in sends] + [
        _line(fact.t, TapCommit(*astuple(fact.event))) for fact in told.facts if isinstance(fact.event, Commit)
    ]
    scenario = Scenario(recording.name, topics={}, steps=[])
    return Account(scenario, "", sent, sorted(events, key=lambda event: event["t"]), facts, fates)


def _as_known(fate: MessageFate, told: FrameAccount) -> MessageFate:
    """A look of a client that never beat, or that went another way than through the tap, tells nothing here."""
    unseen = fate.fate in {Fate.WAITING, Fate.NO_OWNER} and fate.offset < told.reached.get(
        (fate.group, fate.topic, fate.queue), 0
    )
    return replace(fate, fate=Fate.PASSED) if unseen or fate.fate is Fate.SKIPPED_BY_OFFSET else fate


def _members(told: FrameAccount) -> list[GroupMember]:
    """Who was in a group, from its first heartbeat until it left; who came again is there a second time."""
    found: list[GroupMember] = []
    there: dict[tuple[str, str], GroupMember] = {}
    for fact in told.facts:
        if fact.kind == "heartbeat":
            for group, one in fact["subscriptions"]:
                _asks(found, there, told, fact, group, (one.topic, one.expression_type, one.sub_string))
        elif fact.kind == "unregister" and (gone := there.pop((fact["client"], fact["group"]), None)) is not None:
            gone.until = fact.t
    return found


def _asks(
    found: list[GroupMember], there: dict[tuple[str, str], GroupMember], told: FrameAccount, fact: Fact, group: str,
    asked: tuple[str, str, str],
) -> None:  # fmt: skip
    who = fact["client"]
    member = there.get((who, group))
    if member is None:
        member = there[who, group] = GroupMember(who, group, told.broadcasts(group))
        found.append(member)
    last = next((entry[1:] for entry in reversed(member.asked) if entry[1] == asked[0]), None)
    if last != asked and not is_retry_topic(asked[0]):
        member.asked.append((fact.t, *asked))


def _sends(lines: Iterable[RecordedLine]) -> Iterator[tuple[SendRecord | None, Event]]:
    """Yield each message and its event; None for one whose place no answer tells."""
    asked: dict[tuple[int, int], tuple[float, RemotingCommand]] = {}
    for line in lines:
        command = line.command
        if line.kind is not LineKind.FRAME or command is None:
            continue
        if line.to_broker and not command.is_response and command.code in _SENDS:
            asked[line.conn, command.opaque] = line.t, command
        elif not line.to_broker and command.is_response and (line.conn, command.opaque) in asked:
            _, request = asked.pop((line.conn, command.opaque))
            if command.code in _STORED:
                yield from _stored(line.t, request, command)
    for t, request in asked.values():
        for message in _messages(request)[1]:
            yield _unplaced(t, message)


def _stored(t: float, request: RemotingCommand, answer: RemotingCommand) -> Iterator[tuple[SendRecord | None, Event]]:
    header, messages = _messages(request)
    try:
        told = answer.decode_header(SendMessageResponseHeader)
    except RemotingCommandException:
        return
    for number, (message, offset_id) in enumerate(zip(messages, str(told.msg_id).split(","), strict=False)):
        properties = message.properties
        is_half = transaction_value(header.sys_flag) != TRANSACTION_NOT_TYPE
        if is_half or properties.get(PROPERTY_DELAY_TIME_LEVEL, "0") != "0":
            yield _unplaced(t, message)
            continue
        offset = told.queue_offset + number
        body = (message.body or b"").decode("utf-8", "replace")
        unique = message.unique_id or offset_id
        yield (
            SendRecord(message.topic, told.queue_id, offset, body, message.tags, unique, t, properties),
            _line(t, TapSent(
                message.topic, told.queue_id, offset, body, message.tags, unique, offset_id, header.producer_group,
            )),
        )  # fmt: skip


def _unplaced(t: float, message: Message) -> tuple[None, Event]:
    return None, _line(t, Unplaced(message.topic, message.tags))


def _line(t: float, event: Recorded) -> Event:
    return {"t": t, "ev": event.kind} | event.columns()


def _messages(request: RemotingCommand) -> tuple[SendMessageRequestHeader, list[Message]]:
    """Return what a send says, and its messages; none if it cannot be read, then the broker refused it too."""
    try:
        header = (
            request.decode_header(SendMessageRequestHeader)
            if request.code == RequestCode.SEND_MESSAGE
            else request.decode_header(SendMessageRequestHeaderV2).v1()
        )
        body = request.body or b""
        if request.code == RequestCode.SEND_BATCH_MESSAGE:
            messages = decode_messages(body)
        else:
            plain = zlib.decompress(body) if header.sys_flag & COMPRESSED_FLAG else body
            messages = [Message("", plain, header.flag, string_to_properties(header.properties))]
    except (RemotingCommandException, RecordError, zlib.error):
        return SendMessageRequestHeader(), []
    for message in messages:
        message.topic = header.topic
    return header, messages
