"""Requests that change something, in a replay: put off until something recorded shows that they have been handled."""

from __future__ import annotations

from collections import deque
from functools import partial
from typing import TYPE_CHECKING

from rmqlab.lab.replay_exchange import LOG, Exchange, State, number_of
from rmqlab.lab.replay_stage import SETTLE_MS, Choice
from rmqlab.lab.undetermined import Undetermined
from rmqlab.protocol.codes import RequestCode, ResponseCode
from rmqlab.protocol.frame_error import FrameError
from rmqlab.protocol.heartbeat import HeartbeatData

if TYPE_CHECKING:
    from collections.abc import Callable

    from rmqlab.lab.replay_exchange import Domain
    from rmqlab.lab.replay_frames import Line
    from rmqlab.lab.replay_reads import Reads
    from rmqlab.lab.replay_stage import Stage
    from rmqlab.protocol.command import RemotingCommand
    from rmqlab.protocol.subscription_data import SubscriptionData

LOOK_BEFORE_MS, LOOK_AFTER_MS = 60.0, 40.0
"""How far before and after its estimate a look of the hold service may be."""
_HALF_WAY = {ResponseCode.FILTER_DATA_NOT_EXIST, ResponseCode.FILTER_DATA_NOT_LATEST}


class Changes:
    """Changes seen and not made yet, messages stored and not visible yet, looks of the hold service to come.

    Changes to the same part of the broker are made in the order seen (or as `Stage.after` says), messages are stored
    in the order of the commit log offsets that the recorded answers tell, and become visible in that order.
    """

    def __init__(self, stage: Stage, reads: Reads) -> None:
        self._stage = stage
        self._reads = reads
        # What the broker sent by itself and nobody has found in the recording yet: when (ms), connection, command.
        self.sent: list[tuple[float, int, RemotingCommand]] = []
        # Messages stored and not visible yet: topic and queue, when stored (ms).
        self._stored: deque[tuple[tuple[str, int], float]] = deque()
        self._looks = deque(stage.clock.looks)

    def see(self, change: Exchange) -> None:
        """A change is seen."""
        self._stage.pending.append(change)

    def see_close(self, line: Line) -> None:
        """A connection closes: that concerns the groups its client is in, or is about to join."""
        channel = self._stage.channels.get(line.conn)
        if channel is None:
            return
        table = self._stage.broker.consumer_manager.consumer_table
        domains: set[Domain] = {("group", group) for group, info in table.items() if channel in info.channel_info_table}
        for change in self._stage.pending:
            if change.line.conn == line.conn:
                domains |= change.domains - {LOG}
        self._stage.pending.append(Exchange(line, domains=frozenset(domains)))

    def advance(self, t: float) -> None:
        """Come to the moment `t`: what has been put off for too long happens first, in the order of time."""
        stage = self._stage
        limit = t - SETTLE_MS
        while True:
            due: list[tuple[float, Callable[[], object]]] = []
            if self._stored and self._stored[0][1] < limit:
                due.append((self._stored[0][1] + SETTLE_MS, self.dispatch))
            for change in self._stage.pending:
                if change.expected is None and change.line.t < limit:
                    due.append((change.line.t + SETTLE_MS, partial(self.handle, change)))
                    break
            timer = stage.broker.timers.next_due()
            if timer is not None and timer < stage.clock.epoch_ms(limit):
                due.append((timer - stage.clock.epoch + SETTLE_MS, self._run_timer))
            if self._looks and self._looks[0] + LOOK_AFTER_MS < t:
                due.append((self._looks[0] + LOOK_AFTER_MS, self.look))
            if not due:
                break
            at, act = min(due, key=lambda item: item[0])
            stage.t = max(stage.t, at)
            act()
        stage.t = max(stage.t, t)
        self._reads.forget()

    def force(self, read: Exchange) -> None:
        """The recorded answer to a read is here: let happen what may have happened, step by step, until we agree."""
        if read.expected is None or read.is_done:
            return
        fields = read.expected.ext_fields or {}
        offset = number_of(fields.get("offset" if read.code == RequestCode.GET_MAX_OFFSET else "maxOffset"))
        if offset is not None:
            self._reach(read, offset)
        elif not self._reads.is_fresh(read):
            # Woken by a message, and refused for another reason: the answer does not tell which message.
            while read.state is State.HELD and (self.dispatch() or self._store_next()):
                pass
        if not self._reads.is_fresh(read):
            self._look_for(read)
        domains = read.domains - {LOG}
        while not read.is_done:
            change = next((change for change in self._stage.pending if change.domains & domains), None)
            if change is None:
                break
            self._handle_by_halves(change, read)
        self._reads.take_at_once(read)
        if read.state is State.WAITING:
            self._reads.ask(read)
        self._look_for(read)

    def _look_for(self, read: Exchange) -> None:
        if read.state is State.HELD and self._looks and self._looks[0] - LOOK_BEFORE_MS <= self._stage.t:
            self.look(self._stage.t)

    def _handle_by_halves(self, change: Exchange, read: Exchange) -> None:
        """Handle a change that a read waits for; the read may look at a heartbeat that is half done."""
        listener = self._stage.broker.listener
        listener.postpone = read.expected is not None and read.expected.code in _HALF_WAY
        self.handle(change)
        if listener.postpone:
            if read.is_done:
                self._stage.uses[Undetermined.HALF_HEARTBEAT] += 1
            listener.release()
            self._reads.changed(change.domains, change)

    def _reach(self, read: Exchange, offset: int) -> None:
        """Make messages visible until a queue's next offset is the one in the answer."""
        store = self._stage.broker.store
        while not read.is_done and store.get_max_offset_in_queue(*read.queue) < offset:
            if not self.dispatch() and not self._store_next():
                return

    def handle(self, change: Exchange) -> None:
        """Make a change, after those seen earlier that touch the same."""
        if change.is_done:
            return
        if LOG in change.domains:
            self._store(change)
            return
        stage = self._stage
        for other in self._before(change):
            if other.number > change.number:
                stage.reordered(change, other)
            self._make(other)
        for other in self._stage.pending:
            if other.number > change.number and (shared := other.domains & change.domains):
                stage.choices.append(Choice(min(shared), change, other, likely=_is_tie(change, other)))
        self._make(change)

    def _before(self, change: Exchange) -> list[Exchange]:
        """Pending changes that come before this one: seen earlier on the same domains, or told to be first."""
        first = self._stage.after.get(change.number, frozenset())
        before = []
        for other in self._stage.pending:
            if other is change or not other.domains & change.domains or LOG in other.domains:
                continue
            follows = change.number in self._stage.after.get(other.number, frozenset())
            if other.number in first or (other.number < change.number and not follows):
                before.append(other)
        return sorted(before, key=lambda other: (other.number not in first, other.number))

    def _make(self, change: Exchange) -> None:
        stage, broker = self._stage, self._stage.broker
        self._stage.pending.remove(change)
        got: RemotingCommand | None = None
        if change.command is None:
            broker.on_channel_close(stage.channel(change), stage.now)
        else:
            earliest = stage.clock.epoch_ms(change.line.t)
            latest = stage.clock.epoch_ms(min(change.answered_at, stage.t + SETTLE_MS))
            broker.store.window = change.put_at, earliest - 1, latest + 1
            # A message whose store time is not known may have been stored at once; what follows from it is not earlier.
            got = broker.handle(stage.channel(change), change.command, earliest if LOG in change.domains else stage.now)
        stage.settle(change, got)
        stage.made.add(change.number)
        self._collect()
        self._reads.changed(change.domains - {LOG}, change)

    def _collect(self) -> int:
        """Note what the broker has stored and sent; return how many messages it has stored."""
        broker = self._stage.broker
        stored = len(broker.store.stored)
        for queue in broker.store.stored:
            self._stored.append((queue, self._stage.t))
            self._stage.invisible.setdefault(queue, deque()).append(self._stage.t)
        broker.store.stored.clear()
        self.sent.extend((self._stage.t, conn, command) for conn, command in broker.outgoing)
        broker.outgoing.clear()
        return stored

    def _store(self, change: Exchange) -> None:
        """Store a message, after all that come before it in the commit log."""
        while not change.is_done:
            puts = [other for other in self._stage.pending if LOG in other.domains]
            chosen = self._next_in_log(puts, change)
            if chosen is None:
                self._run_timer()
                continue
            for other in puts:
                if other is chosen:
                    break
                if other.put_at is not None:
                    self._stage.reordered(other, chosen)
            self._make(chosen)

    def _next_in_log(self, puts: list[Exchange], change: Exchange) -> Exchange | None:
        """Return whose message is next in the log; None when it is one that a timer stores."""
        broker = self._stage.broker
        end = max(broker.store.max_phy_offset, 0)
        known = sorted((put.put_at, put.number, put) for put in puts if put.put_at is not None)
        unknown = [put for put in puts if put.put_at is None]
        if known and (known[0][0] <= end or self._rolls(end, known[0][0])):
            return known[0][2]
        if change.put_at is None and change in unknown:
            return unknown[0]
        # There is a gap before the first message whose place is known: something else was stored there.
        if unknown:
            return unknown[0]
        due = broker.timers.next_due()
        if due is not None and due <= self._stage.now:
            return None
        return known[0][2]

    def _rolls(self, end: int, put_at: int) -> bool:
        """Tell whether a gap is the blank at the end of a commit log file."""
        size = self._stage.broker.store.config.mapped_file_size_commit_log
        return put_at % size == 0 and put_at - end < min(size // 4, 1 << 16)

    def _store_next(self) -> bool:
        """Store the next message that may have been stored by now; False when there is none."""
        puts = [change for change in self._stage.pending if LOG in change.domains]
        if puts:
            self._store(min(puts, key=lambda put: (put.put_at is None, put.put_at or 0, put.number)))
            return True
        due = self._stage.broker.timers.next_due()
        if due is None or due > self._stage.now:
            return False
        self._run_timer()
        return True

    def _run_timer(self) -> None:
        """Run the timer that is due first, after the messages that come before what it may store."""
        stage, broker = self._stage, self._stage.broker
        while here := [put for put in self._stage.pending if put.put_at == broker.store.max_phy_offset]:
            self._make(here[0])
        due = broker.timers.next_due()
        if due is None:
            return
        broker.store.window = None, due, stage.now + 1
        broker.now = due
        broker.timers.run_next(due)
        stage.uses[Undetermined.TIMER_LAG] += self._collect()

    def dispatch(self) -> bool:
        """Make the next stored message visible; False when there is none."""
        broker = self._stage.broker
        queue = broker.dispatch_one(self._stage.now)
        if queue is None:
            self._stored.clear()
            self._stage.invisible.clear()
            return False
        for waiting in (self._stored, self._stage.invisible.get(queue)):
            if waiting:
                waiting.popleft()
        self._reads.dispatched(queue)
        return True

    def look(self, t: float | None = None) -> None:
        """Let the hold service look after the held pulls, at its estimated time or at `t`, where an answer shows it."""
        stage = self._stage
        estimate = self._looks.popleft()
        now = stage.clock.epoch_ms(estimate if t is None else t)
        stage.uses[Undetermined.LOOK_PHASE] += 1
        stage.broker.now = now
        stage.broker.pull_request_hold_service.check_hold_request(now)
        self._reads.looked_after()


def _is_tie(one: Exchange, other: Exchange) -> bool:
    """Tell whether two heartbeats bring different subscriptions of the same version: the first to come stays."""
    mine = {subscription.topic: subscription for subscription in _subscriptions(one)}
    return any(
        (other_one := mine.get(subscription.topic)) is not None
        and other_one.sub_version == subscription.sub_version
        and other_one != subscription
        for subscription in _subscriptions(other)
    )


def _subscriptions(change: Exchange) -> list[SubscriptionData]:
    if change.command is None or change.code != RequestCode.HEART_BEAT:
        return []
    try:
        data = HeartbeatData.decode(change.command.body or b"")
    except FrameError:
        return []
    return [subscription for consumer in data.consumer_data_set for subscription in consumer.subscription_data_set]
