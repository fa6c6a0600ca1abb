"""From the commit log to the consume queues (4.8.0 `ReputMessageService`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rmqlab.store.running_flags import DISK_FULL_BIT
from rmqlab.store.segments import SegmentError

if TYPE_CHECKING:
    from collections.abc import Callable

    from rmqlab.store.commit_log import CommitLog
    from rmqlab.store.dispatch_request import DispatchRequest
    from rmqlab.store.running_flags import RunningFlags

_MIN_CHUNK = 4 * 1024 * 1024


class ReputMessageService:
    """Reads the commit log from `reput_from_offset` on, record by record, and hands each to `dispatch`."""

    __slots__ = ("_commit_log", "_dispatch", "_is_master", "_running_flags", "reput_from_offset")

    def __init__(
        self,
        commit_log: CommitLog,
        dispatch: Callable[[DispatchRequest], None],
        running_flags: RunningFlags,
        *,
        is_master: bool,
        reput_from_offset: int,
    ) -> None:
        self._commit_log = commit_log
        self._dispatch = dispatch
        self._running_flags = running_flags
        self._is_master = is_master
        self.reput_from_offset = reput_from_offset

    def behind(self) -> int:
        """Bytes of commit log that are not dispatched yet."""
        return self._commit_log.max_offset - self.reput_from_offset

    def do_reput(self, until: int | None = None) -> None:
        """Dispatch all that is there, or only what begins before commit log offset `until`.

        Bytes that are no record end it; a master skips the rest of the file then. A medium that does not take an entry
        ends it too: the next call begins at the message whose entry is missing, and until then no message is taken.
        """
        try:
            self._do_reput(until)
        except SegmentError:
            self._running_flags.set(DISK_FULL_BIT)

    def dispatch_put(self, request: DispatchRequest) -> None:
        """Dispatch the message at `reput_from_offset`, whose record was just written and need not be read again."""
        try:
            self._dispatch(request)
            self.reput_from_offset += request.msg_size
        except SegmentError:
            self._running_flags.set(DISK_FULL_BIT)

    def _do_reput(self, until: int | None) -> None:
        commit_log = self._commit_log
        self.reput_from_offset = max(self.reput_from_offset, commit_log.min_offset)
        limit = max(_MIN_CHUNK, commit_log.config.max_message_size)
        end = commit_log.max_offset if until is None else min(until, commit_log.max_offset)
        while self.reput_from_offset < end:
            chunk = commit_log.get_data(self.reput_from_offset, limit)
            if chunk is None or not self._dispatch_chunk(chunk, end, is_cut=len(chunk) == limit):
                return

    def _dispatch_chunk(self, chunk: bytes, end: int, *, is_cut: bool) -> bool:
        """Dispatch the records in `chunk` that begin before `end`; False when there is nothing to go on with."""
        commit_log = self._commit_log
        position = 0
        while position < len(chunk) and self.reput_from_offset < end:
            request = commit_log.check_message_and_return_size(chunk, position)
            size = request.msg_size
            if request.success:
                if size == 0:
                    self.reput_from_offset = commit_log.roll_next_file(self.reput_from_offset)
                    return True
                self._dispatch(request)
            elif size <= 0:
                if is_cut and position:
                    # the record goes on behind what was read at once: read again from its beginning
                    return True
                if self._is_master:
                    self.reput_from_offset = commit_log.end_of_data(self.reput_from_offset)
                return False
            self.reput_from_offset += size
            position += size
        return True
