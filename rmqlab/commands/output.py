"""Where a verb's result goes: `--json FILE` for programs, text for people."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from rmqlab.errors import BadInput
from rmqlab.lab.whole_file import replacing

if TYPE_CHECKING:
    from argparse import Namespace


def write_json(value: object, target: str | None) -> None:
    """Write `value` as JSON to the file `target` ('-': standard output); do nothing when `target` is None.

    Lone surrogates are legal in our texts and not in UTF-8, hence ASCII. Raise `BadInput` for a file that cannot be
    written.
    """
    if target is None:
        return
    text = json.dumps(value, indent=1) + "\n"
    if target == "-":
        sys.stdout.write(text)
        return
    try:
        Path(target).write_text(text, encoding="ascii")
    except OSError as error:
        raise BadInput(f"--json {target}: {error.strerror}; name a file that can be written, or '-'") from error


def replace_file(path: Path, text: str) -> None:
    """Write `text` (ASCII) to `path`, whole or not at all: readers see the old file until the new one is complete.

    Raise `BadInput` for a file that cannot be written.
    """
    try:
        if path.exists() and not path.is_file():  # a pipe or a device has nothing to be replaced
            path.write_text(text, encoding="ascii")
            return
        with replacing(path) as part:
            part.write_text(text, encoding="ascii")
    except OSError as error:
        raise BadInput(f"{path}: {error.strerror}; name a file that can be written") from error


def text_stream(args: Namespace) -> TextIO:
    """Where text for people goes: standard output, or standard error when standard output carries the JSON."""
    return sys.stderr if args.json == "-" else sys.stdout
