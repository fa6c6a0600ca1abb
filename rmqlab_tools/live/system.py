"""What this machine knows: its clock, its memory and disks; and how many files a process may open."""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

WANTED_FILES = 65_536
LOOPBACK = "127.0.0.1"


def epoch_ms() -> int:
    """The time in ms since 1970, as Java's `System.currentTimeMillis`."""
    return time.time_ns() // 1_000_000


def own_address(host: str, port: int) -> str:
    """The address under which `host` sees this machine; the loopback address when it cannot be reached."""
    try:
        with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_DGRAM) as probe:
            probe.connect((host, port))  # a datagram socket: nothing is sent
            return str(probe.getsockname()[0])
    except OSError:
        return LOOPBACK


def physical_memory() -> int:
    """This machine's memory in bytes; 0 where the system does not say."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return 0


def memory_space() -> tuple[int, int]:
    """The bytes of this machine's memory and of what is free of it; 0 where the system does not say."""
    try:
        return physical_memory(), os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return physical_memory(), 0


def disk_space(folder: Path) -> tuple[int, int, int]:
    """Size, free bytes and usable bytes of the disk a folder is on; 0 of all where the system does not say.

    Some free bytes may be kept for users with special rights: they are not usable.
    """
    try:
        usage = shutil.disk_usage(folder)
    except OSError:
        return 0, 0, 0
    return usage.total, usage.total - usage.used, usage.free


def allow_many_connections() -> None:
    """Raise the soft limit of open files as far as the system lets us, at most to `WANTED_FILES`; never lower it."""
    try:
        import resource
    except ImportError:  # no such limit on this system
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    target = WANTED_FILES if hard == resource.RLIM_INFINITY else min(WANTED_FILES, hard)
    if soft != resource.RLIM_INFINITY and soft < target:
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (target, hard))
