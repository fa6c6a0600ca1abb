"""How a verb ends before its time: Ctrl-C, SIGTERM, a closed terminal; and the processes that it started end with it.

Whoever ends a verb, `kill`, systemd, a container or a classroom script, knows the verb's process alone. So it is the
verb that ends what it has started, and what that has started in turn: JupyterLab and its kernels, the JVM of a Spark
session and its workers, the processes of pytest.
"""

from __future__ import annotations

import os
import signal
import subprocess
import time
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import current_thread, main_thread
from typing import TYPE_CHECKING, Any, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

ENDING: Final = tuple(
    number for name in ("SIGINT", "SIGTERM", "SIGHUP") if (number := getattr(signal, name, None)) is not None
)
PATIENCE_S = 10.0  # JupyterLab and Spark put away what they have first
_LOOK_S: Final = 0.05
_PROC: Final = Path("/proc")


class StoppedBySignal(KeyboardInterrupt):
    """A signal ends this process: `KeyboardInterrupt` for SIGTERM and SIGHUP too, so what cleans up for one does."""

    def __init__(self, number: int) -> None:
        """`number` is the signal's."""
        super().__init__(number)
        self.number = number


class Known(NamedTuple):
    """A process by its number and its start, since numbers are given away again."""

    number: int
    parent: int
    start: str


def listened_to() -> list[int]:
    """The signals that end a verb here: not those that somebody lets pass, as nohup does with SIGHUP."""
    return [number for number in ENDING if signal.getsignal(number) is not signal.SIG_IGN]


@contextmanager
def ended_by_signals() -> Iterator[None]:
    """Raise `StoppedBySignal` in the block for a signal that ends the process; end what it started there.

    Libraries that were at work do not log it: Py4J gives each call a traceback. A handler that somebody has set stays.
    A second signal does not wait for anything.
    """
    started: list[Known] = []  # below this process when the first signal came
    usual = {signal.SIG_DFL, signal.default_int_handler}
    if current_thread() is not main_thread():
        yield
        return
    ours = os.getpid()
    came: list[int] = []
    others = _children()  # of a program that called the verb

    def stop(number: int, _: object) -> None:
        if os.getpid() != ours:  # a fork of this process: it has no children to end
            signal.signal(number, signal.SIG_DFL)
            os.kill(os.getpid(), number)
            return
        import logging  # only a signal needs it, every start would pay for it

        logging.disable(logging.CRITICAL)
        if not came:
            started.extend(below(ours, without=others))
        came.append(number)
        raise StoppedBySignal(number)

    before = {number: signal.getsignal(number) for number in ENDING}
    replaced = {number: handler for number, handler in before.items() if handler in usual}
    for number in replaced:
        signal.signal(number, stop)
    try:
        yield
    finally:
        if came:
            import logging

            with suppress(StoppedBySignal):
                end(started)
            logging.disable(logging.NOTSET)
        for number, handler in replaced.items():
            if signal.getsignal(number) is stop:
                signal.signal(number, handler)


def run_until_ended(command: list[str], *, without: str) -> int:
    """Run a program to its end and return its exit status; a signal to this process ends it first, in good order.

    It has this process's environment but for the variable `without`.
    """
    environment = {name: value for name, value in os.environ.items() if name != without}
    program = subprocess.Popen(command, env=environment)  # noqa: S603 - the caller's own program
    try:
        return program.wait()
    except KeyboardInterrupt:
        end_child(program)
        raise


def end_child(program: subprocess.Popen[Any]) -> None:
    """End a program that this process has started, and what it has started, and wait for it."""
    others = {process.number for process in _every() if process.parent == os.getpid() and process.number != program.pid}
    end(below(os.getpid(), without=others))
    program.wait()


def end(processes: Iterable[Known], patience_s: float | None = None) -> None:
    """End processes: those without a parent among them first, with time to put things away, then all others."""
    there = [known for known in processes if _is_there(known)]
    numbers = {known.number for known in there}
    heads = [known for known in there if known.parent not in numbers]
    for group, number in ((heads, signal.SIGTERM), (there, signal.SIGTERM), (there, signal.SIGKILL)):
        for known in group:
            if _is_there(known):
                with suppress(ProcessLookupError, PermissionError):
                    os.kill(known.number, number)
        until = time.monotonic() + (PATIENCE_S if patience_s is None else patience_s)
        while any(_is_there(known) for known in group) and time.monotonic() < until:
            time.sleep(_LOOK_S)
        there = [known for known in there if _is_there(known)]
        if not there:
            return


def below(number: int, *, without: Collection[int] = ()) -> list[Known]:
    """The processes that a process has started, but for children `without`, and those that they started."""
    processes = _every()
    children: list[Known] = [
        process for process in processes if process.parent == number and process.number not in without
    ]
    for parent in children:
        children += [process for process in processes if process.parent == parent.number]
    return children


def _children() -> frozenset[int]:
    """The children of this process, where the system lists them at once."""
    try:
        return frozenset(map(int, (_PROC / "self" / "task" / str(os.getpid()) / "children").read_text().split()))
    except OSError:
        return frozenset()


def _every() -> list[Known]:
    """Every process of this machine, from /proc or else from ps."""
    if _PROC.is_dir():
        numbers = [int(path.name) for path in _PROC.iterdir() if path.name.isdigit()]
        return [known for number in numbers if (known := _look(number)) is not None]
    listing = subprocess.run(["ps", "-axo", "pid=,ppid=,lstart=,stat="], capture_output=True, text=True, check=False)  # noqa: S607
    rows = [line.split(None, 2) for line in listing.stdout.splitlines()]
    # the last word is the state, and Z says that only its number is left
    return [
        Known(int(number), int(parent), rest.rpartition(" ")[0].strip())
        for number, parent, rest in rows
        if not rest.rpartition(" ")[2].startswith("Z")
    ]


def _look(number: int) -> Known | None:
    """A process as /proc shows it: its name stands in parentheses and may hold anything; None when it has ended."""
    try:
        fields = (_PROC / str(number) / "stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
    except OSError:
        return None
    state, parent, start = fields[0], int(fields[1]), fields[19]
    return None if state in {"Z", "X"} else Known(number, parent, start)


def _is_there(known: Known) -> bool:
    """Whether it still runs; its parent may be another one by now."""
    if _PROC.is_dir():
        now = _look(known.number)
        return now is not None and now.start == known.start
    return any((process.number, process.start) == (known.number, known.start) for process in _every())
