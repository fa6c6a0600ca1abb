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
from rmqlab_tools.spark.files.commit_log_files import TYPES, LogRange, RecordFilter
from rmqlab_tools.spark.files.record_columns import BATCH_ROWS, RecordWalk

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from rmqlab_tools.spark.files.commit_log_files import LogFile

_BODY_ROOM: Final = 16 << 20
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
        return pa.schema([(name, TYPES.get(name, pa.string())) for name in self.columns])

    def read(self, part: LogRange) -> Iterator[pa.RecordBatch]:
        """The batches of one range. A file that is cut, empty or missing gives rows, no error."""
        file = part.file
        if file is None:
            yield self._damage(part.low, part.high - part.low, "a file is missing")
            return
        if file.size:
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
        data = np.frombuffer(mapped, np.uint8)
        try:
            yield from self._records(data, mapped, part._replace(high=min(part.high, left)), fd)
        finally:
            del data
            with suppress(BufferError):  # an error on its way still looks into it, and is what matters
                mapped.close()

    def _records(self, data: NDArray[np.uint8], mapped: mmap.mmap, part: LogRange, fd: int) -> Iterator[pa.RecordBatch]:
        file = part.file
        assert file is not None  # noqa: S101 - for the type checker
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
                size, reason = _gap(data, mapped, at, file, fd, how, detail)
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
        if until is not None and end >= until:
            break
        high = file.size if until is None else min(until - file.base, file.size)
        reader = LogReader((), check_crc=False)
        # No record begins behind the file's end, so nothing is decoded on the way.
        for _ in reader.read(LogRange(file, file.size, high, max(end - file.base, 0))):
            pass
        if file.last:
            # Several may be: files made for later, or one whose beginning is damaged.
            end = max(end, reader.reached) if reader.reached != file.base else end
            continue
        # What is damaged up to the file's end is walked over, but not what lies behind `until`.
        is_until = reader.reached >= file.base + high < file.base + file.size
        end = reader.reached if is_until else file.next_base
    return end


def _gap(
    data: NDArray[np.uint8], mapped: mmap.mmap, at: int, file: LogFile, fd: int, how: int, detail: int
) -> tuple[int, str]:
    """How many bytes at `at` are no record, and what is wrong ("": nothing). Size 0: nothing more is written."""
    if how == kernel.BLANK:
        if int.from_bytes(data[at : at + 4].tobytes()) == file.next_base - file.base - at:
            return len(data) - at, ""
        detail = kernel.SIZE
    # The last file was made in full size: to look through a gigabyte of zeros took longer than all its records.
    end = end_of_data(fd, len(data)) if file.last else len(data)
    if end <= at:
        return 0, ""
    reason = "nothing is written here" if how == kernel.EMPTY else kernel.REASONS[detail]
    return _next_record(data, mapped, at, end, file.base) - at, reason


def _is_record(data: NDArray[np.uint8], at: int, base: int) -> bool:
    return at + kernel.MIN_SIZE <= len(data) and bool(kernel.check(data, at, len(data), base) == 0)


def _next_record(data: NDArray[np.uint8], mapped: mmap.mmap, at: int, end: int, base: int) -> int:
    """Where the next record that is whole and in its place begins after `at`, or `end`, the end of the data."""
    magic_at = mapped.find(_MAGIC, at + 5, end)
    while magic_at >= 0 and not _is_record(data, magic_at - 4, base):
        magic_at = mapped.find(_MAGIC, magic_at + 1, end)
    return end if magic_at < 0 else magic_at - 4
