"""The commit log in a replay: messages are stored in the recorded order, and become visible in that order."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from rmqlab_tools.recordings.exchange import LOG_DOMAIN
from tests.proof.replay.filled_gaps import FilledGaps
from tests.proof.replay.replay_context import SETTLE_MS, STALL_MS, StoredMessage
from tests.proof.replay.tolerated_differences import Tolerated

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from rmqlab_tools.recordings.exchange import Exchange
    from tests.proof.replay.read_requests import ReadRequests
    from tests.proof.replay.replay_context import ReplayContext

# How late a message that is stored becomes visible where pops tell of each, if nothing shows it before.
LAG_MS = 4.0
# The epoch is known to about a millisecond, and so are the ms of a send that no pull tells, and its delay's end.
_EPOCH_MS = 1


class RecordedLog:
    """Stores what is pending, runs the timers that deliver delayed messages, makes messages visible.

    The place of a message in the log is known from the answer to its send, or from the pulls that returned it. What
    fills a gap between known places is a message sent back or a delayed one that was delivered. `make` makes a change.
    """

    def __init__(self, context: ReplayContext, reads: ReadRequests, make: Callable[[Exchange], None]) -> None:
        self._context = context
        self._reads = reads
        self.make = make
        context.broker.schedule_message_service.catch_up = self._catch_up
        self.woken: Callable[[], object] = lambda: None
        self._plan = None if context.plan is None else FilledGaps(context, context.plan, self)
        # Messages stored and not visible yet.
        self._stored: deque[StoredMessage] = deque()
        # The places of all messages that a client sent and got an answer for.
        self._places = {exchange.put_at for exchange in context.exchanges.by_request.values()} - {None}

    def _run_quiet_timer(self) -> None:
        broker = self._context.broker
        due = broker.timers.next_due()
        if due is not None:
            broker.now = due
            broker.timers.run_next()
            self.collect()

    @property
    def _puts(self) -> list[Exchange]:
        return [change for change in self._context.pending if LOG_DOMAIN in change.domains]

    @property
    def gaps(self) -> FilledGaps | None:
        """What fills the log between known places, where the recording has pops."""
        return self._plan

    @property
    def _end(self) -> int:
        return max(self._context.broker.store.max_phy_offset, 0)

    def overdue(self) -> Iterator[tuple[float, Callable[[], object]]]:
        """What happens at the latest when (ms): the next message becomes visible, the next timer runs."""
        if self._stored:
            message = self._stored[0]
            lag = SETTLE_MS if self._plan is None else LAG_MS
            yield message.t + (STALL_MS if message.at in self._context.stalls else lag), self.dispatch
        due = self._context.broker.timers.next_due()
        if self._plan is not None:
            yield from self._plan.overdue()
            if due is not None:
                yield due + SETTLE_MS - self._context.clock.epoch, self._run_quiet_timer
        elif due is not None and self._end not in self._places:
            told = self._context.clock.store_times.get(self._end, 0)
            latest = told + 1 if told >= due - _EPOCH_MS else due + SETTLE_MS
            yield latest - self._context.clock.epoch, self._run_timer

    def collect(self) -> int:
        """Note what the broker has stored and sent; return how many messages it has stored."""
        context, broker = self._context, self._context.broker
        stored = len(broker.store.stored)
        for queue, offset, at in broker.store.stored:
            message = context.messages[queue, offset] = StoredMessage(queue, offset, at, context.t)
            self._stored.append(message)
        broker.store.stored.clear()
        for conn, command in broker.outgoing:
            asked = context.asking.pop((conn, command.opaque), None) if command.is_response else None
            if asked is None:
                context.sent.append((context.t, conn, command))
            else:
                context.settle(asked, command)
        broker.outgoing.clear()
        return stored

    def store(self, change: Exchange) -> None:
        """Store a message, after all that come before it in the log."""
        while self._plan is not None and change in self._context.pending:
            if not self._plan.put() and change in self._context.pending:
                if change.put_at is not None:
                    self._plan.fill(change.put_at)
                self.make(change)
        while not change.is_done and self._plan is None:
            puts = self._puts
            chosen = self._next(puts)
            if chosen is None:
                self._run_timer()
                continue
            for other in puts:
                if other is chosen:
                    break
                if other.put_at is not None:
                    self._context.reordered(other, chosen)
            self.make(chosen)

    def _next(self, puts: list[Exchange]) -> Exchange | None:
        """Return whose message is next in the log; None when it is one that a timer stores."""
        end = self._end
        known = sorted((put.put_at, put.number, put) for put in puts if put.put_at is not None)
        unknown = [put for put in puts if put.put_at is None]
        if known and (known[0][0] <= end or self._is_blank(end, known[0][0])):
            return known[0][2]
        # Here is a gap. A delayed message that was pulled later is known by its place.
        if end in self._context.clock.store_times and self._timer_may_run():
            return None
        if unknown:
            return unknown[0]
        return None if self._timer_may_run() else known[0][2]

    def _is_blank(self, end: int, put_at: int) -> bool:
        """Tell whether a gap is the blank at the end of a commit log file."""
        size = self._context.broker.store.config.mapped_file_size_commit_log
        return put_at % size == 0 and put_at - end < min(size // 4, 1 << 16)

    def _timer_may_run(self) -> bool:
        due = self._context.broker.timers.next_due()
        return due is not None and due <= self._context.now

    def _store_next(self) -> bool:
        """Store the next message that may have been stored by now; False when there is none."""
        if self._plan is not None:
            return self._plan.put(is_due=True)
        if puts := self._puts:
            self.store(min(puts, key=lambda put: (put.put_at is None, put.put_at or 0, put.number)))
            return True
        if not self._timer_may_run() or self._end in self._places:
            return False
        self._run_timer()
        return True

    def _run_timer(self) -> None:
        """Run the timer that is due first, after the messages that come before what it may store."""
        context, broker = self._context, self._context.broker
        while here := [put for put in context.pending if put.put_at == self._end]:
            self.make(here[0])
        due = broker.timers.next_due()
        if due is None:
            return
        broker.store.window = None, due - _EPOCH_MS, context.now + 1
        broker.now = due
        broker.timers.run_next()
        stored = self.collect()
        if stored:
            context.uses[Tolerated.TIMER_LAG] += stored

    def _catch_up(self, place: int) -> None:
        """While a level is looked at: store what is pending and lies before a place in the log."""
        broker, store = self._context.broker, self._context.broker.store
        before = store.window, broker.now
        while self._end < place and (here := [put for put in self._puts if (put.put_at or 0) < place]):
            self.make(here[0])
        store.window, broker.now = before

    def dispatch(self) -> bool:
        """Make the next stored message visible; False when there is none."""
        queue = self._context.broker.dispatch_one(self._context.now)
        if queue is None:
            self._stored.clear()
            return False
        if self._stored:
            message = self._stored.popleft()
            message.visible = self._context.t
        self._context.visible[queue] += 1
        self._reads.dispatched(queue)
        self.woken()
        return True

    def step(self) -> bool:
        """Let the next message become visible, one that is still to be stored if need be; False when there is none."""
        return self.dispatch() or self._store_next()
