"""Print how long each lesson takes to read, beside what its header says, and beside an older revision.

`python -m tests.proof.lesson_minutes [REVISION]`
"""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING

from rmqlab.checkout import ROOT
from rmqlab_tools.course.minutes import HEADER, Reading, reading, split
from rmqlab_tools.course.notebooks import Notebook, read

if TYPE_CHECKING:
    from collections.abc import Iterator

HEADERS = ("lesson", "cells", "words", "lines", "pictures", "tables", "minutes", "appendix", "header")


def row(notebook: Notebook) -> tuple[str, ...]:
    """The figures of one notebook as words, beside what its header says."""
    lesson, appendix = map(reading, split(notebook))
    stated = HEADER.search("".join(notebook["cells"][0]["source"]))
    return (*_figures(lesson), f"{appendix.minutes:.1f}", f"{stated['read']}+{stated['play']}" if stated else "-")


def _figures(lesson: Reading) -> tuple[str, ...]:
    counts = (lesson.cells, lesson.words, lesson.lines, lesson.pictures, lesson.tables)
    return (*map(str, counts), f"{lesson.minutes:.1f}")


def now() -> Iterator[tuple[str, ...]]:
    """A row for each lesson of this checkout."""
    for path in sorted((ROOT / "notebooks").glob("*.ipynb")):
        yield (path.stem, *row(read(path)))


def at(revision: str) -> Iterator[tuple[str, ...]]:
    """A row for each lesson of an older revision. Raises `CalledProcessError` for one that git does not know."""
    for name in _git("ls-tree", "--name-only", revision, "notebooks/").split():
        if name.endswith(".ipynb"):
            notebook = json.loads(_git("show", f"{revision}:{name}"))
            yield (name.removeprefix("notebooks/").removesuffix(".ipynb"), *row(notebook))


def _git(*words: str) -> str:
    command = ["git", *words]
    return subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout  # noqa: S603


def _show(title: str, rows: list[tuple[str, ...]]) -> None:
    widths = [max(map(len, column)) for column in zip(HEADERS, *rows, strict=True)]
    form = "  ".join(f"{{:{width}}}" for width in widths)
    sys.stdout.write("\n".join([title, *(form.format(*line) for line in (HEADERS, *rows)), ""]) + "\n")


if __name__ == "__main__":
    for revision in sys.argv[1:]:
        _show(f"at {revision}", list(at(revision)))
    _show("now", list(now()))
