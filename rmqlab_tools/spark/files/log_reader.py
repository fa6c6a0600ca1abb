"""Ranges of commit log files as record batches; damaged parts are rows of their own."""

from __future__ import annotations

import mmap
import os
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa

from rmqlab.files import end_of_data, open_regular
from rmqlab.message.record import MESSAGE_MAGIC_CODE
from rmqlab_tools.spark.files import record_kernel as kernel
from rmqlab_tools.spark.files.addresses import AddressPath
from rmqlab_tools.spark.files.commit_log_files import FETCHED, INNER_TYPES, TYPES, LogRange, RecordFilter, log_ranges
from rmqlab_tools.spark.files.record_columns import BATCH_ROWS, RecordWalk
from rmqlab_tools.spark.files.stored_files import RangeReader, unreadable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from rmqlab_tools.spark.files.commit_log_files import LogFile

_BODY_ROOM: Final = 16 << 20
_MORE: Final = 16 << 20
_STRETCH: Final = 4 << 20
_MAGIC: Final = MESSAGE_MAGIC_CODE.to_bytes(4, "big", signed=True)


@dataclass(slots=True)
class LogReader:
    """Reads ranges of commit log files into record batches with `columns`.

    Rows, damaged parts among them, come in the order of the log, and do not depend on where ranges are cut.
    `check_crc` compares bodies with their checksums.
    """

    columns: Sequence[str]
    wanted: RecordFilter = field(default_factory=RecordFilter)
    check_crc: bool = True
    batch_rows: int = BATCH_ROWS
    reached: int = 0
    """The commit log offset behind the last record of the last range that was read."""

    def schema(self) -> pa.Schema:
        """The schema of the batches."""
        return pa.schema([(name, (TYPES | INNER_TYPES).get(name, pa.string())) for name in self.columns])

    def read(self, part: LogRange, open_file: IO[bytes] | None = None) -> Iterator[pa.RecordBatch]:
        """The batches of one range. A file that is cut, empty or missing gives rows, no error.

        `open_file` is the file, if it is open; it stays so.
        """
        file = part.file
        if file is None:
            yield self._damage(part.low, part.high - part.low, "a file is missing")
            return
        if isinstance(file.path, AddressPath):
            yield from self._fetched(part, file.path)
        elif file.size:
            stream: AbstractContextManager[IO[bytes]]
            try:
                stream = nullcontext(open_file) if open_file else open_regular(Path(file.path))
            except FileNotFoundError:
                # a broker deletes old files, and at its end one that it made for later
                if not file.last and part.high == file.size:
                    yield self._damage(file.base, file.size, "the file was deleted meanwhile")
                return
            except OSError as error:
                if part.high == file.size:
                    yield self._damage(file.base, file.size, f"the file cannot be read ({error.strerror})")
                return
            with stream as opened:
                left = min(os.fstat(opened.fileno()).st_size, file.size)
                if left > min(part.low, part.begin):
                    window = _Window(opened.fileno(), left)
                    yield from self._records(window, part._replace(high=min(part.high, left)))
                    left = min(left, window.size)
                if left < file.size and part.high == file.size:
                    yield self._damage(file.base + left, file.size - left, "the file was cut meanwhile")
        if not file.last and file.base + file.size < file.next_base and part.high == file.size:
            yield self._damage(file.base + file.size, file.next_base - file.base - file.size, "the file is cut off")

    def _fetched(self, part: LogRange, path: AddressPath) -> Iterator[pa.RecordBatch]:
        """The batches of a range at an address."""
        if part.begin >= part.high:
            return
        try:
            with RangeReader(path) as reader:
                yield from self._records(_FetchedRange(reader, part), part)
        except FileNotFoundError:
            if part.file and part.high == part.file.size:
                yield self._damage(part.file.base, part.file.size, "the file was deleted meanwhile")
        except OSError as error:  # what a network does not bring is no damage of the log
            raise unreadable(path, error) from error

    def _records(self, source: _Window | _FetchedRange, part: LogRange) -> Iterator[pa.RecordBatch]:
        file = part.file
        assert file is not None  # noqa: S101 - for the type checker
        at, body_room = part.begin, _BODY_ROOM
        walk = RecordWalk(self.columns, self.wanted, check_crc=self.check_crc)
        self.reached = file.base + at
        rows, buffers = 0, None
        while at < part.high:
            before = at
            if buffers is None:
                buffers = walk.buffers(self.batch_rows, max(part.high - max(part.low, at), 0), body_room)
            rows, at, how, detail = walk(source.data(at), source.begin, at, part, buffers, rows)
            if at > before:
                self.reached = file.base + at
            if how in {kernel.FULL, kernel.BIG}:
                if rows:
                    yield walk.batch(buffers, rows)
                rows, buffers = 0, None
                body_room = int(detail) if how == kernel.BIG else body_room
            elif how != kernel.DONE:
                if source.bring_more(at, is_cut=how == kernel.BAD_RECORD and detail == kernel.CUT):
                    continue  # a record that goes on behind what is there, or what comes behind damage
                if how != kernel.BLANK and source.is_record_by_now(at, file.base):
                    continue  # a broker wrote it in the meantime
                size, reason = _gap(source, at, file, how, detail)
                if not size:
                    break
                if reason and at >= part.low:
                    if rows:
                        yield walk.batch(buffers, rows)
                    rows, buffers = 0, None
                    yield self._damage(file.base + at, size, reason)
                at += size
        if buffers is not None and rows:
            yield walk.batch(buffers, rows)

    def _damage(self, offset: int, size: int, reason: str) -> pa.RecordBatch:
        known: dict[str, Any] = {"physicalOffset": offset, "size": min(size, 0x7FFFFFFF), "corrupt": reason}
        return pa.RecordBatch.from_pylist([known], schema=self.schema())


def log_end(files: Sequence[LogFile], begin: int, until: int | None = None) -> int:
    """The commit log offset after the last whole record, walking from `begin`, where a record begins.

    With `until`, the first place at or after it where a record begins. What is damaged in between is walked over;
    damage with nothing whole after it may be a record that is still being written, and ends the walk.
    """
    end = begin
    for file in files:
        if file.base + file.size <= end:
            continue
        if until is None and not file.last:
            end = file.next_base  # whatever is damaged in it
            continue
        if until is not None and end >= until:
            break
        high = file.size if until is None else min(until - file.base, file.size)
        reader = LogReader((), check_crc=False)
        # No record begins behind the file's end, so nothing is decoded on the way.
        parts = log_ranges([file], FETCHED) if isinstance(file.path, AddressPath) else []
        known = [part.begin for part in parts if part.begin < high]
        for _ in reader.read(LogRange(file, file.size, high, max(end - file.base, *known, 0))):
            pass
        if file.last:
            # Several may be: files made for later, or one whose beginning is damaged.
            end = max(end, reader.reached) if reader.reached != file.base else end
            continue
        # What is damaged up to the file's end is walked over, but not what lies behind `until`.
        is_until = reader.reached >= file.base + high < file.base + file.size
        end = reader.reached if is_until else file.next_base
    return end


class _Window:
    """A stretch of a file of this machine, from place `begin` on; `size` is that of the file.

    Mapped, the file would end this process if somebody cut it, and what was read of it would count as its memory.
    """

    def __init__(self, fd: int, size: int) -> None:
        self._fd, self.size = fd, size
        self._room = bytearray()
        self.begin = self._end = 0

    def _read(self, at: int, size: int = _STRETCH) -> None:
        size = max(min(max(size, _STRETCH), self.size - at), 0)
        if size > len(self._room) or len(self._room) > _STRETCH >= size:
            self._room = bytearray(size)
        done = 0
        with memoryview(self._room) as room:
            while done < size and (count := os.preadv(self._fd, [room[done:size]], at + done)):
                done += count
        self.begin, self._end = at, at + done
        if done < size:
            self.size = self._end  # somebody cut it

    def data(self, at: int) -> NDArray[np.uint8]:
        """The stretch that has the byte at `at`."""
        if not self.begin <= at < self._end:
            self._read(at)
        return np.frombuffer(self._room, np.uint8)[: self._end - self.begin]

    def bring_more(self, at: int, *, is_cut: bool) -> bool:
        """Read on from `at`, if a record that begins there goes on in the file past the end of the stretch."""
        if not is_cut or self._end >= self.size:
            return False
        head = self._room[at - self.begin : min(at + 4, self._end) - self.begin]
        size = int.from_bytes(head, signed=True) if len(head) == 4 else 0
        if at + size > self.size or (at == self.begin and self._end - at >= max(size, kernel.MIN_SIZE)):
            return False
        self._read(at, size)
        return True

    def is_record_by_now(self, at: int, base: int) -> bool:
        """Whether a whole record begins at `at` that has changed since the stretch was read."""
        head = os.pread(self._fd, 8, at)
        if head[4:] != _MAGIC:
            return False
        size = max(int.from_bytes(head[:4], signed=True), kernel.MIN_SIZE)
        known = self._room[at - self.begin : min(at + size, self._end) - self.begin]
        if len(known) == size and os.pread(self._fd, size, at) == known:
            return False
        self._read(at)
        return self.is_record(at, base)

    def is_record(self, at: int, base: int) -> bool:
        """Whether a record that is whole and in its place begins at `at`."""
        if not self.begin <= at <= self._end - kernel.MIN_SIZE:
            self._read(at)
        wrong = self._check(at, base)
        if wrong == kernel.CUT and self.bring_more(at, is_cut=True):
            wrong = self._check(at, base)
        return wrong == 0

    def _check(self, at: int, base: int) -> int:
        data = self.data(at)
        if at + kernel.MIN_SIZE > self._end:
            return kernel.CUT
        return int(kernel.check(data, at - self.begin, len(data), base + self.begin))

    def find(self, text: bytes, low: int, high: int) -> int:
        """The first place of `text` in the file between two places, or -1."""
        while low + len(text) <= high:
            if not self.begin + 4 <= low <= self._end - len(text):
                self._read(low - 4)  # a record begins 4 bytes before its magic number
            end = min(high, self._end)
            place = self._room.find(text, low - self.begin, end - self.begin)
            if place >= 0:
                return self.begin + place
            if end < low + len(text) or end >= min(high, self.size):
                return -1
            low = end - len(text) + 1
        return -1

    def end(self) -> int:
        """Where the last byte that is not zero ends."""
        return end_of_data(self._fd, self.size)


class _FetchedRange:
    """The bytes of a file at an address: those of one range, each at its place in the file.

    Memory is taken where bytes are, as in a file with holes.
    """

    def __init__(self, reader: RangeReader, part: LogRange) -> None:
        assert part.file is not None  # noqa: S101 - for the type checker
        self._reader, self._size, self.size = reader, part.file.size, part.begin
        self.begin = 0
        self._bytes = mmap.mmap(-1, self._size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        self._fill(part.high)

    def _fill(self, end: int) -> None:
        for place, data in self._reader.pieces(self.size, end):
            self._bytes[place : place + len(data)] = data
        self.size = end

    def data(self, _at: int) -> NDArray[np.uint8]:
        """All that was fetched, from the file's beginning."""
        return np.frombuffer(self._bytes, np.uint8)[: self.size]

    def bring_more(self, _at: int, *, is_cut: bool) -> bool:
        """Fetch more of what follows, whatever ended the walk; False where the file ends."""
        del is_cut
        before = self.size
        self._fill(min(before + _MORE, self._size))
        return self.size > before

    def is_record_by_now(self, _at: int, _base: int) -> bool:
        """A stored object does not change."""
        return False

    def is_record(self, at: int, base: int) -> bool:
        """Whether a record that is whole and in its place begins at `at`."""
        if at + kernel.MIN_SIZE > self.size:
            return False
        return bool(kernel.check(self.data(at), at, self.size, base) == 0)

    def find(self, text: bytes, low: int, high: int) -> int:
        """The first place of `text` between two places, or -1."""
        return self._bytes.find(text, low, high)

    def end(self) -> int:
        """Where the last byte that is not zero ends: a file's zeros at its end are not part of it."""
        return self.size


def _gap(source: _Window | _FetchedRange, at: int, file: LogFile, how: int, detail: int) -> tuple[int, str]:
    """How many bytes at `at` are no record, and what is wrong ("": nothing). Size 0: nothing more is written."""
    if how == kernel.BLANK:
        place = at - source.begin
        if int.from_bytes(source.data(at)[place : place + 4].tobytes()) == file.next_base - file.base - at:
            return source.size - at, ""
        detail = kernel.SIZE
    # The last file was made in full size: to look through a gigabyte of zeros took longer than all its records.
    end = source.end() if file.last else source.size
    if end <= at:
        return 0, ""
    reason = "nothing is written here" if how == kernel.EMPTY else kernel.REASONS[detail]
    return _next_record(source, at, end, file.base) - at, reason


def _next_record(source: _Window | _FetchedRange, at: int, end: int, base: int) -> int:
    """Where the next record that is whole and in its place begins after `at`, or `end`, the end of the data."""
    magic_at = source.find(_MAGIC, at + 5, end)
    while magic_at >= 0 and not source.is_record(magic_at - 4, base):
        magic_at = source.find(_MAGIC, magic_at + 1, end)
    return end if magic_at < 0 else magic_at - 4
