"""What the broker's parts share: timers, hooks, handlers of requests, answers, and requests to clients.

Source: `NettyRequestProcessor`, `Broker2Client`. The time comes from outside.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from operator import attrgetter
from typing import TYPE_CHECKING

from rmqlab.events import Event, Observer
from rmqlab.protocol.codes import ResponseCode
from rmqlab.protocol.command import ONEWAY, RESPONSE, RemotingCommand
from rmqlab.protocol.wire import DEFAULT_WIRE, Wire

if TYPE_CHECKING:
    from rmqlab.protocol.channel import Channel
    from rmqlab.protocol.command import Body
    from rmqlab.protocol.header import CommandHeader, HeaderT

    Handler = Callable[[Channel, RemotingCommand, int], RemotingCommand | None]
    OnAnswer = Callable[[RemotingCommand | None], None]


# Due time, place in the order of registration, name, period (None: once), what to do, whether it keeps its grid.
_Entry = tuple[int, int, str, int | None, "Callable[[int], object]", bool]


class Timers:
    """What is to be done when; `now` is the present, `started` when it began. All times are epoch ms.

    Java runs these on several threads; here two that are due at the same millisecond run in the order they were
    registered, which is the order in which `BrokerController` starts its services.
    """

    __slots__ = ("_heap", "_order", "_wake_ups", "now", "started")

    def __init__(self, now: int) -> None:
        self.now = self.started = now
        self._heap: list[_Entry] = []
        self._order = 0
        self._wake_ups: deque[Callable[[], None]] = deque()

    def at_fixed_rate(self, name: str, first: int, period: int, action: Callable[[int], object]) -> None:
        """Call `action(due)` at `first` and then every `period` ms."""
        self._push(first, name, period, action)

    def with_fixed_delay(self, name: str, first: int, pause: int, action: Callable[[int], object]) -> None:
        """Call `action(now)` at `first` and then always `pause` ms after it ran, as `ServiceThread.waitForRunning`."""
        self._push(first, name, pause, action, keeps_grid=False)

    def once(self, name: str, due: int, action: Callable[[int], object]) -> None:
        """Call `action(due)` at `due`."""
        self._push(due, name, None, action)

    def wake_up(self, run: Callable[[], None]) -> None:
        """Queue work that Java hands to the pull thread pool: done before the next timer, in this order."""
        self._wake_ups.append(run)

    def next_due(self) -> int | None:
        """When something is due next, or None when there is nothing."""
        if self._wake_ups:
            return self.now
        return self._heap[0][0] if self._heap else None

    def run(self, now: int) -> None:
        """Run everything due at `now` or before: what was queued, then by time and by registration."""
        wake_ups = self._wake_ups
        while True:
            while wake_ups:
                wake_ups.popleft()()
            if not self._heap or self._heap[0][0] > now:
                break
            self.run_next()
        self.now = max(now, self.now)

    def run_next(self) -> None:
        """Run the timer that is due first, at its time, or now if that is later.

        A rate keeps its grid when a run comes late: the next run is one period after the due time. With a fixed delay
        it is one pause after this run.
        """
        due, order, name, period, action, keeps_grid = heapq.heappop(self._heap)
        self.now = max(due, self.now)
        if period is not None:
            following = (due if keeps_grid else self.now) + period
            heapq.heappush(self._heap, (following, order, name, period, action, keeps_grid))
        action(self.now)

    def clock_was_set(self, by_ms: int, unless: str) -> None:
        """The clock was moved: timers keep their distance from now, but those whose names begin with `unless`."""
        self._heap = [entry if entry[2].startswith(unless) else (entry[0] + by_ms, *entry[1:]) for entry in self._heap]
        heapq.heapify(self._heap)

    def cancel(self, name: str) -> None:
        """Forget all timers of this name; nothing happens when there is none."""
        self._heap = [entry for entry in self._heap if entry[2] != name]
        heapq.heapify(self._heap)

    def upcoming(self) -> list[tuple[int, str, Callable[[int], object]]]:
        """Due time, name and action of all timers, in the order they will run."""
        return [(entry[0], entry[2], entry[4]) for entry in sorted(self._heap, key=lambda entry: entry[:2])]

    def _push(
        self, due: int, name: str, period: int | None, action: Callable[[int], object], *, keeps_grid: bool = True
    ) -> None:
        if period is not None:
            period = max(period, 1)  # Java's `waitForRunning` takes 0 or less for no pause: no moment is between
        heapq.heappush(self._heap, (due, self._order, name, period, action, keeps_grid))
        self._order += 1


@dataclass(slots=True)
class BrokerHooks:
    """Each is None while there is no listener; times are epoch ms.

    `observe(event)` hears what happened, and `observe_pull(event)` what becomes of pulls (`Pull`, `Filtered`, `Wake`),
    which is an event for every message that a filter holds back. The others count:
    `on_put(topic, messages, bytes, now)` what producers stored, `on_get(group, topic, queue id, messages, bytes, now)`
    what consumers got, `on_sent_back(group, topic, now)` what they sent back. `on_topic_deleted(topic)` and
    `on_group_deleted(group)` may forget what was counted.
    """

    observe: Observer | None = None
    observe_pull: Observer | None = None
    on_put: Callable[[str, int, int, int], None] | None = None
    on_get: Callable[[str, str, int | None, int, int, int], None] | None = None
    on_sent_back: Callable[[str, str, int], None] | None = None
    on_topic_deleted: Callable[[str], None] | None = None
    on_group_deleted: Callable[[str], None] | None = None

    def tell(self, event: Event) -> None:
        """Say what happened, if somebody listens."""
        if self.observe is not None:
            self.observe(event)


NULL_POINTER = "java.lang.NullPointerException"
NOT_SET = "not set any response code"
"""The remark that Java leaves in an answer that nobody filled in."""


class ProcessorError(Exception):
    """A request met what throws in Java; the text is the remark of the SYSTEM_ERROR answer.

    4.8.0 adds the line of its own source where it was thrown (`RemotingHelper.exceptionSimpleDesc`); we do not.
    """


class RequestRefused(Exception):
    """A check failed: the answer is this code and remark, and nothing else happens."""

    def __init__(self, code: ResponseCode, remark: str) -> None:
        super().__init__(remark)
        self.code = code
        self.remark = remark


def require_fields(header: CommandHeader, names: tuple[str, ...]) -> None:
    """Raise ProcessorError when one of the fields is null: Java lets such a header in and fails on first use."""
    if None in _values_of(names)(header):
        raise ProcessorError(NULL_POINTER)


@cache
def _values_of(names: tuple[str, ...]) -> Callable[[CommandHeader], tuple[object, ...]]:
    return attrgetter(*names, names[0])  # of one name alone it would give no tuple


def require_not_null(name: str | None) -> str:
    """A name that is there, as a table of Java's that takes no null demands.

    Raises:
        ProcessorError: a required field is null.
    """
    if name is None:
        raise ProcessorError(NULL_POINTER)
    return name


def success(body: Body = None, header: CommandHeader | None = None, remark: str | None = None) -> RemotingCommand:
    """The answer SUCCESS."""
    return RemotingCommand(ResponseCode.SUCCESS, flag=RESPONSE, remark=remark, header=header, content=body)


def system_error(remark: str) -> RemotingCommand:
    """The answer SYSTEM_ERROR."""
    return RemotingCommand.response(ResponseCode.SYSTEM_ERROR, remark)


def with_header(kind: type[HeaderT], answer: Callable[[HeaderT, int], RemotingCommand | None]) -> Handler:
    """A handler of requests of which only the header and the time count."""
    return lambda _channel, command, now: answer(command.decode_header(kind), now)


def without_header(answer: Callable[[], RemotingCommand]) -> Handler:
    """A handler of requests that say nothing but their code."""
    return lambda _channel, _command, _now: answer()


CALL_TIMEOUT_MS = 10_000


class Broker2Client:
    """Numbers the broker's requests and pairs the answers of clients with them.

    Java blocks a thread until the answer is there. Here the processor that asked returns None, and `on_answer` sends
    its own answer when it knows what to say. Java counts every command of the process, those it reads and answers too,
    so that real numbers are higher.
    """

    def __init__(self, timers: Timers, wire: Wire = DEFAULT_WIRE) -> None:
        self.wire = wire
        self._timers = timers
        self._opaque = 0
        self._waiting: dict[tuple[Channel, int], OnAnswer] = {}

    def send_oneway(self, channel: Channel, request: RemotingCommand) -> None:
        """Send a request that no server answers."""
        self._number(request)
        request.flag |= ONEWAY
        channel.send(request)

    def call_client(
        self, channel: Channel, request: RemotingCommand, on_answer: OnAnswer, timeout_ms: int = CALL_TIMEOUT_MS
    ) -> None:
        """Send a request; `on_answer` gets the answer, or None when there is none in `timeout_ms`."""
        self._number(request)
        key = channel, request.opaque
        self._waiting[key] = on_answer
        due = self._timers.now + timeout_ms
        self._timers.once(f"answer to {request.opaque}", due, partial(self._give_up, key))
        channel.send(request)

    def on_response(self, channel: Channel, command: RemotingCommand) -> None:
        """Hand a client's answer to whoever asked; one that no caller waits for is dropped."""
        on_answer = self._waiting.pop((channel, command.opaque), None)
        if on_answer is not None:
            on_answer(command)

    def _number(self, request: RemotingCommand) -> None:
        self._opaque += 1
        request.opaque, request.version = self._opaque, self.wire.version_number

    def _give_up(self, key: tuple[Channel, int], _now: int) -> None:
        on_answer = self._waiting.pop(key, None)
        if on_answer is not None:
            on_answer(None)
