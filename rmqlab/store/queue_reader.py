"""Reading a queue: statuses, bounds and the two filter layers (4.8.0 `DefaultMessageStore.getMessage`, S-37..S-57)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rmqlab.message.java import to_int32, to_utf8
from rmqlab.store.broker_role import BrokerRole
from rmqlab.store.config import CQ_STORE_UNIT_SIZE
from rmqlab.store.consume_queue import ENTRY, ConsumeQueue
from rmqlab.store.consume_queue_ext import MAX_ADDR
from rmqlab.store.dispatch_request import is_sound
from rmqlab.store.get_message_result import GetMessageResult, GetMessageStatus

if TYPE_CHECKING:
    from collections.abc import Callable

    from rmqlab.filter.message_filter import MessageFilter
    from rmqlab.store.config import MessageStoreConfig
    from rmqlab.store.message_store import MessageStore

    OnFiltered = Callable[[int, str], None]

# 4.8.0 calls the bound on what one read looks at a count; it is bytes: 800 entries (row S-46).
LEAST_SCAN_BYTES = 16000


def get_message(
    store: MessageStore,
    queue: ConsumeQueue | None,
    group: str,
    offset: int,
    max_msg_nums: int,
    message_filter: MessageFilter | None,
    on_filtered: OnFiltered | None,
) -> GetMessageResult:
    """Read `queue` from `offset` on; the caller has checked that the store may be read.

    Without a queue the answer is NO_MATCHED_LOGIC_QUEUE, which nobody gets: 4.8.0 makes the queue that it looks for.

    `next_begin_offset` lies behind every entry looked at, the rejected ones included: what a filter drops here is
    never looked at again (row S-51).
    """
    if queue is None:
        result = GetMessageResult(GetMessageStatus.NO_MATCHED_LOGIC_QUEUE)
        return _without_messages(store, result, offset, 0)
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
        scan_bytes = max(LEAST_SCAN_BYTES, to_int32(max_msg_nums * CQ_STORE_UNIT_SIZE))
        entries = queue.get_index_buffer(offset, scan_bytes)
        if entries is not None:
            _Reading(store, queue, result, message_filter, on_filtered).read(entries, offset, max_msg_nums, group)
            return result
        result.status, corrected = GetMessageStatus.OFFSET_FOUND_NULL, queue.roll_next_file(offset)
    return _without_messages(store, result, offset, corrected)


def _without_messages(store: MessageStore, result: GetMessageResult, offset: int, corrected: int) -> GetMessageResult:
    store.store_stats_service.get_message_times_total_miss += 1
    result.next_begin_offset = next_offset_correction(store.config, offset, corrected)
    return result


def next_offset_correction(config: MessageStoreConfig, old_offset: int, new_offset: int) -> int:
    """The offset to go on with: the corrected one, on a slave the old one unless `offsetCheckInSlave` (row S-57)."""
    if config.broker_role is not BrokerRole.SLAVE or config.offset_check_in_slave:
        return new_offset
    return old_offset


class _Reading:
    """One pass over the entries of a queue."""

    __slots__ = ("message_filter", "on_filtered", "queue", "result", "store")

    def __init__(
        self,
        store: MessageStore,
        queue: ConsumeQueue,
        result: GetMessageResult,
        message_filter: MessageFilter | None,
        on_filtered: OnFiltered | None,
    ) -> None:
        self.store = store
        self.queue = queue
        self.result = result
        self.message_filter = message_filter
        self.on_filtered = on_filtered

    def read(self, entries: bytes, offset: int, max_msg_nums: int, group: str) -> None:
        """Fill `result` from `entries`, whose first has the queue offset `offset`."""
        store, result, config = self.store, self.result, self.store.config
        commit_log, message_filter = store.commit_log, self.message_filter
        max_offset_py, memory = commit_log.max_offset, store.memory_for_messages
        verify, topic, queue_id = store.verify_reads, to_utf8(self.queue.topic), self.queue.queue_id
        result.status = GetMessageStatus.NO_MATCHED_MESSAGE
        next_phy_file_start_offset: int | None = None
        in_memory = config.max_transfer_bytes_on_message_in_memory, config.max_transfer_count_on_message_in_memory
        on_disk = config.max_transfer_bytes_on_message_in_disk, config.max_transfer_count_on_message_in_disk
        max_phy_offset_pulling = 0
        looked_at = 0
        for looked_at, (offset_py, size_py, tags_code) in enumerate(ENTRY.iter_unpack(entries)):
            max_phy_offset_pulling = offset_py
            # messages of a file that is gone are passed over without another look
            if next_phy_file_start_offset is not None and offset_py < next_phy_file_start_offset:
                continue
            total, count = result.buffer_total_size, len(result.messages)
            bounds = on_disk if max_offset_py - offset_py > memory else in_memory
            if store.rules.is_the_batch_full(size_py, max_msg_nums, total, count, *bounds):
                break
            if message_filter is not None and not self._layer_1(message_filter, tags_code):
                self._rejected(offset + looked_at, "consume_queue")
                continue
            record = commit_log.get_message(offset_py, size_py)
            if record is None:
                if total == 0:
                    result.status = GetMessageStatus.MESSAGE_WAS_REMOVING
                next_phy_file_start_offset = commit_log.roll_next_file(offset_py)
                continue
            if verify and not is_sound(record, topic, queue_id, offset + looked_at, (offset_py, size_py, tags_code)):
                continue
            if message_filter is not None and not message_filter.is_matched_by_commit_log(record, None):
                self._rejected(offset + looked_at, "commit_log")
                continue
            store.store_stats_service.get_message_transfered_msg_count += 1
            result.add_message(record)
            result.status = GetMessageStatus.FOUND
            next_phy_file_start_offset = None
        else:
            looked_at = len(entries) // CQ_STORE_UNIT_SIZE
        fall_behind = max_offset_py - max_phy_offset_pulling
        stats = store.store_stats_service
        if config.disk_fall_recorded:
            stats.disk_fall_behind_size[group, self.queue.topic, self.queue.queue_id] = fall_behind
        result.next_begin_offset = store.rules.next_offset(offset, looked_at, len(result.messages))
        result.suggest_pulling_from_slave = fall_behind > memory
        if result.status is GetMessageStatus.FOUND:
            stats.get_message_times_total_found += 1
        else:
            stats.get_message_times_total_miss += 1

    def _layer_1(self, message_filter: MessageFilter, tags_code: int) -> bool:
        if tags_code > MAX_ADDR:
            return message_filter.is_matched_by_consume_queue(tags_code, None)
        # a unit that cannot be found leaves the filter without a code: it lets the message pass (row S-50)
        unit = self.queue.get_ext(tags_code)
        return message_filter.is_matched_by_consume_queue(None if unit is None else unit.tags_code, unit)

    def _rejected(self, queue_offset: int, layer: str) -> None:
        if self.result.buffer_total_size == 0:
            self.result.status = GetMessageStatus.NO_MATCHED_MESSAGE
        if self.on_filtered is not None:
            self.on_filtered(queue_offset, layer)
