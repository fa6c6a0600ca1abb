"""The commit log of a replay with pops: what lies between known places is stored in an order that our broker can keep.

`PlannedLog` says what fills each gap. In which order is free, and things of the same size may change places: what is
stored next is what can be stored, and what was due first of that.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import deque
from functools import partial
from operator import attrgetter
from typing import TYPE_CHECKING

from rmqlab.broker.pop.pop_services import pop_of
from rmqlab.message.message import Host, MessageExtBrokerInner
from rmqlab.message.record import encode_record
from rmqlab.message.topics import is_retry_topic
from rmqlab.protocol.codes import RequestCode
from tests.proof.replay.tolerated_differences import Tolerated

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from rmqlab.broker.pop.pop_check_point import PopCheckPoint
    from rmqlab_tools.recordings.exchange import Exchange
    from tests.proof.replay.planned_log import LogItem, MessageKey, PlannedLog
    from tests.proof.replay.recorded_log import RecordedLog
    from tests.proof.replay.replay_context import ReplayContext


def _filler(body: int) -> tuple[MessageExtBrokerInner, bytes]:
    host = Host("127.0.0.1", 10911)
    message = MessageExtBrokerInner("replay_filler", b"x" * body, born_host=host, store_host=host)
    return message, encode_record(message)


class FilledGaps:
    """Stores what the plan has at the end of the log. `takes(exchange)` lets a pop take what it has found."""

    def __init__(self, context: ReplayContext, plan: PlannedLog, log: RecordedLog) -> None:
        self._context = context
        self._plan = plan
        self._log = log
        self._starts = [gap.start for gap in plan.gaps]
        self._left = [list(gap.items) for gap in plan.gaps]
        self._gap_of = {id(item): index for index, gap in enumerate(plan.gaps) for item in gap.items}
        # The places of what the timer holds, by the check point or ack.
        self._places: dict[int, int] = {}
        # What the request that is being made is about to store.
        self._parts: deque[LogItem] = deque()
        # What was overdue.
        self._late: set[int] = set()
        self.takes: Callable[[Exchange], bool] = lambda _: False
        context.broker.store.before_put = self._before_put

    @property
    def _end(self) -> int:
        return max(self._context.broker.store.max_phy_offset, 0)

    def _current(self) -> int | None:
        """The gap that the end of the log is in, None at a known place."""
        end = self._end
        if end in self._plan.known:
            return None
        index = bisect_right(self._starts, end) - 1
        return index if index >= 0 and end < self._plan.gaps[index].end else None

    def item_of(self, exchange: Exchange, part: int) -> LogItem | None:
        """The `part`-th of what a request stores."""
        items = self._plan.of_request.get(exchange.number, [])
        return items[part] if part < len(items) else None

    def may_store(self, item: LogItem | None) -> bool:
        """Whether something may be stored now."""
        return item is None or self._gap_of.get(id(item)) == self._current()

    def stored(self, item: LogItem | None, place: int) -> None:
        """Note that something was stored at a place."""
        if item is None:
            return
        self._context.uses[Tolerated.LOG_PLACE] += 1
        self._places[id(item)] = place
        index = self._gap_of.get(id(item))
        if index is not None and item in self._left[index]:
            self._left[index].remove(item)

    def overdue(self) -> Iterator[tuple[float, Callable[[], object]]]:
        """What the timer gives back, or is revived, at the latest when (ms)."""
        known = self._plan.known.get(self._end)
        if known is not None and known.kind == "revived" and id(known) not in self._late:
            yield known.latest, partial(self._put_late, known)
        index = self._current()
        if index is not None:
            own = [
                item for item in self._left[index] if item.kind in {"timer", "revived"} and id(item) not in self._late
            ]
            if own:
                item = min(own, key=attrgetter("latest"))
                yield item.latest, partial(self._put_late, item)

    def _put_late(self, item: LogItem) -> None:
        """Store what is overdue, after what must come before it; what cannot be stored is not asked for again."""
        self._late.add(id(item))
        self.put()

    def put(self, *, is_due: bool = False) -> bool:
        """Store what comes next, with `is_due` only if it may have been stored by now; False when nothing can be."""
        context, end = self._context, self._end
        known = self._plan.known.get(end)
        if known is not None:
            return (not is_due or known.earliest <= context.t) and self._put(known)
        index = self._current()
        if index is None:
            return False
        left = [item for item in self._left[index] if not is_due or item.earliest <= context.t]
        return any(self._put(item) for item in left) or any(self._swap(index, item) for item in left)

    def fill(self, place: int) -> None:
        """Put something without meaning where our broker misses what the real one stored, up to a known place."""
        room = place - self._end
        least = len(_filler(0)[1])
        if room >= least:
            self._context.broker.store.put_filler(_filler(room - least)[0])
            self._log.collect()

    def _swap(self, index: int, item: LogItem) -> bool:
        """Store something of the same size in place of what cannot be stored."""
        for later in range(index + 1, min(index + 12, len(self._left))):
            for other in self._left[later]:
                if other.size == item.size and other.kind == item.kind == "check point":
                    self._exchange(index, item, later, other)
                    if self._put(other):
                        return True
                    self._exchange(index, other, later, item)
        return False

    def _exchange(self, index: int, item: LogItem, later: int, other: LogItem) -> None:
        self._left[index][self._left[index].index(item)] = other
        self._left[later][self._left[later].index(other)] = item
        self._gap_of[id(item)], self._gap_of[id(other)] = later, index

    def _put(self, item: LogItem) -> bool:
        """Store one thing if it can be stored now."""
        context, broker, end = self._context, self._context.broker, self._end
        exchange = context.exchanges.by_request[item.exchange.number]
        if item.kind == "timer":
            place = self._places.get(id(item.source), -1)
            deliver = broker.in_timer.pop(place, None)
            if deliver is not None:
                self._at(item, deliver)
        elif item.kind == "revived":
            self._revive(item)
        elif exchange.code == RequestCode.POP_MESSAGE:
            self.takes(exchange)
        elif exchange in context.pending:
            self._log.make(exchange)
        if self._end == end:
            return False
        if item.kind in {"timer", "revived"}:
            self.stored(item, end)
        return True

    def _at(self, item: LogItem, act: Callable[[int], object]) -> None:
        """Let the broker store something by itself, at the moment at which that was, or the latest now."""
        broker, context = self._context.broker, self._context
        now = int(context.clock.epoch + item.earliest) + 1
        before, broker.now = broker.now, now
        broker.store.window = None, now - 2, context.now + 1
        act(now)
        broker.now = max(before, context.now)
        self._log.collect()

    def _revive(self, item: LogItem) -> None:
        """Store a message again that our revive services have decided on; if need be they look at that moment."""
        for looks in (False, True):
            if looks:
                self._look(item)
            for entry in self._context.broker.to_revive:
                service, point, offset = entry
                if self._key(point, offset) == item.message:
                    self._context.broker.to_revive.remove(entry)
                    self._at(item, partial(service.store_again, point, offset))
                    return

    def _look(self, item: LogItem) -> None:
        now = int(self._context.clock.epoch + item.earliest) + 1
        while item.at is None and self._log.dispatch():  # what the timer gave back lies there to be read
            continue
        for service in pop_of(self._context.broker).revive:
            service.next_scan = now
            service.look(max(now, self._context.now) if item.at is None else now)

    def _key(self, point: PopCheckPoint, offset: int) -> MessageKey | None:
        broker = self._context.broker
        message = broker.store.look_message_in_queue(point.topic, point.queue_id, offset)
        if message is None:
            return None
        topic = point.topic
        if not is_retry_topic(topic):
            topic = broker.rules.retry_topic(point.cid, topic, False)
        return topic, message.unique_id, message.reconsume_times + (0 if point.suspend else 1)

    def expect(self, change: Exchange) -> None:
        """A request is about to be made: what it stores goes where the plan says."""
        self._parts = deque(self._plan.of_request.get(change.number, ()))

    def _before_put(self) -> None:
        """The request that is being made stores something: what lies before that comes first."""
        item = self._parts.popleft() if self._parts else None
        if item is None:
            return
        store, broker = self._context.broker.store, self._context.broker
        moved = True
        while moved and not self.may_store(item):
            before = store.window, broker.now, self._parts
            self._parts = deque()
            moved = self.put()
            store.window, broker.now, self._parts = before
        self.stored(item, self._end)
