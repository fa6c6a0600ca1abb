"""Tasks side by side, one Python for each processor, where a search has enough of them to be worth the start.

A helper is this module run as a program: it reads tasks from its standard input and writes what came out, as pickles.
So it imports nothing of the caller's own program, which need not be written for it, and works in a notebook as well.
"""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
from queue import SimpleQueue
from threading import Thread
from typing import TYPE_CHECKING, Any, TypeVar

from rmqlab_tools.processors import processors

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import IO

    Progress = Callable[[str], None]

T = TypeVar("T")
R = TypeVar("R")
NOW, DONE, FAILED = "now", "done", "failed"


def side_by_side(work: Callable[[T, Progress], R], tasks: Sequence[T], progress: Progress) -> list[R]:
    """`work(task, progress)` of each task, in their order; `work` is a function of a module, and all can be pickled.

    `progress` hears in this thread what the tasks say, as it comes.

    Raises:
        Exception: what `work` raised for the first task that failed; no further task is begun.
    """
    waiting = iter(enumerate(tasks))
    answers: SimpleQueue[tuple[str, int, Any]] = SimpleQueue()
    helpers = [Helper() for _ in range(min(processors(), len(tasks)))]
    try:
        for helper in helpers:
            Thread(target=_serve, args=(helper, work, waiting, answers), daemon=True).start()
        results: dict[int, R] = {}
        while len(results) < len(tasks):
            kind, number, value = answers.get()
            if kind == FAILED:
                raise value
            if kind == NOW:
                progress(value)
            else:
                results[number] = value
        return [results[number] for number in range(len(tasks))]
    finally:
        for helper in helpers:
            helper.end()


class Helper:
    """Another Python that does one task after the other."""

    def __init__(self) -> None:
        environ = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        command = [sys.executable, "-m", "rmqlab_tools.side_by_side"]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environ)  # noqa: S603 - ourselves

    def answers(self, work: Callable[[T, Progress], object], task: T) -> Iterator[tuple[str, Any]]:
        """What it says of a task, each with its kind: NOW, and at last DONE or FAILED.

        Raises:
            EOFError: it has ended.
            OSError: it has ended.
        """
        tasks, output = self._process.stdin, self._process.stdout
        if tasks is None or output is None:
            raise ValueError("a helper has pipes")
        pickle.dump((work, task), tasks)
        tasks.flush()
        kind = NOW
        while kind == NOW:
            kind, value = pickle.load(output)  # noqa: S301 - our own helper's
            yield kind, value

    def end(self) -> None:
        """End it, whatever it does."""
        self._process.kill()
        self._process.communicate()


def _serve(helper: Helper, work: Any, waiting: Iterator[tuple[int, Any]], answers: SimpleQueue[Any]) -> None:
    """Give a helper one task after the other, and pass on what it says."""
    number = -1
    try:
        for number, task in waiting:
            for kind, value in helper.answers(work, task):
                answers.put((kind, number, value))
    except Exception as error:  # noqa: BLE001 - whatever it is, the thread that waits raises it
        answers.put((FAILED, number, error))


def help_out(tasks: IO[bytes], answers: IO[bytes]) -> None:
    """Do tasks until there are no more; whoever has started this one ends it, also when a user interrupts both."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)

    def say(kind: str, value: object) -> None:
        pickle.dump((kind, value), answers)
        answers.flush()

    while True:
        try:
            work, task = pickle.load(tasks)  # noqa: S301 - from the process that has started this one
        except EOFError:
            return
        try:
            say(DONE, work(task, lambda text: say(NOW, text)))
        except Exception as error:  # noqa: BLE001 - it is raised where it was asked for
            say(FAILED, error)


if __name__ == "__main__":
    help_out(sys.stdin.buffer, sys.stdout.buffer)
