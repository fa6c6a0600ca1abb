"""Letting virtual time pass up to a moment, as tests and measurements want it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rmqlab.sim.scheduler import US_PER_MS

if TYPE_CHECKING:
    from rmqlab.sim.scheduler import Scheduler
    from rmqlab.sim.virtual import VirtualTime


def run_until(scheduler: Scheduler, time_us: int) -> None:
    """Step while something is due at or before ``time_us``; afterwards that is the present instant."""
    now_us = max(scheduler.now_us, time_us)
    scheduler.run((time_us + 1, 0, 0))
    scheduler.now_us = now_us


def run_until_ms(world: VirtualTime, ms: float) -> None:
    """Let everything happen that is due up to ``ms`` after the beginning."""
    run_until(world.scheduler, round(ms * US_PER_MS))
