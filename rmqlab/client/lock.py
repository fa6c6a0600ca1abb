"""A lock of Java's that can be tried, for coroutines."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rmqlab.client.runtime import Flag, Runtime


class Lock:
    """A lock with Java's `tryLock()` and `tryLock(timeout)`; waiters get it in the order they came."""

    def __init__(self, runtime: Runtime) -> None:
        """The lock is free."""
        self._runtime = runtime
        self._held = False
        self._waiting: deque[Flag] = deque()

    def try_acquire(self) -> bool:
        """Take the lock if it is free, without waiting."""
        if self._held:
            return False
        self._held = True
        return True

    async def acquire(self, timeout_ms: int | None = None) -> bool:
        """Take the lock, waiting up to `timeout_ms` (None: for ever); False when that passed first."""
        if self.try_acquire():
            return True
        turn = self._runtime.event()
        self._waiting.append(turn)
        if await turn.wait(timeout_ms) or turn not in self._waiting:
            return True  # handed over in the very instant in which the time ran out
        self._waiting.remove(turn)
        return False

    def release(self) -> None:
        """Hand the lock to the first who waits, or free it."""
        if self._waiting:
            self._waiting.popleft().set()
        else:
            self._held = False
