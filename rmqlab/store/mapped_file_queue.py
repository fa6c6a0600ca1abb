"""A row of equally large files that is one long file (`MappedFileQueue`, `MappedFile`), and where their bytes lie.

A file's bytes are a segment: in memory here, in a folder in `runtime.file_segments`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Collection


class SegmentError(Exception):
    """The medium does not take bytes or does not give them: a full disk, one that may only be read, a broken one."""


class SegmentCreateError(SegmentError):
    """A segment that cannot be made."""


class Segment(Protocol):
    """Bytes written from the front, read anywhere, cut at the end. Positions and sizes in bytes."""

    @property
    def size(self) -> int:
        """Bytes written so far."""

    def append(self, data: bytes) -> None:
        """Write `data` after what is there. The caller has checked that it fits.

        Raises:
            SegmentError: a file of the store cannot be read or written.
        """

    def read(self, position: int, length: int) -> bytes:
        """`length` bytes from `position`, fewer when the written part ends before.

        Raises:
            SegmentError: a file of the store cannot be read or written.
        """

    def overwrite(self, position: int, data: bytes) -> None:
        """Write `data` over bytes that are there. Only the repair of a damaged store does.

        Raises:
            SegmentError: a file of the store cannot be read or written.
        """

    def truncate(self, size: int) -> None:
        """Forget what lies at `size` and after; bytes before it that were never written are zero.

        Raises:
            SegmentError: a file of the store cannot be read or written.
        """

    def delete(self) -> None:
        """Forget everything; the segment is not used again."""


class StoredSegment(NamedTuple):
    """A segment that was there before: its first byte's offset, and when it was last written (epoch ms).

    Its size is where the last byte that is not zero lies, or beyond: what ends in zeros cannot be distinguished from
    what was never written.
    """

    file_from_offset: int
    segment: Segment
    last_modified: int


class MemorySegment:
    """A segment in memory; it takes as much of it as was written."""

    def __init__(self) -> None:
        self._data = bytearray()

    @property
    def size(self) -> int:
        """Bytes written so far."""
        return len(self._data)

    def append(self, data: bytes) -> None:
        """Write `data` after what is there."""
        self._data += data

    def read(self, position: int, length: int) -> bytes:
        """`length` bytes from `position`, fewer when the written part ends before."""
        return bytes(memoryview(self._data)[position : position + length])

    def overwrite(self, position: int, data: bytes) -> None:
        """Write `data` over bytes that are there."""
        self._data[position : position + len(data)] = data

    def truncate(self, size: int) -> None:
        """Forget what lies at `size` and after; bytes before it that were never written are zero."""
        del self._data[size:]
        self._data += bytes(size - len(self._data))

    def delete(self) -> None:
        """Forget everything."""
        self._data.clear()


class Segments:
    """A medium: it makes segments, and hands out those that an earlier process left there.

    This one is memory, which lives and dies with its process.
    """

    def __call__(self, directory: str, file_from_offset: int, capacity: int) -> Segment:
        """Make an empty segment of `capacity` bytes for the file at an offset.

        Raises:
            SegmentCreateError: the file cannot be made.
        """
        return MemorySegment()

    def takes_topic(self, topic: str) -> bool:
        """Whether a topic's queues can have a directory: in memory those of every topic."""
        return True

    def load(self, directory: str, capacity: int) -> list[StoredSegment]:
        """The segments of a directory, lowest offset first.

        Raises:
            SegmentError: one that is no segment.
        """
        return []

    def directories(self, directory: str) -> list[str]:
        """The names of the directories in a directory, sorted."""
        return []


in_memory = Segments()


class MappedFile:
    """One file of the row.

    `file_from_offset` is the offset of its first byte, also its name; `wrote_position` is where the next byte goes.
    `start` bytes at the front were never written here (a log that begins in the middle of a file). `last_modified`
    is the store time (epoch ms) of the last message that touched it.
    """

    def __init__(self, segment: Segment, file_from_offset: int, file_size: int, start: int = 0) -> None:
        self.segment = segment
        self.file_from_offset = file_from_offset
        self.file_size = file_size
        self.start = start
        self.wrote_position = start + segment.size
        self.last_modified = 0

    def append(self, data: bytes) -> bool:
        """Write `data`; False when it does not fit, and nothing is written then."""
        if self.wrote_position + len(data) > self.file_size:
            return False
        self.segment.append(data)
        self.wrote_position += len(data)
        return True

    def select(self, position: int, size: int) -> bytes | None:
        """Exactly `size` bytes at `position`, None when they are not all written."""
        if position < self.start or position + size > self.wrote_position:
            return None
        return self.segment.read(position - self.start, size)

    def select_from(self, position: int, limit: int | None = None) -> bytes | None:
        """What is written from `position` on, at most `limit` bytes; None when that is nothing."""
        if not self.start <= position < self.wrote_position:
            return None
        length = self.wrote_position - position
        if limit is not None and limit < length:
            length = limit
        return self.segment.read(position - self.start, length)

    def set_wrote_position(self, position: int) -> None:
        """Cut the file so that the next byte goes to `position`."""
        self.segment.truncate(max(position - self.start, 0))
        self.wrote_position = max(position, self.start)


class MappedFileQueue:
    """Files of `mapped_file_size` bytes each, oldest first; offsets are those of the one long file."""

    def __init__(self, directory: str, mapped_file_size: int, segments: Segments) -> None:
        self.directory = directory
        self.mapped_file_size = mapped_file_size
        self.segments = segments
        self.mapped_files: list[MappedFile] = []

    def load(self) -> None:
        """Take in the files that are there; each counts as written to its size.

        Raises:
            SegmentError: a file of the store cannot be read or written.
        """
        for stored in self.segments.load(self.directory, self.mapped_file_size):
            mapped_file = MappedFile(stored.segment, stored.file_from_offset, self.mapped_file_size)
            mapped_file.last_modified = stored.last_modified
            self.mapped_files.append(mapped_file)

    def last_mapped_file(self) -> MappedFile | None:
        """The file that is written to, None before the first."""
        return self.mapped_files[-1] if self.mapped_files else None

    def last_mapped_file_or_new(self, start_offset: int) -> MappedFile:
        """The file to write to; the first one is made to hold `start_offset`, others follow a full one."""
        files = self.mapped_files
        if files:
            last = files[-1]
            if last.wrote_position < last.file_size:
                return last
            return self._create(last.file_from_offset + self.mapped_file_size)
        return self._create(start_offset - start_offset % self.mapped_file_size)

    def begin_at(self, offset: int) -> None:
        """Make the first file of an empty row so that the next byte gets `offset`."""
        start = offset % self.mapped_file_size
        self._create(offset - start, start)

    def _create(self, file_from_offset: int, start: int = 0) -> MappedFile:
        segment = self.segments(self.directory, file_from_offset, self.mapped_file_size)
        created = MappedFile(segment, file_from_offset, self.mapped_file_size, start)
        self.mapped_files.append(created)
        return created

    def find_by_offset(self, offset: int, *, return_first_on_not_found: bool = False) -> MappedFile | None:
        """The file that holds `offset`, else None, or the first file when asked for (Java does for 0)."""
        files = self.mapped_files
        if not files:
            return None
        first, size = files[0], self.mapped_file_size
        index = offset // size - first.file_from_offset // size
        if 0 <= index < len(files):
            return files[index]
        return first if return_first_on_not_found else None

    @property
    def max_offset(self) -> int:
        """Offset of the next byte, 0 when there is no file."""
        files = self.mapped_files
        if not files:
            return 0
        last = files[-1]
        return last.file_from_offset + last.wrote_position

    def find_by_time(self, timestamp: int) -> MappedFile | None:
        """The first file last written at `timestamp` (epoch ms) or later, else the last file."""
        for mapped_file in self.mapped_files:
            if mapped_file.last_modified >= timestamp:
                return mapped_file
        return self.last_mapped_file()

    def truncate_dirty_files(self, offset: int) -> None:
        """Forget everything at `offset` and after."""
        kept = [mapped_file for mapped_file in self.mapped_files if mapped_file.file_from_offset <= offset]
        for mapped_file in kept:
            if mapped_file.file_from_offset + self.mapped_file_size > offset:
                mapped_file.set_wrote_position(offset - mapped_file.file_from_offset)
        self._delete(self.mapped_files[len(kept) :])

    def delete_first(self, count: int) -> int:
        """Delete the `count` oldest files, never the one that is written to. Returns how many were deleted."""
        deleted = max(0, min(count, len(self.mapped_files) - 1))
        self._delete(self.mapped_files[:deleted])
        return deleted

    def delete_last(self) -> None:
        """Delete the file that is written to, if there is one."""
        self._delete(self.mapped_files[-1:])

    def delete_before(self, offset: int) -> None:
        """Delete the files that end before `offset`, the one that is written to included."""
        self._delete(
            [
                mapped_file
                for mapped_file in self.mapped_files
                if mapped_file.file_from_offset + self.mapped_file_size < offset
            ]
        )

    def destroy(self) -> None:
        """Delete every file."""
        self._delete(self.mapped_files[:])

    def _delete(self, files: Collection[MappedFile]) -> None:
        for mapped_file in files:
            mapped_file.segment.delete()
        self.mapped_files[:] = [mapped_file for mapped_file in self.mapped_files if mapped_file not in files]
