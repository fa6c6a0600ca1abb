"""Ranges of commit log files as record batches; damaged parts are rows of their own."""

from __future__ import annotations

import mmap
import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa

from rmqlab.files import end_of_data, open_regular
from rmqlab.message.record import MESSAGE_MAGIC_CODE
from rmqlab_tools.spark.files import record_kernel as kernel
from rmqlab_tools.spark.files.addresses import AddressPath, RangeReader, unreadable
from rmqlab_tools.spark.files.commit_log_files import FETCHED, INNER_TYPES, TYPES, LogRange, RecordFilter, log_ranges
from rmqlab_tools.spark.files.record_columns import BATCH_ROWS, RecordWalk

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from rmqlab_tools.spark.files.commit_log_files import LogFile

_BODY_ROOM: Final = 16 << 20
_MORE: Final = 16 << 20
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

    def read(self, part: LogRange) -> Iterator[pa.RecordBatch]:
        """The batches of one range. A file that is cut, empty or missing gives rows, no error."""
        file = part.file
        if file is None:
            yield self._damage(part.low, part.high - part.low, "a file is missing")
            return
        if isinstance(file.path, AddressPath):
            yield from self._fetched(part, file.path)
        elif file.size:
            try:
                stream = open_regular(Path(file.path))
            except FileNotFoundError:
                # a broker deletes old files, and at its end one that it made for later
                if not file.last and part.high == file.size:
                    yield self._damage(file.base, file.size, "the file was deleted meanwhile")
                return
            except OSError as error:
                if part.high == file.size:
                    yield self._damage(file.base, file.size, f"the file cannot be read ({error.strerror})")
                return
            with stream:
                left = min(os.fstat(stream.fileno()).st_size, file.size)
                yield from self._mapped(part, left, stream.fileno())
                if left < file.size and part.high == file.size:
                    yield self._damage(file.base + left, file.size - left, "the file was cut meanwhile")
        if not file.last and file.base + file.size < file.next_base and part.high == file.size:
            yield self._damage(file.base + file.size, file.next_base - file.base - file.size, "the file is cut off")

    def _mapped(self, part: LogRange, left: int, fd: int) -> Iterator[pa.RecordBatch]:
        """The batches of a range as far as its file still goes."""
        if left <= min(part.low, part.begin):
            return
        try:
            mapped = mmap.mmap(fd, left, access=mmap.ACCESS_READ)
        except ValueError:  # cut this moment
            return
        try:
            yield from self._records(_Mapped(mapped, left, fd), part._replace(high=min(part.high, left)))
        finally:
            with suppress(BufferError):  # an error on its way still looks into it, and is what matters
                mapped.close()

    def _fetched(self, part: LogRange, path: AddressPath) -> Iterator[pa.RecordBatch]:
        """The batches of a range at an address."""
        if part.begin >= part.high:
            return
        try:
            with RangeReader(path) as reader:
                yield from self._records(_Fetched(reader, part), part)
        except FileNotFoundError:
            if part.file and part.high == part.file.size:
                yield self._damage(part.file.base, part.file.size, "the file was deleted meanwhile")
        except OSError as error:  # what a network does not bring is no damage of the log
            raise unreadable(path, error) from error

    def _records(self, source: _Mapped | _Fetched, part: LogRange) -> Iterator[pa.RecordBatch]:
        file = part.file
        assert file is not None  # noqa: S101 - for the type checker
        data = source.data()
        at, body_room = part.begin, _BODY_ROOM
        walk = RecordWalk(self.columns, self.wanted, check_crc=self.check_crc)
        self.reached = file.base + at
        while at < part.high:
            before = at
            rows, at, how, detail, buffers = walk(data, at, part, self.batch_rows, body_room)
            if at > before:
                self.reached = file.base + at
            if rows:
                yield walk.batch(buffers, rows)
            if how == kernel.BIG:
                body_room = int(detail)
            elif how in {kernel.EMPTY, kernel.BAD_RECORD} and _is_record(data, at, file.base):
                continue  # a broker wrote it in the meantime
            elif how not in {kernel.FULL, kernel.DONE}:
                del data
                is_more, data = source.fetch_more(), source.data()
                if is_more:
                    continue  # a record that goes on behind the range, or what comes behind damage
                size, reason = _gap(data, source, at, file, how, detail)
                if not size:
                    return
                if reason and at >= part.low:
                    yield self._damage(file.base + at, size, reason)
                at += size

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


class _Mapped:
    """The bytes of a file of this machine, from its beginning."""

    def __init__(self, mapped: mmap.mmap, size: int, fd: int) -> None:
        self.bytes, self._size, self._fd = mapped, size, fd

    def data(self) -> NDArray[np.uint8]:
        return np.frombuffer(self.bytes, np.uint8)

    def fetch_more(self) -> bool:
        return False

    def end(self) -> int:
        """Where the last byte that is not zero ends."""
        return end_of_data(self._fd, self._size)


class _Fetched:
    """The bytes of a file at an address: those of one range, each at its place in the file.

    Memory is taken where bytes are, as in a file with holes.
    """

    def __init__(self, reader: RangeReader, part: LogRange) -> None:
        assert part.file is not None  # noqa: S101 - for the type checker
        self._reader, self._size, self._have = reader, part.file.size, part.begin
        self.bytes = mmap.mmap(-1, self._size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        self._fill(part.high)

    def _fill(self, end: int) -> None:
        for place, data in self._reader.pieces(self._have, end):
            self.bytes[place : place + len(data)] = data
        self._have = end

    def data(self) -> NDArray[np.uint8]:
        return np.frombuffer(self.bytes, np.uint8)[: self._have]

    def fetch_more(self) -> bool:
        """Fetch more of what follows; False where the file ends."""
        before = self._have
        self._fill(min(before + _MORE, self._size))
        return self._have > before

    def end(self) -> int:
        """Where the last byte that is not zero ends: a file's zeros at its end are not part of it."""
        return self._have


def _gap(
    data: NDArray[np.uint8], source: _Mapped | _Fetched, at: int, file: LogFile, how: int, detail: int
) -> tuple[int, str]:
    """How many bytes at `at` are no record, and what is wrong ("": nothing). Size 0: nothing more is written."""
    if how == kernel.BLANK:
        if int.from_bytes(data[at : at + 4].tobytes()) == file.next_base - file.base - at:
            return len(data) - at, ""
        detail = kernel.SIZE
    # The last file was made in full size: to look through a gigabyte of zeros took longer than all its records.
    end = source.end() if file.last else len(data)
    if end <= at:
        return 0, ""
    reason = "nothing is written here" if how == kernel.EMPTY else kernel.REASONS[detail]
    return _next_record(data, source.bytes, at, end, file.base) - at, reason


def _is_record(data: NDArray[np.uint8], at: int, base: int) -> bool:
    return at + kernel.MIN_SIZE <= len(data) and bool(kernel.check(data, at, len(data), base) == 0)


def _next_record(data: NDArray[np.uint8], mapped: mmap.mmap, at: int, end: int, base: int) -> int:
    """Where the next record that is whole and in its place begins after `at`, or `end`, the end of the data."""
    magic_at = mapped.find(_MAGIC, at + 5, end)
    while magic_at >= 0 and not _is_record(data, magic_at - 4, base):
        magic_at = mapped.find(_MAGIC, magic_at + 1, end)
    return end if magic_at < 0 else magic_at - 4
