"""Where in the commit log all lies that POP stores: check points, acks, what the timer gives back, what is revived.

No answer tells their places, but those of the messages between them are known, and so is the size of each: what fills
the room between two known places must add up to it. Of all that may have been stored by then, what was due first is
taken. The plan says where something lies, never what it is: a broker that stores anything else misses it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, NamedTuple

from rmqlab.broker.broker_config import BrokerConfig
from rmqlab.broker.pop.pop_check_point import (
    ACK_TIME_INTERVAL_MS,
    AckMsg,
    PopCheckPoint,
    revive_message,
    revive_topic,
)
from rmqlab.broker.pop.timer_message_store import (
    PROPERTY_TIMER_DEQUEUE_MS,
    PROPERTY_TIMER_ENQUEUE_MS,
    TIMER_TOPIC,
    timer_out_ms,
)
from rmqlab.message.message import Host, MessageExt
from rmqlab.message.properties import (
    PROPERTY_CLUSTER,
    PROPERTY_FIRST_POP_TIME,
    PROPERTY_ORIGIN_GROUP,
    PROPERTY_POP_CK,
    PROPERTY_REAL_QUEUE_ID,
    PROPERTY_REAL_TOPIC,
    PROPERTY_TIMER_OUT_MS,
    string_to_properties,
)
from rmqlab.message.record import decode_records, encode_record
from rmqlab.message.topics import is_retry_topic
from rmqlab.protocol.codes import SENDS, RequestCode, ResponseCode
from rmqlab.protocol.extra_info import (
    NORMAL,
    RETRY_V2,
    ReceiptHandle,
    ReceiptHandleError,
    parse_msg_offset_info,
    parse_start_offset_info,
)
from rmqlab.protocol.header import header_from_ext_fields
from rmqlab.protocol.pop_headers import ChangeInvisibleTimeResponseHeader, PopMessageResponseHeader
from rmqlab_tools.recordings.exchange import Exchange, pair

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from rmqlab.rules import Rules
    from rmqlab_tools.recordings.frames import Recording
    from tests.proof.replay.recorded_clock import RecordedClock

MessageKey = tuple[str, str | None, int]
"""Topic, unique id and how often it was consumed before."""
Kind = Literal["message", "check point", "ack", "timer", "revived"]
PRECISION_MS = 1_000
TIMER_LATE_MS = 400.0
"""How long after a slot has passed its messages may be stored."""
REVIVED_AFTER_MS, REVIVED_WITHIN_MS = 2_000.0, 10_000.0
"""How long after a message became visible again it is stored again."""
_MS = "1795699143000"  # any time: all have 13 digits
_HOST = Host("127.0.0.1", 10911)


class Popped(NamedTuple):
    """What a pop took from a queue."""

    topic: str
    queue_id: int
    start: int
    offsets: list[int]


@dataclass(slots=True, eq=False)
class LogItem:
    """Something stored: its bytes, since when and until when (ms of the recording), and where (None: not known).

    `exchange` stored it, as the `part`-th of what it stored; of the timer it is that of the check point or ack that is
    given back, of what is revived that of the check point, or of the pop that gave it.
    """

    kind: Kind
    size: int
    earliest: float
    latest: float
    exchange: Exchange
    part: int = 0
    at: int | None = None
    source: LogItem | None = None
    """Of the timer: what it gives back."""
    message: MessageKey | None = None
    """Of what is revived: which message."""
    after: int = -1
    """A place that comes before: that of the last message that was popped."""
    offset: int = -1
    """Of what is revived and known: its offset in the retry topic."""


@dataclass(slots=True)
class Gap:
    """Room between two known places: from its first byte to the next known place, and what fills it, in any order."""

    start: int
    end: int
    items: list[LogItem]


@dataclass(slots=True)
class PlannedLog:
    """What lies at each known place, what between them, and what each request stores, in its order.

    `holes` are (place, bytes) that nothing fills.
    """

    known: dict[int, LogItem] = field(default_factory=dict)
    gaps: list[Gap] = field(default_factory=list)
    of_request: dict[int, list[LogItem]] = field(default_factory=dict)
    holes: list[tuple[int, int]] = field(default_factory=list)


@dataclass(slots=True)
class _Stored:
    """A check point or an ack, its queue of the revive log, when it is due there (epoch ms), and who stored it."""

    content: PopCheckPoint | AckMsg
    qid: int
    deliver_ms: int
    item: LogItem


def popped_from(exchange: Exchange, rules: Rules) -> list[Popped]:
    """What a recorded answer to a pop took from which queue, in the order in which it did."""
    answer, fields = exchange.expected, exchange.fields
    if answer is None or exchange.code != RequestCode.POP_MESSAGE:
        return []
    told = answer.ext_fields or {}
    starts = parse_start_offset_info(told.get("startOffsetInfo"))
    group, topic = fields.get("consumerGroup") or "", fields.get("topic") or ""
    return [
        Popped(
            topic if mark == NORMAL else rules.retry_topic(group, topic, mark == RETRY_V2),
            queue_id, starts[mark, queue_id], offsets,
        )
        for (mark, queue_id), offsets in parse_msg_offset_info(told.get("msgOffsetInfo")).items()
    ]  # fmt: skip


def planned_log(recording: Recording, clock: RecordedClock, rules: Rules) -> PlannedLog | None:
    """The plan of a recording; None for one without a pop, whose log needs none."""
    exchanges = pair(recording.lines).by_request.values()
    if not rules.has_pop or all(exchange.code != RequestCode.POP_MESSAGE for exchange in exchanges):
        return None
    return LogPlanner(exchanges, clock, BrokerConfig.from_properties(recording.properties), rules).plan()


class LogPlanner:
    """Makes the plan of one recording."""

    def __init__(
        self, exchanges: Collection[Exchange], clock: RecordedClock, config: BrokerConfig, rules: Rules
    ) -> None:
        self._exchanges = exchanges
        self._clock = clock
        self._config = config
        self._rules = rules
        self._topic = revive_topic(config.broker_cluster_name)
        # What was popped, as it lies in its queue, by topic, queue and offset.
        self._messages: dict[tuple[str, int, int], MessageExt] = {}

    def plan(self) -> PlannedLog:
        """Find all places."""
        known = [item for exchange in self._exchanges for item in self._known(exchange)]
        stored = [one for exchange in self._exchanges for one in self._stored_by(exchange)]
        unknown = [one.item for one in stored]
        unknown += [self._from_timer(one) for one in stored]
        revived = list(self._revived(stored, known))
        _in_order_of_offsets(known, revived)
        unknown += revived
        return _placed(known, unknown)

    def _known(self, exchange: Exchange) -> Iterator[LogItem]:
        """What a client sent; what was revived and popped again."""
        if exchange.code in SENDS and exchange.put_at is not None:
            size = self._size_of_send(exchange)
            yield LogItem("message", size, exchange.line.t, exchange.answered_at, exchange, 0, exchange.put_at)
        if exchange.code != RequestCode.POP_MESSAGE or exchange.expected is None:
            return
        fields = exchange.fields
        group, topic = fields.get("consumerGroup") or "", fields.get("topic") or ""
        for message in decode_records(exchange.expected.body or b""):
            handle = message.properties.pop(PROPERTY_POP_CK, None)
            if handle is not None:
                message.topic = self._rules.retry_topic(group, topic, ReceiptHandle.parse(handle).retry == RETRY_V2)
                t = message.store_timestamp - self._clock.epoch
                yield LogItem(
                    "revived", _size(message), t, t + 1, exchange, 0, message.commit_log_offset, None, key_of(message),
                    offset=message.queue_offset,
                )  # fmt: skip
            self._messages[message.topic, message.queue_id, message.queue_offset] = message

    def _size_of_send(self, exchange: Exchange) -> int:
        fields, wire, config = exchange.fields, self._rules.wire, self._config
        properties = string_to_properties(fields.get("i") or fields.get("properties"))
        stored = {"MSG_REGION": config.region_id, "TRACE_ON": "true" if config.trace_on else "false"}
        properties |= {name: stored[name] for name in wire.stored_properties}
        properties[PROPERTY_CLUSTER] = config.broker_cluster_name
        topic = fields.get("b") or fields.get("topic") or ""
        return _size(MessageExt(topic=topic, body=exchange.command.body or b"", properties=properties))

    def _stored_by(self, exchange: Exchange) -> Iterator[_Stored]:
        """The check points and acks of a request, in the order of their puts."""
        if exchange.expected is None or exchange.expected.code != ResponseCode.SUCCESS:
            return
        for part, (content, qid, deliver_ms) in enumerate(self._contents(exchange)):
            earliest = exchange.line.t
            if exchange.code == RequestCode.POP_MESSAGE:
                earliest = content.pop_time - self._clock.epoch - 1
            kind: Kind = "check point" if isinstance(content, PopCheckPoint) else "ack"
            is_late = deliver_ms - self._clock.epoch <= earliest
            size = _size(self._message(content, qid, in_timer=not is_late))
            item = LogItem(kind, size, earliest, exchange.answered_at, exchange, part, after=self._last_of(content))
            yield _Stored(content, qid, deliver_ms, item)

    def _last_of(self, content: PopCheckPoint | AckMsg) -> int:
        """Where the last message lies that a check point or an ack is about."""
        offsets = content.unacked() if isinstance(content, PopCheckPoint) else [content.ack_offset]
        messages = [self._messages.get((content.topic, content.queue_id, offset)) for offset in offsets]
        return max((message.commit_log_offset for message in messages if message is not None), default=-1)

    def _contents(self, exchange: Exchange) -> Iterator[tuple[PopCheckPoint | AckMsg, int, int]]:
        fields, answer = exchange.fields, exchange.expected
        told = None if answer is None else answer.ext_fields
        group = fields.get("consumerGroup") or ""
        if exchange.code == RequestCode.POP_MESSAGE:
            header = header_from_ext_fields(PopMessageResponseHeader, told)
            for popped in popped_from(exchange, self._rules):
                point = self._point(popped, group, header.pop_time, header.invisible_time)
                yield point, header.revive_qid, point.revive_time - ACK_TIME_INTERVAL_MS
        elif exchange.code in {RequestCode.ACK_MESSAGE, RequestCode.CHANGE_MESSAGE_INVISIBLETIME}:
            try:
                handle = ReceiptHandle.parse(fields.get("extraInfo"))
            except ReceiptHandleError:
                return
            topic, queue, offset = fields.get("topic") or "", int(fields["queueId"] or 0), int(fields["offset"] or 0)
            if exchange.code == RequestCode.CHANGE_MESSAGE_INVISIBLETIME:
                changed = header_from_ext_fields(ChangeInvisibleTimeResponseHeader, told)
                again = Popped(topic, queue, offset, [offset])
                point = self._point(again, group, changed.pop_time, changed.invisible_time)
                if point.suspend is not None:
                    point.suspend = fields.get("suspend") == "true"
                yield point, handle.revive_qid, point.revive_time - ACK_TIME_INTERVAL_MS
            ack = AckMsg(offset, handle.broker_name, group, handle.pop_time, queue, handle.start_offset, topic)
            yield ack, handle.revive_qid, handle.visible_at

    def _point(self, popped: Popped, group: str, pop_time: int, invisible_time: int) -> PopCheckPoint:
        return PopCheckPoint(
            broker_name=self._config.broker_name, cid=group,
            queue_offset_diff=[offset - popped.start for offset in popped.offsets], invisible_time=invisible_time,
            num=len(popped.offsets), pop_time=pop_time, queue_id=popped.queue_id,
            revive_time=pop_time + invisible_time, start_offset=popped.start,
            suspend=False if self._rules.wire.tells_suspend else None, topic=popped.topic,
        )  # fmt: skip

    def _message(self, content: PopCheckPoint | AckMsg, qid: int, *, in_timer: bool) -> MessageExt:
        message = revive_message(content, self._topic, qid, int(_MS), _HOST, 0)
        if in_timer:
            message.properties |= {
                PROPERTY_TIMER_OUT_MS: _MS, PROPERTY_REAL_TOPIC: self._topic, PROPERTY_REAL_QUEUE_ID: str(qid),
            }  # fmt: skip
            message.topic = TIMER_TOPIC
        return message

    def _from_timer(self, one: _Stored) -> LogItem:
        """What the timer stores again under its topic."""
        message = self._message(one.content, one.qid, in_timer=True)
        message.properties |= {PROPERTY_TIMER_ENQUEUE_MS: _MS, PROPERTY_TIMER_DEQUEUE_MS: _MS}
        message.topic = self._topic
        due = timer_out_ms(one.deliver_ms, PRECISION_MS) + PRECISION_MS - self._clock.epoch
        return LogItem(
            "timer", _size(message), due - 1, due + TIMER_LATE_MS, one.item.exchange, one.item.part, None, one.item
        )

    def _revived(self, stored: Iterable[_Stored], known: Iterable[LogItem]) -> Iterator[LogItem]:
        """What was not acked and not popped again."""
        stored = list(stored)
        acked = {(*one.content.key, one.content.ack_offset) for one in stored if isinstance(one.content, AckMsg)}
        places = {item.at for item in known}
        again = {key_of(message): message for message in self._messages.values() if is_retry_topic(message.topic)}
        for one in stored:
            point = one.content
            if not isinstance(point, PopCheckPoint):
                continue
            for offset in point.unacked():
                message = self._messages.get((point.topic, point.queue_id, offset))
                if (*point.key, offset) in acked or message is None:
                    continue
                topic = point.topic
                if not is_retry_topic(topic):
                    topic = self._rules.retry_topic(point.cid, topic, False)
                times = message.reconsume_times + (0 if point.suspend else 1)
                twin = again.get((topic, message.unique_id, times))
                if twin is not None and twin.commit_log_offset in places:
                    continue
                properties = {PROPERTY_FIRST_POP_TIME: _MS} | message.properties
                if self._rules.wire.tells_origin_group:
                    properties[PROPERTY_ORIGIN_GROUP] = point.cid
                size = _size(MessageExt(topic=topic, body=message.body, properties=properties))
                visible = point.revive_time - self._clock.epoch
                yield LogItem(
                    "revived", size, visible + REVIVED_AFTER_MS, visible + REVIVED_WITHIN_MS, one.item.exchange,
                    one.item.part, None, None, (topic, message.unique_id, times),
                )  # fmt: skip


def _in_order_of_offsets(known: Iterable[LogItem], revived: Iterable[LogItem]) -> None:
    """What was revived and never popped lies before what has a higher offset of the retry topic, as that tells."""
    unknown: dict[str, list[LogItem]] = {}
    for item in sorted(revived, key=lambda item: item.earliest):
        unknown.setdefault(item.message[0] if item.message else "", []).append(item)
    given: dict[str, list[LogItem]] = {}
    for item in known:
        if item.message is not None:
            given.setdefault(item.message[0], []).append(item)
    for topic, items in given.items():
        before = 0
        for item in sorted(items, key=lambda item: item.offset):
            while before < item.offset and unknown.get(topic):
                earlier = unknown[topic].pop(0)
                earlier.latest = item.earliest - 1
                before += 1
            before = item.offset + 1


def key_of(message: MessageExt) -> MessageKey:
    """What tells a message that was stored again from all others."""
    return message.topic, message.unique_id, message.reconsume_times


def _size(message: MessageExt) -> int:
    message.store_size = 0
    message.born_host = message.store_host = _HOST
    return len(encode_record(message))


def _placed(known: Iterable[LogItem], unknown: Iterable[LogItem]) -> PlannedLog:
    """Fill the room between known places, from the first one on."""
    plan = PlannedLog()
    pool = sorted(unknown, key=lambda item: (item.latest, item.earliest, item.exchange.number, item.part))
    for item in pool:
        if item.kind in {"check point", "ack"}:
            plan.of_request.setdefault(item.exchange.number, []).append(item)
    end = 0
    for anchor in sorted(known, key=lambda item: item.at or 0):
        if anchor.at is None or anchor.at < end:
            continue
        chosen = _fill(pool, anchor.at - end, anchor)
        if chosen is None:
            plan.holes.append((end, anchor.at - end))
            chosen = []
        if anchor.at > end:
            plan.gaps.append(Gap(end, anchor.at, chosen))
        taken = set(map(id, chosen))
        pool = [item for item in pool if id(item) not in taken]
        plan.known[anchor.at] = anchor
        end = anchor.at + anchor.size
    plan.gaps.append(Gap(end, end + sum(item.size for item in pool) + 1, pool))
    for items in plan.of_request.values():
        items.sort(key=lambda item: item.part)
    return plan


_MOST_STEPS = 200_000


def _fill(pool: list[LogItem], room: int, anchor: LogItem) -> list[LogItem] | None:
    """Items that add up to a room before a known place: those that must lie there, and the first that may."""
    may = [item for item in pool if item.earliest <= anchor.latest and item.after < (anchor.at or 0)]
    steps = 0
    failed: set[tuple[int, int]] = set()
    chosen: list[LogItem] = []

    def search(index: int, left: int) -> bool:
        nonlocal steps
        steps += 1
        if left == 0 and all(item.latest >= anchor.earliest for item in may[index:]):
            return True
        if left <= 0 or index == len(may) or (index, left) in failed or steps > _MOST_STEPS:
            return False
        item = may[index]
        may_wait = item.latest >= anchor.earliest
        for takes in (False, True) if item.kind == "revived" else (True, False):
            if not takes and may_wait and search(index + 1, left):
                return True
            if takes:
                chosen.append(item)
                if search(index + 1, left - item.size):
                    return True
                chosen.pop()
        failed.add((index, left))
        return False

    return chosen if search(0, room) else None
