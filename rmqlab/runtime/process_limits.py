"""How many connections and files this process may have open."""

from __future__ import annotations

import contextlib

WANTED_FILES = 65_536


def allow_many_connections(wanted: int = WANTED_FILES) -> None:
    """Raise the soft limit of open files as far as the system lets us, at most to `wanted`; never lower it."""
    try:
        import resource
    except ImportError:  # no such limit on this system
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    target = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    if soft != resource.RLIM_INFINITY and soft < target:
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (target, hard))


def most_files() -> int:
    """Return how many files and connections this process may have open."""
    try:
        import resource
    except ImportError:  # no such limit on this system
        return WANTED_FILES
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return WANTED_FILES if soft == resource.RLIM_INFINITY else soft
