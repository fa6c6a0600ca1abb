"""How far long work is: one line on standard error that is written over, and nothing where that is no terminal."""

from __future__ import annotations

import sys
from contextlib import AbstractContextManager
from threading import Event, Thread
from time import monotonic
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from typing import Self, TextIO

BAR: Final = 20  # characters
EVERY_S: Final = 1.0  # so often the seconds are told anew, also when no work was finished meanwhile
WIPE: Final = "\x1b[K"  # a terminal forgets what is left of a longer line


class Progress(AbstractContextManager["Progress"]):
    """One line while a ``with`` block runs: what is done, seconds, seconds left and a bar where ``total`` is known.

    ``unit`` names what is counted. The line is shown where standard error is a terminal, so that pipes, logs and
    notebooks stay as they are; ``shown`` overrides that. Example::

        with Progress("exploring", budget, unit="runs") as progress:
            explorer.explore(progress.to)
    """

    def __init__(self, name: str, total: int | None = None, *, unit: str = "", shown: bool | None = None) -> None:
        self._name, self._total, self._unit = name, total, unit
        self._done = self._kept = 0
        self._note = ""
        self._stream: TextIO = sys.stderr
        self.shown = self._stream.isatty() if shown is None else shown
        self._begin = monotonic()
        self._over = Event()
        self._clock: Thread | None = None

    def __enter__(self) -> Self:
        self._begin = monotonic()
        if self.shown:
            self._write()
            self._clock = Thread(target=self._tick, name="progress", daemon=True)
            self._clock.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._over.set()
        if self._clock is not None:
            self._clock.join()
            self._write()
            self._stream.write("\n")
            self._stream.flush()

    def to(self, done: int, note: str = "", *, kept: int = 0) -> None:
        """So much is done now; ``note`` stands behind it, "2 failed" for example.

        ``kept`` of it was there before and took no time: it is left out of the estimate of the seconds left.
        """
        self._done, self._note, self._kept = done, note, kept
        if self.shown:
            self._write()

    def rows(self, done: int, kept: int, failed: int) -> None:
        """What `run_sweep` reports."""
        self.to(done, f"{failed} failed" if failed else "", kept=kept)

    def now(self, what: str) -> None:
        """What is done next, where steps are named and not counted."""
        self._name = what
        if self.shown:
            self._write()

    def _tick(self) -> None:
        while not self._over.wait(EVERY_S):
            self._write()

    def _write(self) -> None:
        seconds, made = monotonic() - self._begin, self._done - self._kept
        told = [f"{seconds:.0f} s"]
        bar = ""
        if self._total is not None:
            told.insert(0, f"{self._done} of {self._total} {self._unit}".rstrip())
            if made and self._done < self._total:
                told.append(f"about {seconds / made * (self._total - self._done):.0f} s left")
            full = BAR * min(self._done, self._total) // max(1, self._total)
            bar = f" [{'#' * full}{'-' * (BAR - full)}]"
        elif self._unit:
            told.insert(0, f"{self._done} {self._unit}")
        if self._note:
            told.append(self._note)
        # one call of write: the clock and the work may write at the same time
        self._stream.write(f"\r{self._name}: {', '.join(told)}{bar}{WIPE}")
        self._stream.flush()
