"""The clock of this machine, for everything that is not in virtual time."""

from __future__ import annotations

import time


def epoch_ms() -> int:
    """Return the time in ms since 1970, as Java's `System.currentTimeMillis`."""
    return time.time_ns() // 1_000_000
