"""A scan of a commit log on disk after a crash, and what becomes of damaged parts.

Java (`recoverNormally`, `recoverAbnormally`) cuts the log at the first record it cannot read, and with it every good
record after. Here the good ones are kept: the damaged part becomes one record that is in no queue and in no index, so
that both brokers can walk over it.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

from rmqlab.message.message import MessageExt
from rmqlab.message.record import BLANK_MAGIC_CODE, MESSAGE_MAGIC_CODE, body_crc, message_length, pack_record
from rmqlab.message.sysflag import TRANSACTION_ROLLBACK_TYPE

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator

    from rmqlab.store.commit_log import CommitLog
    from rmqlab.store.dispatch_request import DispatchRequest
    from rmqlab.store.mapped_file_queue import MappedFile

DAMAGED_TOPIC = "-"
"""Topic of the record that stands where records were damaged; its sys flag says rolled back."""
_MAGIC = struct.pack(">i", MESSAGE_MAGIC_CODE)
_BLANK = struct.Struct(">ii")
_MIN_WINDOW = 4 * 1024 * 1024


class LogScan:
    """One walk over a commit log, from a file of it to its end.

    `records()` yields what is good; afterwards `end` is where the log ends (commit log offset) and `holes` are the
    damaged parts, (offset, size) each. `repair` writes both to the log. `is_plausible` is asked, maybe more than once,
    about records whose form is right; `lost_bytes` says then how many damaged bytes lie before that record.
    """

    def __init__(
        self,
        log: CommitLog,
        first_file: int = 0,
        *,
        check_crc: bool = True,
        is_plausible: Callable[[DispatchRequest], bool] = lambda _: True,
    ) -> None:
        self._log = log
        self._is_plausible = is_plausible
        self._files = log.mapped_file_queue.mapped_files[first_file:]
        self._check_crc = check_crc
        self._window = max(_MIN_WINDOW, log.config.max_message_size + 64 * 1024)
        self._last_time = 0
        self.holes: list[tuple[int, int]] = []
        self.lost_bytes = 0
        self.end = self._files[0].file_from_offset + self._files[0].start if self._files else 0

    def records(self) -> Iterator[DispatchRequest]:
        """Every good record in order."""
        for number, mapped_file in enumerate(self._files):
            if number and not self._continues(mapped_file):
                return
            self.end = mapped_file.file_from_offset + mapped_file.start
            ended = yield from self._file(mapped_file, last=number == len(self._files) - 1)
            if not ended:
                return

    def _continues(self, mapped_file: MappedFile) -> bool:
        before = self._files[self._files.index(mapped_file) - 1]
        return mapped_file.file_from_offset == before.file_from_offset + self._log.mapped_file_size

    def _file(self, mapped_file: MappedFile, *, last: bool) -> Generator[DispatchRequest, None, bool]:
        """The records of one file; return whether the log goes on in the next."""
        position = mapped_file.start
        data, begin = b"", position
        while True:
            request = self._read(mapped_file, data, begin, position)
            if request is None or not request.success:
                data, begin = mapped_file.select_from(position, self._window) or b"", position
                request = self._read(mapped_file, data, begin, position)
            if request is not None and request.success:
                if request.msg_size == 0:
                    return True
                self._last_time = request.store_timestamp
                yield request
                position += request.msg_size
                self.end = mapped_file.file_from_offset + position
                continue
            lost = self.lost_bytes
            good = self._next_good(mapped_file, position, last=last)
            if good is None:
                return False
            self.lost_bytes = lost + good - position
            self.holes.append((mapped_file.file_from_offset + position, good - position))
            position = good
            if position == mapped_file.file_size:
                return True

    def _read(self, mapped_file: MappedFile, data: bytes, begin: int, position: int) -> DispatchRequest | None:
        """Read the record at `position`; None when there is none that belongs there."""
        at = position - begin
        if at + _BLANK.size > len(data):
            return None
        size, magic = _BLANK.unpack_from(data, at)
        if magic == BLANK_MAGIC_CODE and size != mapped_file.file_size - position:
            return None
        request = self._log.check_message_and_return_size(data, at, check_crc=self._check_crc)
        if not request.success:
            return None
        if request.msg_size == 0:
            return request
        # at another offset: left over from a log that once went on otherwise
        belongs = request.commit_log_offset == mapped_file.file_from_offset + position
        return request if belongs and self._is_plausible(request) else None

    def _next_good(self, mapped_file: MappedFile, position: int, *, last: bool) -> int | None:
        """Where the next good record begins, the file's end when that is in the next file; None for nowhere.

        One stored before the last good record is left over from before an earlier repair.
        """
        at, lost = position + 1, self.lost_bytes
        while (data := mapped_file.select_from(at, self._window)) is not None:
            magic_at = data.find(_MAGIC, 4)
            while magic_at >= 0:
                start = at + magic_at - 4
                self.lost_bytes = lost + start - position
                whole = mapped_file.select_from(start, self._window) or b""
                request = self._read(mapped_file, whole, start, start)
                if request is not None and request.msg_size and request.store_timestamp >= self._last_time:
                    return start
                magic_at = data.find(_MAGIC, magic_at + 1)
            if len(data) < self._window:
                break
            at += self._window - 8
        if last:
            return None
        following = self._files[self._files.index(mapped_file) + 1]
        data = following.select_from(following.start, self._window) or b""
        request = self._read(following, data, following.start, following.start)
        is_good = request is not None and request.msg_size and request.store_timestamp >= self._last_time
        return mapped_file.file_size if is_good else None

    def repair(self) -> None:
        """Cut the log at its end and put a record in the place of each hole.

        Raises:
            SegmentError: a file of the store cannot be read or written.
        """
        queue = self._log.mapped_file_queue
        for offset, size in self.holes:
            mapped_file = queue.find_by_offset(offset)
            if mapped_file is None:
                continue
            position = offset - mapped_file.file_from_offset
            if position + size == mapped_file.file_size:
                filling = _BLANK.pack(size, BLANK_MAGIC_CODE)
            else:
                damaged = mapped_file.select_from(position, size) or b""
                filling = _stand_in(damaged.ljust(size, b"\0"), offset, self._last_time)
            mapped_file.set_wrote_position(max(mapped_file.wrote_position, position + len(filling)))
            mapped_file.segment.overwrite(position - mapped_file.start, filling)
        if self._files:
            queue.truncate_dirty_files(self.end)


def _stand_in(damaged: bytes, offset: int, now: int) -> bytes:
    """A record of the size of `damaged` that keeps what fits of it as its body."""
    topic = DAMAGED_TOPIC.encode()
    head = message_length(TRANSACTION_ROLLBACK_TYPE, 0, len(topic), 0)
    body = damaged[head:]
    message = MessageExt(
        topic=DAMAGED_TOPIC,
        body=body,
        sys_flag=TRANSACTION_ROLLBACK_TYPE,
        commit_log_offset=offset,
        born_timestamp=now,
        store_timestamp=now,
    )
    message.body_crc = body_crc(body)
    return pack_record(message, len(damaged), body, topic, b"")
