"""Messages by key on disk (`IndexFile`, `IndexHeader`, `IndexService`).

A file: a header of 40 bytes, `maxHashSlotNum` slots of 4 bytes, `maxIndexNum` entries of 20. A slot holds the number of
the last entry whose key's hash leads to it, an entry the number of the one before; number 0 is none.
"""

from __future__ import annotations

import sys
from array import array
from contextlib import suppress
from itertools import groupby
from struct import Struct
from typing import TYPE_CHECKING

from rmqlab.message.java import INT_MAX, LONG_MAX, to_int32
from rmqlab.store.mapped_file_queue import SegmentError
from rmqlab_tools.live.store.index_service import Key, QueryOffsetResult, key_hash, keys_of, overlaps, seconds_since

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from rmqlab.store.config import MessageStoreConfig
    from rmqlab.store.dispatch_request import DispatchRequest
    from rmqlab.store.mapped_file_queue import Segment, Segments

DIRECTORY = "index"
_HEADER = Struct(">qqqqii")
_SLOT = Struct(">i")
_ENTRY = Struct(">iqii")
_PAGE_SLOTS = 1024
"""Slots that are read and written at once."""
_INT32 = "i"


class IndexFile:
    """One file. `index_count` is the number of the next entry; times are epoch ms, offsets those of the commit log."""

    def __init__(self, segment: Segment, hash_slot_num: int, index_num: int) -> None:
        self.segment = segment
        self._slots = hash_slot_num
        self._max = index_num
        self._entries_at = _HEADER.size + hash_slot_num * _SLOT.size
        segment.truncate(file_size(hash_slot_num, index_num))
        self._pages: dict[int, array[int]] = {}
        self._unwritten: set[int] = set()
        *fields, index_count = _HEADER.unpack(segment.read(0, _HEADER.size))
        # a damaged header may count what has no room in the file
        self._header = (*fields, min(max(index_count, 1), index_num))

    @property
    def is_write_full(self) -> bool:
        """Whether no entry fits any more."""
        return self.index_count >= self._max

    def begin_after(self, end_phy_offset: int, end_timestamp: int) -> None:
        """Note where the file before ended."""
        if end_phy_offset > 0:
            self.begin_phy_offset = self.end_phy_offset = end_phy_offset
        if end_timestamp > 0:
            self.begin_timestamp = self.end_timestamp = end_timestamp
        self.segment.overwrite(0, _HEADER.pack(*self._header))

    def put_keys(self, keys: Sequence[Key]) -> int:
        """Write as many keys as fit and return how many that were; their slots are written by `write_slots`.

        Entries go first, then the header: whoever reads in between finds what the header counts.

        Raises:
            SegmentError: a file of the store cannot be read or written.
        """
        keys = keys[: self._max - self.index_count]
        if not keys:
            return 0
        first, last = self.index_count, keys[-1]
        begin_offset, begin = self.begin_phy_offset, self.begin_timestamp
        if first <= 1:
            begin_offset, begin = keys[0].phy_offset, keys[0].store_timestamp
        slots, pack = self._slots, _ENTRY.pack
        used, entries = 0, []
        taken: dict[int, int] = {}
        for number, (hashed, phy_offset, store_timestamp) in enumerate(keys, start=first):
            slot = hashed % slots
            before = taken.get(slot) or self._slot(slot)
            used += before == 0
            entries.append(pack(hashed, phy_offset, seconds_since(begin, store_timestamp), before))
            taken[slot] = number
        counts = to_int32(self.hash_slot_count + used), first + len(keys)
        header = begin, last.store_timestamp, begin_offset, last.phy_offset, *counts
        self.segment.overwrite(self._entries_at + first * _ENTRY.size, b"".join(entries))
        self.segment.overwrite(0, _HEADER.pack(*header))
        self._header = header
        for slot, number in taken.items():
            page, place = divmod(slot, _PAGE_SLOTS)
            self._pages[page][place] = number
            self._unwritten.add(page)
        return len(keys)

    def write_slots(self) -> None:
        """Write the slots that changed: when the file is full, and in an orderly end. After another it is made anew.

        Raises:
            SegmentError: a file of the store cannot be read or written.
        """
        unwritten = sorted(self._unwritten)
        for _, row in groupby(enumerate(unwritten), lambda numbered: numbered[1] - numbered[0]):
            pages = [page for _, page in row]
            numbers = array(_INT32, b"".join(self._pages[page] for page in pages))
            self.segment.overwrite(_HEADER.size + pages[0] * _PAGE_SLOTS * _SLOT.size, _swapped(numbers).tobytes())
            self._unwritten.difference_update(pages)
        if self.is_write_full:
            self._pages.clear()

    @property
    def _header(self) -> tuple[int, ...]:
        """The fields of the header in their order."""
        return (
            self.begin_timestamp,
            self.end_timestamp,
            self.begin_phy_offset,
            self.end_phy_offset,
            self.hash_slot_count,
            self.index_count,
        )

    @_header.setter
    def _header(self, fields: tuple[int, ...]) -> None:
        (
            self.begin_timestamp,
            self.end_timestamp,
            self.begin_phy_offset,
            self.end_phy_offset,
            self.hash_slot_count,
            self.index_count,
        ) = fields

    def _slot(self, slot: int) -> int:
        page, place = divmod(slot, _PAGE_SLOTS)
        numbers = self._pages.get(page)
        if numbers is None:
            numbers = self._read_page(page)
            if not self.is_write_full:
                self._pages[page] = numbers
        number = numbers[place]
        return number if 0 < number < self.index_count else 0

    def _read_page(self, page: int) -> array[int]:
        first = page * _PAGE_SLOTS
        count = min(_PAGE_SLOTS, self._slots - first)
        return _swapped(array(_INT32, self.segment.read(_HEADER.size + first * _SLOT.size, count * _SLOT.size)))

    def select_phy_offset(self, offsets: list[int], hashed: int, max_num: int, begin: int, end: int) -> None:
        """Add offsets of messages with that key hash, the newest first, until there are `max_num`."""
        number = self._slot(hashed % self._slots) if self.index_count > 1 else 0
        while number and len(offsets) < max_num:
            position = self._entries_at + number * _ENTRY.size
            read_hash, phy_offset, seconds, before = _ENTRY.unpack(self.segment.read(position, _ENTRY.size))
            if seconds < 0:
                return
            stored = self.begin_timestamp + seconds * 1000
            if read_hash == hashed and begin <= stored <= end:
                offsets.append(phy_offset)
            if not 0 < before < number or stored < begin:  # what was written before has a lower number: no circle
                return
            number = before


def _swapped(numbers: array[int]) -> array[int]:
    """Numbers between this machine's order of bytes and the files'."""
    if sys.byteorder == "little":
        numbers.byteswap()
    return numbers


def file_size(hash_slot_num: int, index_num: int) -> int:
    """Bytes of a file."""
    return _HEADER.size + hash_slot_num * _SLOT.size + index_num * _ENTRY.size


class FileIndexService:
    """The index in files.

    Messages wait in memory until `write` or a query puts their keys into a file; slots wait there until `write_all`, or
    until their file is full.

    `file_number` names a new file: the time as yyyyMMddHHmmssSSS. After a crash (`last_exit_ok` False) the last file
    is made anew: its slots may lead nowhere.
    """

    def __init__(self, config: MessageStoreConfig, segments: Segments, file_number: Callable[[], int]) -> None:
        self._config = config
        self._segments = segments
        self._file_number = file_number
        self._keys: list[Key] = []
        self._loaded_end = -1
        self._last_number = 0
        self.files: list[IndexFile] = []

    def load(self, *, last_exit_ok: bool) -> None:
        """Take in the files that are there.

        Raises:
            SegmentError: a file of the store cannot be read or written.
        """
        config = self._config
        size = file_size(config.max_hash_slot_num, config.max_index_num)
        for number, segment, _ in self._segments.load(DIRECTORY, size):
            self.files.append(IndexFile(segment, config.max_hash_slot_num, config.max_index_num))
            self._last_number = number
        if not last_exit_ok and self.files:
            self.files.pop().segment.delete()
        self._loaded_end = self.end_phy_offset

    @property
    def end_phy_offset(self) -> int:
        """Commit log offset of the last message in a file, -1 when there is none."""
        return self.files[-1].end_phy_offset if self.files and self.files[-1].index_count > 1 else -1

    def build_index(self, request: DispatchRequest) -> None:
        """Enter a message, unless the files have it."""
        if request.commit_log_offset > self._loaded_end:
            self._keys.extend(keys_of(request))
        elif request.commit_log_offset == self._loaded_end:
            self._keys.extend(filter(self._is_missing, keys_of(request)))

    def _is_missing(self, key: Key) -> bool:
        """Whether no file has a key: of the last message before a lost file, some may be in the file that is left."""
        offsets: list[int] = []
        self.files[-1].select_phy_offset(offsets, key.hashed, INT_MAX, 0, LONG_MAX)
        return key.phy_offset not in offsets

    def write(self) -> None:
        """Put what waits into files.

        Raises:
            SegmentError: ; what was not written waits on.
        """
        while self._keys:
            written = self._last_file().put_keys(self._keys)
            del self._keys[:written]

    def write_all(self) -> None:
        """Put what waits into files, and bring the last one in order: nothing is left in memory.

        Raises:
            SegmentError: a file of the store cannot be read or written.
        """
        self.write()
        for file in self.files[-1:]:
            file.write_slots()

    def _last_file(self) -> IndexFile:
        before = self.files[-1] if self.files else None
        if before is not None and not before.is_write_full:
            return before
        if before is not None:
            before.write_slots()
        config = self._config
        self._last_number = max(self._file_number(), self._last_number + 1)
        segment = self._segments(
            DIRECTORY, self._last_number, file_size(config.max_hash_slot_num, config.max_index_num)
        )
        created = IndexFile(segment, config.max_hash_slot_num, config.max_index_num)
        if before is not None:
            created.begin_after(before.end_phy_offset, before.end_timestamp)
        self.files.append(created)
        return created

    def query_offset(self, topic: str, key: str, max_num: int, begin: int, end: int) -> QueryOffsetResult:
        """At most `max_num` offsets of messages stored from `begin` to `end` (epoch ms)."""
        with suppress(SegmentError):  # what is in files can still be found
            self.write()
        result = QueryOffsetResult()
        if self.files:
            result.index_last_update_timestamp = self.files[-1].end_timestamp
            result.index_last_update_phyoffset = self.files[-1].end_phy_offset
        hashed = key_hash(topic, key)
        for index_file in reversed(self.files):
            if overlaps(index_file.begin_timestamp, index_file.end_timestamp, begin, end):
                index_file.select_phy_offset(result.phy_offsets, hashed, max_num, begin, end)
            if index_file.begin_timestamp < begin or len(result.phy_offsets) >= max_num:
                break
        return result

    def delete_expired_file(self, offset: int) -> None:
        """Delete files all of whose messages lie below a commit log offset, never the last one.

        Raises:
            SegmentError: a file of the store cannot be read or written.
        """
        while len(self.files) > 1 and self.files[0].end_phy_offset < offset:
            self.files.pop(0).segment.delete()
