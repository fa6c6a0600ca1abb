"""Requests that change something, in a replay: put off until something recorded shows that they have been handled."""

from __future__ import annotations

from collections import deque
from copy import copy
from functools import partial
from math import inf
from typing import TYPE_CHECKING

from rmqlab.protocol.codes import RequestCode, ResponseCode
from rmqlab.protocol.command import RemotingCommand
from rmqlab_tools.recordings.exchange import CALLS, CLOSE_LINE, LOG_DOMAIN, Exchange, ExchangeState, consumers_of
from tests.proof.replay.pop_requests import PopRequests
from tests.proof.replay.recorded_clock import LOOK_EARLY_MS, LOOK_LASTS_MS
from tests.proof.replay.recorded_log import RecordedLog
from tests.proof.replay.replay_context import SETTLE_MS, STALL_MS, UNDER_WAY_MS
from tests.proof.replay.tolerated_differences import Tolerated

if TYPE_CHECKING:
    from collections.abc import Callable

    from rmqlab_tools.recordings.exchange import Domain
    from rmqlab_tools.recordings.frames import RecordedLine
    from tests.proof.replay.read_requests import ReadRequests
    from tests.proof.replay.replay_context import ReplayContext

LOOK_AFTER_MS = 40.0
"""How far after its estimate a look of the hold service may be."""


class ChangeRequests:
    """Changes seen and not made yet, looks of the hold service and scans of the housekeeping to come.

    Changes to the same part of the broker are made in the order seen, or as the context assumes; messages are stored
    as `RecordedLog` says.
    """

    def __init__(self, context: ReplayContext, reads: ReadRequests) -> None:
        self._context = context
        self._reads = reads
        self.log = RecordedLog(context, reads, self._make)
        self.pops = PopRequests(context, self.log) if context.broker.pop is not None else None
        if self.pops is not None:
            self.log.woken = self.pops.woken
            if self.log.gaps is not None:
                self.log.gaps.takes = self.pops.takes
        self._looks = deque(context.clock.looks)
        self._looked_at = -inf
        self._scans = deque(context.clock.scans)
        reads.before_commit = self._before_commit

    def see(self, change: Exchange) -> None:
        """A change is seen."""
        self._context.seen(change)
        self._context.pending.append(change)

    def see_close(self, line: RecordedLine) -> None:
        """A connection closes: that concerns the groups its client is in, or is about to join."""
        channel = self._context.channels.get(line.conn)
        if channel is None:
            return
        table = self._context.broker.consumer_manager.consumer_table
        domains: set[Domain] = {("group", group) for group, info in table.items() if channel in info.channel_info_table}
        for change in self._context.pending:
            if change.line.conn == line.conn:
                domains |= change.domains - {LOG_DOMAIN}
        closing = Exchange(line, RemotingCommand.request(CLOSE_LINE), frozenset(domains))
        self.see(closing)
        for change in self._context.orphans.get(line.conn, ()):
            if line.t - change.line.t <= STALL_MS:
                self._context.choose(change, closing)

    def advance(self, t: float) -> None:
        """Come to the moment `t`: what has been put off for too long happens first, in the order of time."""
        context = self._context
        while True:
            due: list[tuple[float, Callable[[], object]]] = list(self.log.overdue())
            if self.pops is not None:
                due += self.pops.due()
            if context.pending:
                change = min(context.pending, key=self._latest)
                due.append((self._latest(change), partial(self.handle, change)))
            if self._looks:
                due.append((self._looks[0] + LOOK_AFTER_MS, self.look))
            if self._scans:
                due.append((self._scans[0], self._scan))
            at, act = min(due, key=lambda item: item[0], default=(inf, None))
            if at >= t or act is None:
                break
            context.t = max(context.t, at)
            act()
        context.t = max(context.t, t)
        if self.pops is not None:
            self.pops.progress()
        self._reads.forget()

    def _latest(self, change: Exchange) -> float:
        """When a change was made at the latest, as far as anything but its answer tells (ms)."""
        if change.expected is None:
            if not self._context.must_wait(change):
                return change.line.t + SETTLE_MS
            return change.line.t + (
                STALL_MS if change in self._context.orphans.get(change.line.conn, ()) else UNDER_WAY_MS
            )
        told = None if change.put_at is None else self._context.clock.store_times.get(change.put_at)
        stored = inf if told is None else told + 1 - self._context.clock.epoch
        return stored if change.line.t <= stored <= change.answered_at else inf

    def force(self, read: Exchange) -> None:
        """The recorded answer to a read is here: let happen what may have happened, step by step, until we agree."""
        if read.expected is None or read.is_done:
            return
        highest = self._highest(read)
        if highest is not None:
            self._reach(read, highest)
        elif not self._reads.is_fresh(read):
            # Woken by a message, and refused for another reason: the answer does not tell which message.
            while read.state is ExchangeState.HELD and self.log.step():
                pass
        if not self._reads.is_fresh(read):
            self._look_for(read)
        while not read.is_done:
            change = next((change for change in self._context.pending if change.shares(read)), None)
            if change is None:
                break
            self.handle(change)
        self._reads.take_at_once(read)
        if read.state is ExchangeState.WAITING:
            self._reads.ask(read)
        self._look_for(read)

    def _look_for(self, read: Exchange) -> None:
        """Let the hold service look, or come to this pull's queue in a look that began a moment ago."""
        context = self._context
        if read.state is ExchangeState.HELD and self._looks and self._looks[0] - LOOK_EARLY_MS <= context.t:
            self.look(context.t)
        if read.state is ExchangeState.HELD and context.t - self._looked_at <= LOOK_LASTS_MS:
            context.uses[Tolerated.LOOK_PHASE] += 1
            context.broker.now = context.now
            highest = context.broker.store.get_max_offset_in_queue(*read.queue)
            context.broker.pull_request_hold_service.notify_message_arriving(*read.queue, highest, now=context.now)
            self._reads.looked_after(self._looked_at)

    def _highest(self, read: Exchange) -> int | None:
        """The next offset of a read's queue that its recorded answer tells, None when it tells none.

        A group that never committed is told where to begin; a version that says nothing of an empty queue shows by that
        word that a message is visible.
        """
        if read.code != RequestCode.QUERY_CONSUMER_OFFSET or read.expected is None:
            return read.highest
        is_told = read.expected.code == ResponseCode.SUCCESS
        return 1 if is_told and self._context.broker.rules.offset_without_commit(0, 0, False) is None else None

    def _reach(self, read: Exchange, offset: int) -> None:
        """Make messages visible until a queue's next offset is the one in the answer."""
        store = self._context.broker.store
        while not read.is_done and store.get_max_offset_in_queue(*read.queue) < offset:
            if not self.log.step():
                return

    def handle(self, change: Exchange) -> None:
        """Make a change, after those seen earlier that touch the same."""
        if change.is_done:
            return
        if LOG_DOMAIN in change.domains:
            self.log.store(change)
            return
        for one in [*self._before(change), change]:
            self._make(one)

    def _before(self, change: Exchange) -> list[Exchange]:
        """Pending changes that come before this one: seen earlier on the same domains, or assumed to be first."""
        context = self._context
        before = []
        for other in context.pending:
            if other is change or not other.shares(change):
                continue
            first = context.comes_first(other, change)
            if first or (other.number < change.number and not context.comes_first(change, other)):
                before.append((not first, other.number, other))
        return [other for _, _, other in sorted(before)]

    def _before_commit(self, pull: Exchange) -> None:
        """Make the commits that were seen before a pull which commits the same offset."""
        offset = pull.committed
        for change in [one for one in self._context.pending if one.number < pull.number and offset in one.domains]:
            self.handle(change)

    def _make(self, change: Exchange) -> None:
        context, broker = self._context, self._context.broker
        for pull in context.held_before(change):
            while pull.state is ExchangeState.HELD and self.log.dispatch():
                pass
        context.pending.remove(change)
        for other in context.pending:
            if other.number > change.number:
                context.choose(change, other)
            elif other.shares(change):
                context.reordered(other, change)
        context.made.append(change)
        if change.expected is None:
            context.unanswered.append(change)
        got: RemotingCommand | None = None
        if ahead := self._reads.behind_topic(change):
            for consumer in consumers_of(change.command):
                broker.client_manage_processor.make_retry_topic(consumer)
            context.uses[Tolerated.HALF_HEARTBEAT] += sum(self._reads.ask(read) for read in ahead)
        between = self._reads.half_way(change)
        broker.listener.postpone = bool(between)
        context.tear(change)
        if change.code == CLOSE_LINE:
            broker.on_channel_close(context.channel(change), context.now)
        else:
            earliest = context.clock.epoch_ms(change.line.t)
            latest = context.clock.epoch_ms(min(change.answered_at, context.t + SETTLE_MS))
            broker.store.window = change.put_at, earliest - 1, latest + 1
            # A message whose store time is not known may have been stored at once; what follows from it is not earlier.
            if self.log.gaps is not None:
                self.log.gaps.expect(change)
            now = earliest if LOG_DOMAIN in change.domains else context.now
            got = broker.handle(context.channel(change), change.command, context.clock.told(change) or now)
        if got is None and change.code in CALLS:
            context.asking[change.line.conn, change.opaque] = change
        context.settle(change, got)
        self.log.collect()
        self._reads.changed(change)
        if between:
            context.uses[Tolerated.HALF_HEARTBEAT] += sum(read.is_done for read in between)
            broker.listener.release()
            self._reads.changed(change)

    def client_answers(self, line: RecordedLine, answer: RemotingCommand) -> None:
        """A client answers a request of the broker's own: whoever asked gets what comes of it."""
        context = self._context
        opaque = context.own.pop((line.conn, answer.opaque), None)
        channel = context.channels.get(line.conn)
        if opaque is not None and channel is not None:
            ours = copy(answer)
            ours.opaque = opaque
            context.broker.handle(channel, ours, context.now)
            self.log.collect()

    def look(self, t: float | None = None) -> None:
        """Let the hold service look after the held pulls, at its estimated time or at `t`, where an answer shows it."""
        context = self._context
        estimate = self._looks.popleft()
        self._looked_at = estimate if t is None else min(t, estimate)
        now = context.clock.epoch_ms(self._looked_at)
        context.uses[Tolerated.LOOK_PHASE] += 1
        context.broker.now = now
        context.broker.pull_request_hold_service.check_hold_request(now)
        self._reads.looked_after(self._looked_at)

    def _scan(self) -> None:
        """Let the housekeeping close and forget silent connections."""
        context = self._context
        context.broker.now = now = context.clock.epoch_ms(self._scans.popleft())
        context.broker.client_housekeeping_service.scan_exception_channel(now)
