"""How much can be done at once."""

from __future__ import annotations

import os
import sys


def processors() -> int:
    """How many processors this process may use; 1 where no other process can be started."""
    if sys.platform in {"emscripten", "wasi"}:
        return 1
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
