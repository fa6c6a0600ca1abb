"""What a recording tells about times and addresses that no frame states.

- The epoch of `t` = 0: a message's store time (found in the bodies of pulls) lies between the moments at which its
  send and the answer were seen, so every such message narrows the epoch down; all together leave a fraction of a
  millisecond. Without any, the stamps of clients (born times, subscription versions) bound it from below.
- The port of each connection as the broker saw it (the recorder stood between): the born address of its messages, the
  address in an answer about the members of a group, or that in a refusal of a pull.
- When the hold service looked: `recorded_looks` finds that.
- When the housekeeping scanned (every 10 s): a connection that the broker closed 120 to 130 s after its last heartbeat
  was closed by a scan, if it told no other member of that. Where there is none, no scan found anything.
- When the broker began (it was before the recording did): the first answer of GET_BROKER_RUNTIME_INFO tells it.
- Until when a connection was recorded: to its end, or until the recorder froze it.
"""

from __future__ import annotations

import re
from bisect import bisect
from collections import defaultdict
from dataclasses import dataclass, field
from math import inf
from typing import TYPE_CHECKING

from rmqlab.broker.broker_config import BrokerConfig
from rmqlab.language import _
from rmqlab.message.properties import PROPERTY_UNIQ_CLIENT_MESSAGE_ID_KEYIDX
from rmqlab.message.record import decode_records
from rmqlab.protocol.bodies import KVTable, ProducerConnection
from rmqlab.protocol.codes import PULLS, RequestCode, ResponseCode
from rmqlab.protocol.header import FrameError
from rmqlab.rules import DEFAULT_RULES
from rmqlab_tools.recordings.exchange import number_of
from rmqlab_tools.recordings.frames import LineKind
from tests.proof.replay.recorded_looks import find_looks

if TYPE_CHECKING:
    from collections.abc import Collection

    from rmqlab.message.message import MessageExt
    from rmqlab_tools.recordings.exchange import Exchange
    from rmqlab_tools.recordings.frames import RecordedLine, Recording

PlaceKey = tuple[str, str, int]  # topic, unique key, how often it was consumed before
_MEMBERS = {RequestCode.GET_CONSUMER_CONNECTION_LIST, RequestCode.GET_PRODUCER_CONNECTION_LIST}
_REFUSED = re.compile(r"consumer:\[/[\d.]+:(\d{1,5})\]")
# How long before its estimate, and after, answers to what a look woke are seen.
LOOK_EARLY_MS, LOOK_LASTS_MS = 10.0, 40.0
# How long after it began a look may come to a queue: for a time-out that is seen so shortly after the earliest moment
# for it, and at most.
LOOK_LAG_MS, MAX_LOOK_LAG_MS = 30, 100
# From a scan to the moment at which the recorder sees the end of a connection it closed.
_CLOSING_MS = 1.0
# From a connection's end to the notifications of that, at most.
_TOLD_MS = 200.0


@dataclass(slots=True)
class RecordedClock:
    """`epoch` is the epoch ms of `t` = 0; store times by commit log offset, ports by connection, looks as `t`.

    `places` has the commit log offset of each message that a pull brought, by `place_key`.

    `boot` is when the broker began (epoch ms), None if nothing tells.

    `look_every` is the pause (ms) between two looks; `short_poll` how long (ms) a broker without long polling holds a
    pull, None for one that holds it as long as it asks. `ends` has the last recorded moment of every connection that
    does not last to the recording's `end`; the recorder kept nothing more of those `frozen`, and closed those `cut`.
    """

    end: float = 0.0
    look_every: float = DEFAULT_RULES.hold_check_period_ms
    short_poll: int | None = None
    epoch: float = 0.0
    epoch_from: str = _("nothing")
    boot: int | None = None
    store_times: dict[int, int] = field(default_factory=dict)
    places: dict[PlaceKey, int] = field(default_factory=dict)
    ports: dict[int, int] = field(default_factory=dict)
    looks: list[float] = field(default_factory=list)
    ends: dict[int, float] = field(default_factory=dict)
    frozen: set[int] = field(default_factory=set)
    cut: set[int] = field(default_factory=set)
    scans: list[float] = field(default_factory=list)
    scanned: set[int] = field(default_factory=set)

    @property
    def look_period(self) -> float | None:
        """How long (ms) from one look of the hold service to the next, None when fewer than two are known."""
        looks = self.looks
        return round((looks[-1] - looks[0]) / (len(looks) - 1), 1) if len(looks) > 1 else None

    def hold_ms(self, exchange: Exchange) -> int | None:
        """How long a pull may be held, None for what is not held at all."""
        return exchange.suspend_ms if self.short_poll is None or exchange.suspend_ms is None else self.short_poll

    def has_timed_out(self, exchange: Exchange) -> bool:
        """Whether a pull was answered without a message after it had been held for its time."""
        hold = self.hold_ms(exchange)
        return (
            hold is not None
            and exchange.expected is not None
            and exchange.expected.code == ResponseCode.PULL_NOT_FOUND
            and hold <= exchange.answered_at - exchange.line.t < inf
        )

    def earliest_look(self, exchange: Exchange) -> float:
        """The first moment (ms) at which a look may have ended a pull whose time was over."""
        due = exchange.line.t + (self.hold_ms(exchange) or 0)
        return due - LOOK_LAG_MS if exchange.answered_at - due < LOOK_LAG_MS else due

    def look_before(self, t: float) -> float | None:
        """When the last look began that an answer seen at `t` may come from."""
        index = bisect(self.looks, t + LOOK_EARLY_MS)
        return self.looks[index - 1] if index else None

    def is_at_look(self, t: float) -> bool:
        """Whether an answer seen at `t` may come from a look."""
        look = self.look_before(t)
        return look is not None and t - look <= LOOK_LASTS_MS

    @staticmethod
    def told(exchange: Exchange) -> int | None:
        """The broker's clock (epoch ms) while it changed an invisibility, as its answer says; None for all others."""
        if exchange.code != RequestCode.CHANGE_MESSAGE_INVISIBLETIME or exchange.expected is None:
            return None
        return number_of((exchange.expected.ext_fields or {}).get("popTime")) or None

    def epoch_ms(self, t: float) -> int:
        """Return the epoch ms of a moment of the recording."""
        return int(self.epoch + t)


def place_key(message: MessageExt) -> PlaceKey:
    """What tells a message that was delivered after a delay, or again, from all others."""
    return message.topic, message.properties.get(PROPERTY_UNIQ_CLIENT_MESSAGE_ID_KEYIDX, ""), message.reconsume_times


def read_clock(recording: Recording, exchanges: Collection[Exchange]) -> RecordedClock:
    """Find out all of it."""
    clock = RecordedClock(recording.lines[-1].t if recording.lines else 0.0)
    config = BrokerConfig.from_properties(recording.properties)
    if not config.long_polling_enable:
        clock.short_poll = config.short_polling_time_mills
        clock.look_every = max(clock.short_poll, 1)
    for line in recording.lines:
        if line.kind is LineKind.CLOSE:
            clock.ends.setdefault(line.conn, line.t)
        elif line.kind is LineKind.CONTROL and line.control in {"freeze", "cut"}:
            (clock.frozen if line.control == "freeze" else clock.cut).update(line.conns)
            for conn in line.conns:
                clock.ends.setdefault(conn, line.t)
    ports: dict[int, int] = {}
    for exchange in exchanges:
        if exchange.code in {*PULLS, RequestCode.POP_MESSAGE} and exchange.expected is not None:
            for message in decode_records(exchange.expected.body or b"", read_body=False):
                clock.store_times.setdefault(message.commit_log_offset, message.store_timestamp)
                ports.setdefault(message.commit_log_offset, message.born_host.port)
                clock.places.setdefault(place_key(message), message.commit_log_offset)
    for exchange in exchanges:
        if exchange.code == RequestCode.GET_BROKER_RUNTIME_INFO and exchange.expected is not None:
            clock.boot = clock.boot or _boot(exchange.expected.body or b"")
        if exchange.put_at in ports:
            clock.ports.setdefault(exchange.line.conn, ports[exchange.put_at])
        elif exchange.code in _MEMBERS:
            _ports_of_members(recording, clock, exchange)
        elif exchange.expected is not None and (named := _REFUSED.search(exchange.expected.remark or "")):
            clock.ports.setdefault(exchange.line.conn, int(named[1]))
    _find_epoch(clock, exchanges)
    clock.looks = find_looks(clock, exchanges)
    _find_scans(recording, clock, exchanges)
    return clock


def _boot(body: bytes) -> int | None:
    try:
        return number_of(KVTable.decode(body).table.get("bootTimestamp"))
    except FrameError:
        return None


def _find_scans(recording: Recording, clock: RecordedClock, exchanges: Collection[Exchange]) -> None:
    expired_ms, period = DEFAULT_RULES.channel_expired_ms, DEFAULT_RULES.scan_period_ms
    beats = {exchange.line.conn: exchange for exchange in exchanges if exchange.code == RequestCode.HEART_BEAT}
    closed: dict[int, RecordedLine] = {}
    told: dict[str | None, list[float]] = defaultdict(list)
    for line in recording.lines:
        if line.kind is LineKind.CLOSE:
            closed.setdefault(line.conn, line)
        elif line.command is not None and line.command.code == RequestCode.NOTIFY_CONSUMER_IDS_CHANGED:
            told[(line.command.ext_fields or {}).get("consumerGroup")].append(line.t)
    for conn, beat in beats.items():
        end = closed.get(conn)
        if end is None or end.to_broker or not expired_ms < end.t - beat.line.t <= expired_ms + period:
            continue
        # Netty closes a connection that was idle for 120 s as well, and then the group's other members are told.
        groups = {group for kind, group, *_ in beat.domains if kind == "group"}
        if not any(abs(t - end.t) <= _TOLD_MS for group in groups for t in told[group]):
            clock.scanned.add(conn)
    seen = [closed[conn].t - _CLOSING_MS for conn in clock.scanned]
    if seen:
        # A scan that came late does not put off the next one.
        due = (seen[0] + min((one - seen[0] + period / 2) % period - period / 2 for one in seen)) % period
        while due <= clock.end:
            clock.scans.append(min((one for one in seen if due <= one < due + period / 2), default=due))
            due += period


def _ports_of_members(recording: Recording, clock: RecordedClock, exchange: Exchange) -> None:
    """Read the addresses in the answer to 203 or 204; a client id is that of its latest connection."""
    if exchange.expected is None or exchange.expected.body is None:
        return
    try:
        members = ProducerConnection.decode(exchange.expected.body).connection_set
    except FrameError:
        return
    conns = {line.client: line.conn for line in recording.lines if line.client and line.t < exchange.answered_at}
    for member in members:
        port = number_of((member.client_addr or "").rpartition(":")[2])
        if port is not None and member.client_id in conns:
            clock.ports.setdefault(conns[member.client_id], port)


def _find_epoch(clock: RecordedClock, exchanges: Collection[Exchange]) -> None:
    bounds = [
        (store_time - exchange.answered_at, store_time + 1 - exchange.line.t)
        for exchange in exchanges
        if exchange.put_at is not None and (store_time := clock.store_times.get(exchange.put_at)) is not None
    ]
    if bounds:
        lows, highs = sorted(low for low, _ in bounds), sorted(high for _, high in bounds)
        # All messages together bound one interval. Should one contradict the others, the median is on their side.
        shared = lows[-1] < highs[0]
        low, high = (lows[-1], highs[0]) if shared else (lows[len(lows) // 2], highs[len(highs) // 2])
        clock.epoch = (low + high) / 2
        error = f"{max(high - low, 0):.1f}"
        clock.epoch_from = _("store times of {messages} messages, to {error} ms", messages=len(bounds), error=error)
        return
    stamps = [stamp - exchange.line.t for exchange in exchanges if (stamp := _stamp(exchange))]
    if stamps:
        clock.epoch = max(stamps)
        clock.epoch_from = _("stamps of clients in {requests} requests", requests=len(stamps))


def _stamp(exchange: Exchange) -> int:
    """The epoch ms that a client wrote into a request: a subscription's version or a message's born time, else 0."""
    fields = exchange.fields
    return number_of(fields.get("subVersion") or fields.get("bornTimestamp") or fields.get("g")) or 0
