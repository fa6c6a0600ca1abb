"""Work in a process of its own beside what goes on here; the answer is the same as without one."""

from __future__ import annotations

import os
import pickle
import signal
import sys
import threading
from contextlib import suppress
from typing import TYPE_CHECKING, Generic, TypeVar

from rmqlab_tools.processors import processors

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")


class Beside(Generic[T]):
    """A call that has begun in a fork of this process, where that is safe and there is a core for it.

    Elsewhere, and where the fork does not bring an answer, `result` makes the call itself: so its errors are raised.

    >>> work = Beside(lambda: sum(range(5)))
    >>> work.result()
    10
    """

    def __init__(self, call: Callable[[], T]) -> None:
        self._call = call
        self._number = 0
        if _is_safe():
            self._begin()

    def _begin(self) -> None:
        self._reading, writing = os.pipe()
        self._number = os.fork()
        if self._number:
            os.close(writing)
            return
        status = 1
        try:
            with os.fdopen(writing, "wb") as answer:
                pickle.dump(self._call(), answer, pickle.HIGHEST_PROTOCOL)
            status = 0
        finally:
            # what this process would do at its end, flush what it has not printed for one, is the other one's
            os._exit(status)

    def result(self) -> T:
        """The answer; whatever the call raises."""
        if self._number:
            with os.fdopen(self._reading, "rb") as answer:
                data = answer.read()
            number, self._number = self._number, 0
            if os.waitpid(number, 0)[1] == 0 and data:
                made: T = pickle.loads(data)  # noqa: S301 - a fork of this process wrote it
                return made
        return self._call()

    def end(self) -> None:
        """End the fork, if its answer was not asked for."""
        if self._number:
            os.close(self._reading)
            with suppress(ProcessLookupError):
                os.kill(self._number, signal.SIGKILL)
            os.waitpid(self._number, 0)
            self._number = 0


def _is_safe() -> bool:
    """Whether a fork can go on with what it has: no other thread holds a lock there."""
    return sys.platform == "linux" and threading.active_count() == 1 and processors() > 1
