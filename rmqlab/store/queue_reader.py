"""Reading a queue: statuses, bounds and the two filter layers (`DefaultMessageStore.getMessage`, S-37..S-57)."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING

from rmqlab.message.java import to_int32, to_utf8
from rmqlab.store.config import CQ_STORE_UNIT_SIZE, BrokerRole
from rmqlab.store.consume_queue import ENTRY
from rmqlab.store.consume_queue_ext import MAX_ADDR
from rmqlab.store.dispatch_request import is_sound

if TYPE_CHECKING:
    from collections.abc import Callable

    from rmqlab.filter.message_filter import MessageFilter
    from rmqlab.rules import Rules
    from rmqlab.store.commit_log import CommitLog
    from rmqlab.store.consume_queue import ConsumeQueue
    from rmqlab.store.dispatch_request import StoreStatsService

    OnFiltered = Callable[[int, str], None]

# Java calls the bound on what one read looks at a count; it is bytes: 800 entries (row S-46).
MIN_SCAN_BYTES = 16000

AT_ONCE = 32, 8
"""Entries whose records are read at once, else so many: never more bytes than `CLOSE` times theirs, about."""
CLOSE = 6
MOST_AT_ONCE = 64 * 1024
"""Bytes read at once."""


class GetMessageStatus(Enum):
    """Why there are messages, or none (`GetMessageStatus`)."""

    FOUND = "FOUND"
    NO_MATCHED_MESSAGE = "NO_MATCHED_MESSAGE"
    MESSAGE_WAS_REMOVING = "MESSAGE_WAS_REMOVING"
    OFFSET_FOUND_NULL = "OFFSET_FOUND_NULL"
    OFFSET_OVERFLOW_BADLY = "OFFSET_OVERFLOW_BADLY"
    OFFSET_OVERFLOW_ONE = "OFFSET_OVERFLOW_ONE"
    OFFSET_TOO_SMALL = "OFFSET_TOO_SMALL"
    NO_MATCHED_LOGIC_QUEUE = "NO_MATCHED_LOGIC_QUEUE"
    NO_MESSAGE_IN_QUEUE = "NO_MESSAGE_IN_QUEUE"


@dataclass(slots=True)
class GetMessageResult:
    """Messages of a queue as records (commit log bytes), and where to go on.

    Offsets count messages.
    """

    status: GetMessageStatus = GetMessageStatus.NO_MESSAGE_IN_QUEUE
    next_begin_offset: int = 0
    min_offset: int = 0
    max_offset: int = 0
    messages: list[bytes] = field(default_factory=list)
    suggest_pulling_from_slave: bool = False


class QueueReader:
    """Reads queues. A message further than `memory_for_messages` before the end of the log counts as on disk.

    `most_scanned` bounds the bytes of a queue that are looked at for a filter, beyond what Java does.
    With `verify_reads` a record that is not what its queue's entry says is passed over: Java sends it as it is.
    """

    def __init__(
        self, commit_log: CommitLog, stats: StoreStatsService, rules: Rules, physical_memory_size: int
    ) -> None:
        self._commit_log = commit_log
        self._stats = stats
        self._rules = rules
        self._physical_memory_size = physical_memory_size
        self.verify_reads = False
        self.most_scanned: Callable[[MessageFilter | None], int] | None = None

    @property
    def memory_for_messages(self) -> int:
        """Bytes of memory that may hold messages: `accessMessageInMemoryMaxRatio` percent of all."""
        return int(self._physical_memory_size * (self._commit_log.config.access_message_in_memory_max_ratio / 100.0))

    def get_message(
        self,
        queue: ConsumeQueue | None,
        group: str,
        offset: int,
        max_msg_nums: int,
        message_filter: MessageFilter | None,
        on_filtered: OnFiltered | None,
    ) -> GetMessageResult:
        """Read `queue` from `offset` on; the caller has checked that the store may be read.

        Without a queue the answer is NO_MATCHED_LOGIC_QUEUE, which no client gets: Java makes the queue it looks for.

        `next_begin_offset` lies after every entry looked at, the rejected ones included: what a filter drops here is
        never looked at again (row S-51).
        """
        if queue is None:
            return self._without_messages(GetMessageResult(GetMessageStatus.NO_MATCHED_LOGIC_QUEUE), offset, 0)
        min_offset, max_offset = queue.min_offset_in_queue, queue.max_offset_in_queue
        result = GetMessageResult(GetMessageStatus.NO_MESSAGE_IN_QUEUE, offset, min_offset, max_offset)
        if max_offset == 0:
            corrected = 0
        elif offset < min_offset:
            result.status, corrected = GetMessageStatus.OFFSET_TOO_SMALL, min_offset
        elif offset == max_offset:
            result.status, corrected = GetMessageStatus.OFFSET_OVERFLOW_ONE, offset
        elif offset > max_offset:
            result.status = GetMessageStatus.OFFSET_OVERFLOW_BADLY
            corrected = min_offset if min_offset == 0 else max_offset
        else:
            scan_bytes = max(MIN_SCAN_BYTES, to_int32(max_msg_nums * CQ_STORE_UNIT_SIZE))
            if self.most_scanned is not None:
                scan_bytes = min(scan_bytes, self.most_scanned(message_filter))
            entries = queue.get_index_buffer(offset, scan_bytes)
            if entries is not None:
                self._read(queue, result, entries, offset, max_msg_nums, group, message_filter, on_filtered)
                return result
            result.status, corrected = GetMessageStatus.OFFSET_FOUND_NULL, queue.roll_next_file(offset)
        return self._without_messages(result, offset, corrected)

    def _without_messages(self, result: GetMessageResult, offset: int, corrected: int) -> GetMessageResult:
        """Go on at the corrected offset, on a slave at the old one unless `offsetCheckInSlave` (row S-57)."""
        config = self._commit_log.config
        self._stats.get_message_times_total_miss += 1
        keeps = config.broker_role is BrokerRole.SLAVE and not config.offset_check_in_slave
        result.next_begin_offset = offset if keeps else corrected
        return result

    def _read(
        self,
        queue: ConsumeQueue,
        result: GetMessageResult,
        entries: bytes,
        offset: int,
        max_msg_nums: int,
        group: str,
        message_filter: MessageFilter | None,
        on_filtered: OnFiltered | None,
    ) -> None:
        """Fill `result` from `entries`, whose first has the queue offset `offset`."""
        commit_log, stats, is_full = self._commit_log, self._stats, self._rules.is_the_batch_full
        config = commit_log.config
        max_offset_py, memory = commit_log.max_offset, self.memory_for_messages
        verify, topic, queue_id = self.verify_reads, to_utf8(queue.topic), queue.queue_id
        result.status = GetMessageStatus.NO_MATCHED_MESSAGE
        next_phy_file_start_offset: int | None = None
        in_memory = config.max_transfer_bytes_on_message_in_memory, config.max_transfer_count_on_message_in_memory
        on_disk = config.max_transfer_bytes_on_message_in_disk, config.max_transfer_count_on_message_in_disk
        # asked once for what has one answer: a tags code, and a size as long as nothing was added
        by_tags_code, verdicts = message_filter is None or message_filter.by_tags_code, dict[int, bool]()
        fitting: int | None = None
        fitting_in = in_memory
        offset_py = looked_at = total = 0
        messages = result.messages
        span, span_at, span_end = b"", 0, 0
        for looked_at, (offset_py, size_py, tags_code) in enumerate(ENTRY.iter_unpack(entries)):
            # messages of a file that is gone are passed over without another look
            if next_phy_file_start_offset is not None and offset_py < next_phy_file_start_offset:
                continue
            bounds = on_disk if max_offset_py - offset_py > memory else in_memory
            if size_py != fitting or bounds is not fitting_in:
                if is_full(size_py, max_msg_nums, total, len(messages), *bounds):
                    break
                fitting, fitting_in = size_py, bounds
            if message_filter is not None:
                passes = verdicts.get(tags_code)
                if passes is None:
                    if tags_code <= MAX_ADDR:
                        passes = _layer_1(queue, message_filter, tags_code)
                    else:
                        passes = message_filter.is_matched_by_consume_queue(tags_code)
                        if by_tags_code:
                            verdicts[tags_code] = passes
                if not passes:
                    if on_filtered is not None or not messages:
                        _rejected(result, on_filtered, offset + looked_at, "consume_queue")
                    continue
            end_py = offset_py + size_py
            if not span_at <= offset_py < end_py <= span_end:
                span, span_at = self._read_ahead(entries, looked_at), offset_py
                span_end = span_at + len(span)
            if offset_py < end_py <= span_end:
                record: bytes | None = span[offset_py - span_at : end_py - span_at]
            else:
                record = commit_log.get_message(offset_py, size_py)
            if record is None:
                if not messages:
                    result.status = GetMessageStatus.MESSAGE_WAS_REMOVING
                next_phy_file_start_offset = commit_log.roll_next_file(offset_py)
                continue
            if verify and not is_sound(record, topic, queue_id, offset + looked_at, (offset_py, size_py, tags_code)):
                continue
            if message_filter is not None and not by_tags_code and not message_filter.is_matched_by_commit_log(record):
                _rejected(result, on_filtered, offset + looked_at, "commit_log")
                continue
            messages.append(record)
            total += len(record)
            fitting = next_phy_file_start_offset = None
        else:
            looked_at = len(entries) // CQ_STORE_UNIT_SIZE
        fall_behind = max_offset_py - offset_py
        if config.disk_fall_recorded:
            stats.disk_fall_behind_size[group, queue.topic, queue_id] = fall_behind
        result.next_begin_offset = self._rules.next_offset(offset, looked_at, len(messages))
        result.suggest_pulling_from_slave = fall_behind > memory
        stats.get_message_transfered_msg_count += len(messages)
        if messages:
            result.status = GetMessageStatus.FOUND
            stats.get_message_times_total_found += 1
        else:
            stats.get_message_times_total_miss += 1

    def _read_ahead(self, entries: bytes, number: int) -> bytes:
        """Bytes of the log from entry `number` on, for it and some after it if they lie close; else none.

        None too from offset 0 on, whose bytes may be those of another offset (`CommitLog.get_message`).
        """
        begin, size, _ = ENTRY.unpack_from(entries, number * CQ_STORE_UNIT_SIZE)
        if begin <= 0 or size <= 0:
            return b""
        in_file = self._commit_log.mapped_file_size - begin % self._commit_log.mapped_file_size
        for most in AT_ONCE:
            count = min(most, len(entries) // CQ_STORE_UNIT_SIZE - number)
            last, last_size, _ = ENTRY.unpack_from(entries, (number + count - 1) * CQ_STORE_UNIT_SIZE)
            length = last + last_size - begin
            if 0 < length <= min(size * count * CLOSE, MOST_AT_ONCE, in_file):
                return self._commit_log.get_message(begin, length) or b""
        return b""


def _layer_1(queue: ConsumeQueue, message_filter: MessageFilter, address: int) -> bool:
    """Ask about an entry whose code is the address of a unit; one without its unit has no code, and passes (S-50)."""
    unit = queue.get_ext(address)
    return message_filter.is_matched_by_consume_queue(None if unit is None else unit.tags_code, unit)


def _rejected(result: GetMessageResult, on_filtered: OnFiltered | None, queue_offset: int, layer: str) -> None:
    if not result.messages:
        result.status = GetMessageStatus.NO_MATCHED_MESSAGE
    if on_filtered is not None:
        on_filtered(queue_offset, layer)
