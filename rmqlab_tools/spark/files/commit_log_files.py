"""The files of a commit log, ranges of them for tasks, and the columns of a record that can be asked for.

Spark's planning imports this in processes of its own, so nothing here needs numba or makes arrays.
"""

from __future__ import annotations

import errno
import os
import re
import stat
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple, TypeVar

import pyarrow as pa

from rmqlab.errors import BadInput
from rmqlab.files import contents, open_regular, seen
from rmqlab.language import _
from rmqlab.message.java import LONG_MAX, LONG_MIN, parse_int
from rmqlab_tools.program import program
from rmqlab_tools.recordings.store import PACKED
from rmqlab_tools.spark.files.addresses import AddressPath, StorePath, store_path
from rmqlab_tools.spark.files.known_records import known_record
from rmqlab_tools.spark.files.stored_files import (
    REQUESTS,
    RangeReader,
    end_of_data,
    is_dir,
    is_file,
    listed_files,
    require_bucket,
    size_of,
    unreadable,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from contextlib import AbstractContextManager

T = TypeVar("T")
LOG_FOLDER: Final = "commitlog"
_NAME: Final = re.compile(r"[0-9]{20}")
FETCHED: Final = 128 << 20
"""Bytes of a range at an address: a task holds so much of the log at once."""
LOOKED_BACK: Final = 8 << 20
LARGEST: Final = (1 << 31) - 1
"""Bytes of a commit log's file: `mappedFileSizeCommitLog` is an int (`MessageStoreConfig`)."""

TYPES: Final[dict[str, pa.DataType]] = {
    "physicalOffset": pa.int64(),
    "size": pa.int32(),
    "topic": pa.string(),
    "queueId": pa.int32(),
    "queueOffset": pa.int64(),
    "tags": pa.string(),
    "keys": pa.string(),
    "uniqKey": pa.string(),
    "offsetMsgId": pa.string(),
    "storeTimestamp": pa.int64(),
    "bornTimestamp": pa.int64(),
    "storeHost": pa.string(),
    "bornHost": pa.string(),
    "flag": pa.int32(),
    "sysFlag": pa.int32(),
    "transaction": pa.string(),
    "compressed": pa.bool_(),
    "reconsumeTimes": pa.int32(),
    "preparedTransactionOffset": pa.int64(),
    "bodyCrc": pa.int32(),
    "bodyLength": pa.int32(),
    "body": pa.binary(),
    "properties": pa.map_(pa.string(), pa.string()),
    "propertiesText": pa.string(),
    "corrupt": pa.string(),
}
"""Every column of a record. Times are epoch ms, sizes bytes; `bodyLength` is as stored, `body` restored if compressed.

`corrupt` is NULL for a sound record. A damaged part of the log is a row with its `physicalOffset`, its `size` and what
is wrong; a record whose body does not fit its checksum has its columns and says so.
"""
STORE_HOST_BYTES: Final = "storeHostBytes"
CODED_TOPIC, CODED_TAGS = "codedTopic", "codedTags"
INNER_TYPES: Final[dict[str, pa.DataType]] = {
    STORE_HOST_BYTES: pa.binary(21),
    CODED_TOPIC: pa.dictionary(pa.int32(), pa.string()),
    CODED_TAGS: pa.dictionary(pa.int32(), pa.string()),
}
"""Columns that a table has not: a store host as its address in 16 bytes, its port in 4 and the address's length; topic
and tags as numbers of texts, in the order in which a batch has them."""
PROPERTY_PREFIX: Final = "property:"
"""A column of this prefix is the property of that exact name."""


@dataclass(frozen=True, slots=True)
class RecordFilter:
    """Which records are wanted: topics and queues (empty: all), store times in epoch ms, both ends included."""

    topics: tuple[str, ...] = ()
    queues: tuple[int, ...] = ()
    since: int = LONG_MIN
    until: int = LONG_MAX


class LogFile(NamedTuple):
    """One file: its path, the commit log offset of its first byte, its size, and the offset where the next begins.

    `last` says that nothing is written in a file that follows: it may still be written, and ends in zeros. At an
    address, where files are only replaced, its size is without those.
    """

    path: str | AddressPath
    base: int
    size: int
    next_base: int
    last: bool


class QueueFile(NamedTuple):
    """One file of a queue: its path, whose it is, the place of its first byte in the queue, its size."""

    path: str | AddressPath
    topic: str
    queue_id: int
    base: int
    size: int


class LogRange(NamedTuple):
    """A part of a file: the records that begin at bytes `low` <= place < `high` of it; `file` None: nothing is there.

    A range without a file stands for a missing file, from commit log offset `low` to `high`. `begin` is a place where
    a record is known to begin, from which `low` can be found.
    """

    file: LogFile | None
    low: int
    high: int
    begin: int = 0


def store_directory(path: str | StorePath) -> StorePath:
    """`path`, also an address, if it holds a commit log, or its folder `store` if that does.

    A packed store is refused: tasks read parts of its files where they lie.

    Raises:
        BadInput: anything else.
    """
    root = store_path(path)
    for folder in (root, root / "store"):
        if is_dir(folder / LOG_FOLDER):
            return folder
    if isinstance(root, AddressPath):
        require_bucket(root)
    packed = next((archive for archive in (root, root / PACKED) if is_file(archive)), None)
    if packed is not None:
        raise BadInput(
            _(
                "{path} is a packed store, and tables are read from a folder: unpack it and load that folder, or audit"
                " it ({program} audit, rmqlab.audit take it packed)",
                path=packed,
                program=program(),
            )
        )
    raise BadInput(_("{path}: no store directory, since it has no folder {folder}", path=root, folder=repr(LOG_FOLDER)))


def log_files(root: str | StorePath) -> list[LogFile]:
    """The commit log's files in order.

    Raises:
        BadInput: there is no commit log, or something in it is no file that a broker writes; 4.8.0 does not start
            either on a file of another length (`MappedFileQueue.load`).
    """
    folder = store_directory(root) / LOG_FOLDER
    named = sorted(_named_by_offset(folder), key=lambda file: file[0])
    files = []
    # A mapped file has the size its broker was set to; a shorter one was cut.
    mapped = max((size for _, size, *_ in named), default=0)
    # A broker makes the next file, or two, before it needs them: the log ends in the last one that is written to.
    end = len(named) - 1
    while end > 0 and not _is_begun(named[end][2]):
        end -= 1
    for number, (base, size, path, put_ns) in enumerate(named):
        following = base + mapped if number == len(named) - 1 else named[number + 1][0]
        is_last = number >= end
        if isinstance(path, AddressPath):
            written = _written(path, size, put_ns) if is_last else size
        else:
            _require_readable(path)
            written = size
        files.append(LogFile(path, base, written, min(following, base + mapped), is_last))
    return files


@lru_cache(1024)
def _written(path: AddressPath, size: int, put_ns: int) -> int:  # noqa: ARG001 - another one is asked for anew
    """Where what is written in a file at an address ends; the file is looked through once in a process."""
    return end_of_data(path, size)


def _named_by_offset(folder: StorePath) -> Iterator[tuple[int, int, str | AddressPath, int]]:
    """Offset, size, path of each file whose name is an offset; and when it was put there, at an address (epoch ns)."""
    for name, path, size, put_ns in _sized(folder):
        if int(name) > LONG_MAX:
            raise BadInput(_("{path}: its name is no offset; a commit log has files of a broker only", path=path))
        if size > LARGEST:
            raise BadInput(
                _(
                    "{path} has {size} bytes; a file of a commit log has at most {largest}",
                    path=path,
                    size=f"{size:,}",
                    largest=f"{LARGEST:,}",
                )
            )
        yield int(name), size, path, put_ns


def _sized(folder: StorePath) -> Iterator[tuple[str, str | AddressPath, int, int]]:
    """Name, path, size and time of each file of a folder that has 20 digits as its name."""
    if isinstance(folder, AddressPath):
        for path, size, put_ns in listed_files(folder):
            if _NAME.fullmatch(path.name) and path.parent == folder:
                yield path.name, path, size, put_ns
        return
    with _scanned(folder) as listed:
        for entry in listed:
            if _NAME.fullmatch(entry.name) and (about := regular(entry.path)) is not None:
                yield entry.name, entry.path, about.st_size, 0


def regular(path: str | Path) -> os.stat_result | None:
    """About a file of a store; None when it is gone, since a broker deletes old files.

    Raises:
        BadInput: something else has the name of such a file, or it may not be read; 4.8.0 does not start either.
    """
    about = seen(Path(path))
    if about is None:
        return None
    if not stat.S_ISREG(about.st_mode):
        what = _("a folder") if stat.S_ISDIR(about.st_mode) else _("no regular file")
        raise BadInput(_("{path} is {what}; a store has files of a broker there only", path=path, what=what))
    return about


def queue_files(root: StorePath, folder: str) -> Iterator[QueueFile]:
    """The files of the queues in a folder of the store, `consumequeue` or `consumequeue_ext`, in the order of paths.

    Names are read as 4.8.0 does (`DefaultMessageStore.loadConsumeQueue`): what is no number is passed over.

    Raises:
        BadInput: something else has the name of a queue's file, or a folder may not be read.
    """
    for path, known_size in _three_deep(root / folder):
        try:
            queue_id = parse_int(path.parent.name)
        except ValueError:
            continue
        if not _NAME.fullmatch(path.name) or int(path.name) > LONG_MAX:
            continue
        topic, base = path.parts[-3], int(path.name)
        if isinstance(path, AddressPath):
            yield QueueFile(path, topic, queue_id, base, known_size)
        elif (about := regular(path)) is not None:
            yield QueueFile(str(path), topic, queue_id, base, about.st_size)


def _three_deep(folder: StorePath) -> Iterator[tuple[StorePath, int]]:
    """What lies in folders of folders of a folder, by path; with its size at an address, where it is not asked for."""
    if isinstance(folder, AddressPath):
        deep = len(folder.parts) + 3
        yield from ((file.path, file.size) for file in listed_files(folder) if len(file.path.parts) == deep)
        return
    for topic in contents(folder):
        for queue in contents(topic):
            for path in contents(queue):
                yield path, 0


def _scanned(folder: Path) -> AbstractContextManager[Iterator[os.DirEntry[str]]]:
    try:
        return os.scandir(folder)
    except OSError as error:
        raise BadInput(_("{path}: cannot be read ({strerror})", path=folder, strerror=error.strerror)) from error


def _is_begun(path: str | AddressPath) -> bool:
    try:
        if isinstance(path, AddressPath):
            with RangeReader(path) as reader:
                return any(reader.read(0, 8))
        with open_regular(Path(path)) as stream:
            return any(stream.read(8))
    except FileNotFoundError:  # at its end a broker deletes what it has not used
        return False
    except OSError as error:
        raise unreadable(store_path(path), error) from error


def _require_readable(path: str) -> None:
    if not os.access(path, os.R_OK) and is_file(Path(path)):
        raise BadInput(_("{path}: cannot be read ({strerror})", path=path, strerror=os.strerror(errno.EACCES)))


def cut_since(files: Iterable[LogFile]) -> str:
    """Which of these files have become shorter since they were listed, in a sentence; "" where none has.

    A broker makes files in their full size, appends and deletes: nothing of it cuts one. What was read of one that was
    cut may be zeros that no one wrote.
    """
    for file in files:
        now = size_of(store_path(file.path))
        if now is not None and now < file.size:
            return _(
                "{path}: it was cut from {size} to {now} bytes while it was read, so nothing is known; run it again "
                "when nobody writes there",
                path=file.path, size=f"{file.size:,}", now=f"{now:,}",
            )  # fmt: skip
    return ""


def log_ranges(files: Sequence[LogFile], split_bytes: int, low: int = 0, high: int | None = None) -> list[LogRange]:
    """Cut the files into ranges of about `split_bytes`; only commit log offsets `low` <= offset < `high` count.

    Ranges are cut anywhere: a range's reader finds the first record itself, by walking there from the file's beginning.
    Only in a file at an address they are cut where a queue says that a record begins, so that nothing is read twice.
    """
    ranges: list[LogRange] = []
    for number, file in enumerate(files):
        begin = max(low - file.base, 0)
        end = file.size if high is None else min(high - file.base, file.size)
        if begin < end and isinstance(file.path, AddressPath):
            ranges += _ranges_at_address(file, file.path, begin, end, split_bytes)
        elif begin < end:
            pieces = max(1, round((end - begin) / max(split_bytes, 1)))
            cuts = [begin + (end - begin) * piece // pieces for piece in range(pieces + 1)]
            # What is cut off at a file's end is told by the range that has its last byte.
            ranges += (LogRange(file, *cut) for cut in pairwise(cuts))
        elif not file.size and low <= file.base and (high is None or file.base < high):
            ranges.append(LogRange(file, 0, 0))
        if not file.last and files[number + 1].base > file.next_base:
            missing = max(file.next_base, low), min(files[number + 1].base, high or files[number + 1].base)
            if missing[0] < missing[1]:
                ranges.append(LogRange(None, *missing))
    return ranges


def _ranges_at_address(file: LogFile, path: AddressPath, begin: int, end: int, split_bytes: int) -> list[LogRange]:
    """Cut what begins at bytes `begin` <= place < `end` of a file at an address where records are known to begin."""
    size = min(max(split_bytes, 1), FETCHED)
    pieces = max(1, round((end - begin) / size))
    root = path.parent.parent
    wanted = [begin + (end - begin) * piece // pieces for piece in range(1, pieces)]
    wanted = [max(begin - LOOKED_BACK, 0), *wanted]
    try:
        with ThreadPoolExecutor(REQUESTS) as pool:
            first, *records = pool.map(lambda place: known_record(root, path, file.base, file.size, place), wanted)
    except OSError as error:
        raise unreadable(path, error) from error
    cuts = sorted({place for place in records if place is not None and begin < place < end})
    starts = [first if first is not None and first <= begin else 0, *cuts]
    return [LogRange(file, *bounds, start) for bounds, start in zip(pairwise([begin, *cuts, end]), starts, strict=True)]


def ranges_together(ranges: Iterable[LogRange], most_bytes: int) -> list[tuple[LogRange, ...]]:
    """What each task reads: a large range alone, small ones that follow each other together."""
    return together(((part, part.high - part.low) for part in ranges), most_bytes)


def together(sized: Iterable[tuple[T, int]], most_bytes: int) -> list[tuple[T, ...]]:
    """Give each task one part or more that follow each other, of `most_bytes` in all unless one alone has more.

    Each part comes with its size in bytes.
    """
    tasks: list[list[T]] = []
    room = -1
    for part, size in sized:
        if size > room:
            tasks.append([])
            room = most_bytes
        tasks[-1].append(part)
        room -= size
    return [tuple(parts) for parts in tasks]
