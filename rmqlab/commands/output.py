"""Where a verb's result goes: `--json FILE` for programs, text for people."""

from __future__ import annotations

import json
import os
import sys
from contextlib import contextmanager, redirect_stdout
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from rmqlab.errors import BadInput
from rmqlab.files import atomic_write

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Iterator

_results: TextIO | None = None  # under `--json -`: the real standard output


def write_json(value: object, target: str | None) -> None:
    """Write `value` as JSON to the file `target` ('-': standard output); do nothing when `target` is None.

    Lone surrogates are legal in our texts and not in UTF-8, hence ASCII. What is no number in JSON (NaN, infinity)
    becomes null. Raise `BadInput` for a file that cannot be written.
    """
    if target is None:
        return
    try:
        text = json.dumps(value, indent=1, allow_nan=False) + "\n"
    except ValueError:
        text = json.dumps(_finite(value), indent=1, allow_nan=False) + "\n"
    if target == "-":
        write_result(text)
        return
    try:
        Path(target).write_text(text, encoding="ascii")
    except OSError as error:
        raise BadInput(f"--json {target}: {error.strerror}; name a file that can be written, or '-'") from error


def _finite(value: Any) -> Any:
    if isinstance(value, float):
        return value if isfinite(value) else None
    if isinstance(value, dict):
        return {name: _finite(one) for name, one in value.items()}
    return [_finite(one) for one in value] if isinstance(value, list | tuple) else value


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


def check_target(path: Path | None, option: str | None = None) -> None:
    """Before long work: raise `BadInput` if the folder in which `path` shall be made is not there."""
    if path is not None and not path.absolute().parent.is_dir():
        what = f"{option} {path}" if option else str(path)
        raise BadInput(f"{what}: there is no folder {path.absolute().parent}; make it first")


def make_folder(path: Path | None, option: str) -> None:
    """Before long work: make the folder that an option names. Raise `BadInput` if it cannot be made."""
    if path is not None:
        try:
            path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise BadInput(f"{option} {path}: {error.strerror}; name a folder that can be made") from error


def replace_file(path: Path, text: str) -> None:
    """Write `text` (ASCII) to `path`, whole or not at all: readers see the old file until the new one is complete.

    Raise `BadInput` for a file that cannot be written.
    """
    try:
        if path.exists() and not path.is_file():  # a pipe or a device has nothing to be replaced
            path.write_text(text, encoding="ascii")
            return
        with atomic_write(path) as part:
            part.write_text(text, encoding="ascii")
    except OSError as error:
        raise BadInput(f"{path}: {error.strerror}; name a file that can be written") from error


def text_stream(args: Namespace) -> TextIO:
    """Where text for people goes: standard output, or standard error when standard output carries the JSON."""
    return sys.stderr if args.json == "-" else sys.stdout
