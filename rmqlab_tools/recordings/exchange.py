"""Requests of a recording, each with the answer the real broker gave and with what it reads or changes."""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass, field
from enum import Enum, auto
from math import inf
from typing import TYPE_CHECKING

from rmqlab.broker.pull_request_hold_service import PullRequest
from rmqlab.message.topics import MessageQueue
from rmqlab.protocol.assignment import QueryAssignmentRequestBody
from rmqlab.protocol.bodies import LockBatchRequestBody, LockBatchResponseBody
from rmqlab.protocol.codes import PULLS, WRITES, RequestCode, ResponseCode
from rmqlab.protocol.command import RemotingCommand
from rmqlab.protocol.consumer_headers import FLAG_COMMIT_OFFSET, FLAG_SUSPEND
from rmqlab.protocol.header import FrameError
from rmqlab.protocol.heartbeat import ConsumerData, HeartbeatData
from rmqlab_tools.recordings.frames import RecordedLine

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

# A part of the broker's state: ("group", g), ("offset", g, topic, queue), ("lock", g), ("topic", t), ("log",).
Domain = tuple[str, ...]
LOG_DOMAIN: Domain = ("log",)
NO_QUEUE = "", 0

# Requests that change nothing, so that they can be asked as often as we like.
READS = frozenset({
    *PULLS, RequestCode.QUERY_MESSAGE, RequestCode.QUERY_CONSUMER_OFFSET,
    RequestCode.SEARCH_OFFSET_BY_TIMESTAMP, RequestCode.GET_MAX_OFFSET, RequestCode.GET_MIN_OFFSET,
    RequestCode.GET_EARLIEST_MSG_STORETIME, RequestCode.VIEW_MESSAGE_BY_ID, RequestCode.GET_CONSUMER_LIST_BY_GROUP,
    RequestCode.CHECK_CLIENT_CONFIG, RequestCode.GET_TOPIC_STATS_INFO, RequestCode.GET_CONSUMER_CONNECTION_LIST,
    RequestCode.GET_PRODUCER_CONNECTION_LIST, RequestCode.GET_CONSUME_STATS, RequestCode.QUERY_TOPIC_CONSUME_BY_WHO,
    RequestCode.QUERY_CONSUME_QUEUE, RequestCode.GET_ALL_TOPIC_CONFIG, RequestCode.GET_ALL_SUBSCRIPTIONGROUP_CONFIG,
    RequestCode.GET_ALL_CONSUMER_OFFSET, RequestCode.GET_ALL_DELAY_OFFSET, RequestCode.GET_BROKER_CONFIG,
    RequestCode.GET_BROKER_RUNTIME_INFO, RequestCode.VIEW_BROKER_STATS_DATA, RequestCode.QUERY_ASSIGNMENT,
})  # fmt: skip
# Requests that write into the commit log; where those of POP do, no answer tells.
LOGGED = WRITES | {RequestCode.ACK_MESSAGE, RequestCode.CHANGE_MESSAGE_INVISIBLETIME}
# Requests that the broker passes on to a client before it answers.
CALLS = frozenset({RequestCode.GET_CONSUMER_RUNNING_INFO})
# Answers to a pull that looked at messages.
_LOOKED_ON = {ResponseCode.SUCCESS, ResponseCode.PULL_RETRY_IMMEDIATELY}
# How the real broker turns away what it has no time for (4.8.0 `BrokerFastFailure`, `NettyRemotingAbstract`).
_SHED = re.compile(
    r"\[(?:TIMEOUT|PCBUSY)_CLEAN_QUEUE\]broker busy, start flow control for a while, "
    r"period in queue: (\d+)ms, size of queue: \d+"
    r"|\[(?:OVERLOAD|REJECTREQUEST)\]system busy, start flow control for a while"
)
_LONGEST_NUMBER = 19  # digits of Java's greatest long
CLOSE_LINE = 0
"""Stands for the request code where a connection closes."""


class ExchangeState(Enum):
    """Where a request is in a replay."""

    WAITING = auto()
    """Seen by the recorder; our broker has not handled it, or has not agreed yet."""
    HELD = auto()
    """A pull that our broker holds."""
    WOKEN = auto()
    """A held pull that our broker has executed again, without agreement yet."""
    DONE = auto()


@dataclass(slots=True, eq=False)
class Exchange:
    """A request, or a connection that closes (code `CLOSE_LINE`), and what becomes of it. Times: ms of the recording.

    Recorded: `line`, `command`, the answer `expected` and when it was seen, the commit log offset `put_at` that the
    answer to a send says; `domains` are what it reads or changes, `queue` topic and queue of a pull; `asked` and
    `locked` are the queues that an orderly consumer wants for itself, and those that it got.
    Replayed: `state`, our answer `got`, when it was given (`done_at`), the held pull and whether it was woken.
    """

    line: RecordedLine
    command: RemotingCommand
    domains: frozenset[Domain]
    queue: tuple[str, int] = NO_QUEUE
    expected: RemotingCommand | None = None
    answered_at: float = inf
    put_at: int | None = None
    asked: frozenset[MessageQueue] = frozenset()
    locked: frozenset[MessageQueue] = frozenset()
    state: ExchangeState = ExchangeState.WAITING
    got: RemotingCommand | None = None
    done_at: float = 0.0
    given_at: float | None = None
    at_once: tuple[RemotingCommand, float] | None = None
    pull: PullRequest | None = None
    was_woken: bool = False
    agrees: bool = True

    @property
    def code(self) -> int:
        """The request code, `CLOSE_LINE` for a closing connection."""
        return self.command.code

    @property
    def opaque(self) -> int:
        """The number that pairs request and answer on a connection."""
        return self.command.opaque

    @property
    def was_shed(self) -> bool:
        """Whether the real broker, too busy, turned the request away without handling it, and had the time it says."""
        expected = self.expected
        if expected is None or expected.code != ResponseCode.SYSTEM_BUSY:
            return False
        match = _SHED.fullmatch(expected.remark or "")
        return match is not None and int(match[1] or 0) <= self.answered_at - self.line.t + 1

    @property
    def number(self) -> int:
        """The line's number, which is the order of the recording."""
        return self.line.number

    @property
    def reads(self) -> bool:
        """Whether it changes nothing."""
        return self.code in READS

    @property
    def is_done(self) -> bool:
        """Whether our broker has handled it and our answer is final."""
        return self.state is ExchangeState.DONE

    def shares(self, other: Exchange) -> frozenset[Domain]:
        """What of the broker's state both read or change; the log apart, where messages have their places."""
        return self.domains & other.domains - {LOG_DOMAIN}

    def locks_before(self, other: Exchange) -> bool:
        """Whether it got the lock of a queue that the other was refused: of two under way at once it was first."""
        return other.expected is not None and not self.locked.isdisjoint(other.asked - other.locked)

    @property
    def subjects(self) -> frozenset[str]:
        """The groups and topics it has to do with."""
        return frozenset(domain[1] for domain in self.domains - {LOG_DOMAIN}) or frozenset({self.queue[0]})

    @property
    def highest(self) -> int | None:
        """The next offset of its queue in the recorded answer, None when it has none."""
        if self.expected is None:
            return None
        names = ["offset" if self.code == RequestCode.GET_MAX_OFFSET else "maxOffset"]
        if self.expected.code in _LOOKED_ON:  # up to there messages were visible, whatever was read before
            names.append("nextBeginOffset")
        fields = self.expected.ext_fields or {}
        return max((offset for name in names if (offset := number_of(fields.get(name))) is not None), default=None)

    @property
    def fields(self) -> Mapping[str, str | None]:
        """The request's header fields as text."""
        return self.command.ext_fields or {}

    @property
    def committed(self) -> Domain | None:
        """The offset that a pull commits, None when it commits none."""
        is_pull, flag = self.code in PULLS, number_of(self.fields.get("sysFlag")) or 0
        return _offset_of(self.fields) if is_pull and flag & FLAG_COMMIT_OFFSET else None

    @property
    def suspend_ms(self) -> int | None:
        """How long a pull lets itself be held, None for what cannot be held."""
        if self.code not in PULLS or not (number_of(self.fields.get("sysFlag")) or 0) & FLAG_SUSPEND:
            return None
        return number_of(self.fields.get("suspendTimeoutMillis")) or 0


@dataclass(slots=True)
class Exchanges:
    """All requests of a recording in their order, and the same by the line numbers of request and answer."""

    by_request: dict[int, Exchange] = field(default_factory=dict)
    by_answer: dict[int, Exchange] = field(default_factory=dict)


def number_of(text: str | None) -> int | None:
    """The number in a header field, None when it has none."""
    return int(text) if text is not None and text.isdecimal() and len(text) <= _LONGEST_NUMBER else None


def tally(exchanges: Iterable[Exchange]) -> dict[int, tuple[int, int]]:
    """For every request code, in order, how many requests there were and how many of them agree."""
    codes: dict[int, tuple[int, int]] = {}
    for exchange in exchanges:
        requests, identical = codes.get(exchange.code, (0, 0))
        codes[exchange.code] = requests + 1, identical + exchange.agrees
    return dict(sorted(codes.items()))


def pair(lines: Iterable[RecordedLine]) -> Exchanges:
    """Pair the requests of clients with the answers."""
    exchanges = Exchanges()
    under_way: dict[tuple[int, int], Exchange] = {}
    for line in lines:
        command = line.command
        if command is None:
            continue
        key = line.conn, command.opaque
        if line.to_broker and not command.is_response:
            under_way[key] = exchanges.by_request[line.number] = _exchange(line, command)
        elif command.is_response and not line.to_broker and key in under_way:
            exchange = exchanges.by_answer[line.number] = under_way.pop(key)
            exchange.expected, exchange.answered_at = command, line.t
            if exchange.code in WRITES:
                exchange.put_at = _put_at(command)
            elif exchange.asked and command.body:
                with suppress(FrameError):  # a damaged answer tells of no lock
                    exchange.locked = frozenset(LockBatchResponseBody.decode(command.body).lock_ok_mq_set)
    return exchanges


def _exchange(line: RecordedLine, command: RemotingCommand) -> Exchange:
    fields = command.ext_fields or {}
    exchange = Exchange(line, command, frozenset(_domains(command, fields)))
    queue_id = number_of(fields.get("queueId"))
    if queue_id is not None:
        exchange.queue = fields.get("topic") or "", queue_id
    if command.code == RequestCode.LOCK_BATCH_MQ:
        exchange.asked = frozenset(_lock_request(command).mq_set)
    return exchange


def _domains(command: RemotingCommand, fields: Mapping[str, str | None]) -> list[Domain]:
    code = command.code
    group = str(fields.get("consumerGroup"))
    offset = _offset_of(fields)
    if code == RequestCode.HEART_BEAT:
        return [("group", consumer.group_name) for consumer in consumers_of(command)]
    if code in LOGGED:
        return [LOG_DOMAIN]
    if code == RequestCode.POP_MESSAGE:
        return [("pop", group)]
    if code == RequestCode.QUERY_ASSIGNMENT:
        return [("group", _asked_group(command))]
    if code in PULLS:
        return [("group", group), LOG_DOMAIN]
    if code == RequestCode.QUERY_CONSUMER_OFFSET:
        return [offset, LOG_DOMAIN]
    if code == RequestCode.UPDATE_CONSUMER_OFFSET:
        return [offset]
    if code in {RequestCode.LOCK_BATCH_MQ, RequestCode.UNLOCK_BATCH_MQ}:
        return [("lock", _lock_request(command).consumer_group)]
    if code == RequestCode.UPDATE_AND_CREATE_TOPIC:
        return [("topic", str(fields.get("topic")))]
    if code == RequestCode.INVOKE_BROKER_TO_RESET_OFFSET:
        return [("group", str(fields.get("group")))]
    domains: list[Domain] = [LOG_DOMAIN] if code in READS else []
    if fields.get("consumerGroup") is not None:
        domains.append(("group", group))
    return domains


def _offset_of(fields: Mapping[str, str | None]) -> Domain:
    return "offset", str(fields.get("consumerGroup")), str(fields.get("topic")), str(fields.get("queueId"))


def consumers_of(command: RemotingCommand) -> list[ConsumerData]:
    """What a heartbeat says of each consumer group; nothing for any other request, or one that is damaged."""
    try:
        return (
            HeartbeatData.decode(command.body or b"").consumer_data_set
            if command.code == RequestCode.HEART_BEAT
            else []
        )
    except FrameError:
        return []


def _asked_group(command: RemotingCommand) -> str:
    try:
        return QueryAssignmentRequestBody.decode(command.body or b"").consumer_group
    except FrameError:
        return ""


def _lock_request(command: RemotingCommand) -> LockBatchRequestBody:
    try:
        return LockBatchRequestBody.decode(command.body or b"")
    except FrameError:
        return LockBatchRequestBody(consumer_group="")


def _put_at(answer: RemotingCommand) -> int | None:
    """The commit log offset in an answer's offsetMsgId (of the first message in a batch), None without one."""
    message_id = ((answer.ext_fields or {}).get("msgId") or "").split(",")[0]
    try:
        return int(message_id[-16:], 16)
    except ValueError:
        return None
