"""Java's threads of a client as coroutines: a timetable, a pool, and two services.

The services are `PullMessageService` and `RebalanceService`: each is one thread with its own loop.
"""

from __future__ import annotations

from collections import deque
from functools import partial
from heapq import heappop, heappush
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from rmqlab.client.process_queue import MessageRequest
    from rmqlab.client.runtime import Flag, Runtime, Task
    from rmqlab.rules import Rules

    Job = Callable[[], Awaitable[object]]
    Timed = Callable[[], Awaitable[object] | None]


SHUTDOWN_TIMEOUT = 1_000


class ScheduledExecutor:
    """One thread that runs jobs at their time, one after the other (Java's single-thread scheduled executor).

    A job that takes long delays the jobs after it, and a periodic job that is late catches up at once.
    """

    def __init__(self, runtime: Runtime, name: str) -> None:
        """Nothing runs before the first job is scheduled."""
        self._runtime = runtime
        self._name = name
        self._jobs: list[tuple[int, int, int, Timed]] = []
        self._count = 0
        self._changed: Flag = runtime.event()
        self._task: Task | None = None
        self._stopped = False
        self._takes_jobs = True

    def schedule(self, job: Timed, delay_ms: int) -> None:
        """Run `job` once, `delay_ms` from now; ignored after `shutdown`."""
        self._add(self._runtime.monotonic() + delay_ms, 0, job)

    def schedule_at_fixed_rate(self, job: Timed, initial_ms: int, period_ms: int) -> None:
        """Run `job` at `initial_ms` from now and every `period_ms` after; ignored after `shutdown`."""
        self._add(self._runtime.monotonic() + initial_ms, period_ms, job)

    async def shutdown_gracefully(self, timeout_ms: int) -> None:
        """Take no further job, and wait up to `timeout_ms` for those that are to come (`ThreadUtils`)."""
        self._takes_jobs = False
        if self._jobs:
            last = max(due for due, *_ in self._jobs)
            await self._runtime.sleep(min(max(last - self._runtime.monotonic(), 0), timeout_ms))
        self.shutdown()

    def shutdown(self) -> None:
        """Run no further job; the one that runs is left to end."""
        self._stopped = True
        self._jobs.clear()
        self._changed.set()

    def _add(self, due: int, period: int, job: Timed) -> None:
        if self._stopped or not self._takes_jobs:
            return
        self._count += 1
        heappush(self._jobs, (due, self._count, period, job))
        if self._task is None:
            self._task = self._runtime.spawn(self._run(), self._name)
        elif self._jobs[0][1] == self._count:
            self._changed.set()

    async def _run(self) -> None:
        runtime = self._runtime
        while not self._stopped:
            if not self._jobs:
                await self._changed.wait()
                self._changed.clear()
                continue
            wait = self._jobs[0][0] - runtime.monotonic()
            if wait > 0 and await self._changed.wait(wait):
                self._changed.clear()
                continue
            if not self._jobs:  # shut down in the very instant in which the wait was over
                continue
            due, _, period, job = heappop(self._jobs)
            running = job()
            if running is not None:
                await running
            if period and not self._stopped:
                self._count += 1
                heappush(self._jobs, (due + period, self._count, period, job))


class ThreadPool:
    """At most `size` jobs at once, the others wait in the order they came (a Java pool with an endless queue)."""

    def __init__(self, runtime: Runtime, size: int, name: str) -> None:
        """No thread runs before the first job."""
        self._runtime = runtime
        self._name = name
        self._waiting: deque[Job] = deque()
        self._running = 0
        self._stopped = False
        self.size = size

    def submit(self, job: Job) -> None:
        """Run `job` as soon as a thread is free; ignored after `shutdown_now`."""
        if self._stopped:
            return
        self._waiting.append(job)
        if self._running < self.size:
            self._running += 1
            self._runtime.spawn(self._work(), self._name)

    def shutdown_now(self) -> None:
        """Forget the jobs that wait; those that run are left to end."""
        self._stopped = True
        self._waiting.clear()

    async def _work(self) -> None:
        if self._waiting:
            job = self._waiting.popleft()
            await self._runtime.late(self._name)
            await job()
        while self._waiting:
            await self._waiting.popleft()()
        self._running -= 1


class PullMessageService:
    """One thread that takes pull requests from a queue, in order; a second one puts them there after a delay."""

    def __init__(self, runtime: Runtime, pull: Callable[[MessageRequest], Awaitable[None]]) -> None:
        """`pull` makes one pull request; it must not wait for the answer."""
        self._runtime = runtime
        self._pull = pull
        self._requests: deque[MessageRequest] = deque()
        self._arrived = runtime.event()
        self._later = ScheduledExecutor(runtime, "PullMessageServiceScheduledThread")
        self._task: Task | None = None
        self._stopped = False

    def start(self) -> None:
        """Begin to take requests."""
        self._task = self._runtime.spawn(self._run(), "PullMessageService")

    async def shutdown(self) -> None:
        """Take no more requests; those that are put off are waited for, up to 1 s, and not made."""
        self._stopped = True
        if self._task is not None:
            self._task.cancel()
        await self._later.shutdown_gracefully(SHUTDOWN_TIMEOUT)

    def execute_pull_request_immediately(self, request: MessageRequest) -> None:
        """Put a request at the end of the queue."""
        self._requests.append(request)
        self._arrived.set()

    def execute_pull_request_later(self, request: MessageRequest, delay_ms: int) -> None:
        """Put a request at the end of the queue, `delay_ms` from now."""
        self._later.schedule(partial(self.execute_pull_request_immediately, request), delay_ms)

    def execute_task_later(self, job: Job, delay_ms: int) -> None:
        """Run a job on the delaying thread."""
        self._later.schedule(job, delay_ms)

    async def _run(self) -> None:
        requests, arrived = self._requests, self._arrived
        while not self._stopped:
            if requests:
                await self._pull(requests.popleft())
                if requests:  # a heartbeat may leave between two of them
                    await self._runtime.late("PullMessageService")
            else:
                arrived.clear()
                await arrived.wait()


class RebalanceService:
    """Rebalances every `wait_interval` ms, and at once when woken; wakes during a rebalance count as one (row H-46).

    Versions with a shortest period put off what comes sooner, and come again after it while a consumer has not all the
    queues that it wants.
    """

    def __init__(
        self, runtime: Runtime, rebalance: Callable[[], Awaitable[bool]], wait_interval: int, rules: Rules
    ) -> None:
        """`rebalance` goes over all consumers of the instance, and says whether they have all their queues."""
        self._runtime = runtime
        self._rebalance = rebalance
        self._wait_interval = wait_interval
        self._rules = rules
        self._last_rebalance = runtime.now()
        self._notified = runtime.event()
        self._stopped = False

    def start(self) -> None:
        """Begin with a wait."""
        self._runtime.spawn(self._run(), "RebalanceService")

    def wakeup(self) -> None:
        """Rebalance at once, or once more after the one that runs."""
        self._notified.set()

    def shutdown(self) -> None:
        """End after the rebalance that runs; 4.8.0 makes one last round when it is woken here."""
        self._stopped = True
        self._notified.set()

    async def _run(self) -> None:
        shortest, wait = self._rules.rebalance_min_period_ms, self._wait_interval
        while not self._stopped:
            await self._notified.wait(wait)
            await self._runtime.late("RebalanceService")
            self._notified.clear()
            if shortest:
                since = self._runtime.now() - self._last_rebalance
                if since < shortest:
                    wait = shortest - since
                    continue
            balanced = await self._rebalance()
            wait = shortest if self._rules.rebalances_again(balanced) else self._wait_interval
            if shortest:
                self._last_rebalance = self._runtime.now()
