"""Files of one JSON object a line, gzip or not, or a folder of them: subscriptions, delivery logs, events."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rmqlab.errors import BadInput
from rmqlab.files import json_lines as values_of

if TYPE_CHECKING:
    from collections.abc import Iterator


def json_lines(path: str | Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield where it stands ("FILE, line N") and the object of each line; raise `BadInput`.

    Of a folder all its `*.jsonl` and `*.jsonl.gz` are read, in order of their names. An event without an `id` gets the
    name of its file: so a driver of scenarios writes them, one file a scenario.
    """
    path = Path(path)
    files = sorted([*path.glob("*.jsonl"), *path.glob("*.jsonl.gz")]) if path.is_dir() else [path]
    if not files:
        raise BadInput(f"{path}: a folder without *.jsonl; name one with events, or a file")
    for file in files:
        for number, value in values_of(_text(file), file, refusal=BadInput):
            place = f"{file}, line {number}"
            if not isinstance(value, dict):
                raise BadInput(f"{place}: one JSON object a line is needed")
            if "ev" in value:
                value.setdefault("id", file.name.removesuffix(".gz").removesuffix(".jsonl"))
            yield place, value


def reason(error: Exception) -> str:
    """What is wrong with a line, in words."""
    if isinstance(error, KeyError):
        return f"it has no {error.args[0]!r}"
    return "; ".join(str(error).splitlines())


def _text(path: Path) -> str:
    try:
        raw = path.read_bytes()
        return (gzip.decompress(raw) if raw[:2] == b"\x1f\x8b" else raw).decode()
    except (OSError, ValueError, EOFError) as error:
        raise BadInput(f"{path}: {error}; name a file with one JSON object a line") from error
