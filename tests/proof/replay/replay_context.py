"""What all parts of a replay share: the broker, the moment, the connections, what was found and what was let pass."""

from __future__ import annotations

from collections import Counter, deque
from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING

from rmqlab.protocol.codes import PULLS
from rmqlab_tools.recordings.exchange import LOG_DOMAIN, Exchange, Exchanges, ExchangeState, consumers_of
from tests.proof.replay.assumptions import Lost, OrderChoice, PopWay, Stall, TornHeartbeat
from tests.proof.replay.broker import ReplayedBroker
from tests.proof.replay.compare import compare
from tests.proof.replay.tolerated_differences import Tolerated, Uses

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rmqlab.protocol.command import RemotingCommand
    from rmqlab.protocol.subscription_data import SubscriptionData
    from rmqlab.rules import Rules
    from rmqlab_tools.recordings.frames import Recording
    from tests.proof.replay.assumptions import Assumption
    from tests.proof.replay.broker import RecordedChannel
    from tests.proof.replay.planned_log import PlannedLog
    from tests.proof.replay.recorded_clock import RecordedClock

SETTLE_MS = 10.0
"""How late something that nobody answers takes effect: one-way requests, closes, timers, dispatch."""
UNDER_WAY_MS = 200.0
"""How long a request may be on its way through the broker, if a later answer asks for it."""
STALL_MS = 1_000.0
"""How long the reput thread may stand still, if later answers ask for it; the longest known to us was 289 ms."""
ANSWER_MS = 400.0
"""How late the recorder may see what our broker has sent; the slowest wake-up known to us took 164 ms."""
LAST_MS = 20.0
"""How long before a connection's end the recorder may miss what the broker has sent."""
NOTHING = "(nothing)"


@dataclass(frozen=True, slots=True)
class AnswerDifference:
    """One place where our broker does not do what was recorded. `code` is the request code."""

    conn: int
    opaque: int
    code: int
    field: str
    expected: object
    got: object


@dataclass(frozen=True, slots=True)
class Reordering:
    """Two requests that were handled against the order in which they were seen, and how far apart (ms) that was."""

    seen_first: Exchange
    handled_first: Exchange

    @property
    def gap_ms(self) -> float:
        """How long after the one the other was seen."""
        return self.handled_first.line.t - self.seen_first.line.t


@dataclass(eq=False, slots=True)
class StoredMessage:
    """A message in the log: topic and queue, its offset there, its commit log offset, when it was stored and visible.

    Times are ms of the recording.
    """

    queue: tuple[str, int]
    offset: int
    at: int
    t: float
    visible: float = inf


@dataclass(frozen=True, slots=True)
class FoundDifference:
    """A difference, the request it is one of (None: the broker sent something by itself), and when it showed (ms).

    `subjects` are the groups and topics it has to do with.
    """

    difference: AnswerDifference
    subjects: frozenset[str]
    t: float
    exchange: Exchange | None = None


class ReplayContext:
    """What one pass over a recording shares. `t` is the moment reached (ms of the recording)."""

    def __init__(
        self,
        recording: Recording,
        exchanges: Exchanges,
        clock: RecordedClock,
        assumed: Iterable[Assumption],
        rules: Rules,
        plan: PlannedLog | None = None,
    ) -> None:
        self.plan = plan
        self.recording = recording
        self.exchanges = exchanges
        self.clock = clock
        self.assumed = list(assumed)
        # Line numbers that come first against the order seen, by that of the request which waits for them.
        self._after: dict[int, set[int]] = {}
        for one in self.assumed:
            if isinstance(one, OrderChoice):
                self._after.setdefault(one.first.number, set()).add(one.second.number)
        self.stalls = {one.at for one in self.assumed if isinstance(one, Stall)}
        self.ways = {one.request.number: one.way for one in self.assumed if isinstance(one, PopWay)}
        self.lost = {one.request.number for one in self.assumed if isinstance(one, Lost)}
        # Of torn heartbeats: the number of each one's rival; what was held before a rival, by its number and group.
        self._rivals = {one.second.number: one.first.number for one in self.assumed if isinstance(one, TornHeartbeat)}
        self._held: dict[tuple[int, str], dict[str | None, SubscriptionData]] = {}
        # Requests that wait for an answer when their connection ends, by connection.
        self.orphans: dict[int, list[Exchange]] = {}
        for exchange in exchanges.by_request.values():
            if exchange.expected is None and not exchange.command.is_oneway and not exchange.reads:
                self.orphans.setdefault(exchange.line.conn, []).append(exchange)
        self.broker = ReplayedBroker(recording.properties, clock, rules)
        self.t = 0.0
        # What the broker sent by itself and nobody has found in the recording yet: when (ms), connection, command.
        self.sent: list[tuple[float, int, RemotingCommand]] = []
        # Requests that wait for a client's answer; our number of each request of the broker's own that was recorded.
        self.asking: dict[tuple[int, int], Exchange] = {}
        self.own: dict[tuple[int, int], int] = {}
        self.channels: dict[int, RecordedChannel] = {}
        self.uses = Uses()
        self.differing: list[FoundDifference] = []
        self.reorderings: list[Reordering] = []
        self.choices: list[OrderChoice] = []
        # Changes seen and not made yet, in the order seen; those made a moment ago; of these, those without an answer.
        self.pending: list[Exchange] = []
        self.made: deque[Exchange] = deque()
        self.unanswered: deque[Exchange] = deque()
        # The line numbers of all requests that have been handled.
        self.handled: set[int] = set()
        # Every message of the log by queue and offset; the next offset of each queue that will be visible.
        self.messages: dict[tuple[tuple[str, int], int], StoredMessage] = {}
        self.visible: Counter[tuple[str, int]] = Counter()

    @property
    def now(self) -> int:
        """The moment reached, epoch ms."""
        return self.clock.epoch_ms(self.t)

    def channel(self, exchange: Exchange) -> RecordedChannel:
        """Return the connection of a request."""
        return self.channels[exchange.line.conn]

    def agrees(self, exchange: Exchange, got: RemotingCommand | None) -> bool:
        """Tell whether an answer is the recorded one and, for a pull, was not given long before the recorder saw it.

        A woken pull is answered since it was woken, any other request since our answer has been the recorded one.
        """
        if exchange.expected is None or got is None or compare(exchange.code, exchange.expected, got):
            exchange.given_at = None
            return False
        if exchange.given_at is None:
            exchange.given_at = exchange.done_at if exchange.was_woken else self.t
        return exchange.code not in PULLS or exchange.answered_at - exchange.given_at <= ANSWER_MS

    def seen(self, exchange: Exchange) -> None:
        """A request is seen: what nobody answers and was made a moment ago may have come after it."""
        while self.unanswered and self.unanswered[0].line.t < exchange.line.t - UNDER_WAY_MS:
            self.unanswered.popleft()
        for change in self.unanswered:
            self.choose(change, exchange)

    def woken(self, pull: Exchange) -> None:
        """A held pull is executed: what was made a moment ago may have come after it."""
        while self.made and self.made[0].done_at < self.t - UNDER_WAY_MS:
            self.made.popleft()
        for change in self.made:
            if change.number > pull.number:
                self.choose(change, pull)

    def held_before(self, change: Exchange) -> list[Exchange]:
        """The held pulls that are assumed to be woken before a change is made."""
        pulls = [self.exchanges.by_request.get(number) for number in self._after.get(change.number, ())]
        return [pull for pull in pulls if pull is not None and pull.state is ExchangeState.HELD]

    def choose(self, first: Exchange, second: Exchange) -> None:
        """Note that `first` is handled before `second`, if they have to do with each other."""
        shared = first.shares(second)
        if shared:
            self.choices.append(OrderChoice(min(shared), first, second))

    def comes_first(self, one: Exchange, other: Exchange) -> bool:
        """Tell whether `one` is assumed to be handled before `other`, or their answers say so."""
        return one.number in self._after.get(other.number, ()) or one.locks_before(other)

    def must_wait(self, exchange: Exchange) -> bool:
        """Tell whether something is assumed to come before a request and has not been handled."""
        return bool(self._after.get(exchange.number, set()) - self.handled)

    def tear(self, heartbeat: Exchange) -> None:
        """Let a heartbeat that is assumed to be torn find what was held before its rival was made."""
        rival = self._rivals.get(heartbeat.number)
        if rival is None and heartbeat.number not in self._rivals.values():
            return
        for consumer in consumers_of(heartbeat.command):
            info = self.broker.consumer_manager.consumer_table.get(consumer.group_name)
            if info is None:
                continue
            told = {one.topic for one in consumer.subscription_data_set}
            before = {} if rival is None else self._held.get((rival, consumer.group_name), {})
            self._held[heartbeat.number, consumer.group_name] = info.subscription_table
            info.subscription_table = info.subscription_table | {
                topic: one for topic, one in before.items() if topic in told
            }
        self.uses[Tolerated.TORN_HEARTBEAT] += rival is not None

    def settle(self, exchange: Exchange, got: RemotingCommand | None) -> None:
        """Take our answer as final and note where it differs."""
        exchange.got, exchange.state, exchange.done_at = got, ExchangeState.DONE, self.t
        self.handled.add(exchange.number)
        self.broker.stats.deliver(exchange, self.now)
        if exchange.code in PULLS and got is not None:
            self.broker.moves_offset(exchange.command, got, self.now)
        if exchange.expected is not None and got is not None:
            missed = self.messages.get((exchange.queue, self.visible[exchange.queue]))
            if missed is not None and LOG_DOMAIN in exchange.domains and missed.t < exchange.line.t:
                self.uses[Tolerated.DISPATCH_LAG] += 1
            for name, expected, ours in compare(exchange.code, exchange.expected, got, self.uses):
                self.differs(exchange, name, expected, ours)

    def differs(self, exchange: Exchange, field: str, expected: object, got: object) -> None:
        """Note a difference of an exchange."""
        exchange.agrees = False
        difference = AnswerDifference(exchange.line.conn, exchange.opaque, exchange.code, field, expected, got)
        t = exchange.done_at if exchange.expected is None else exchange.answered_at
        self.differing.append(FoundDifference(difference, exchange.subjects, t, exchange))

    def reordered(self, seen_first: Exchange, handled_first: Exchange) -> None:
        """Note that an answer demanded the other order of two requests."""
        self.uses[Tolerated.OVERTAKEN] += 1
        self.reorderings.append(Reordering(seen_first, handled_first))

    def cut_off(self, conn: int, t: float) -> bool:
        """Tell whether what was sent to a connection at `t` may have escaped the recorder."""
        end = self.clock.ends.get(conn, self.clock.end)
        if t + LAST_MS < end:
            return False
        if conn in self.clock.frozen:
            self.uses[Tolerated.FROZEN] += 1
        elif t < end:
            self.uses[Tolerated.CUT_OFF] += 1
        return True
