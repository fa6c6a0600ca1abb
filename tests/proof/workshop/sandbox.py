"""A sandbox for the code of strangers: a process that sees the course and nothing else of this machine.

bubblewrap gives it namespaces of its own (users, mounts, processes, network, ipc): only the course, Python and Java are
there, read-only, and a scratch folder in memory of a bounded size. libseccomp refuses the calls of the kernel that no
answer needs. `Watch` holds the sum over all its processes to the limits, and ends them all.
"""

from __future__ import annotations

import contextlib
import errno
import os
import resource
import shutil
import socket
import subprocess
import sys
from pathlib import Path
from threading import Event, Thread
from time import monotonic
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from rmqlab.checkout import ROOT
from rmqlab.errors import BadInput

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

COURSE: Final = Path("/course")
"""The scratch folder inside: what a notebook finds around itself."""
BESIDE: Final = (
    "rmqlab", "rmqlab_tools", "data", "pyproject.toml",
    "tests/proof/workshop/inside.py", "tests/proof/workshop/wire.py",
)  # fmt: skip
"""What of the project is there: no solutions, no tests, no history."""
ETC: Final = Path(__file__).parent / "etc"
"""What a Java wants to know of its machine: its own name, and who runs it."""
SYSTEM: Final = (
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/etc/alternatives",
    "/etc/ld.so.cache",
    "/etc/localtime",
)
NO_ANSWER_NEEDS: Final = (
    "acct", "add_key", "bpf", "clock_adjtime", "clock_settime", "delete_module", "fanotify_init", "finit_module",
    "fsopen", "init_module", "io_uring_setup", "kexec_load", "keyctl", "mount", "move_mount", "name_to_handle_at",
    "open_by_handle_at", "open_tree", "perf_event_open", "personality", "pidfd_getfd", "pivot_root",
    "process_vm_readv", "process_vm_writev", "ptrace", "quotactl", "reboot", "request_key", "setdomainname",
    "sethostname", "setns", "settimeofday", "swapoff", "swapon", "syslog", "umount2", "unshare", "userfaultfd",
)  # fmt: skip
PROMISES: Final = {
    "files": "only the course can be read; nothing outside a scratch folder can be written or changed",
    "network": "no network, no sockets of this machine's programs",
    "kernel": "calls of the kernel that no answer needs are refused",
    "limits": "memory, processes, disk, time and output of a notebook are bounded, all of its processes together",
}
"""What a sandbox promises, by the name under which a missing one is told."""
WITHOUT_NETWORK: Final = ("unshare", "--map-root-user", "--net")
"""Begins a program of ours where no network is: for what must work in a room without one."""
PERIOD_S: Final = 0.05
SLACK_S: Final = 1.0


class SandboxClosed(BadInput):
    """The sandbox did not open, so nobody's code ran."""


class Limits(NamedTuple):
    """What one run of a notebook may use: s of the clock, bytes of memory and disk, processes; all of it together."""

    clock_s: int = 180
    memory: int = 3 << 30
    disk: int = 256 << 20
    processes: int = 200


def no_network() -> bool:
    """Whether this machine lets us begin a program `WITHOUT_NETWORK`."""
    if shutil.which("unshare") is None:
        return False
    return subprocess.run([*WITHOUT_NETWORK, "true"], capture_output=True, check=False).returncode == 0  # noqa: S603


def missing() -> dict[str, str]:
    """The promises that this machine cannot keep, each with what it takes."""
    program = shutil.which("bwrap")
    if sys.platform != "linux" or program is None:
        how = "bubblewrap is not installed: apt install bubblewrap" if sys.platform == "linux" else "it takes Linux"
        return dict.fromkeys(PROMISES, how)
    tried = subprocess.run(  # noqa: S603
        [program, *_namespaces(), "--ro-bind", "/", "/", "true"], capture_output=True, text=True, check=False
    )
    if tried.returncode:
        why = (tried.stderr.strip().splitlines() or ["it does not say why"])[-1]
        return dict.fromkeys(PROMISES, f"bubblewrap cannot begin a sandbox here: {why}")
    try:
        import pyseccomp  # noqa: F401
    except (ImportError, RuntimeError, OSError):
        return {"kernel": "libseccomp and pyseccomp are not installed: apt install libseccomp2, pip install pyseccomp"}
    return {}


def _namespaces() -> tuple[str, ...]:
    return (
        "--unshare-all",
        "--unshare-user",
        "--disable-userns",
        "--die-with-parent",
        "--new-session",
        "--cap-drop",
        "ALL",
    )


def command(program: Sequence[str], limits: Limits, lacking: Mapping[str, str], seccomp: int | None) -> list[str]:
    """The command that runs Python with `program` in the sandbox; without one, where promises are `lacking`."""
    if "files" in lacking:
        return [sys.executable, *program]
    seen: list[str] = []
    for path in (*SYSTEM, *_java(), sys.base_prefix, sys.prefix, *(str(ROOT / name) for name in BESIDE)):
        if os.path.islink(path) and path in SYSTEM:  # noqa: PTH114
            seen += ["--symlink", os.readlink(path), path]  # noqa: PTH115
        elif os.path.exists(path):  # noqa: PTH110
            seen += ["--ro-bind", path, path]
    return [
        shutil.which("bwrap") or "bwrap", *_namespaces(), *seen, "--dev", "/dev", "--remount-ro", "/dev",
        *(part for name in ("hosts", "passwd") for part in ("--ro-bind", str(ETC / name), f"/etc/{name}")),
        "--hostname", "localhost", "--uid", "1000", "--gid", "1000",
        "--size", str(limits.disk // 4), "--tmpfs", "/dev/shm", "--proc", "/proc",  # noqa: S108
        "--size", str(limits.disk), "--tmpfs", str(COURSE), "--dir", str(COURSE / "notebooks" / "exercises"),
        "--symlink", str(ROOT / "data"), str(COURSE / "data"), *_temporary(seen),
        *(("--seccomp", str(seccomp)) if seccomp is not None else ()), "--chdir", str(COURSE), "--remount-ro", "/",
        sys.executable, *program,
    ]  # fmt: skip


def _temporary(seen: Sequence[str]) -> tuple[str, ...]:
    """Where temporary files go: to the scratch folder, by the name /tmp too where nothing that is seen lies there."""
    if any(part.startswith("/tmp/") for part in seen):  # noqa: S108 - a checkout or its packages may
        return "--setenv", "TMPDIR", str(COURSE)
    return "--symlink", str(COURSE), "/tmp"  # noqa: S108


def _java() -> tuple[str, ...]:
    homes = [os.environ["JAVA_HOME"]] if "JAVA_HOME" in os.environ else []
    return (*homes, *(str(path) for path in Path("/etc").glob("java-*")))


def environment(home: Path) -> dict[str, str]:
    """The environment inside: no variable of this machine's but Java and the language."""
    scratch = dict.fromkeys(("HOME", "TMPDIR", "MPLCONFIGDIR", "NUMBA_CACHE_DIR", "IPYTHONDIR"), str(home))
    kept = {name: os.environ[name] for name in ("JAVA_HOME", "LANG", "RMQLAB_LANG") if name in os.environ}
    path = os.pathsep.join([str(Path(sys.executable).parent), "/usr/local/bin", "/usr/bin", "/bin"])
    return {
        **scratch,
        **kept,
        "PATH": path,
        "PYTHONPATH": str(ROOT),
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONSAFEPATH": "1",
    }


def seccomp_filter() -> int:
    """A file descriptor with the filter that bubblewrap loads."""
    import pyseccomp

    rules = pyseccomp.SyscallFilter(pyseccomp.ALLOW)
    for name in NO_ANSWER_NEEDS:
        try:
            rules.add_rule(pyseccomp.ERRNO(errno.EPERM), name)
        except (OSError, ValueError, RuntimeError):
            continue  # this library or machine has no such call
    rules.add_rule(pyseccomp.ERRNO(errno.EACCES), "socket", pyseccomp.Arg(0, pyseccomp.EQ, socket.AF_UNIX))
    file = os.memfd_create("rules")
    with os.fdopen(os.dup(file), "wb") as out:
        rules.export_bpf(out)
    os.lseek(file, 0, os.SEEK_SET)
    return file


def hold(limits: Limits) -> None:
    """What each process of a notebook is held to by itself, before its program begins; for `preexec_fn`."""
    for kind, value in (
        (resource.RLIMIT_AS, limits.memory),
        (resource.RLIMIT_FSIZE, limits.disk),
        (resource.RLIMIT_CORE, 0),
    ):
        hard = resource.getrlimit(kind)[1]
        most = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(kind, (most, most))


class Watch:
    """Ends a sandbox whose processes together take more than the limits; `why` says what it was."""

    def __init__(self, process: subprocess.Popen[Any], limits: Limits) -> None:
        """Looks every ``PERIOD_S`` until `stop`; `process` is the first of the sandbox."""
        self.why = ""
        self._process, self._limits, self._done = process, limits, Event()
        self._until = monotonic() + limits.clock_s
        self._thread = Thread(target=self._look, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """End looking."""
        self._done.set()
        self._thread.join()

    @property
    def late(self) -> bool:
        """Whether the time is over."""
        return monotonic() >= self._until

    def _look(self) -> None:
        import psutil

        while not self._done.wait(PERIOD_S):
            try:
                first = psutil.Process(self._process.pid)
                family = [first, *first.children(recursive=True)]
            except psutil.NoSuchProcess:
                return
            if len(family) > self._limits.processes:
                self._end(f"it began more than {self._limits.processes} processes")
            elif sum(map(_resident, family)) > self._limits.memory:
                self._end(f"its processes took more than {self._limits.memory >> 20} MB together")
            elif self.late:
                self._end(f"it ran into the limit of {self._limits.clock_s} s")

    def _end(self, why: str) -> None:
        self.why = self.why or why
        kill(self._process)


def _resident(process: Any) -> int:
    """Bytes of memory that a process has for itself."""
    import psutil

    try:
        memory = process.memory_info()
    except psutil.Error:
        return 0
    return int(memory.rss - getattr(memory, "shared", 0))


def kill(process: subprocess.Popen[Any]) -> None:
    """End a process and all that it began: inside they are one space of process numbers, outside one session."""
    import signal

    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.kill()
