"""Where bytes of the store lie: segments of a fixed capacity behind one small interface, here in memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, Protocol


class SegmentError(Exception):
    """The medium does not take bytes or does not give them: a full disk, one that may only be read, a broken one."""


class SegmentCreateError(SegmentError):
    """A segment that cannot be made."""


class Segment(Protocol):
    """Bytes written from the front, read anywhere, cut at the end. Positions and sizes in bytes."""

    @property
    def size(self) -> int:
        """Bytes written so far."""
        ...

    def append(self, data: bytes) -> None:
        """Write `data` behind what is there. The caller has checked that it fits. Raises SegmentError."""
        ...

    def read(self, position: int, length: int) -> bytes:
        """Return `length` bytes from `position`, fewer when the written part ends before. Raises SegmentError."""
        ...

    def overwrite(self, position: int, data: bytes) -> None:
        """Write `data` over bytes that are there. Only the repair of a damaged store does. Raises SegmentError."""
        ...

    def truncate(self, size: int) -> None:
        """Forget what lies at `size` and behind; bytes before it that were never written are zero.

        Raises SegmentError.
        """
        ...

    def delete(self) -> None:
        """Forget everything; the segment is not used again."""
        ...


SegmentFactory = Callable[[str, int, int], Segment]
"""(directory, offset of the segment's first byte in its queue, capacity in bytes) -> an empty segment.

It may raise SegmentCreateError.
"""


class StoredSegment(NamedTuple):
    """A segment that was there before: its first byte's offset, and when it was last written (epoch ms).

    Its size is where the last byte that is not zero lies, or beyond: what ends in zeros cannot be told from what was
    never written.
    """

    file_from_offset: int
    segment: Segment
    last_modified: int


class StoredSegments(Protocol):
    """A medium that outlives the process: a `SegmentFactory` that also hands out what it holds."""

    def __call__(self, directory: str, file_from_offset: int, capacity: int) -> Segment:
        """Make an empty segment."""
        ...

    def load(self, directory: str, capacity: int) -> list[StoredSegment]:
        """Return the segments of a directory, lowest offset first. Raises SegmentError for one that is no segment."""
        ...

    def directories(self, directory: str) -> list[str]:
        """Return the names of the directories in a directory, sorted."""
        ...


class MemorySegment:
    """A segment in memory; it takes as much of it as was written."""

    __slots__ = ("_data",)

    def __init__(self) -> None:
        self._data = bytearray()

    @property
    def size(self) -> int:
        """Bytes written so far."""
        return len(self._data)

    def append(self, data: bytes) -> None:
        """Write `data` behind what is there."""
        self._data += data

    def read(self, position: int, length: int) -> bytes:
        """Return `length` bytes from `position`, fewer when the written part ends before."""
        return bytes(self._data[position : position + length])

    def overwrite(self, position: int, data: bytes) -> None:
        """Write `data` over bytes that are there."""
        self._data[position : position + len(data)] = data

    def truncate(self, size: int) -> None:
        """Forget what lies at `size` and behind; bytes before it that were never written are zero."""
        del self._data[size:]
        self._data += bytes(size - len(self._data))

    def delete(self) -> None:
        """Forget everything."""
        self._data.clear()


def in_memory(directory: str, file_from_offset: int, capacity: int) -> Segment:  # noqa: ARG001 - memory has no names
    """Segment factory of a store that lives and dies with its process."""
    return MemorySegment()
