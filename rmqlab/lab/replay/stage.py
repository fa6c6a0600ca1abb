"""What all parts of a replay share: the broker, the moment, the connections, what was found and what was let pass."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rmqlab.lab.replay.broker import ReplayedBroker
from rmqlab.lab.replay.compare import compare
from rmqlab.lab.replay.exchange import LOG, Domain, Exchange, Exchanges, State
from rmqlab.lab.replay.stats import Phases
from rmqlab.lab.replay.undetermined import Undetermined, Uses
from rmqlab.protocol.codes import RequestCode

if TYPE_CHECKING:
    from collections import deque
    from collections.abc import Mapping

    from rmqlab.lab.replay.broker import RecordedChannel
    from rmqlab.lab.replay.clock import RecordedClock
    from rmqlab.lab.replay.frames import Recording
    from rmqlab.protocol.command import RemotingCommand

SETTLE_MS = 10.0
"""How late something that nobody answers may take effect: one-way requests, closes, timers, dispatch."""
ANSWER_MS = 400.0
"""How late the recorder may see what our broker has sent; the slowest wake-up known to us took 164 ms."""
LAST_MS = 5.0
"""How long before a connection's end the recorder may miss what the broker has sent."""
NOTHING = "(nothing)"

# Who comes first against the order seen: line number to the line numbers that must be handled before.
After = dict[int, frozenset[int]]


@dataclass(frozen=True, slots=True)
class Difference:
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


@dataclass(frozen=True, slots=True)
class Choice:
    """Two requests under way at the same moment on the same part of the broker; `later` was seen later.

    They were handled in the order seen. `likely`: in the other order, other subscriptions would be in force.
    """

    domain: Domain
    earlier: Exchange
    later: Exchange
    likely: bool = False


class Stage:
    """One run over a recording. `t` is the moment reached (ms of the recording)."""

    def __init__(
        self, recording: Recording, exchanges: Exchanges, clock: RecordedClock, after: Mapping[int, frozenset[int]]
    ) -> None:
        self.recording = recording
        self.exchanges = exchanges
        self.clock = clock
        self.after = after
        self.broker = ReplayedBroker(recording.properties, clock)
        self.phases = Phases(self.broker, clock.boot or clock.epoch_ms(0.0))
        self.t = 0.0
        # Requests that wait for a client's answer; our number of each request of the broker's own that was recorded.
        self.asking: dict[tuple[int, int], Exchange] = {}
        self.own: dict[tuple[int, int], int] = {}
        self.channels: dict[int, RecordedChannel] = {}
        self.uses = Uses()
        self.differing: list[tuple[Difference, Exchange | None]] = []
        self.reorderings: list[Reordering] = []
        self.choices: list[Choice] = []
        # Changes seen and not made yet, in the order seen; the line numbers of those made.
        self.pending: list[Exchange] = []
        self.made: set[int] = set()
        # For each queue, when its messages were stored that are not visible yet.
        self.invisible: dict[tuple[str, int], deque[float]] = {}

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
            exchange.given_at = self.t if exchange.run is None else exchange.done_at
        return exchange.code != RequestCode.PULL_MESSAGE or exchange.answered_at - exchange.given_at <= ANSWER_MS

    def must_wait(self, exchange: Exchange) -> bool:
        """Tell whether something was told to come before a request and has not been handled."""
        return bool(self.after.get(exchange.number, frozenset()) - self.made)

    def settle(self, exchange: Exchange, got: RemotingCommand | None) -> None:
        """Take our answer as final and note where it differs."""
        exchange.got, exchange.state, exchange.done_at = got, State.DONE, self.t
        self.phases.delivered(exchange, self.now)
        if exchange.expected is not None and got is not None:
            stored = self.invisible.get(exchange.queue)
            if stored and LOG in exchange.domains and stored[0] < exchange.line.t:
                self.uses[Undetermined.DISPATCH_LAG] += 1
            for name, expected, ours in compare(exchange.code, exchange.expected, got, self.uses):
                self.differs(exchange, name, expected, ours)

    def differs(self, exchange: Exchange, field: str, expected: object, got: object) -> None:
        """Note a difference of an exchange."""
        exchange.agrees = False
        difference = Difference(exchange.line.conn, exchange.opaque, exchange.code, field, expected, got)
        self.differing.append((difference, exchange))

    def reordered(self, seen_first: Exchange, handled_first: Exchange) -> None:
        """Note that an answer demanded the other order of two requests."""
        self.uses[Undetermined.OVERTAKEN] += 1
        self.reorderings.append(Reordering(seen_first, handled_first))

    def cut_off(self, conn: int, t: float) -> bool:
        """Tell whether what was sent to a connection at `t` may have escaped the recorder."""
        end = self.clock.ends.get(conn, self.clock.end)
        if t + LAST_MS < end:
            return False
        if conn in self.clock.frozen:
            self.uses[Undetermined.FROZEN] += 1
        elif t < end:
            self.uses[Undetermined.CUT_OFF] += 1
        return True
