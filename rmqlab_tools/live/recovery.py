"""Opening a store that was there before: `DefaultMessageStore.load` and `recover`, and what they leave to luck.

Afterwards every message whose record is whole is in its queue at its offset, and nothing else is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from rmqlab.message.java import parse_int, to_utf8
from rmqlab.message.record import message_length
from rmqlab.message.sysflag import QUEUED_TYPES, TRANSACTION_MASK
from rmqlab.message.topics import SCHEDULE_TOPIC
from rmqlab.store.consume_queue_ext import is_ext_addr
from rmqlab.store.dispatch_request import is_sound
from rmqlab_tools.live.store.log_scan import LogScan

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rmqlab.store.consume_queue import ConsumeQueue
    from rmqlab.store.dispatch_request import DispatchRequest
    from rmqlab.store.mapped_file_queue import MappedFile
    from rmqlab.store.message_store import MessageStore

CHECKED_WHOLE_BYTES = 16 * 1024 * 1024
"""A log no longer than this is checked from its beginning, however the broker stopped."""
_MIN_RECORD = message_length(0, 0, 1, 0) + 1
_CHECKPOINT_GRACE_MS = 3_000
_FILES_CHECKED = 3
_MAX_QUEUE_OFFSET = 1 << 60
_Key = tuple[str, int]


class RecoveryReport(NamedTuple):
    """What was found: offset of the log's end, damaged parts (offset, size), queues made anew, records read."""

    end: int
    holes: list[tuple[int, int]]
    rebuilt: list[_Key]
    records: int


class Recovery:
    """Loads what the medium of an empty store holds, and mends it.

    `last_exit_ok`: no `abort` file was left. `checkpoint` is the store time (epoch ms) up to which log and queues were
    on disk for sure. `index_end` is the commit log offset of the last message in the index, -1 when the index is to be
    built anew.

    Raises:
        SegmentError: a file of the store cannot be read or written.
    """

    def __init__(self, store: MessageStore, *, last_exit_ok: bool, checkpoint: int, index_end: int = -1) -> None:
        self._store = store
        self._last_exit_ok = last_exit_ok
        self._checkpoint = checkpoint
        self._index_end = index_end
        self._next: dict[_Key, int] = {}
        self._began: dict[_Key, int] = {}
        self._bad: set[_Key] = set()
        self._scan: LogScan | None = None
        self._is_whole = False

    def run(self) -> RecoveryReport:
        """Load, check, mend, and dispatch what the queues lack."""
        store = self._store
        log = store.commit_log
        log.mapped_file_queue.load()
        self._load_queues()
        files = log.mapped_file_queue.mapped_files
        if not files:
            for queue in list(self._queues()):
                queue.destroy()
            store.consume_queue_table.clear()
            return RecoveryReport(0, [], [], 0)
        first = self._first_file(files)
        self._is_whole = first == 0
        scan = self._scan = LogScan(
            log, first, check_crc=store.config.check_crc_on_recover, is_plausible=self._is_plausible
        )
        count, behind = 0, None
        for request in scan.records():
            count += 1
            if (
                request.sys_flag & TRANSACTION_MASK in QUEUED_TYPES
                and not self._check_entry(request)
                and behind is None
            ):
                behind = request.commit_log_offset
        scan.repair()
        self._check_ends(scan)
        self._replace_lost(scan)
        rebuilt = sorted(self._bad)
        for topic, queue_id in rebuilt:
            store.consume_queue_table[topic].pop(queue_id).destroy()
        if rebuilt:
            behind = log.min_offset
        self._dispatch(scan, behind)
        self._fill_topic_queue_table()
        return RecoveryReport(scan.end, scan.holes, rebuilt, count)

    # loading

    def _load_queues(self) -> None:
        segments = self._store.segments
        for topic in segments.directories("consumequeue"):
            for name in segments.directories(f"consumequeue/{topic}"):
                try:
                    queue_id = parse_int(name)
                except ValueError:
                    continue
                queue = self._store.find_consume_queue(topic, queue_id)
                if not queue.load():
                    self._bad.add((topic, queue.queue_id))

    def _queues(self) -> Iterator[ConsumeQueue]:
        for queues in self._store.consume_queue_table.values():
            yield from queues.values()

    def _first_file(self, files: list[MappedFile]) -> int:
        """The file to begin with: as Java, but a small log is checked whole."""
        written = sum(file.wrote_position - file.start for file in files)
        if written <= CHECKED_WHOLE_BYTES:
            return 0
        if self._last_exit_ok:
            return max(len(files) - _FILES_CHECKED, 0)
        safe = max(self._checkpoint - _CHECKPOINT_GRACE_MS, 0)
        for number in range(len(files) - 1, 0, -1):
            data = files[number].select_from(files[number].start, 64 * 1024) or b""
            request = self._store.commit_log.check_message_and_return_size(data)
            if request.success and request.msg_size and 0 < request.store_timestamp <= safe:
                return number
        return 0

    # checking

    def _is_plausible(self, request: DispatchRequest) -> bool:
        """Whether a record can have the queue offset it says; the record's form is right, its CRC too.

        No checksum guards that number. It must follow the last one of its queue, or the queue must say so; where
        records were lost before, some may be missing. A topic that was deleted and made again begins at 0.
        """
        if request.sys_flag & TRANSACTION_MASK not in QUEUED_TYPES:
            return True
        key, offset = (request.topic, request.queue_id), request.consume_queue_offset
        expected = self._next.get(key, 0 if self._is_whole and self._begins_at_zero() else None)
        if offset in {expected, 0}:
            return True
        if expected is None:
            return 0 < offset < _MAX_QUEUE_OFFSET
        queue = self._store.get_consume_queue(*key)
        entry = None if queue is None or offset < 0 else queue.entry(offset)
        if entry is not None:
            return entry[0] == request.commit_log_offset
        lost = 0 if self._scan is None else self._scan.lost_bytes // _MIN_RECORD
        return 0 < offset - expected <= lost + 1

    def _begins_at_zero(self) -> bool:
        return self._store.commit_log.min_offset == 0

    def _check_entry(self, request: DispatchRequest) -> bool:
        """Compare a queue's entry with the record; False when the queue does not have it yet."""
        key = request.topic, request.queue_id
        if request.consume_queue_offset == 0:
            self._began[key] = request.commit_log_offset
        self._next[key] = request.consume_queue_offset + 1
        queue = self._store.get_consume_queue(*key)
        if queue is None or key in self._bad:
            return False
        entry = queue.entry(request.consume_queue_offset)
        if entry is None:
            if request.consume_queue_offset < queue.max_offset_in_queue:
                self._bad.add(key)  # its first files are missing
            return False
        offset, size, tags_code = entry
        if offset > request.commit_log_offset and self._leads_to_message(queue, request.consume_queue_offset, entry):
            return True  # the queue began anew since
        same = (offset, size) == (request.commit_log_offset, request.msg_size)
        if same and is_ext_addr(tags_code):
            unit = queue.get_ext(tags_code)
            same = unit is not None and unit.tags_code == request.tags_code
        elif same and request.topic != SCHEDULE_TOPIC:
            same = tags_code == request.tags_code
        if not same:
            self._bad.add(key)
        return same

    def _leads_to_message(self, queue: ConsumeQueue, index: int, entry: tuple[int, int, int]) -> bool:
        record = self._store.commit_log.get_message(entry[0], entry[1])
        return record is not None and is_sound(record, to_utf8(queue.topic), queue.queue_id, index, entry)

    def _check_ends(self, scan: LogScan) -> None:
        """Cut queues after the last message of theirs that the log has."""
        for queue in self._queues():
            key = queue.topic, queue.queue_id
            index = queue.max_offset_in_queue
            known = self._next.get(key, 0 if self._is_whole and self._begins_at_zero() else None)
            while index > 0 and (entry := queue.entry(index - 1)) is not None:
                is_lost = any(begin <= entry[0] < begin + size for begin, size in scan.holes)
                if entry[0] + entry[1] <= scan.end and (known is None or index <= known or is_lost):
                    break
                index -= 1
            if index < queue.max_offset_in_queue:
                queue.truncate_to(index)

    def _replace_lost(self, scan: LogScan) -> None:
        """Let a neighbour's entry stand where a message was lost, so that offsets keep their places.

        A consumer gets that neighbour twice, and nothing that is no message.
        """
        if not scan.holes:
            return
        for queue in self._queues():
            if (queue.topic, queue.queue_id) in self._bad:
                continue
            neighbour, lost = None, []
            for index in range(queue.max_offset_in_queue - 1, -1, -1):
                entry = queue.entry(index)
                if entry is None:
                    break
                if any(begin <= entry[0] < begin + size for begin, size in scan.holes):
                    lost.append(index)
                    if neighbour is not None:
                        queue.overwrite_entry(index, neighbour)
                else:
                    for waiting in lost if neighbour is None else ():
                        queue.overwrite_entry(waiting, entry)
                    neighbour = entry

    # mending

    def _dispatch(self, scan: LogScan, behind: int | None) -> None:
        """Bring queues and index up to the log, from the first message that one of them lacks."""
        store = self._store
        log = store.commit_log
        begin = scan.end if behind is None else behind
        if not self._is_whole and behind is None:
            begin = min(scan.end, max([log.min_offset, *(queue.max_physic_offset for queue in self._queues())]))
        if store.config.message_index_enable:
            begin = min(begin, max(self._index_end, log.min_offset))
        for queue in self._queues():
            queue.correct_min_offset(log.min_offset)
        dispatchers = store.dispatchers
        build = store.build_consume_queue
        store.dispatchers = [
            self._build_consume_queue if dispatcher == build else dispatcher for dispatcher in dispatchers
        ]
        store.reput_message_service.reput_from_offset = begin
        store.dispatch()
        store.dispatchers = dispatchers

    def _build_consume_queue(self, request: DispatchRequest) -> None:
        """Enter a message into its queue, unless that began anew after it."""
        if request.commit_log_offset >= self._began.get((request.topic, request.queue_id), 0):
            self._store.build_consume_queue(request)

    def _fill_topic_queue_table(self) -> None:
        store = self._store
        store.commit_log.topic_queue_table = {
            f"{queue.topic}-{queue.queue_id}": queue.max_offset_in_queue for queue in self._queues()
        }
        for queue in self._queues():
            queue.correct_min_offset(store.commit_log.min_offset)
