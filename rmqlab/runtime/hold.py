"""A pause: somebody does not run for a while, and what reaches it meanwhile waits in order."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from rmqlab.runtime.scheduler import Scheduler


class Hold:
    """What waits for one client or server that is paused. ``until_us`` is when it goes on (us since the run began)."""

    __slots__ = ("_scheduler", "held", "until_us")

    def __init__(self, scheduler: Scheduler) -> None:
        self._scheduler = scheduler
        self.held: deque[tuple[Callable[..., None], tuple[Any, ...]]] = deque()
        self.until_us = 0

    @property
    def active(self) -> bool:
        """Whether the pause goes on."""
        return self._scheduler.now_us < self.until_us

    def pause(self, for_us: int, *, priority: int = 0) -> None:
        """Begin a pause, or make one longer; ``priority`` is that of going on (the scheduler's)."""
        self.until_us = max(self.until_us, self._scheduler.now_us + for_us)
        self._scheduler.at(self.until_us, self._go_on, priority=priority)

    def takes(self, action: Callable[..., None], *arguments: Any) -> bool:
        """Keep an action for later if there is a pause, or if others that were kept have not had their turn."""
        if not (self.held or self.active):
            return False
        self.held.append((action, arguments))
        return True

    def _go_on(self) -> None:
        if self.active:
            return
        waiting, self.held = self.held, deque()
        for action, arguments in waiting:
            action(*arguments)
