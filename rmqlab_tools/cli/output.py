"""What a verb says besides its lines: `--json FILE` for programs, files, and how far long work is."""

from __future__ import annotations

import json
import os
import sys
from contextlib import AbstractContextManager, contextmanager, redirect_stdout
from math import isfinite
from pathlib import Path
from threading import Event, Thread
from time import monotonic
from typing import TYPE_CHECKING, Any, Final, Self, TextIO

from rmqlab.errors import BadInput
from rmqlab.files import replace_text
from rmqlab.language import _
from rmqlab_tools.cli.printing import width_of
from rmqlab_tools.visible import in_line, own_stream

if TYPE_CHECKING:
    from collections.abc import Iterator

BAR: Final = 20  # characters
EVERY_S: Final = 1.0  # so often the seconds are told anew, also when no work was finished meanwhile
WIPE: Final = "\x1b[K"  # a terminal forgets what is left of a longer line
_results: TextIO | None = None  # under `--json -`: the real standard output


def write_json(value: object, target: str | None, *, indent: int | None = 1) -> None:
    """Write `value` as JSON to the file `target` ('-': standard output); do nothing when `target` is None.

    Without an `indent` it is one line, which a program can wait for. Lone surrogates are legal in our texts and not in
    UTF-8, hence ASCII. What is no number in JSON (NaN, infinity) becomes null.

    Raises:
        BadInput: a file that cannot be written.
    """
    if target is None:
        return
    try:
        text = json.dumps(value, indent=indent, allow_nan=False) + "\n"
    except ValueError:
        text = json.dumps(_finite(value), indent=indent, allow_nan=False) + "\n"
    if target == "-":
        write_result(text)
        return
    try:
        replace_text(Path(target), text)
    except OSError as error:
        raise BadInput(
            _(
                "--json {target}: {strerror}; name a file that can be written, or '-'",
                target=target,
                strerror=error.strerror,
            )
        ) from error


def _finite(value: Any) -> Any:
    if isinstance(value, float):
        return value if isfinite(value) else None
    if isinstance(value, dict):
        return {name: _finite(item) for name, item in value.items()}
    return [_finite(item) for item in value] if isinstance(value, list | tuple) else value


def write_result(text: str) -> None:
    """Write the verb's result to standard output: the one thing that is still written there under `--json -`."""
    out = sys.stdout if _results is None else _results
    out.write(text)
    out.flush()


@contextmanager
def only_json(target: str | None) -> Iterator[None]:
    """With `target` "-": what this process and its programs write to standard output goes to standard error.

    Only `write_json` and `write_result` still write there. Any other target changes nothing.
    """
    global _results  # noqa: PLW0603 - one process has one standard output
    if target != "-":
        yield
        return
    sys.stdout.flush()
    try:
        ours = sys.stdout.fileno() == 1
    except (OSError, ValueError):  # a stream in memory
        ours = False
    if not ours:
        _results = sys.stdout
        try:
            with redirect_stdout(sys.stderr):
                yield
        finally:
            _results = None
        return
    kept = os.dup(1)
    _results = open(kept, "w", encoding="ascii", closefd=False)  # noqa: SIM115 - a descriptor, closed below
    try:
        os.dup2(2, 1)
        yield
    finally:
        sys.stdout.flush()
        os.dup2(kept, 1)
        os.close(kept)
        _results = None


def check_target(path: Path | None, option: str) -> None:
    """Look, before long work, whether the folder in which `path` shall be made is there.

    Raises:
        BadInput: it is not there.
    """
    if path is not None and not path.absolute().parent.is_dir():
        raise BadInput(
            _(
                "{option} {path}: there is no folder {parent}; make it first",
                option=option,
                path=path,
                parent=path.absolute().parent,
            )
        )


def make_folder(path: Path | None, option: str) -> None:
    """Before long work: make the folder that an option names.

    Raises:
        BadInput: if it cannot be made.
    """
    if path is not None:
        try:
            path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise BadInput(
                _(
                    "{option} {path}: {strerror}; name a folder that can be made",
                    option=option,
                    path=path,
                    strerror=error.strerror,
                )
            ) from error


def replace_file(path: Path, text: str, encoding: str = "ascii") -> None:
    """Write `text` to `path`, whole or not at all: readers see the old file until the new one is complete.

    Raises:
        BadInput: a file that cannot be written.
    """
    try:
        replace_text(path, text, encoding)
    except OSError as error:
        raise BadInput(
            _("{path}: {strerror}; name a file that can be written", path=path, strerror=error.strerror)
        ) from error


class Progress(AbstractContextManager["Progress"]):
    """One line while a `with` block runs: what is done, seconds, seconds left and a bar where `total` is known.

    `unit` names what is counted. The line is shown where standard error is a terminal, so that pipes, logs and
    notebooks stay as they are; `shown` overrides that. Example::

        with Progress("exploring", budget, unit="runs") as progress:
            explorer.explore(progress.to)
    """

    def __init__(self, name: str, total: int | None = None, *, unit: str = "", shown: bool | None = None) -> None:
        self._name, self._total, self._unit = name, total, unit
        self._done = self._kept = 0
        self._note = ""
        self._stream: TextIO = own_stream(sys.stderr)  # it moves the cursor
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
        """So much is done now; `note` stands after it, "2 failed" for example.

        `kept` of it was there before and took no time: it is left out of the estimate of the seconds left.
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
        parts = [f"{seconds:.0f} s"]
        bar = ""
        if self._total is not None:
            parts.insert(0, f"{self._done} of {self._total} {self._unit}".rstrip())
            if made and self._done < self._total:
                parts.append(f"about {seconds / made * (self._total - self._done):.0f} s left")
            full = BAR * min(self._done, self._total) // max(1, self._total)
            bar = f" [{'#' * full}{'-' * (BAR - full)}]"
        elif self._unit:
            parts.insert(0, f"{self._done} {self._unit}")
        if self._note:
            parts.append(self._note)
        line = in_line(f"{self._name}: {', '.join(parts)}{bar}")
        # one call of write: the clock and the work may write at the same time; a line that is broken never goes away
        self._stream.write(f"\r{line[: (width_of(self._stream) or len(line) + 1) - 1]}{WIPE}")
        self._stream.flush()
