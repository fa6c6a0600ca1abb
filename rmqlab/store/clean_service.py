"""Deleting what is old: commit log files first, then what leads to them (`CleanCommitLogService` and others).

Between the two a queue still has entries whose messages are gone: reading them gives MESSAGE_WAS_REMOVING.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rmqlab.message.topics import SCHEDULE_TOPIC

if TYPE_CHECKING:
    from collections.abc import Collection

    from rmqlab.store.message_store import MessageStore

DELETE_FILES_BATCH_MAX = 10
DISK_SPACE_WARNING_LEVEL_RATIO = 0.90
DISK_SPACE_CLEAN_FORCIBLY_RATIO = 0.85
_HOUR_MS = 3_600_000


class CleanService:
    """What Java does to a store every `cleanResourceInterval`; here the owner of the store decides when."""

    def __init__(self, store: MessageStore) -> None:
        self._store = store
        self._commit_log = store.commit_log
        self._last_physical_min_offset = 0

    def run(self, now: int, hour: int, used: float) -> int:
        """Delete old files at the hours of `deleteWhen`, and on a disk that fills up.

        `hour` is the hour of the day where the broker stands, `used` the part of the disk in use, 0 to 1. Returns how
        many commit log files were deleted.
        """
        config = self._commit_log.config
        is_time = any(when.strip() and int(when) == hour for when in config.delete_when.split(";"))
        self.note_disk_space(used)
        is_space_needed = used < 0 or used > config.disk_max_used_space_ratio / 100.0
        deleted = 0
        if is_time or is_space_needed:
            at_once = config.clean_file_forcibly_enable and used > DISK_SPACE_CLEAN_FORCIBLY_RATIO
            deleted = self.delete_expired_commit_log_files(now, at_once=at_once)
        self.clean_consume_queues()
        return deleted

    def note_disk_space(self, used: float) -> None:
        """Take no message while more than 90 % of the disk are in use; take them again once they are not."""
        flags = self._store.running_flags
        flags.disk_used = used
        flags.is_writeable = used <= DISK_SPACE_WARNING_LEVEL_RATIO

    def delete_expired_commit_log_files(self, now: int, *, at_once: bool = False) -> int:
        """Delete files last written `fileReservedTime` hours before `now` (epoch ms), at most ten.

        `at_once` deletes them whatever their age, as a nearly full disk does.
        """
        queue = self._commit_log.mapped_file_queue
        reserved = self._commit_log.config.file_reserved_time * _HOUR_MS
        count = 0
        for mapped_file in queue.mapped_files[:-1][:DELETE_FILES_BATCH_MAX]:
            if not at_once and now < mapped_file.last_modified + reserved:
                break
            count += 1
        return queue.delete_first(count)

    def clean_consume_queues(self) -> None:
        """Move the queues' first offsets after messages that are gone, and delete files of entries below."""
        min_offset = self._commit_log.min_offset
        if min_offset > self._last_physical_min_offset:
            self._last_physical_min_offset = min_offset
            for queues in self._store.consume_queue_table.values():
                for queue in queues.values():
                    queue.delete_expired_file(min_offset)
            if self._store.index_service is not None:
                self._store.index_service.delete_expired_file(min_offset)

    def clean_expired_consume_queues(self) -> None:
        """Delete queues whose last message is gone from the log; one that never had a message stays."""
        first, table = self._commit_log.min_offset, self._store.consume_queue_table
        for topic in [name for name in table if name != SCHEDULE_TOPIC]:
            queues = table[topic]
            for queue_id, queue in list(queues.items()):
                if -1 < queue.last_offset < first:
                    queue.destroy()
                    del queues[queue_id]
                    self._commit_log.topic_queue_table.pop(f"{topic}-{queue_id}", None)
            if not queues:
                del table[topic]

    def clean_unused_topic(self, topics: Collection[str]) -> None:
        """Delete the queues of every topic that is not in `topics`."""
        table = self._store.consume_queue_table
        for topic in [name for name in table if name not in topics and name != SCHEDULE_TOPIC]:
            for queue in table.pop(topic).values():
                queue.destroy()
                self._commit_log.topic_queue_table.pop(f"{topic}-{queue.queue_id}", None)
