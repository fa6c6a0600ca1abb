"""A cage for the code of strangers: a process without network, that writes into one folder only, with limits.

`command` begins it: `unshare` gives an empty network and process numbers of its own, which end with it. `close_in`
is called by the process itself before any code of a stranger runs: Landlock (Linux 5.13 and newer) lets it write below
one folder only, for good, children included, and limits hold for CPU time, memory, size of a file and processes.
"""

from __future__ import annotations

import ctypes
import fcntl
import os
import resource
import shutil
import socket
import struct
import subprocess
import sys
from typing import TYPE_CHECKING, NamedTuple

from rmqlab.errors import BadInput

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

# Linux: the same numbers on every architecture.
CREATE_RULESET, ADD_RULE, RESTRICT_SELF = 444, 445, 446
VERSION_FLAG, PATH_BENEATH, NO_NEW_PRIVS = 1, 1, 38
# Rights of Landlock's first version that change something: write, remove, make.
WRITE_FILE, CHANGES = 1 << 1, sum(1 << bit for bit in (1, *range(4, 13)))
REFER, TRUNCATE = 1 << 13, 1 << 14  # since versions 2 and 3
APART = ("unshare", "--map-root-user", "--net", "--pid", "--fork", "--kill-child", "--mount-proc")
SET_FLAGS, UP = 0x8914, 0x41  # of an interface, for ioctl: up and running


class CageClosed(BadInput):
    """The cage did not open, so nobody's code ran."""


class Limits(NamedTuple):
    """What a notebook may use: seconds of CPU and of the clock, bytes of memory and of a file, processes."""

    cpu_s: int = 120
    clock_s: int = 180
    memory: int = 3 << 30
    file: int = 64 << 20
    processes: int = 200


def no_network() -> bool:
    """Whether this machine lets us begin a process without network."""
    if shutil.which("unshare") is None:
        return False
    return subprocess.run([*APART, "true"], capture_output=True, check=False).returncode == 0  # noqa: S603


def landlock_version() -> int:
    """The kernel's version of Landlock; 0 where there is none."""
    if sys.platform != "linux":
        return 0
    return max(0, int(_libc().syscall(CREATE_RULESET, None, ctypes.c_size_t(0), VERSION_FLAG)))


def command(arguments: Sequence[str], *, network: bool) -> list[str]:
    """The command that runs `arguments` apart; with `network` as it is."""
    return [*(() if network else APART), *arguments]


def open_loopback() -> None:
    """Give a process without network its own 127.0.0.1: a lesson's broker listens there, and nobody else is on it."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        fcntl.ioctl(any_socket, SET_FLAGS, struct.pack("16sh14x", b"lo", UP))


def close_in(folder: Path, limits: Limits, *, writes: bool) -> None:
    """Hold this process and its children to the limits, and unless `writes` let them change only `folder`.

    Raises:
        OSError: the kernel refused.
    """
    for kind, value in (
        (resource.RLIMIT_CPU, limits.cpu_s),
        (resource.RLIMIT_AS, limits.memory),
        (resource.RLIMIT_FSIZE, limits.file),
        (resource.RLIMIT_NPROC, limits.processes),
        (resource.RLIMIT_CORE, 0),
    ):
        hard = resource.getrlimit(kind)[1]
        most = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(kind, (most, most))
    if not writes:
        _write_only_below(folder)


def _write_only_below(folder: Path) -> None:
    version = landlock_version()
    handled = CHANGES | (REFER if version >= 2 else 0) | (TRUNCATE if version >= 3 else 0)
    asked = struct.pack("Q", handled)
    rules = _call(CREATE_RULESET, asked, ctypes.c_size_t(len(asked)), 0)
    for path, rights in ((str(folder), handled), (os.devnull, handled & (WRITE_FILE | TRUNCATE))):
        opened = os.open(path, os.O_PATH | os.O_CLOEXEC)
        _call(ADD_RULE, rules, PATH_BENEATH, struct.pack("=Qi", rights, opened), 0)
        os.close(opened)
    if _libc().prctl(NO_NEW_PRIVS, 1, 0, 0, 0):
        raise OSError(ctypes.get_errno(), "no_new_privs was refused")
    _call(RESTRICT_SELF, rules, 0)
    os.close(rules)


def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def _call(number: int, *arguments: object) -> int:
    answer = int(_libc().syscall(number, *arguments))
    if answer < 0:
        raise OSError(ctypes.get_errno(), f"Landlock: {os.strerror(ctypes.get_errno())}")
    return answer
