"""What the consume queues say of a range of the commit log, against the records that were read there.

A record of 4.8.0 has a checksum of its body alone. Its queue's entry repeats where it lies, its size, and the hash code
of its tag, and the entry's own place is its topic, queue and queue offset: what was changed there, or is gone, is seen.
Nothing repeats the other properties, the times and the addresses: a changed byte of theirs cannot be noticed.
"""

from __future__ import annotations

import errno
import os
from bisect import bisect_left
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from rmqlab.errors import BadInput
from rmqlab.files import is_file, open_regular
from rmqlab.language import _
from rmqlab.message.java import string_hash
from rmqlab.message.topics import SCHEDULE_TOPIC
from rmqlab.store.consume_queue_ext import MAX_ADDR
from rmqlab_tools.spark.files.addresses import AddressPath, StorePath, store_path
from rmqlab_tools.spark.files.commit_log_files import log_files, queue_files
from rmqlab_tools.spark.files.store_tables import BLANK_SIZE, QUEUE_ENTRY
from rmqlab_tools.spark.files.stored_files import REQUESTS, RangeReader, unreadable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import pyarrow as pa

    from rmqlab_tools.spark.files.commit_log_files import LogRange, QueueFile

GONE: Final = _("the record is gone: only its queue names it")
Numbers = NDArray[np.int64]
Entries = NDArray[np.void]
_ENTRY: Final = np.dtype([(name, np.int64) for name in ("offset", "size", "code", "topic", "queue", "queue_offset")])
_END: Final = (1 << 63) - 1


class QueueCheck:
    """Compares the records of one range with the entries of all queues that lie in it."""

    def __init__(self, root: str | StorePath, part: LogRange) -> None:
        """Read the entries, before any record is: what a broker writes meanwhile has none yet."""
        self._topics, self._entries = _read(store_path(root), *_bounds(root, part))
        self._offsets = np.ascontiguousarray(self._entries["offset"])
        self._seen = np.zeros(len(self._entries), np.bool_)

    def differing(self, batch: pa.RecordBatch) -> Iterator[dict[str, Any]]:
        """`physicalOffset`, size, topic, queueId, queueOffset and reason of records that their queue names else.

        `batch` has sound records and damaged parts; a damaged part is distinguished by its `corrupt`, has no topic, and
        is left to `named`.
        """
        if not len(self._entries):
            return
        offsets = batch["physicalOffset"].to_numpy()
        place = np.minimum(np.searchsorted(self._offsets, offsets), len(self._offsets) - 1)
        entries = self._entries[place]
        sound = batch["topic"].is_valid().to_numpy(zero_copy_only=False)
        known = (entries["offset"] == offsets) & sound
        self._seen[place[known]] = True
        topics, tags = batch["topic"].dictionary_encode(), batch["tags"].dictionary_encode()
        names = topics.dictionary.to_pylist()
        number = np.array([self._topics.index(name) if name in self._topics else -1 for name in names] + [-1])
        codes = np.array([string_hash(tag) for tag in tags.dictionary.to_pylist()] + [0], np.int64)
        topic = number[topics.indices.fill_null(len(names)).to_numpy(zero_copy_only=False)]
        code = codes[tags.indices.fill_null(len(codes) - 1).to_numpy(zero_copy_only=False)]
        # An address into the extension, or the time of a delayed delivery, is no hash code.
        hashed = entries["code"] > MAX_ADDR
        if SCHEDULE_TOPIC in self._topics:
            hashed &= entries["topic"] != self._topics.index(SCHEDULE_TOPIC)
        same = (
            (entries["topic"] == topic)
            & (entries["queue"] == _numbers(batch, "queueId"))
            & (entries["queue_offset"] == _numbers(batch, "queueOffset"))
            & (entries["size"] == _numbers(batch, "size"))
        )
        for row in np.flatnonzero(known & ~(same & (~hashed | (entries["code"] == code)))):
            what = _("another tag") if same[row] else _("{size} bytes and this place", size=entries["size"][row])
            yield {**self._named(int(place[row])), "reason": _("its queue says {what}", what=what)}

    def named(self, offset: int) -> dict[str, Any]:
        """The topic, queueId and queueOffset of the damaged record at `offset`, {} if no queue names it."""
        place = int(np.searchsorted(self._offsets, offset))
        if place == len(self._seen) or self._offsets[place] != offset:
            return {}
        self._seen[place] = True
        record = self._named(place)
        return {name: record[name] for name in ("topic", "queueId", "queueOffset")}

    def gone(self) -> Iterator[dict[str, Any]]:
        """What no record was read of, once all have been."""
        for place in np.flatnonzero(~self._seen):
            yield {**self._named(int(place)), "reason": GONE}

    def _named(self, place: int) -> dict[str, Any]:
        offset, size, _ignored, topic, queue, queue_offset = self._entries[place].tolist()
        return {
            "physicalOffset": offset,
            "size": size,
            "topic": self._topics[topic],
            "queueId": queue,
            "queueOffset": queue_offset,
        }


def _numbers(batch: pa.RecordBatch, name: str) -> Numbers:
    return np.asarray(batch[name].fill_null(-1).to_numpy(zero_copy_only=False))


def _bounds(root: str | StorePath, part: LogRange) -> tuple[int, int]:
    """The commit log offsets that a range answers for; the last one for all that follows, written or not."""
    file = part.file
    if file is None:
        return part.low, part.high
    low, high = file.base + part.low, file.base + part.high
    if part.high == file.size:
        # a broker may have begun a file since the ranges were cut, on this machine
        is_here = not isinstance(file.path, AddressPath)
        later = [later_file.base for later_file in log_files(root) if later_file.base > file.base] if is_here else []
        high = min(later, default=_END) if file.last else file.next_base
    return low, high


def require_queues(root: StorePath) -> None:
    """Raise `BadInput` for a queue that may not be read: a task would have to leave it out in silence."""
    if isinstance(root, AddressPath):
        return  # a task that is refused there says so
    for file in queue_files(root, "consumequeue"):
        path = Path(str(file.path))
        if not os.access(path, os.R_OK) and is_file(path):
            raise BadInput(_("{path}: cannot be read ({strerror})", path=path, strerror=os.strerror(errno.EACCES)))


def _read(root: StorePath, low: int, high: int) -> tuple[list[str], Entries]:
    """The topics, and the entries of all queues in the order of the log; a topic is a place in the first."""
    topics: list[str] = []
    parts = [np.zeros(0, _ENTRY)]
    for file, begin, entries_of_file in _entries_between(root, low, high):
        if file.topic not in topics:
            topics.append(file.topic)
        wanted = np.flatnonzero(
            (entries_of_file["size"] > 0) & (entries_of_file["offset"] >= low) & (entries_of_file["offset"] < high)
        )
        mine = np.empty(len(wanted), _ENTRY)
        for name in ("offset", "size", "code"):
            mine[name] = entries_of_file[name][wanted]
        mine["topic"], mine["queue"] = topics.index(file.topic), file.queue_id
        mine["queue_offset"] = file.base // QUEUE_ENTRY.itemsize + begin + wanted
        parts.append(mine)
    entries = np.concatenate(parts)
    return topics, entries[np.argsort(entries["offset"], kind="stable")]


def _entries_between(root: StorePath, low: int, high: int) -> Iterator[tuple[QueueFile, int, Entries]]:
    """Each queue's file with entries from commit log offset `low` on and below `high`, the place of the first, they."""
    files = queue_files(root, "consumequeue")
    if isinstance(root, AddressPath):
        with ThreadPoolExecutor(REQUESTS) as pool:
            for file, (begin, entries) in pool.map(lambda file: (file, _fetched(file, low, high)), files):
                if len(entries):
                    yield file, begin, entries
        return
    for file in files:
        try:
            with open_regular(Path(str(file.path))) as stream:
                count = os.fstat(stream.fileno()).st_size // QUEUE_ENTRY.itemsize
                if not count:
                    continue
                data = np.memmap(stream, QUEUE_ENTRY, "r", shape=(count,))
        except (FileNotFoundError, ValueError):  # a broker deletes what has expired; or it was cut this moment
            continue
        begin, end = _slice(data.__getitem__, len(data), low, high)
        if begin < end:
            yield file, begin, data[begin:end]


_NONE: Final[Entries] = np.zeros(0, QUEUE_ENTRY)
_BLOCK: Final = 4_096
"""Entries that are fetched at once while the first one is looked for."""


def _fetched(file: QueueFile, low: int, high: int) -> tuple[int, Entries]:
    """The same of a queue's file at an address: the first place, and the entries."""
    path, count = file.path, file.size // QUEUE_ENTRY.itemsize
    assert isinstance(path, AddressPath)  # noqa: S101 - for the type checker
    if not count:
        return 0, _NONE
    try:
        with closing(_EntriesAtAddress(path, count)) as entries:
            begin, end = _slice(entries.at, count, low, high)
            return begin, entries.between(begin, end)
    except FileNotFoundError:
        return 0, _NONE
    except OSError as error:
        raise unreadable(path, error) from error


class _EntriesAtAddress:
    """The entries of a queue's file at an address, fetched in blocks."""

    def __init__(self, path: AddressPath, count: int) -> None:
        self._reader, self._count = RangeReader(path), count
        self._block = lru_cache(4)(lambda number: self.between(number * _BLOCK, min((number + 1) * _BLOCK, count)))

    def between(self, begin: int, end: int) -> Entries:
        size = QUEUE_ENTRY.itemsize
        return np.frombuffer(self._reader.read(begin * size, end * size), QUEUE_ENTRY) if begin < end else _NONE

    def at(self, place: int) -> np.void:
        entry: np.void = self._block(place // _BLOCK)[place % _BLOCK]
        return entry

    def close(self) -> None:
        self._reader.close()


def _slice(entry_at: Callable[[int], np.void], count: int, low: int, high: int) -> tuple[int, int]:
    """The entries of a queue's file from `low` on and below `high`: they are in the order of the log."""

    def key(place: int) -> int:
        entry = entry_at(place)
        if entry["size"] == BLANK_SIZE and entry["offset"] == 0:  # in front of the first entry
            return -1
        return int(entry["offset"]) if entry["size"] > 0 else _END  # not yet written

    places = range(count)
    return bisect_left(places, low, key=key), bisect_left(places, high, key=key)
