"""Where bytes of the store lie: segments of a fixed capacity behind one small interface, here in memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol


class Segment(Protocol):
    """Bytes written from the front, read anywhere, cut at the end. Positions and sizes in bytes."""

    @property
    def size(self) -> int:
        """Bytes written so far."""
        ...

    def append(self, data: bytes) -> None:
        """Write `data` behind what is there. The caller has checked that it fits."""
        ...

    def read(self, position: int, length: int) -> bytes:
        """Return `length` bytes from `position`, fewer when the written part ends before."""
        ...

    def truncate(self, size: int) -> None:
        """Forget what lies at `size` and behind."""
        ...


SegmentFactory = Callable[[str, int, int], Segment]
"""(directory, offset of the segment's first byte in its queue, capacity in bytes) -> an empty segment."""


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

    def truncate(self, size: int) -> None:
        """Forget what lies at `size` and behind."""
        del self._data[size:]


def in_memory(directory: str, file_from_offset: int, capacity: int) -> Segment:  # noqa: ARG001 - memory has no names
    """Segment factory of a store that lives and dies with its process."""
    return MemorySegment()
