"""Lines for people while a server runs: few enough to read, and never in its way.

A pipe that no process reads blocks whoever writes to it. So a thread of its own writes; what it cannot keep up with,
and what comes too fast to be read, is dropped and counted.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections import deque
from typing import TYPE_CHECKING

from rmqlab_tools.visible import in_line

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TextIO

MAX_WAITING = 200
BURST, A_SECOND = 50, 10
_GOODBYE_SECONDS = 0.5


class RateLimitedLog:
    """Writes lines to a stream with a file descriptor, from any thread, without ever waiting for it.

    At most `burst` lines at once and `a_second` on average (None: as many as are read). `dropped` gives the line that
    says how many were not written. `close` waits half a second for what is left.
    """

    def __init__(
        self,
        stream: TextIO,
        *,
        a_second: float | None = A_SECOND,
        burst: int = BURST,
        dropped: Callable[[int], str] = "{} more lines were not written: too many at once, or nobody read them".format,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        stream.flush()
        self._fd = stream.fileno()
        self._dropped_line = dropped
        self._clock = clock
        self._a_second, self._burst = a_second, burst
        self._allowed, self._since = float(burst), clock()
        self._lines: deque[str] = deque()
        self._dropped = 0
        self._closed = False
        self._changed = threading.Condition()
        self._thread = threading.Thread(target=self._write_all, name="teller", daemon=True)
        self._thread.start()

    def tell(self, line: str) -> None:
        """Have a line written, or dropped and counted."""
        with self._changed:
            if self._closed:
                return
            if len(self._lines) >= MAX_WAITING or not self._may():
                self._dropped += 1
                return
            self._take_dropped()
            self._lines.append(line)
            self._changed.notify()

    def write(self, text: str) -> None:
        """Have a text's line written: what `logging` asks of a stream."""
        self.tell(text.removesuffix("\n"))

    def flush(self) -> None:
        """Nothing: the thread writes."""

    def close(self) -> None:
        """Write what is waiting, if somebody reads it; nothing is taken any more."""
        with self._changed:
            self._take_dropped()
            self._closed = True
            self._changed.notify()
        self._thread.join(_GOODBYE_SECONDS)

    def _may(self) -> bool:
        if self._a_second is None:
            return True
        now = self._clock()
        self._allowed = min(self._burst, self._allowed + (now - self._since) * self._a_second)
        self._since = now
        if self._allowed < 1:
            return False
        self._allowed -= 1
        return True

    def _take_dropped(self) -> None:
        if self._dropped:
            self._lines.append(self._dropped_line(self._dropped))
            self._dropped = 0

    def _write_all(self) -> None:
        while True:
            with self._changed:
                while not self._lines and not self._closed:
                    self._changed.wait()
                if not self._lines:
                    return
                line = self._lines.popleft()
            data = in_line(line).encode("ascii", "backslashreplace") + b"\n"
            with contextlib.suppress(OSError):  # the reader is gone
                while data:
                    data = data[os.write(self._fd, data) :]
