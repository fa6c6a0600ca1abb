"""POP in a replay: what chance and other threads decided is learnt from the recorded answers, what is given is not.

An answer to a pop tells when it was executed for good (`popTime`), which queue of the revive log it was given,
which queues gave messages in which order, and so about where it began. Here it is executed at that time, when our
line of waiters has woken it, queue by queue: between two of its looks other threads store and make visible what
they will. A queue that gave nothing is looked at as early as the order allows, or was at work for another pop
(then its rest counts).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING

from rmqlab.broker.pop.pop_message_processor import Looked, PopUnderWay
from rmqlab.broker.pop.pop_services import pop_of
from rmqlab.message.record import decode_record
from rmqlab.message.topics import is_retry_topic
from rmqlab.protocol.codes import RequestCode, ResponseCode
from rmqlab.protocol.pop_headers import ANY_QUEUE, PopMessageRequestHeader, PopResponseCode
from rmqlab.rules_of_pop import RETRY
from rmqlab_tools.recordings.exchange import Exchange, ExchangeState, number_of
from tests.proof.replay.planned_log import Popped, popped_from
from tests.proof.replay.replay_context import ANSWER_MS, UNDER_WAY_MS
from tests.proof.replay.tolerated_differences import Tolerated

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from rmqlab.broker.pop.pop_long_polling_service import PopRequest
    from rmqlab.protocol.command import RemotingCommand
    from tests.proof.replay.recorded_log import RecordedLog
    from tests.proof.replay.replay_context import ReplayContext

AT_ONCE_MS = 30.0
"""A pop that was executed for good so shortly after its frame was seen never waited."""
LATE_LOOK_MS = 10.0
"""For so long a pop that waits in the end may look at what is coming, where `LATE` says so."""
LATE = 8
"""The way of a pop that found nothing at first and waits: its first looks came some ms after its frame."""
_AFTER_A_LOOK = {ResponseCode.SUCCESS, PopResponseCode.POLLING_TIMEOUT}
Place = tuple[str, int]


@dataclass(slots=True, eq=False)
class PopRun:
    """One execution of a pop; `expected` is what the recorded answer says of it, {} for one that found nothing.

    Times are ms of the recording.
    """

    exchange: Exchange
    begins_at: float
    is_last: bool
    expected: dict[Place, Popped] = field(default_factory=dict)
    rest_num: int = 0
    pop: PopUnderWay | None = None
    places: list[Place] = field(default_factory=list)
    start_queue: int = 0
    locked: bool = False
    looked: Looked | None = None
    is_forced: bool = False
    is_late: bool = False
    hurries: bool = False

    def starts(self, queues: int, pop_order: Callable[[int, int, bool], list[int]]) -> list[int]:
        """The queues it may have begun with: those from which what gave something follows in its order.

        Those come first from which most others are looked at before.
        """
        gave = [queue_id for topic, queue_id in self.expected if not is_retry_topic(topic)]
        orders = {start: pop_order(start, queues, False) for start in range(queues)}
        places = {start: [order.index(queue_id) for queue_id in gave] for start, order in orders.items()}
        fitting = [start for start in orders if _is_rising(places[start])]
        return sorted(fitting, key=lambda start: -places[start][0] if gave else start)


class RecordedChoices:
    """The choices of pops as recorded answers tell them; `run` is the one under way."""

    run: PopRun | None = None
    is_v2 = False

    def start_queue(self, _topic: str, queues: int) -> int:
        """The first queue."""
        return 0 if self.run is None else self.run.start_queue % queues

    def retry_first(self, _topic: str, _group: str, _probability: int) -> bool:
        """Whether what the retry topic gave stands first."""
        return self.run is not None and is_retry_topic(next(iter(self.run.expected), ("", 0))[0])

    def retry_v1(self, _topic: str, _group: str) -> bool:
        """Whether the retry topic of version 1 gave something."""
        return self.run is not None and any("+" not in topic for topic, _ in self.run.expected if is_retry_topic(topic))

    def revive_queue(self, _queues: int) -> int:
        """The queue that the answer names."""
        answer = None if self.run is None or not self.run.is_last else self.run.exchange.expected
        return 0 if answer is None else number_of((answer.ext_fields or {}).get("reviveQid")) or 0

    def is_locked(self, _topic: str, _group: str, _queue_id: int) -> bool:
        """Whether the queue counts as at work."""
        return self.run is not None and self.run.locked


class PopRequests:
    """The pops of a recording: those to be executed, those that wait in the line of our broker, those under way."""

    def __init__(self, context: ReplayContext, log: RecordedLog) -> None:
        self._context = context
        self._log = log
        self._services = pop_of(context.broker)
        self._choices = RecordedChoices()
        self._services.choices = self._choices
        self._by_key: dict[tuple[int, int], Exchange] = {}
        self._runs: list[PopRun] = []
        self._woken: set[Exchange] = set()
        # The offsets of a group's queue that some answer gives: whoever passes them by has not looked.
        self._given: dict[tuple[str, Place], set[int]] = {}
        for exchange in context.exchanges.by_request.values():
            group = exchange.fields.get("consumerGroup") or ""
            for popped in popped_from(exchange, context.broker.rules):
                self._given.setdefault((group, (popped.topic, popped.queue_id)), set()).update(popped.offsets)

    def see(self, exchange: Exchange) -> None:
        """A pop is seen: executed for good if that was at once, else for the first time."""
        self._by_key[exchange.line.conn, exchange.opaque] = exchange
        expected = exchange.expected
        if expected is not None and expected.code not in _AFTER_A_LOOK:
            return  # refused, at the moment of its answer
        popped_at = self._popped_at(exchange)
        if popped_at is not None and popped_at - exchange.line.t <= AT_ONCE_MS:
            self._runs.append(self._last(exchange, max(popped_at, exchange.line.t)))
        else:
            self._runs.append(PopRun(exchange, exchange.line.t, is_last=False))
        self.progress()

    def due(self) -> Iterator[tuple[float, Callable[[], object]]]:
        """When (ms) something happens by itself: a run begins, a pop's time is over."""
        for run in self._runs:
            if run.pop is None and run.begins_at > self._context.t:
                yield run.begins_at, self.progress
        for exchange in self._by_key.values():
            if exchange.state is not ExchangeState.HELD and not self._is_stuck(exchange):
                continue
            popped_at = self._popped_at(exchange)
            if popped_at is not None and exchange not in self._woken:
                yield popped_at, partial(self._its_time, exchange)

    def _is_stuck(self, exchange: Exchange) -> bool:
        """Whether a pop is executed for the first time, and may find what its answer has: then it never waited."""
        return exchange.state is ExchangeState.WAITING and any(not run.is_last for run in self._of(exchange))

    def _popped_at(self, exchange: Exchange) -> float | None:
        """When a pop was executed for good, as its answer says."""
        expected = exchange.expected
        told = None if expected is None else number_of((expected.ext_fields or {}).get("popTime"))
        return None if not told else told - self._context.clock.epoch

    def _last(self, exchange: Exchange, begins_at: float) -> PopRun:
        rules = self._context.broker.rules
        expected = {(one.topic, one.queue_id): one for one in popped_from(exchange, rules)}
        answer = exchange.expected
        rest = 0 if answer is None else number_of((answer.ext_fields or {}).get("restNum")) or 0
        return PopRun(exchange, begins_at, True, expected, rest)

    def _its_time(self, exchange: Exchange) -> None:
        """A pop that waits was executed for good at this moment: a message woke it, or its time is over."""
        context = self._context
        answer = exchange.expected
        self._woken.add(exchange)  # asked for once
        popped_at = self._popped_at(exchange)
        if exchange.state is ExchangeState.WAITING and popped_at is not None:
            self._runs = [run for run in self._runs if run.exchange is not exchange]
            self._runs.append(self._last(exchange, popped_at))
            self.progress()
        elif answer is not None:
            fields = exchange.fields
            line = fields.get("topic") or "", fields.get("consumerGroup") or "", int(fields.get("queueId") or ANY_QUEUE)
            self._services.line.look(line, number_of((answer.ext_fields or {}).get("popTime")) or context.now)
            self.woken()
            is_given = answer.code == ResponseCode.SUCCESS
            while is_given and exchange.state is ExchangeState.HELD and self._log.step():
                self.woken()
        self.woken()

    def woken(self) -> None:
        """Take what our line has woken: it is executed for good, or as often as it was woken in vain."""
        context = self._context
        woken, context.broker.woken_pops = context.broker.woken_pops, []
        for pop in woken:
            exchange = self._exchange(pop)
            if exchange is None:
                continue
            exchange.state = ExchangeState.WOKEN
            popped_at = self._popped_at(exchange)
            last_at = exchange.answered_at if popped_at is None else popped_at
            if last_at - context.t <= ANSWER_MS:
                self._runs.append(self._last(exchange, context.t if popped_at is None else popped_at))
            else:
                self._runs.append(PopRun(exchange, context.t, is_last=False))
        if woken:
            self.progress()

    def _exchange(self, pop: PopRequest) -> Exchange | None:
        conn = getattr(pop.channel, "conn", -1)
        return self._by_key.get((conn, pop.request.opaque))

    def progress(self) -> None:
        """Let every run go on as far as it can."""
        moved = True
        while moved:
            moved = sum([self._advance(run) for run in list(self._runs) if run in self._runs]) > 0

    def takes(self, exchange: Exchange) -> bool:
        """The log comes to a check point of this pop: let it take what it takes there; False when it does not."""
        context = self._context
        end = context.broker.store.max_phy_offset
        run = self._run_of(exchange)
        while run is None and exchange.state is ExchangeState.HELD and self._log.dispatch():
            run = self._run_of(exchange)
        while run is not None and run in self._runs:
            run.hurries = run.looked is None
            self._advance(run, begins=True)
            if context.broker.store.max_phy_offset != end:
                return True
            if run.looked is not None or not self._log.dispatch():
                return False
        return False

    def _run_of(self, exchange: Exchange) -> PopRun | None:
        return next((run for run in self._runs if run.exchange is exchange and run.is_last), None)

    def force(self, exchange: Exchange) -> None:
        """The recorded answer is here: what is left of the pop happens now."""
        context = self._context
        if not _is_open(exchange):
            return
        if exchange.state is ExchangeState.WAITING and self._run_of(exchange) is None and not self._of(exchange):
            got = context.broker.handle(context.channel(exchange), exchange.command, context.now)
            context.settle(exchange, got)
            return
        if exchange.state is ExchangeState.HELD and exchange not in self._woken:
            self._its_time(exchange)
        while _is_open(exchange) and self._run_of(exchange) is None and self._log.step():
            self.woken()
        run = self._run_of(exchange)
        while run is not None and _is_open(exchange):
            self._advance(run, begins=True)
            if not _is_open(exchange):
                return
            if not self._log.step():
                run.hurries = True
                self._advance(run, begins=True)
                break
            self.woken()
        if _is_open(exchange):
            for left in self._of(exchange):
                self._runs.remove(left)
            context.settle(exchange, None)

    def _of(self, exchange: Exchange) -> list[PopRun]:
        return [run for run in self._runs if run.exchange is exchange]

    def _advance(self, run: PopRun, *, begins: bool = False) -> bool:
        """Let one run begin, look at its next places, and end; whether it did any of it."""
        context, processor = self._context, self._services.pop_message_processor
        if run.pop is None and run.begins_at > context.t and not begins:
            return False
        self._choices.run = run
        exchange = run.exchange
        before = context.broker.now
        told = self._popped_at(exchange)
        now = round(told + context.clock.epoch) if run.is_last and told is not None else context.now
        moved = False
        context.broker.now = now
        context.broker.store.window = None, now, now
        try:
            if run.pop is None:
                begun = processor.begin(context.channel(exchange), exchange.command, now)
                if not isinstance(begun, PopUnderWay):
                    self._end(run, begun)
                    return True
                run.pop, moved = begun, True
            if not run.places and not self._choose_start(run):
                return moved
            while run.places and self._comes_to(run):
                if run.looked is None:
                    run.looked = processor.look(run.pop, *run.places[0])
                    if run.looked is not None:
                        moved = True
                        continue
                else:
                    if (gaps := self._log.gaps) is not None:
                        place = max(context.broker.store.max_phy_offset, 0)
                        gaps.stored(gaps.item_of(exchange, len(run.pop.popped)), place)
                    processor.take(run.pop, run.looked)
                    run.looked = None
                run.places.pop(0)
                run.locked, moved = False, True
                self._log.collect()
            if not run.places:
                self._end(run, processor.finish(run.pop, exchange.command, now))
                moved = True
        finally:
            self._choices.run = None
            context.broker.now = max(before, context.now)
        return moved

    def _comes_to(self, run: PopRun) -> bool:
        """Whether a run may look at its next place; one that found nothing tells no order, so any place may be next.

        It looks where it passes something by, and at all that is left when nothing is in its way.
        """
        if run.expected:
            return self._may_visit(run, run.places[0])
        passable = [place for place in run.places if self._may_visit(run, place)]
        at = next((place for place in passable if self._look(run, place)[2]), None)
        waits_for_more = run.is_late and not run.is_last and self._context.t - run.begins_at <= LATE_LOOK_MS
        if at is None and (waits_for_more or len(passable) < len(run.places)):
            return False
        if at is not None:
            run.places.remove(at)
            run.places.insert(0, at)
        return self._may_visit(run, run.places[0])

    def _choose_start(self, run: PopRun) -> bool:
        """Let a run begin with a queue at which it may look now; False where there is none yet."""
        header = run.exchange.command.decode_header(PopMessageRequestHeader)
        context = self._context
        config = context.broker.topic_config_manager.select_topic_config(header.topic)
        queues = 1 if config is None else config.read_queue_nums
        starts = run.starts(queues, context.broker.rules.pop_order) if header.queue_id < 0 else [0]
        way = context.ways.get(run.exchange.number, 0)
        run.is_late = way == LATE if not run.is_last else way % 2 > 0
        way = way if run.is_last and way != LATE else 0
        if way:
            starts = [starts[way // 2 % len(starts)]] if starts else []
        for start in starts:
            run.start_queue = start
            places = self._places(run, header, queues)
            if not places or not run.expected or self._may_visit(run, places[0]):
                run.places = places
                return True
        return False

    def _places(self, run: PopRun, header: PopMessageRequestHeader, queues: int) -> list[Place]:
        """All places in the order in which the rules have a pop look at them."""
        broker = self._context.broker
        retry = broker.rules.retry_topic(header.consumer_group, header.topic, self._choices.is_v2)
        config = broker.topic_config_manager.select_topic_config(retry)
        retries = [(retry, queue_id) for queue_id in range(0 if config is None else config.read_queue_nums)]
        retry_first = is_retry_topic(next(iter(run.expected), ("", 0))[0])
        places: list[Place] = []
        for queue_id in broker.rules.pop_order(run.start_queue, queues if header.queue_id < 0 else 1, retry_first):
            if queue_id == RETRY:
                places += retries
            else:
                places.append((header.topic, queue_id if header.queue_id < 0 else header.queue_id))
        return places

    def _end(self, run: PopRun, got: RemotingCommand | None) -> None:
        """A run is over: the pop is answered, or waits (again)."""
        context, exchange = self._context, run.exchange
        self._runs.remove(run)
        if got is None:
            exchange.state = ExchangeState.HELD
        else:
            context.uses[Tolerated.POP_CHOICES] += run.is_last
            context.settle(exchange, got.reply_to(exchange.command, context.broker.rules.wire))
        self.woken()

    def _look(self, run: PopRun, place: Place) -> tuple[int, list[int], int]:
        """What a look at a place would find: the offset it begins at, offsets of messages, how many are there."""
        processor, store = self._services.pop_message_processor, self._context.broker.store
        header = run.exchange.command.decode_header(PopMessageRequestHeader)
        pop = run.pop
        if pop is None:
            return 0, [], 0
        start = processor.offset(header, *place)
        room = header.max_msg_nums - len(pop.records)
        result = store.get_message(header.consumer_group, *place, start, room, pop.message_filter)
        messages = [decode_record(record, read_body=False) for record in ([] if result is None else result.messages)]
        there = store.get_max_offset_in_queue(*place) - start
        return start, [message.queue_offset for message in messages if message is not None], there

    def _may_visit(self, run: PopRun, place: Place) -> bool:
        """Whether a look at a place now gives what is recorded; or it is too late to wait for that."""
        context, pop = self._context, run.pop
        if pop is None:
            return False
        if run.looked is not None:
            gaps = self._log.gaps
            return gaps is None or gaps.may_store(gaps.item_of(run.exchange, len(pop.popped))) or run.is_forced
        run.locked = False
        start, offsets, there = self._look(run, place)
        popped = run.expected.get(place)
        if popped is not None:
            return (popped.start, popped.offsets) == (start, offsets) or run.is_forced
        left = run.rest_num - pop.rest_num
        if self._is_at_work(run, place):
            run.locked = there in {0, left}
            return run.locked or run.is_forced
        given = self._given.get((pop.header.consumer_group, place), set())
        is_last_chance = all(other in run.expected for other in run.places[1:]) and bool(run.places)
        if run.is_late and run.is_last and not (run.hurries or run.is_forced or left):
            return False
        is_passed = not offsets and given.isdisjoint(range(start, start + there))
        if is_passed and not (left and is_last_chance):
            return True
        if 0 < there == left:
            run.locked = True
            context.uses[Tolerated.LOCKED_QUEUE] += 1
            return True
        return run.is_forced or (not run.is_last and context.t - run.begins_at > UNDER_WAY_MS and not offsets)

    def _is_at_work(self, run: PopRun, place: Place) -> bool:
        """Whether another pop of the group has looked at a place and not taken yet what it found."""
        group = run.exchange.fields.get("consumerGroup")
        return any(
            other is not run and other.looked is not None and other.looked[:2] == place
            and other.exchange.fields.get("consumerGroup") == group
            for other in self._runs
        )  # fmt: skip


def _is_rising(numbers: list[int]) -> bool:
    return all(first < second for first, second in pairwise(numbers))


def is_pop(exchange: Exchange) -> bool:
    """Whether a request is a pop."""
    return exchange.code == RequestCode.POP_MESSAGE


def _is_open(exchange: Exchange) -> bool:
    """Whether our answer is still to come."""
    return not exchange.is_done
