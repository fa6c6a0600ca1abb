"""The commit log: every message of the broker in the order of arrival (4.8.0 `CommitLog`)."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

from rmqlab.message.ids import create_message_id
from rmqlab.message.java import to_utf8
from rmqlab.message.properties import (
    PROPERTY_REAL_QUEUE_ID,
    PROPERTY_REAL_TOPIC,
    in_hash_map_order,
    properties_to_string,
)
from rmqlab.message.record import (
    BLANK_MAGIC_CODE,
    SYSFLAG_POSITION,
    RecordError,
    body_crc,
    message_length,
    pack_record,
)
from rmqlab.message.sysflag import (
    BORNHOST_V6_FLAG,
    STOREHOSTADDRESS_V6_FLAG,
    TRANSACTION_COMMIT_TYPE,
    TRANSACTION_NOT_TYPE,
    transaction_value,
)
from rmqlab.message.topics import SCHEDULE_TOPIC
from rmqlab.rules import RULES
from rmqlab.store.batch_encoder import encode_batch
from rmqlab.store.delay_levels import delay_level_to_queue_id
from rmqlab.store.mapped_file_queue import MappedFile, MappedFileQueue
from rmqlab.store.put_message_result import (
    AppendMessageResult,
    AppendMessageStatus,
    PutMessageResult,
    PutMessageStatus,
)
from rmqlab.store.record_check import check_message_and_return_size

if TYPE_CHECKING:
    from collections.abc import Callable

    from rmqlab.message.message import MessageExt, MessageExtBrokerInner
    from rmqlab.rules import Rules
    from rmqlab.store.config import MessageStoreConfig
    from rmqlab.store.delay_levels import DelayLevels
    from rmqlab.store.dispatch_request import DispatchRequest
    from rmqlab.store.segments import SegmentFactory

    Append = Callable[[MappedFile], AppendMessageResult]

END_FILE_MIN_BLANK_LENGTH = 8
_MAX_PROPERTIES_LENGTH = 32767
_INT = struct.Struct(">i")
_LONG = struct.Struct(">q")
_TWO_INTS = struct.Struct(">ii")
_TWO_LONGS = struct.Struct(">qq")
_QUEUE_OFFSET_POSITION = 20
_BORN_HOST_POSITION = 48
_TOO_LARGE = (AppendMessageStatus.MESSAGE_SIZE_EXCEEDED, AppendMessageStatus.PROPERTIES_SIZE_EXCEEDED)


class CommitLog:
    """Records in files of `mapped_file_size_commit_log` bytes; offsets in bytes.

    `topic_queue_table` is the next queue offset of every "topic-queueId". A log that does not begin at 0 has
    `base_offset` for its first byte. `begin_time_in_lock` is 0, or the time (epoch ms) of a put that failed in the
    middle: 4.8.0 forgets to reset it then, and takes the page cache for busy.
    """

    __slots__ = (
        "_rules",
        "base_offset",
        "begin_time_in_lock",
        "config",
        "delay_levels",
        "mapped_file_queue",
        "mapped_file_size",
        "topic_queue_table",
    )

    def __init__(
        self,
        config: MessageStoreConfig,
        delay_levels: DelayLevels,
        factory: SegmentFactory,
        base_offset: int = 0,
        rules: Rules = RULES["4.8.0"],
    ) -> None:
        self._rules = rules
        self.config = config
        self.delay_levels = delay_levels
        self.mapped_file_size = config.mapped_file_size_commit_log
        self.mapped_file_queue = MappedFileQueue("commitlog", self.mapped_file_size, factory)
        self.base_offset = base_offset
        if base_offset:
            self.mapped_file_queue.begin_at(base_offset)
        self.topic_queue_table: dict[str, int] = {}
        self.begin_time_in_lock = 0

    @property
    def min_offset(self) -> int:
        """Offset of the first byte there is, -1 when there is no file yet."""
        files = self.mapped_file_queue.mapped_files
        return files[0].file_from_offset + files[0].start if files else -1

    @property
    def max_offset(self) -> int:
        """Offset of the next byte."""
        return self.mapped_file_queue.max_offset

    def roll_next_file(self, offset: int) -> int:
        """Offset of the first byte of the file behind the one of `offset`."""
        return offset + self.mapped_file_size - offset % self.mapped_file_size

    def end_of_data(self, offset: int) -> int:
        """Offset behind the last byte written to the file of `offset`."""
        mapped_file = self.mapped_file_queue.find_by_offset(offset)
        return offset if mapped_file is None else mapped_file.file_from_offset + mapped_file.wrote_position

    def get_message(self, offset: int, size: int) -> bytes | None:
        """Return `size` bytes at `offset`, None when they are not all there.

        Offset 0 is looked for in the first file, whichever that is (4.8.0): once the log's first file is deleted, it
        gives bytes of another message.
        """
        mapped_file = self.mapped_file_queue.find_by_offset(offset, return_first_on_not_found=offset == 0)
        return None if mapped_file is None else mapped_file.select(offset % self.mapped_file_size, size)

    def get_data(self, offset: int, limit: int | None = None) -> bytes | None:
        """Return what is written from `offset` to the end of its file, at most `limit` bytes; None for nothing."""
        mapped_file = self.mapped_file_queue.find_by_offset(offset, return_first_on_not_found=offset == 0)
        return None if mapped_file is None else mapped_file.select_from(offset % self.mapped_file_size, limit)

    def pickup_store_timestamp(self, offset: int, size: int) -> int:
        """Return the store time (epoch ms) of the record of `size` bytes at `offset`, -1 when it is not there."""
        record = self.get_message(offset, size) if offset >= self.min_offset else None
        if record is None:
            return -1
        born_v6 = _INT.unpack_from(record, SYSFLAG_POSITION)[0] & BORNHOST_V6_FLAG
        return int(_LONG.unpack_from(record, _BORN_HOST_POSITION + (20 if born_v6 else 8))[0])

    def check_message_and_return_size(
        self, data: bytes, position: int = 0, *, check_crc: bool = False, read_body: bool = False
    ) -> DispatchRequest:
        """Read the record at `position` of `data` for dispatch; see `record_check`."""
        return check_message_and_return_size(
            data, position, self.delay_levels, self._rules, check_crc=check_crc, read_body=read_body
        )

    def put_message(self, msg: MessageExtBrokerInner, now: int, *, set_v6_flags: bool = True) -> PutMessageResult:
        """Append a message stored at `now` (epoch ms) and return where it went.

        `set_v6_flags` marks IPv6 addresses in the sys flag, as `putMessage` does; `asyncPutMessage`, which 4.8.0's
        broker calls for what producers send, does not (False), so that an IPv6 address raises `RecordError` unless
        the flag is there. A delay level moves the message to `SCHEDULE_TOPIC_XXXX` and keeps its topic and queue as
        properties. Raises `NumberFormatError` for a delay level that is no number.
        """
        msg.store_timestamp = now
        msg.body_crc = body_crc(msg.body)
        if transaction_value(msg.sys_flag) in {TRANSACTION_NOT_TYPE, TRANSACTION_COMMIT_TYPE}:
            level = msg.delay_time_level
            if level > 0:
                self._delay(msg, level)
        if set_v6_flags:
            _set_v6_flags(msg)
        return self._put(lambda mapped_file: self._append(mapped_file, msg), now)

    def put_messages(self, batch: MessageExt, now: int, *, set_v6_flags: bool = True) -> PutMessageResult:
        """Append the messages in the body of `batch`; all go into one file and into the queue of `batch`.

        A batch is neither a transaction nor delayed (MESSAGE_ILLEGAL). Raises `RecordError` for a body that is no
        batch, one that is too large, and addresses as `put_message`.
        """
        batch.store_timestamp = now
        if transaction_value(batch.sys_flag) != TRANSACTION_NOT_TYPE or batch.delay_time_level > 0:
            return PutMessageResult(PutMessageStatus.MESSAGE_ILLEGAL)
        if set_v6_flags:
            _set_v6_flags(batch)
        records = encode_batch(batch, self.config.max_message_size)
        return self._put(lambda mapped_file: self._append_batch(mapped_file, batch, records), now)

    def _delay(self, msg: MessageExtBrokerInner, level: int) -> None:
        if level > self.delay_levels.max_delay_level:
            msg.delay_time_level = level = self.delay_levels.max_delay_level
        msg.properties[PROPERTY_REAL_TOPIC] = msg.topic
        msg.properties[PROPERTY_REAL_QUEUE_ID] = str(msg.queue_id)
        msg.properties_string = properties_to_string(in_hash_map_order(msg.properties))
        msg.topic = SCHEDULE_TOPIC
        msg.queue_id = delay_level_to_queue_id(level)

    def _put(self, append: Append, now: int) -> PutMessageResult:
        queue = self.mapped_file_queue
        mapped_file = queue.last_mapped_file_or_new(self.base_offset)
        try:
            result = append(mapped_file)
            if result.status is AppendMessageStatus.END_OF_FILE:
                mapped_file = queue.last_mapped_file_or_new(self.base_offset)
                # when it does not fit an empty file either, 4.8.0 says PUT_OK and has left out a whole file
                result = append(mapped_file)
            elif result.status in _TOO_LARGE:
                return PutMessageResult(PutMessageStatus.MESSAGE_ILLEGAL, result)
        except RecordError:
            self.begin_time_in_lock = now
            raise
        self.begin_time_in_lock = 0
        mapped_file.last_modified = now
        return PutMessageResult(PutMessageStatus.PUT_OK, result)

    def _append(self, mapped_file: MappedFile, msg: MessageExtBrokerInner) -> AppendMessageResult:
        wrote_offset = mapped_file.file_from_offset + mapped_file.wrote_position
        sys_flag = msg.sys_flag
        if msg.store_host.is_v6 and not sys_flag & STOREHOSTADDRESS_V6_FLAG:
            raise _no_room_for_address(msg)
        msg_id = create_message_id(msg.store_host, wrote_offset)
        key = f"{msg.topic}-{msg.queue_id}"
        next_queue_offset = self.topic_queue_table.setdefault(key, 0)
        is_queued = transaction_value(sys_flag) in {TRANSACTION_NOT_TYPE, TRANSACTION_COMMIT_TYPE}
        queue_offset = next_queue_offset if is_queued else 0
        properties = b"" if msg.properties_string is None else to_utf8(msg.properties_string)
        if len(properties) > _MAX_PROPERTIES_LENGTH:
            return AppendMessageResult(AppendMessageStatus.PROPERTIES_SIZE_EXCEEDED)
        topic, body = to_utf8(msg.topic), msg.body or b""
        size = message_length(sys_flag, len(body), len(topic), len(properties))
        if size > self.config.max_message_size:
            return AppendMessageResult(AppendMessageStatus.MESSAGE_SIZE_EXCEEDED)
        max_blank = mapped_file.file_size - mapped_file.wrote_position
        if size + END_FILE_MIN_BLANK_LENGTH > max_blank:
            mapped_file.append(_TWO_INTS.pack(max_blank, BLANK_MAGIC_CODE).ljust(max_blank, b"\0"))
            return AppendMessageResult(
                AppendMessageStatus.END_OF_FILE, wrote_offset, max_blank, msg_id, msg.store_timestamp, queue_offset
            )
        if msg.born_host.is_v6 and not sys_flag & BORNHOST_V6_FLAG:
            raise _no_room_for_address(msg)
        msg.queue_offset, msg.commit_log_offset = queue_offset, wrote_offset
        # an IPv4 address under an IPv6 flag leaves 12 bytes over at the end
        mapped_file.append(pack_record(msg, size, body, topic, properties).ljust(size, b"\0"))
        if is_queued:
            self.topic_queue_table[key] = queue_offset + 1
        return AppendMessageResult(
            AppendMessageStatus.PUT_OK, wrote_offset, size, msg_id, msg.store_timestamp, queue_offset
        )

    def _append_batch(self, mapped_file: MappedFile, batch: MessageExt, records: list[bytes]) -> AppendMessageResult:
        wrote_offset = mapped_file.file_from_offset + mapped_file.wrote_position
        key = f"{batch.topic}-{batch.queue_id}"
        begin_queue_offset = self.topic_queue_table.setdefault(key, 0)
        if batch.store_host.is_v6 and not batch.sys_flag & STOREHOSTADDRESS_V6_FLAG:
            raise _no_room_for_address(batch)
        max_blank = mapped_file.file_size - mapped_file.wrote_position
        total = 0
        placed: list[bytes] = []
        msg_ids: list[str] = []
        for record in records:
            offset = wrote_offset + total
            total += len(record)
            if total + END_FILE_MIN_BLANK_LENGTH > max_blank:
                mapped_file.append(_TWO_INTS.pack(max_blank, BLANK_MAGIC_CODE).ljust(max_blank, b"\0"))
                return AppendMessageResult(
                    AppendMessageStatus.END_OF_FILE,
                    wrote_offset,
                    max_blank,
                    ",".join(msg_ids),
                    batch.store_timestamp,
                    begin_queue_offset,
                )
            head = record[:_QUEUE_OFFSET_POSITION]
            offsets = _TWO_LONGS.pack(begin_queue_offset + len(placed), offset)
            placed.append(head + offsets + record[_QUEUE_OFFSET_POSITION + _TWO_LONGS.size :])
            msg_ids.append(create_message_id(batch.store_host, offset))
        mapped_file.append(b"".join(placed))
        self.topic_queue_table[key] = begin_queue_offset + len(placed)
        return AppendMessageResult(
            AppendMessageStatus.PUT_OK,
            wrote_offset,
            total,
            ",".join(msg_ids),
            batch.store_timestamp,
            begin_queue_offset,
            len(placed),
        )

    def append_data(self, start_offset: int, data: bytes) -> bool:
        """Append raw `data`, as a slave does; an empty log begins at the file of `start_offset`.

        False when it does not fit the rest of the file.
        """
        return self.mapped_file_queue.last_mapped_file_or_new(start_offset).append(data)

    def recover(self) -> None:
        """Cut the log behind the last good record, looking at the last three files (4.8.0 `recoverNormally`)."""
        end = -1
        for mapped_file in self.mapped_file_queue.mapped_files[-3:]:
            data = mapped_file.select_from(mapped_file.start) or b""
            position = 0
            request = None
            while position < len(data):
                request = self.check_message_and_return_size(
                    data, position, check_crc=self.config.check_crc_on_recover, read_body=True
                )
                if not request.success or request.msg_size == 0:
                    break
                position += request.msg_size
            end = mapped_file.file_from_offset + mapped_file.start + position
            if request is None or not (request.success and request.msg_size == 0):
                break
        if end >= 0:
            self.mapped_file_queue.truncate_dirty_files(end)


def _set_v6_flags(msg: MessageExt) -> None:
    if msg.born_host.is_v6:
        msg.sys_flag |= BORNHOST_V6_FLAG
    if msg.store_host.is_v6:
        msg.sys_flag |= STOREHOSTADDRESS_V6_FLAG


def _no_room_for_address(msg: MessageExt) -> RecordError:
    return RecordError(
        "BufferOverflowException",
        f"message of topic {msg.topic!r} from {msg.born_host.text}: an IPv6 address needs its bit in the sys flag",
    )
