"""The extension of a consume queue: store time and filter bitmap of each message (`ConsumeQueueExt`).

A consume queue entry with a unit here holds, instead of the tags code, the unit's address: its offset plus
`Long.MIN_VALUE` (row F-89).
"""

from __future__ import annotations

from dataclasses import dataclass
from struct import Struct
from typing import TYPE_CHECKING

from rmqlab.message.java import LONG_MIN
from rmqlab.store.mapped_file_queue import MappedFileQueue

if TYPE_CHECKING:
    from rmqlab.store.mapped_file_queue import Segments

END_BLANK_DATA_LENGTH = 4
MAX_ADDR = -(1 << 31) - 1
MAX_REAL_OFFSET = MAX_ADDR - LONG_MIN
MIN_EXT_UNIT_SIZE = 20
MAX_EXT_UNIT_SIZE = 32767
NO_ADDRESS = 1

UNIT = Struct(">hqqh")
# One read is enough for nearly every unit: 20 bytes and a bitmap (14 bytes with the settings as they come).
_USUAL_UNIT_SIZE = 128
_END_MARK = b"\xff\xff"


def is_ext_addr(address: int) -> bool:
    """Whether a tags code is no hash code but the address of a unit: all that lies below -2^31."""
    return address <= MAX_ADDR


@dataclass(slots=True)
class CqExtUnit:
    """One unit: size (2 bytes), tags code (8), store time in epoch ms (8), bitmap size (2), bitmap."""

    tags_code: int = 0
    msg_store_time: int = 0
    filter_bit_map: bytes | None = None

    @property
    def size(self) -> int:
        """Bytes of the unit."""
        return MIN_EXT_UNIT_SIZE + len(self.filter_bit_map or b"")

    def encode(self) -> bytes:
        """The unit's bytes."""
        bitmap = self.filter_bit_map or b""
        return UNIT.pack(MIN_EXT_UNIT_SIZE + len(bitmap), self.tags_code, self.msg_store_time, len(bitmap)) + bitmap

    @classmethod
    def decode(cls, data: bytes) -> CqExtUnit | None:
        """Read the unit at the front of `data`; None when there is none (never written, or the end mark)."""
        if len(data) < MIN_EXT_UNIT_SIZE:
            return None
        size, tags_code, msg_store_time, bitmap_size = UNIT.unpack_from(data)
        if size < 1:
            return None
        bitmap = data[MIN_EXT_UNIT_SIZE : MIN_EXT_UNIT_SIZE + bitmap_size] if bitmap_size > 0 else None
        return cls(tags_code, msg_store_time, bitmap)


def _unit_size(data: bytes, position: int) -> int:
    """The size of the unit at `position`, 0 or less when there is none."""
    return int.from_bytes(data[position : position + 2], signed=True)


class ConsumeQueueExt:
    """The units of one queue, one after the other, in files of `mapped_file_size` bytes."""

    def __init__(self, topic: str, queue_id: int, mapped_file_size: int, segments: Segments) -> None:
        self.mapped_file_queue = MappedFileQueue(f"consumequeue_ext/{topic}/{queue_id}", mapped_file_size, segments)

    def get(self, address: int) -> CqExtUnit | None:
        """The unit at `address`, None when nothing is there."""
        if not is_ext_addr(address):
            return None
        offset = address - LONG_MIN
        mapped_file = self.mapped_file_queue.find_by_offset(offset, return_first_on_not_found=offset == 0)
        if mapped_file is None:
            return None
        position = offset % self.mapped_file_queue.mapped_file_size
        data = mapped_file.select_from(position, _USUAL_UNIT_SIZE)
        if data is not None and _unit_size(data, 0) > len(data):
            data = mapped_file.select_from(position, MAX_EXT_UNIT_SIZE)
        return None if data is None else CqExtUnit.decode(data)

    def put(self, unit: CqExtUnit) -> int:
        """Store `unit` and return its address; `NO_ADDRESS` when it is too large or there is no room for it."""
        queue, size = self.mapped_file_queue, unit.size
        if size > MAX_EXT_UNIT_SIZE or queue.max_offset + size > MAX_REAL_OFFSET:
            return NO_ADDRESS
        for _ in range(3):
            mapped_file = queue.last_mapped_file_or_new(0)
            position = mapped_file.wrote_position
            if size <= queue.mapped_file_size - position - END_BLANK_DATA_LENGTH:
                mapped_file.append(unit.encode())
                return mapped_file.file_from_offset + position + LONG_MIN
            # the rest of the file is left blank behind a size of -1
            mapped_file.append(_END_MARK.ljust(queue.mapped_file_size - position, b"\0"))
        return NO_ADDRESS

    def load(self) -> None:
        """Take in the files that are there and find the last unit (`recover`).

        Raises:
            SegmentError: a file of the store cannot be read or written.
        """
        queue = self.mapped_file_queue
        queue.load()
        for mapped_file in queue.mapped_files:
            position, data = 0, mapped_file.select_from(0) or b""
            while (size := _unit_size(data, position)) > 0:
                position += size
            # behind a size of -1 the rest of a file is blank; the last file goes on behind its last unit
            mapped_file.set_wrote_position(
                queue.mapped_file_size if mapped_file is not queue.mapped_files[-1] else position
            )

    def truncate_by_min_address(self, min_address: int) -> None:
        """Delete the files that end before `min_address`."""
        if not is_ext_addr(min_address):
            return
        self.mapped_file_queue.delete_before(min_address - LONG_MIN)

    def destroy(self) -> None:
        """Delete every unit."""
        self.mapped_file_queue.destroy()
