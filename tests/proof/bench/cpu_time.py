"""CPU time of this process and everything it started: Python, the JVM, Spark's Python workers."""

from __future__ import annotations

import psutil


def cpu_seconds(without: int | None = None, root: int | None = None) -> float:
    """Sum user and system time of the process tree, ended children included; `without` leaves out one child's tree.

    `root` is the process at the top of the tree, by its id; this one if none is given.
    """
    total = 0.0
    waiting = [psutil.Process(root)]
    while waiting:
        process = waiting.pop()
        try:
            times, children = process.cpu_times(), process.children()
        except psutil.NoSuchProcess:
            continue
        # Linux adds the time of children that have ended; elsewhere these two are 0 or missing.
        ended = getattr(times, "children_user", 0.0) + getattr(times, "children_system", 0.0)
        total += times.user + times.system + ended
        waiting += [child for child in children if child.pid != without]
    return float(total)
