"""The files of a commit log on disk: where each begins, where the next one should, and what is missing between them."""

from __future__ import annotations

import os
import re
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from rmqlab.errors import BadInput

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

FOLDER: Final = "commitlog"
_NAME: Final = re.compile(r"\d{20}")


class LogFile(NamedTuple):
    """One file: its path, the commit log offset of its first byte, its size, and the offset where the next begins.

    `last` says that nothing is written in a file that follows: it may still be written, and ends in zeros.
    """

    path: str
    base: int
    size: int
    next_base: int
    last: bool


class LogRange(NamedTuple):
    """A part of a file: the records that begin at bytes `low` <= place < `high` of it; `file` None: nothing is there.

    A range without a file stands for a missing file, from commit log offset `low` to `high`. `begin` is a place where
    a record is known to begin, from which `low` can be found.
    """

    file: LogFile | None
    low: int
    high: int
    begin: int = 0


def store_directory(path: str | Path) -> Path:
    """Return `path` if it holds a commit log; raise `BadInput` for anything else."""
    root = Path(path)
    if not (root / FOLDER).is_dir():
        inside = root / "store"
        hint = f"; {inside} is one" if (inside / FOLDER).is_dir() else ""
        raise BadInput(f"{root}: no store directory, since it has no folder {FOLDER!r}{hint}")
    return root


def log_files(root: str | Path) -> list[LogFile]:
    """Return the commit log's files in order; raise `BadInput` if there is no commit log."""
    folder = store_directory(root) / FOLDER
    found = sorted(
        (int(one.name), one.stat().st_size, one.path) for one in os.scandir(folder) if _NAME.fullmatch(one.name)
    )
    files = []
    # A mapped file has the size its broker was set to; a shorter one was cut.
    mapped = max((size for _, size, _ in found), default=0)
    # A broker makes the next file, or two, before it needs them: the log ends in the last one that is written to.
    end = len(found) - 1
    while end > 0 and not _is_begun(found[end][2]):
        end -= 1
    for number, (base, size, path) in enumerate(found):
        following = base + mapped if number == len(found) - 1 else found[number + 1][0]
        files.append(LogFile(path, base, size, min(following, base + mapped), number >= end))
    return files


def _is_begun(path: str) -> bool:
    try:
        with open(path, "rb") as stream:  # noqa: PTH123 - called for every task
            return any(stream.read(8))
    except FileNotFoundError:  # at its end a broker deletes what it has not used
        return False


def log_ranges(files: Sequence[LogFile], split_bytes: int, low: int = 0, high: int | None = None) -> list[LogRange]:
    """Cut the files into ranges of about `split_bytes`; only commit log offsets `low` <= offset < `high` count.

    Ranges are cut anywhere: a range's reader finds the first record itself, by walking there from the file's beginning.
    """
    return list(_ranges(files, max(split_bytes, 1), low, high))


def _ranges(files: Sequence[LogFile], split_bytes: int, low: int, high: int | None) -> Iterator[LogRange]:
    for number, file in enumerate(files):
        begin = max(low - file.base, 0)
        end = file.size if high is None else min(high - file.base, file.size)
        if begin < end:
            pieces = max(1, round((end - begin) / split_bytes))
            cuts = [begin + (end - begin) * piece // pieces for piece in range(pieces + 1)]
            # What is cut off at a file's end is told by the range that has its last byte.
            yield from (LogRange(file, *cut) for cut in pairwise(cuts))
        elif not file.size and low <= file.base and (high is None or file.base < high):
            yield LogRange(file, 0, 0)
        if not file.last and files[number + 1].base > file.next_base:
            missing = max(file.next_base, low), min(files[number + 1].base, high or files[number + 1].base)
            if missing[0] < missing[1]:
                yield LogRange(None, *missing)
