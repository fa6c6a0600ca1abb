"""Hand-driven coroutines on a heap: total order (time, priority, sequence number), no threads, no clock of its own.

Time is counted in whole microseconds since the run began. A coroutine may await only the traps made here, so a run is a
function of its inputs: the same inputs give the same order, whatever the machine or the hash seed.
"""

from __future__ import annotations

import gc
from heapq import heapify, heappop, heappush
from types import coroutine
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Generator

US_PER_MS = 1000
OBJECTS = 50_000  # that came and stayed before Python looks for garbage; its own number is 700


class CancelledTaskError(BaseException):
    """Thrown into a cancelled coroutine; like `asyncio.CancelledError` it is not an `Exception`."""


class Trap:
    """What a coroutine yields to the scheduler: `arm` is called with the waiting task and its wake-up ticket."""

    __slots__ = ()

    def arm(self, task: VirtualTask) -> None:
        """Arrange that `task.wake` is called later."""
        raise NotImplementedError

    def __await__(self) -> Generator[Trap, Any, Any]:
        """Hand this trap to the scheduler and wait."""
        return (yield self)


class VirtualTask:
    """A running coroutine. `done` says whether it ended.

    `ticket` is the number of the present wait; a wake-up with an older one is stale and ignored.
    """

    __slots__ = ("_coroutine", "_scheduler", "done", "name", "result", "ticket")

    def __init__(self, scheduler: Scheduler, coroutine: Coroutine[Any, Any, Any], name: str) -> None:
        self._scheduler = scheduler
        self._coroutine = coroutine
        self.ticket = 0
        self.name = name
        self.done = False
        self.result: Any = None

    def wake(self, ticket: int, value: Any = None, error: BaseException | None = None) -> None:
        """Resume the coroutine with `value` (or throw `error`), unless the wait it belongs to is over."""
        if self.done or ticket != self.ticket:
            return
        self.ticket += 1
        try:
            trap = self._coroutine.send(value) if error is None else self._coroutine.throw(error)
        except StopIteration as stop:
            self.done = True
            self.result = stop.value
        except CancelledTaskError:
            self.done = True
        except Exception as failure:
            self.done = True
            failure.add_note(f"in virtual task {self.name!r} at {self._scheduler.now_us / US_PER_MS:.3f} ms")
            raise
        else:
            trap.arm(self)

    def forget(self) -> None:
        """Nothing will ever run this task: if it has not begun, it ends without a trace."""
        if self.ticket == 0:
            self.done = True
            self._coroutine.close()

    def cancel(self) -> None:
        """Stop the coroutine at its present wait; its `finally` blocks run now. Harmless when it is done."""
        if not self.done and not self._coroutine.cr_running:  # type: ignore[attr-defined]
            self.wake(self.ticket, error=CancelledTaskError())


class Scheduler:
    """The heap of what happens next. `now_us` is the present instant in microseconds since the run began."""

    def __init__(self) -> None:
        self.now_us = 0
        self.steps = 0
        self._heap: list[tuple[int, int, int, Callable[..., None], tuple[Any, ...]]] = []
        self._sequence = 0
        self._stopped = False

    def at(self, time_us: int, action: Callable[..., None], *arguments: Any, priority: int = 0) -> None:
        """Run `action(*arguments)` at `time_us` (never before the present instant)."""
        self._sequence += 1
        if time_us < self.now_us:  # noqa: PLR1730 - the busiest line of a run, and max() costs a call
            time_us = self.now_us
        heappush(self._heap, (time_us, priority, self._sequence, action, arguments))

    def spawn(self, coroutine: Coroutine[Any, Any, Any], name: str) -> VirtualTask:
        """Start a coroutine at the present instant, after what is already due at it."""
        task = VirtualTask(self, coroutine, name)
        self.at(self.now_us, task.wake, 0)
        return task

    def close(self) -> None:
        """The run is over: what is left on the heap will not happen."""
        for entry in self._heap:
            task = getattr(entry[3], "__self__", None)
            if isinstance(task, VirtualTask):
                task.forget()
        self._heap.clear()

    def postpone(self, concerns: Callable[[VirtualTask], bool], until_us: int) -> None:
        """Let nothing happen before `until_us` to the tasks that `concerns` names; what waits keeps its order."""
        later = [
            entry
            for entry in sorted(self._heap, key=_order)
            if entry[0] < until_us and (woken := _woken(entry[3], entry[4])) is not None and concerns(woken[0])
        ]
        numbers = {entry[2] for entry in later}
        self._heap[:] = [entry for entry in self._heap if entry[2] not in numbers]
        heapify(self._heap)
        for _, priority, _, action, arguments in later:
            self.at(until_us, action, *arguments, priority=priority)

    def next_time(self) -> int | None:
        """Instant (us) of the next step, or None when nothing is left."""
        return self._heap[0][0] if self._heap else None

    def live(self) -> list[tuple[int, int, Callable[..., None], tuple[Any, ...]]]:
        """What is still to happen, in order: time (us), priority, action, arguments; without stale wake-ups."""
        entries = sorted(self._heap, key=_order)
        return [(entry[0], entry[1], entry[3], entry[4]) for entry in entries if not _is_stale(entry[3], entry[4])]

    def stop(self) -> None:
        """End `run` after the present step."""
        self._stopped = True

    def run(self, before: tuple[int, int, int] | None = None, *, once: bool = False) -> bool:
        """Step until nothing is left, somebody calls `stop`, or the next thing does not come `before` a place.

        A place is an instant (us), a priority and a number of `reserve`; its instant is the present one then.
        `once`: at most one step; whether there was one. Meanwhile Python looks for garbage less often: nearly all that
        comes in a run stays, and of a thousand clients looking at it again and again took a third of the time.
        """
        threshold, *others = gc.get_threshold()
        if once or not 0 < threshold < OBJECTS:
            return self._run(before, once=once)
        gc.set_threshold(OBJECTS, *others)
        try:
            return self._run(before)
        finally:
            gc.set_threshold(threshold, *others)

    def _run(self, before: tuple[int, int, int] | None, *, once: bool = False) -> bool:
        self._stopped = False
        heap = self._heap
        while heap and not self._stopped and (before is None or heap[0] < before):
            entry = heappop(heap)
            self.now_us = entry[0]
            self.steps += 1
            entry[3](*entry[4])
            if once:
                return True
        if before is not None and not self._stopped:
            self.now_us = max(self.now_us, before[0])
        return False

    def step(self) -> bool:
        """Do exactly one thing: the first of the heap. False when nothing is left."""
        return self.run(once=True)

    def reserve(self) -> int:
        """Take the next place among things due at one instant; whatever comes from now on stands after it."""
        self._sequence += 1
        return self._sequence


def _order(entry: tuple[int, int, int, Callable[..., None], tuple[Any, ...]]) -> tuple[int, int, int]:
    return entry[:3]


def _woken(action: Callable[..., None], arguments: tuple[Any, ...]) -> tuple[VirtualTask, int] | None:
    """The task that an entry of the heap wakes, or that waits for what it does, and the ticket of that wait."""
    task = getattr(action, "__self__", None)
    if isinstance(task, VirtualTask):
        return task, arguments[0]
    return arguments[:2] if len(arguments) > 1 and isinstance(arguments[0], VirtualTask) else None


def _is_stale(action: Callable[..., None], arguments: tuple[Any, ...]) -> bool:
    """Whether an entry wakes a task from a wait that is over."""
    woken = _woken(action, arguments)
    return woken is not None and (woken[0].done or woken[0].ticket != woken[1])


class Sleep(Trap):
    """Wait `us` microseconds."""

    __slots__ = ("_scheduler", "_us")

    def __init__(self, scheduler: Scheduler, us: int) -> None:
        self._scheduler = scheduler
        self._us = us

    def arm(self, task: VirtualTask) -> None:
        """Wake the task when the time has passed."""
        self._scheduler.at(self._scheduler.now_us + self._us, task.wake, task.ticket)


class VirtualEvent(Trap):
    """A flag to wait for: `set` wakes all that wait, `wait` takes an optional timeout (ms)."""

    __slots__ = ("_flag", "_scheduler", "_timeout_ms", "_waiting")

    def __init__(self, scheduler: Scheduler) -> None:
        self._scheduler = scheduler
        self._flag = False
        self._timeout_ms: int | None = None
        self._waiting: dict[VirtualTask, int] = {}  # each task with its ticket: an older wait of a task is over

    def is_set(self) -> bool:
        """Whether the flag is up."""
        return self._flag

    def waiting(self) -> list[VirtualTask]:
        """The tasks that wait now, in the order they came."""
        return [task for task, ticket in self._waiting.items() if not task.done and task.ticket == ticket]

    def set(self) -> None:
        """Raise the flag and wake the waiting tasks at the present instant, in the order they came."""
        self._flag = True
        waiting, self._waiting = self._waiting, {}
        for task, ticket in waiting.items():
            self._scheduler.at(self._scheduler.now_us, task.wake, ticket, True)

    def clear(self) -> None:
        """Lower the flag."""
        self._flag = False

    @coroutine
    def wait(self, timeout_ms: int | None = None) -> Generator[Trap, Any, bool]:
        """Wait for the flag; True when it is up, False when `timeout_ms` passed first."""
        if self._flag:
            return True
        self._timeout_ms = timeout_ms  # taken by `arm` before anybody else can wait
        return bool((yield self))

    def arm(self, task: VirtualTask) -> None:
        """Remember who waits, after all who wait already, and for how long."""
        self._waiting.pop(task, None)
        self._waiting[task] = task.ticket
        if self._timeout_ms is not None:
            due = self._scheduler.now_us + self._timeout_ms * US_PER_MS
            self._scheduler.at(due, task.wake, task.ticket, False)
