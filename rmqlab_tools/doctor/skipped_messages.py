"""What a group's offset went past, and what lies after it: consume queue entries (321), messages if asked for (33)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from rmqlab.client.client_error import MQBrokerError
from rmqlab.client.runtime import RemotingError
from rmqlab.message.record import decode_records
from rmqlab.protocol.codes import RequestCode
from rmqlab.protocol.consumer_headers import GetMinOffsetRequestHeader
from rmqlab.protocol.header import FrameError, WithOffset
from rmqlab.protocol.serializable import from_json
from rmqlab.protocol.subscription_data import SubscriptionData
from rmqlab.rules import is_matched_by_consume_queue
from rmqlab_tools.doctor.read_client import ServerGone
from rmqlab_tools.doctor.snapshot import MessageSeen, PassedEntries
from rmqlab_tools.live.extra.admin_headers import QueryConsumeQueueRequestHeader, ViewMessageRequestHeader

if TYPE_CHECKING:
    from rmqlab.message.topics import MessageQueue
    from rmqlab_tools.doctor.read_client import ReadClient
    from rmqlab_tools.doctor.snapshot import GroupSeen, QueueSeen

_FAILURES = (MQBrokerError, RemotingError, FrameError, msgspec.MsgspecError)


class _Entry(msgspec.Struct, rename="camel"):
    """An entry as 321 shows it: `eval` means something only where there is an extension (`extend_data_json`)."""

    physic_offset: int = 0
    tags_code: int = 0
    extend_data_json: str | None = None
    eval: bool = False
    msg: str | None = None


class _Extension(msgspec.Struct, rename="camel"):
    tags_code: int = 0


class _EntryReader(msgspec.Struct, rename="camel"):
    subscription_data: object = None
    queue_data: list[_Entry] | None = None


async def read_entries(
    client: ReadClient, addr: str, group: GroupSeen, queue: MessageQueue, seen: QueueSeen, before: QueueSeen | None
) -> None:
    """Read the entries on both sides of a group's committed offset into `group.passed` and `group.behind`.

    Passed are those since the offset of the look before, the newest `window` of them; at a first look the last
    `window`. After it come the first `window` after the offset. One request does for both as a rule: 321 knows no limit
    of its own, but ends with the file of the queue (4.8.0 `AdminBrokerProcessor.queryConsumeQueue`). An offset that
    has not moved, with nothing after it, costs nothing.

    That request judges an entry (`eval`) only where the queue has an extension (`enableConsumeQueueExt`), there by the
    bit map if the subscription is SQL92. Other entries are judged here by the subscription that the answer names.
    """
    window, committed = client.asked.window, max(seen.committed, 0)
    start = max(committed - window, 0)
    if before is not None:  # a group without an offset may begin at the end: what lies before that it never passed
        was = before.committed if before.committed >= 0 else before.max_offset
        start = min(was, committed)  # an offset that was set back has passed nothing
    passed, behind = PassedEntries(start, committed), PassedEntries(committed, max(seen.max_offset, committed))
    if passed.start < passed.end:
        group.passed[queue] = passed
    if behind.start < behind.end:
        group.behind[queue] = behind
    index, end = max(start, committed - window), min(behind.end, committed + window)
    newest: dict[int, int] = {}
    try:
        while index < end:
            header = QueryConsumeQueueRequestHeader(queue.topic, queue.queue_id, index, end - index, group.name)
            answer = await client.ask(addr, RequestCode.QUERY_CONSUME_QUEUE, header)
            body = msgspec.json.decode(answer.body or b"{}", type=_EntryReader)
            if not body.queue_data:  # older than what the broker still has
                lowest = await _min_offset(client, addr, queue)
                if lowest <= index:
                    break
                index = lowest
                continue
            slot = None if body.subscription_data is None else from_json(SubscriptionData, body.subscription_data)
            passed.slot = behind.slot = slot
            for entry in body.queue_data:
                _count(entry, slot, passed if index < committed else behind)
                newest[index] = entry.physic_offset
                index += 1
        if client.asked.messages:
            wanted = sorted(newest, key=lambda offset: (offset >= committed, -offset))[: client.asked.messages]
            for offset in sorted(wanted):
                await _read_message(client, addr, group, queue, offset, newest[offset])
    except ServerGone:
        return
    except _FAILURES as error:
        client.note(addr, RequestCode.QUERY_CONSUME_QUEUE, f"{group.name} {queue.topic}/{queue.queue_id}", error)


def _count(entry: _Entry, slot: SubscriptionData | None, side: PassedEntries) -> None:
    """Count an entry; one whose extension is gone has no tag code any more."""
    code = entry.tags_code
    if entry.extend_data_json is not None:
        code = msgspec.json.decode(entry.extend_data_json, type=_Extension).tags_code
    elif entry.msg is not None:
        return
    side.codes[code] += 1
    if slot is None:
        return
    if entry.extend_data_json is not None:
        kept = entry.eval
    else:
        kept = slot.class_filter_mode or not slot.is_tag or is_matched_by_consume_queue(slot, code)
    if kept:
        side.kept[code] += 1


async def _min_offset(client: ReadClient, addr: str, queue: MessageQueue) -> int:
    header = GetMinOffsetRequestHeader(queue.topic, queue.queue_id)
    return (await client.ask(addr, RequestCode.GET_MIN_OFFSET, header)).decode_header(WithOffset).offset


async def _read_message(
    client: ReadClient, addr: str, group: GroupSeen, queue: MessageQueue, offset: int, physic_offset: int
) -> None:
    """Read one message by its place in the commit log (33), which changes nothing: no offset, no hold, no statistic."""
    answer = await client.ask(addr, RequestCode.VIEW_MESSAGE_BY_ID, ViewMessageRequestHeader(physic_offset))
    for message in decode_records(answer.body or b"", read_body=False):
        group.messages.append(MessageSeen(queue, offset, message.client_msg_id or "", dict(message.properties)))
