"""The two loops of an instance: one thread that makes pull requests, one that rebalances (RocketMQ's names)."""

from __future__ import annotations

from collections import deque
from functools import partial
from typing import TYPE_CHECKING

from rmqlab.client.executor import ScheduledExecutor

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from rmqlab.client.executor import Job
    from rmqlab.client.process_queue import PullRequest
    from rmqlab.runtime.runtime import Runtime, Task


class PullMessageService:
    """One thread that takes pull requests from a queue, in order; a second one puts them there after a delay."""

    def __init__(self, runtime: Runtime, pull: Callable[[PullRequest], Awaitable[None]]) -> None:
        """`pull` makes one pull request; it must not wait for the answer."""
        self._runtime = runtime
        self._pull = pull
        self._requests: deque[PullRequest] = deque()
        self._arrived = runtime.event()
        self._later = ScheduledExecutor(runtime, "PullMessageServiceScheduledThread")
        self._task: Task | None = None
        self._stopped = False

    def start(self) -> None:
        """Begin to take requests."""
        self._task = self._runtime.spawn(self._run(), "PullMessageService")

    def shutdown(self) -> None:
        """Take no more requests."""
        self._stopped = True
        self._later.shutdown()
        if self._task is not None:
            self._task.cancel()

    def execute_pull_request_immediately(self, request: PullRequest) -> None:
        """Put a request at the end of the queue."""
        self._requests.append(request)
        self._arrived.set()

    def execute_pull_request_later(self, request: PullRequest, delay_ms: int) -> None:
        """Put a request at the end of the queue, `delay_ms` from now."""
        self._later.schedule(partial(self._put, request), delay_ms)

    def execute_task_later(self, job: Job, delay_ms: int) -> None:
        """Run a job on the delaying thread."""
        self._later.schedule(job, delay_ms)

    async def _put(self, request: PullRequest) -> None:
        self.execute_pull_request_immediately(request)

    async def _run(self) -> None:
        requests, arrived = self._requests, self._arrived
        while not self._stopped:
            if requests:
                await self._pull(requests.popleft())
            else:
                arrived.clear()
                await arrived.wait()


class RebalanceService:
    """Rebalances every `wait_interval` ms, and at once when woken; wakes during a rebalance count as one (row H-46)."""

    def __init__(self, runtime: Runtime, rebalance: Callable[[], Awaitable[None]], wait_interval: int) -> None:
        """`rebalance` goes over all consumers of the instance."""
        self._runtime = runtime
        self._rebalance = rebalance
        self._wait_interval = wait_interval
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
        while not self._stopped:
            await self._notified.wait(self._wait_interval)
            await self._runtime.late("RebalanceService")
            self._notified.clear()
            await self._rebalance()
