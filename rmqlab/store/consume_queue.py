"""A queue of a topic: one 20-byte entry for each message (`ConsumeQueue`, row S-45).

Entry: commit log offset (8 bytes), record size (4), tags code (8). Indexes count entries; logic offsets are bytes.
"""

from __future__ import annotations

from itertools import pairwise
from struct import Struct
from typing import TYPE_CHECKING

from rmqlab.store.config import CQ_STORE_UNIT_SIZE
from rmqlab.store.consume_queue_ext import NO_ADDRESS, ConsumeQueueExt, CqExtUnit, is_ext_addr
from rmqlab.store.mapped_file_queue import MappedFileQueue

if TYPE_CHECKING:
    from collections.abc import Callable

    from rmqlab.store.config import MessageStoreConfig
    from rmqlab.store.dispatch_request import DispatchRequest
    from rmqlab.store.mapped_file_queue import Segments

ENTRY = Struct(">qiq")
_BLANK_ENTRY = ENTRY.pack(0, 0x7FFFFFFF, 0)


class ConsumeQueue:
    """Entries of one queue. `min_logic_offset` is the first entry whose message still exists, in bytes."""

    def __init__(self, topic: str, queue_id: int, config: MessageStoreConfig, segments: Segments) -> None:
        self.topic = topic
        self.queue_id = queue_id
        self.mapped_file_size = config.consume_queue_file_size
        self.mapped_file_queue = MappedFileQueue(f"consumequeue/{topic}/{queue_id}", self.mapped_file_size, segments)
        self.max_physic_offset = -1
        self.min_logic_offset = 0
        self.consume_queue_ext: ConsumeQueueExt | None = None
        if config.enable_consume_queue_ext:
            ext_size = config.mapped_file_size_consume_queue_ext
            self.consume_queue_ext = ConsumeQueueExt(topic, queue_id, ext_size, segments)

    @property
    def min_offset_in_queue(self) -> int:
        """Index of the first entry whose message still exists."""
        return self.min_logic_offset // CQ_STORE_UNIT_SIZE

    @property
    def max_offset_in_queue(self) -> int:
        """Index of the next entry."""
        return self.mapped_file_queue.max_offset // CQ_STORE_UNIT_SIZE

    @property
    def last_offset(self) -> int:
        """Commit log offset after the message of the last entry, -1 when there is no entry."""
        last = self.mapped_file_queue.last_mapped_file()
        data = None if last is None else last.select(last.wrote_position - CQ_STORE_UNIT_SIZE, CQ_STORE_UNIT_SIZE)
        if data is None:
            return -1
        offset, size, _ = ENTRY.unpack(data)
        return int(offset + size) if offset >= 0 and size > 0 else -1

    def get_index_buffer(self, start_index: int, limit: int | None = None) -> bytes | None:
        """Entries from `start_index` to the end of its file, at most `limit` bytes; None when there is none."""
        offset = start_index * CQ_STORE_UNIT_SIZE
        if offset < self.min_logic_offset:
            return None
        mapped_file = self.mapped_file_queue.find_by_offset(offset)
        if mapped_file is None:
            return None
        return mapped_file.select_from(offset - mapped_file.file_from_offset, limit)

    def get_ext(self, address: int) -> CqExtUnit | None:
        """The extension unit at `address`, None when it is not there."""
        return None if self.consume_queue_ext is None else self.consume_queue_ext.get(address)

    def roll_next_file(self, index: int) -> int:
        """Index of the first entry of the file after the one of `index` (row S-44)."""
        units_in_file = self.mapped_file_size // CQ_STORE_UNIT_SIZE
        return index + units_in_file - index % units_in_file

    def put_message_position_info(self, request: DispatchRequest) -> bool:
        """Store the entry of a message, and its unit in the extension when there is one.

        An entry that is there already is passed over (Java stores its unit once more all the same). False only when
        the file does not take it, which Java tries thirty times and then stops writing consume queues. Where entries
        are missing before this one, their messages are lost: it stands in for them, so that later entries keep their
        places (Java moves them).
        """
        tags_code = request.tags_code
        offset, size = request.commit_log_offset, request.msg_size
        if offset + size <= self.max_physic_offset:
            return True
        if self.consume_queue_ext is not None:
            address = self.consume_queue_ext.put(CqExtUnit(tags_code, request.store_timestamp, request.bit_map))
            if is_ext_addr(address):
                tags_code = address
        expected = request.consume_queue_offset * CQ_STORE_UNIT_SIZE
        mapped_file = self.mapped_file_queue.last_mapped_file_or_new(expected)
        if expected:
            if mapped_file.wrote_position == 0 and len(self.mapped_file_queue.mapped_files) == 1:
                self.min_logic_offset = expected
                mapped_file.append(_BLANK_ENTRY * ((expected - mapped_file.file_from_offset) // CQ_STORE_UNIT_SIZE))
            if expected < mapped_file.file_from_offset + mapped_file.wrote_position:
                return True
        entry = ENTRY.pack(offset, size, tags_code)
        while mapped_file.file_from_offset + mapped_file.wrote_position < expected:
            mapped_file.append(entry)
            mapped_file = self.mapped_file_queue.last_mapped_file_or_new(expected)
        if not mapped_file.append(entry):
            return False
        mapped_file.last_modified = request.store_timestamp
        self.max_physic_offset = offset + size
        return True

    def get_offset_in_queue_by_time(
        self, timestamp: int, min_phy_offset: int, pickup_store_timestamp: Callable[[int, int], int]
    ) -> int:
        """Index of the entry stored nearest to `timestamp` (epoch ms), by bisection inside one file.

        `min_phy_offset` is the first byte the commit log still has; `pickup_store_timestamp(offset, size)` reads a
        record's store time.
        """
        mapped_file = self.mapped_file_queue.find_by_time(timestamp)
        data = None if mapped_file is None else mapped_file.select_from(0)
        if mapped_file is None or data is None:
            return 0
        low = max(self.min_logic_offset - mapped_file.file_from_offset, 0)
        high = len(data) - CQ_STORE_UNIT_SIZE
        left = right = -1
        left_time = right_time = -1
        while high >= low:
            middle = (low + high) // (2 * CQ_STORE_UNIT_SIZE) * CQ_STORE_UNIT_SIZE
            phy_offset, size, _ = ENTRY.unpack_from(data, middle)
            if phy_offset < min_phy_offset:
                low, left = middle + CQ_STORE_UNIT_SIZE, middle
                continue
            store_time = pickup_store_timestamp(phy_offset, size)
            if store_time < 0:
                return 0
            if store_time == timestamp:
                return (mapped_file.file_from_offset + middle) // CQ_STORE_UNIT_SIZE
            if store_time > timestamp:
                high, right, right_time = middle - CQ_STORE_UNIT_SIZE, middle, store_time
            else:
                low, left, left_time = middle + CQ_STORE_UNIT_SIZE, middle, store_time
        if left_time == -1:
            nearest = right
        elif right_time == -1 or abs(timestamp - left_time) <= abs(timestamp - right_time):
            nearest = left
        else:
            nearest = right
        return max(mapped_file.file_from_offset + nearest, 0) // CQ_STORE_UNIT_SIZE

    def delete_expired_file(self, phy_min_offset: int) -> int:
        """Delete files whose messages all lie below `phy_min_offset`, never the last; return how many."""
        files, count = self.mapped_file_queue.mapped_files, 0
        for mapped_file in files[:-1]:
            data = mapped_file.select(self.mapped_file_size - CQ_STORE_UNIT_SIZE, CQ_STORE_UNIT_SIZE)
            if data is None or ENTRY.unpack(data)[0] >= phy_min_offset:
                break
            count += 1
        self.mapped_file_queue.delete_first(count)
        self.correct_min_offset(phy_min_offset)
        return count

    def correct_min_offset(self, phy_min_offset: int) -> None:
        """Move `min_logic_offset` to the first entry of the first file whose message is at `phy_min_offset` or above.

        With no such entry in that file it stays where it was, as in Java.
        """
        min_ext_addr = NO_ADDRESS
        files = self.mapped_file_queue.mapped_files
        data = (files[0].select_from(0) or b"") if files else b""
        for position, (offset, _, tags_code) in enumerate(ENTRY.iter_unpack(data)):
            if offset >= phy_min_offset:
                self.min_logic_offset = files[0].file_from_offset + position * CQ_STORE_UNIT_SIZE
                min_ext_addr = tags_code
                break
        if self.consume_queue_ext is not None:
            self.consume_queue_ext.truncate_by_min_address(min_ext_addr)

    def load(self) -> bool:
        """Take in the files that are there and find the last entry; False when a file is missing between others.

        Raises:
            SegmentError: a file of the store cannot be read or written.
        """
        queue = self.mapped_file_queue
        queue.load()
        files = queue.mapped_files
        for mapped_file in files[:-1]:
            mapped_file.set_wrote_position(self.mapped_file_size)
        if files:
            last = files[-1]
            data = last.select_from(0) or b""
            count = -(-len(data) // CQ_STORE_UNIT_SIZE)
            last.append(bytes(count * CQ_STORE_UNIT_SIZE - len(data)))  # a tags code may end in zeros
            sizes = [size for _, size, _ in ENTRY.iter_unpack(data.ljust(count * CQ_STORE_UNIT_SIZE, b"\0"))]
            while sizes and sizes[-1] <= 0:
                sizes.pop()
            self.truncate_to(last.file_from_offset // CQ_STORE_UNIT_SIZE + len(sizes))
        if self.consume_queue_ext is not None:
            self.consume_queue_ext.load()
        size = self.mapped_file_size
        return all(after.file_from_offset - before.file_from_offset == size for before, after in pairwise(files))

    def entry(self, index: int) -> tuple[int, int, int] | None:
        """Commit log offset, size and tags code of an entry, whether its message still exists or not."""
        offset = index * CQ_STORE_UNIT_SIZE
        mapped_file = self.mapped_file_queue.find_by_offset(offset)
        data = None if mapped_file is None else mapped_file.select(offset % self.mapped_file_size, CQ_STORE_UNIT_SIZE)
        return None if data is None else ENTRY.unpack(data)

    def overwrite_entry(self, index: int, entry: tuple[int, int, int]) -> None:
        """Put another entry in the place of one that is there.

        Raises:
            SegmentError: a file of the store cannot be read or written.
        """
        mapped_file = self.mapped_file_queue.find_by_offset(index * CQ_STORE_UNIT_SIZE)
        if mapped_file is not None:
            mapped_file.segment.overwrite(index * CQ_STORE_UNIT_SIZE % self.mapped_file_size, ENTRY.pack(*entry))

    def truncate_to(self, index: int) -> None:
        """Forget the entry at `index` and all after it.

        Raises:
            SegmentError: a file of the store cannot be read or written.
        """
        files = self.mapped_file_queue.mapped_files
        self.mapped_file_queue.truncate_dirty_files(index * CQ_STORE_UNIT_SIZE)
        if files and files[-1].wrote_position == 0:
            self.mapped_file_queue.delete_last()
        self.max_physic_offset = self.last_offset

    def destroy(self) -> None:
        """Delete every entry."""
        self.max_physic_offset = -1
        self.min_logic_offset = 0
        self.mapped_file_queue.destroy()
        if self.consume_queue_ext is not None:
            self.consume_queue_ext.destroy()
