"""The walk over the commit log that brings new records to queues, index and held pulls (`ReputMessageService`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rmqlab.store.dispatch_request import request_of_put
from rmqlab.store.mapped_file_queue import SegmentError

if TYPE_CHECKING:
    from collections.abc import Callable

    from rmqlab.message.message import MessageExtBrokerInner
    from rmqlab.store.commit_log import CommitLog
    from rmqlab.store.dispatch_request import DispatchRequest, RunningFlags

_MIN_CHUNK = 4 * 1024 * 1024


class ReputMessageService:
    """Reads the commit log from `reput_from_offset` on, record by record, and hands each to `dispatch`.

    What was just put, `written` by commit log offset, need not be read back.
    """

    def __init__(
        self,
        commit_log: CommitLog,
        dispatch: Callable[[DispatchRequest], None],
        running_flags: RunningFlags,
        reput_from_offset: int,
    ) -> None:
        self._commit_log = commit_log
        self._dispatch = dispatch
        self._running_flags = running_flags
        self.reput_from_offset = reput_from_offset
        self.written: dict[int, MessageExtBrokerInner] = {}

    def behind(self) -> int:
        """Bytes of commit log that are not dispatched yet."""
        return self._commit_log.max_offset - self.reput_from_offset

    def do_reput(self, until: int | None = None) -> None:
        """Dispatch all that is there, or only what begins before commit log offset `until`.

        Bytes that are no record end it, and the rest of the file is skipped (as a master does). A medium that does not
        take an entry ends it too: the next call begins at the message whose entry is missing, and until then no message
        is taken.
        """
        commit_log = self._commit_log
        self.reput_from_offset = max(self.reput_from_offset, commit_log.min_offset)
        end = commit_log.max_offset if until is None else min(until, commit_log.max_offset)
        try:
            while self.reput_from_offset < end:
                put = self.written.pop(self.reput_from_offset, None)
                request = None if put is None else request_of_put(put, commit_log.delay_levels, commit_log.rules)
                if request is not None:
                    self._dispatch(request)
                    self.reput_from_offset += request.msg_size
                    continue
                self.written.clear()
                limit = max(_MIN_CHUNK, commit_log.config.max_message_size)
                chunk = commit_log.get_data(self.reput_from_offset, limit)
                if chunk is None or not self._dispatch_chunk(chunk, end, is_cut=len(chunk) == limit):
                    return
        except SegmentError:
            self._running_flags.is_writeable = False

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
                self.reput_from_offset = commit_log.end_of_data(self.reput_from_offset)
                return False
            self.reput_from_offset += size
            position += size
        return True
