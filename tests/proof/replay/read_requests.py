"""Requests that change nothing, in a replay: asked again after every change until our answer is the recorded one."""

from __future__ import annotations

from functools import partial
from math import ceil
from typing import TYPE_CHECKING

from rmqlab.protocol.codes import PULLS, RequestCode, ResponseCode
from rmqlab_tools.recordings.exchange import LOG_DOMAIN, NO_QUEUE, ExchangeState
from tests.proof.replay.compare import compare
from tests.proof.replay.recorded_clock import LOOK_EARLY_MS, LOOK_LAG_MS, MAX_LOOK_LAG_MS
from tests.proof.replay.replay_context import ANSWER_MS, SETTLE_MS, UNDER_WAY_MS
from tests.proof.replay.sampled_stats import SAMPLED
from tests.proof.replay.tolerated_differences import Tolerated

if TYPE_CHECKING:
    from collections.abc import Callable

    from rmqlab.protocol.command import RemotingCommand
    from rmqlab_tools.recordings.exchange import Exchange
    from tests.proof.replay.replay_context import ReplayContext

_HALF_WAY = {ResponseCode.FILTER_DATA_NOT_EXIST, ResponseCode.FILTER_DATA_NOT_LATEST}
_NOT_REGISTERED = {ResponseCode.SUBSCRIPTION_NOT_EXIST, ResponseCode.SUBSCRIPTION_NOT_LATEST}
# How long after its frame a pull may have been held.
_LATE_MS = 10
# How long after its frame a pull may look at the queue and be held behind the back of a message.
_MISSED_MS = 20.0


class ReadRequests:
    """What has been asked and is not settled yet."""

    def __init__(self, context: ReplayContext) -> None:
        self._context = context
        # Waiting reads, woken pulls, and held pulls as long as they may turn out not to have been held.
        self._open: list[Exchange] = []
        self._forget_at = 0.0
        # Settled reads with the changes seen before them and handled after them.
        self._early: list[tuple[Exchange, set[Exchange]]] = []
        self._by_key: dict[tuple[int, int], Exchange] = {}
        # Makes what comes before the offset that a pull commits.
        self.before_commit: Callable[[Exchange], object] = lambda _: None

    def see(self, read: Exchange) -> None:
        """A request is seen."""
        self._by_key[read.line.conn, read.opaque] = read
        self._context.seen(read)
        earlier = {change for change in self._context.pending if change.shares(read)}
        if self._context.must_wait(read) or not self.ask(read) or read.state is ExchangeState.HELD:
            self._open.append(read)
        if earlier and read.state is not ExchangeState.WAITING:
            self._early.append((read, earlier))

    def half_way(self, change: Exchange) -> list[Exchange]:
        """What looked at a heartbeat that was half done, as the recorded answers say."""
        domains = change.domains - {LOG_DOMAIN}
        open_ = [read for read in self._open if read.domains & domains and not read.is_done]
        return [read for read in open_ if read.expected is not None and read.expected.code in _HALF_WAY]

    def behind_topic(self, change: Exchange) -> list[Exchange]:
        """What looked at a heartbeat that had made the retry topic anew, and no more, as the recorded answers say."""
        if change.code != RequestCode.HEART_BEAT:
            return []
        return [
            read
            for read in self._open
            if read.domains & change.domains - {LOG_DOMAIN} and read.state is ExchangeState.WAITING
            and read.got is not None and read.got.code == ResponseCode.TOPIC_NOT_EXIST
            and read.expected is not None and read.expected.code in _NOT_REGISTERED
        ]  # fmt: skip

    def forget(self) -> None:
        """Pulls that have been held for long enough are held for good."""
        if self._context.t < self._forget_at:
            return
        limit = self._context.t - UNDER_WAY_MS
        self._forget_at = self._context.t + UNDER_WAY_MS / 10
        self._open = [read for read in self._open if read.state is not ExchangeState.HELD or read.line.t >= limit]

    def changed(self, change: Exchange) -> None:
        """A change was made: ask again whoever looks at its domains."""
        context, domains = self._context, change.domains - {LOG_DOMAIN}
        for read in [read for read in self._open if read.domains & domains]:
            before = read.state
            if context.must_wait(read) or read.is_done:
                continue
            if before is ExchangeState.HELD:
                # The filter that is kept with a held pull is that of the moment it was held.
                context.choose(read, change)
            self.ask(read)
            if before is ExchangeState.WAITING and read.state is not before and change.number > read.number:
                context.reordered(read, change)
        for read, earlier in self._early:
            if change in earlier:
                earlier.discard(change)
                if not self._still(read):
                    context.reordered(change, read)
                    earlier.clear()
        self._early = [(read, earlier) for read, earlier in self._early if earlier]

    def dispatched(self, queue: tuple[str, int]) -> None:
        """A message became visible: pulls that it wakes are executed, and whoever looks at the queue is asked again."""
        self._collect_woken()
        for read in [read for read in self._open if LOG_DOMAIN in read.domains and read.queue in {queue, NO_QUEUE}]:
            if not read.is_done:
                self.ask(read)

    def looked_after(self, began: float) -> None:
        """The hold service has looked, in a look that `began` then (ms): pulls that it wakes are executed."""
        self._collect_woken(looked=began)

    def is_fresh(self, read: Exchange) -> bool:
        """Tell whether a request was seen so shortly ago that it may still be on its way."""
        return self._context.t - read.line.t <= UNDER_WAY_MS

    def give_up(self, read: Exchange) -> None:
        """The recorded answer is here: if the read is still open, ours is another one or none."""
        if read.is_done:
            return
        context = self._context
        if read.pull is not None and read.state is ExchangeState.HELD:
            context.broker.withdraw(*read.queue, read.pull)
            read.got = None
        context.settle(read, read.got)
        self._close(read)
        if read.got is not None and read.agrees:
            # The right answer at the wrong time: it was due long before it was recorded.
            context.differs(read, "time", f"{read.answered_at:.1f} ms", f"{read.given_at or 0.0:.1f} ms")

    def ask(self, read: Exchange) -> bool:
        """Ask our broker; settle the read if it agrees, hold a pull that would be held. False when it stays open."""
        context, broker = self._context, self._context.broker
        channel, command = context.channel(read), read.command
        got: RemotingCommand | None
        if read.code in SAMPLED:
            got = broker.stats.answer(read, partial(broker.handle, channel, command, context.now), context.now)
        elif read.code not in PULLS:
            got = broker.handle(channel, command, context.now)
        else:
            got = broker.look_at_pull(channel, command, context.now)
            would_hold = got is not None and got.code == ResponseCode.PULL_NOT_FOUND and read.suspend_ms is not None
            if would_hold and not read.was_woken:
                if read.state is ExchangeState.WAITING:
                    self._hold(read)
                return True
        if read.state is ExchangeState.HELD:
            # It may have been answered at once after a change that we made later. Its answer will tell.
            if read.at_once is None and got is not None and context.agrees(read, got):
                read.at_once = got, context.t
            read.given_at = None
            return True
        read.got = got
        if not read.was_woken and not read.done_at:
            read.done_at = context.t
        if not context.agrees(read, got):
            return False
        if read.code in PULLS and not read.was_woken:
            # This time for good: it may commit an offset.
            self.before_commit(read)
            got = broker.handle(channel, command, context.now)
        context.settle(read, got)
        self._close(read)
        return True

    def take_at_once(self, read: Exchange) -> None:
        """The answer to a pull that is still held is here: take it if it was answered at once."""
        context = self._context
        if read.state is ExchangeState.HELD and read.pull is not None and read.at_once is not None:
            got, stage_t = read.at_once
            if read.answered_at - stage_t <= ANSWER_MS:
                context.broker.withdraw(*read.queue, read.pull)
                context.settle(read, got)
                read.done_at = stage_t
                self._close(read)

    def _hold(self, read: Exchange) -> None:
        """Let our broker hold a pull, since when its frame was seen or as its recorded time-out says."""
        context, broker = self._context, self._context.broker
        hold_ms = context.clock.hold_ms(read)
        if hold_ms is None:
            return
        self.before_commit(read)
        broker.handle(context.channel(read), read.command, context.clock.epoch_ms(read.line.t))
        read.state, read.got = ExchangeState.HELD, None
        context.handled.add(read.number)
        pull = broker.pull_request_hold_service.held(*read.queue)[-1]
        shift = self._shift(read, hold_ms)
        if shift:
            context.uses[Tolerated.LATE_SUSPEND] += 1
            broker.withdraw(*read.queue, pull)
            pull = pull._replace(suspended_at=pull.suspended_at + shift)
            broker.pull_request_hold_service.suspend_pull_request(*read.queue, pull)
        read.pull = pull

    def _shift(self, read: Exchange, hold_ms: int) -> int:
        """How much later (ms) than its frame a pull was held, or less than 0 for a look that had begun earlier.

        Only what decides about a look counts: a pull answered at the first look that could end it may have been checked
        late in that look, which began before its time was over; one that outlived that look was held too late for it. A
        time-out's answer may be seen late, as every answer may: until the next look it is that of the look before. A
        pull that is answered soon after its time, and by no look, was ended by a message: any message does that, its
        filter may not pass it.
        """
        clock = self._context.clock
        over = min(read.answered_at, clock.ends.get(read.line.conn, clock.end)) - read.line.t - hold_ms
        if over < 0:
            return 0
        by_look = clock.has_timed_out(read) or clock.is_at_look(read.answered_at)
        if by_look and over <= clock.look_every - SETTLE_MS:
            usual = LOOK_LAG_MS if over < LOOK_LAG_MS else 0
            look = clock.look_before(read.answered_at)
            lag = 0.0 if look is None else read.line.t + hold_ms - look
            return -max(usual, ceil(lag) + 1 if 0 < lag <= MAX_LOOK_LAG_MS else 0)
        if not by_look and over < LOOK_LAG_MS:
            return 0
        due = read.line.t + hold_ms
        outlived = clock.look_before(min(due + MAX_LOOK_LAG_MS, read.answered_at) - LOOK_EARLY_MS)
        return max(_LATE_MS, 0 if outlived is None else ceil(outlived - due) + 1)

    def _collect_woken(self, *, looked: float | None = None) -> None:
        context, broker = self._context, self._context.broker
        for conn, got in broker.take_woken(context.now):
            read = self._by_key[conn, got.opaque]
            missed = self._missed(read) if looked is None else self._came_after(read, looked)
            if read.pull is not None and missed:
                context.uses[Tolerated.MISSED_WAKE_UP if looked is None else Tolerated.LOOK_PHASE] += 1
                broker.pull_request_hold_service.suspend_pull_request(*read.queue, read.pull)
                continue
            if looked is None:
                context.woken(read)
            read.state, read.was_woken, read.got = ExchangeState.WOKEN, True, got
            read.done_at, read.given_at = context.t, None
            if context.agrees(read, got):
                context.settle(read, got)
                self._close(read)
            elif read not in self._open:
                self._open.append(read)

    def _missed(self, read: Exchange) -> bool:
        """Tell whether a message came just when the pull was being held, and did not wake it."""
        t = self._context.t
        return t - read.line.t <= _MISSED_MS and read.answered_at - t > ANSWER_MS

    def _came_after(self, read: Exchange, looked: float) -> bool:
        """Tell whether a message became visible while a look lasted that, as a later answer says, had passed by."""
        context, pull = self._context, read.pull
        if pull is None or read.answered_at - context.t <= ANSWER_MS:
            return False
        message = context.messages.get((read.queue, pull.pull_from))
        return message is not None and looked <= message.visible <= context.t

    def _still(self, read: Exchange) -> bool:
        """Tell whether a read asked before a change would be answered alike after it."""
        context = self._context
        if read.code in PULLS:
            got = context.broker.look_at_pull(context.channel(read), read.command, context.now)
            if read.pull is not None:
                return got is not None and got.code == ResponseCode.PULL_NOT_FOUND
        else:
            got = context.broker.handle(context.channel(read), read.command, context.now)
        return got is not None and read.got is not None and not compare(read.code, read.got, got)

    def _close(self, read: Exchange) -> None:
        if read in self._open:
            self._open.remove(read)
