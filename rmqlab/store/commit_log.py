"""The commit log: every message of the broker in the order of arrival (`CommitLog`)."""

from __future__ import annotations

import struct
from itertools import accumulate
from typing import TYPE_CHECKING

from rmqlab.message.batch import encode_batch
from rmqlab.message.ids import create_message_id
from rmqlab.message.java import in_hash_map_order, to_utf8
from rmqlab.message.properties import (
    PROPERTY_REAL_QUEUE_ID,
    PROPERTY_REAL_TOPIC,
    properties_to_string,
)
from rmqlab.message.record import (
    BLANK_MAGIC_CODE,
    LAYOUTS,
    RecordError,
    body_crc,
    layout_at,
    message_length,
    pack_record,
)
from rmqlab.message.sysflag import (
    BORNHOST_V6_FLAG,
    QUEUED_TYPES,
    STOREHOST_V6_FLAG,
    TRANSACTION_MASK,
    TRANSACTION_NOT_TYPE,
)
from rmqlab.message.topics import SCHEDULE_TOPIC
from rmqlab.rules import DEFAULT_RULES
from rmqlab.store.config import delay_level_to_queue_id
from rmqlab.store.dispatch_request import (
    AppendMessageStatus,
    DispatchRequest,
    PutMessageResult,
    PutMessageStatus,
    request_of_record,
)
from rmqlab.store.mapped_file_queue import MappedFileQueue

if TYPE_CHECKING:
    from rmqlab.message.message import Host, MessageExt, MessageExtBrokerInner
    from rmqlab.rules import Rules
    from rmqlab.store.config import DelayLevels, MessageStoreConfig
    from rmqlab.store.mapped_file_queue import Segments

END_FILE_MIN_BLANK_LENGTH = 8
MAX_PROPERTIES_LENGTH = 32767
_BLANK = struct.Struct(">ii")  # size, magic
_OFFSETS = struct.Struct(">qq")
_LONG = struct.Struct(">q")
# of the two offsets, one behind the other: before the addresses, so the same in all layouts
_OFFSETS_AT = LAYOUTS[4, 4].offsets["queue_offset"]


class CommitLog:
    """Records in files of `mapped_file_size_commit_log` bytes; offsets in bytes.

    `topic_queue_table` is the next queue offset of every "topic-queueId". A log that does not begin at 0 has
    `base_offset` for its first byte.
    """

    def __init__(
        self,
        config: MessageStoreConfig,
        delay_levels: DelayLevels,
        segments: Segments,
        base_offset: int = 0,
        rules: Rules = DEFAULT_RULES,
    ) -> None:
        self.rules = rules
        self.config = config
        self.delay_levels = delay_levels
        self.mapped_file_size = config.mapped_file_size_commit_log
        self.mapped_file_queue = MappedFileQueue("commitlog", self.mapped_file_size, segments)
        self.base_offset = base_offset
        if base_offset:
            self.mapped_file_queue.begin_at(base_offset)
        self.topic_queue_table: dict[str, int] = {}

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
        """Offset of the first byte of the file after the one of `offset`."""
        return offset + self.mapped_file_size - offset % self.mapped_file_size

    def end_of_data(self, offset: int) -> int:
        """Offset after the last byte written to the file of `offset`."""
        mapped_file = self.mapped_file_queue.find_by_offset(offset)
        return offset if mapped_file is None else mapped_file.file_from_offset + mapped_file.wrote_position

    def get_message(self, offset: int, size: int) -> bytes | None:
        """`size` bytes at `offset`, None when they are not all there.

        Offset 0 is looked for in the first file, whichever that is (as Java): once the log's first file is deleted, it
        gives bytes of another message.
        """
        mapped_file = self.mapped_file_queue.find_by_offset(offset, return_first_on_not_found=offset == 0)
        return None if mapped_file is None else mapped_file.select(offset % self.mapped_file_size, size)

    def get_data(self, offset: int, limit: int | None = None) -> bytes | None:
        """What is written from `offset` to the end of its file, at most `limit` bytes; None for nothing."""
        mapped_file = self.mapped_file_queue.find_by_offset(offset, return_first_on_not_found=offset == 0)
        return None if mapped_file is None else mapped_file.select_from(offset % self.mapped_file_size, limit)

    def select_one_message_by_offset(self, offset: int, size: int | None = None) -> bytes | None:
        """The record at `offset`, None when it is not there; `size` is what it says unless given."""
        if size is None:
            head = self.get_message(offset, 4)
            if head is None:
                return None
            size = int.from_bytes(head, signed=True)
        return None if size < 0 else self.get_message(offset, size)

    def pickup_store_timestamp(self, offset: int, size: int) -> int:
        """The store time (epoch ms) of the record of `size` bytes at `offset`, -1 when it is not there."""
        record = self.get_message(offset, size) if offset >= self.min_offset else None
        if record is None:
            return -1
        try:
            return int(_LONG.unpack_from(record, layout_at(record).offsets["store_timestamp"])[0])
        except struct.error:  # a damaged size: shorter than any record
            return -1

    def check_message_and_return_size(
        self, data: bytes, position: int = 0, *, check_crc: bool = False
    ) -> DispatchRequest:
        """Read the record at `position` of `data`, bytes to the end of what is written, for dispatch.

        A blank record gives size 0 with success; bytes that are no record give -1 without it, as does a wrong body CRC
        when `check_crc` asks for it; a record whose parts do not make its size gives its size without success.
        """
        try:
            request = request_of_record(data, position, self.delay_levels, self.rules, check_crc=check_crc)
        except (struct.error, IndexError, ValueError):
            request = None
        return DispatchRequest(msg_size=-1, success=False) if request is None else request

    def put_message(self, msg: MessageExtBrokerInner, now: int) -> PutMessageResult:
        """Append a message stored at `now` (epoch ms); return where it went, which stands in `msg` too.

        A delay level moves the message to `SCHEDULE_TOPIC_XXXX` and keeps its topic and queue as properties. Raises
        `NumberFormatError` for a delay level that is no number, `RecordError` for an IPv6 address that the sys flag
        does not mark (see `mark_v6_addresses`).
        """
        msg.store_timestamp = now
        msg.body_crc = body_crc(msg.body)
        is_queued = msg.sys_flag & TRANSACTION_MASK in QUEUED_TYPES
        if is_queued:
            level = msg.delay_time_level
            if level > 0:
                self._delay(msg, level)
        # Java makes the file and the queue's number before it looks whether the message is too large
        mapped_file = self.mapped_file_queue.last_mapped_file_or_new(self.base_offset)
        if ":" in msg.store_host.ip:
            _check_host(msg, msg.store_host, STOREHOST_V6_FLAG)
        key = f"{msg.topic}-{msg.queue_id}"
        queue_offset = self.topic_queue_table.setdefault(key, 0)
        properties = b"" if msg.properties_string is None else to_utf8(msg.properties_string)
        if len(properties) > MAX_PROPERTIES_LENGTH:
            return _too_large(AppendMessageStatus.PROPERTIES_SIZE_EXCEEDED)
        topic, body = to_utf8(msg.topic), msg.body or b""
        size = message_length(msg.sys_flag, len(body), len(topic), len(properties))
        if size > self.config.max_message_size:
            return _too_large(AppendMessageStatus.MESSAGE_SIZE_EXCEEDED)
        position = mapped_file.wrote_position
        if size > mapped_file.file_size - position - END_FILE_MIN_BLANK_LENGTH or ":" in msg.born_host.ip:
            result = self._append(msg, [pack_record(msg, size, body, topic, properties)], is_batch=False)
            if result.append_status is AppendMessageStatus.PUT_OK:
                msg.queue_offset, msg.commit_log_offset = result.logics_offset, result.wrote_offset
                msg.store_size = size
            return result
        # it fits, as most do: its record is made once, with its offsets
        offset = mapped_file.file_from_offset + position
        msg.queue_offset = queue_offset if is_queued else 0
        msg.commit_log_offset, msg.store_size = offset, size
        mapped_file.append(pack_record(msg, size, body, topic, properties))
        if is_queued:
            self.topic_queue_table[key] = queue_offset + 1
        mapped_file.last_modified = now
        return PutMessageResult(
            PutMessageStatus.PUT_OK,
            AppendMessageStatus.PUT_OK,
            offset,
            size,
            create_message_id(msg.store_host, offset),
            now,
            msg.queue_offset,
        )

    def put_messages(self, batch: MessageExt, now: int) -> PutMessageResult:
        """Append the messages in the body of `batch`; all go into one file and into the queue of `batch`.

        A batch is neither a transaction nor delayed (MESSAGE_ILLEGAL).

        Raises:
            RecordError: a body that is no batch, one that is too large, and addresses as `put_message`.
        """
        batch.store_timestamp = now
        if batch.sys_flag & TRANSACTION_MASK != TRANSACTION_NOT_TYPE or batch.delay_time_level > 0:
            return PutMessageResult(PutMessageStatus.MESSAGE_ILLEGAL)
        records = encode_batch(batch, self.config.max_message_size, self.rules.wire.property_capacity)
        self.mapped_file_queue.last_mapped_file_or_new(self.base_offset)
        _check_host(batch, batch.store_host, STOREHOST_V6_FLAG)
        return self._append(batch, records, is_batch=True)

    def _delay(self, msg: MessageExtBrokerInner, level: int) -> None:
        if level > self.delay_levels.max_delay_level:
            msg.delay_time_level = level = self.delay_levels.max_delay_level
        msg.properties[PROPERTY_REAL_TOPIC] = msg.topic
        msg.properties[PROPERTY_REAL_QUEUE_ID] = str(msg.queue_id)
        properties = in_hash_map_order(msg.properties, self.rules.wire.property_capacity)
        msg.properties_string = properties_to_string(properties)
        msg.topic = SCHEDULE_TOPIC
        msg.queue_id = delay_level_to_queue_id(level)

    def _append(self, msg: MessageExt, records: list[bytes], *, is_batch: bool) -> PutMessageResult:
        """Write the records of a message or a batch into one file, with their offsets put right."""
        key = f"{msg.topic}-{msg.queue_id}"
        is_queued = msg.sys_flag & TRANSACTION_MASK in QUEUED_TYPES
        queue_offset = self.topic_queue_table.setdefault(key, 0) if is_queued else 0
        ends = list(accumulate(map(len, records)))
        total = ends[-1] if ends else 0
        # when the records do not fit an empty file either, Java says PUT_OK and has left out a whole file
        for _ in range(2):
            mapped_file = self.mapped_file_queue.last_mapped_file_or_new(self.base_offset)
            wrote_offset = mapped_file.file_from_offset + mapped_file.wrote_position
            room = mapped_file.file_size - mapped_file.wrote_position - END_FILE_MIN_BLANK_LENGTH
            if is_written := total <= room:
                break
            blank = room + END_FILE_MIN_BLANK_LENGTH
            mapped_file.append(_BLANK.pack(blank, BLANK_MAGIC_CODE).ljust(blank, b"\0"))
        placed: list[bytes] = []
        msg_ids: list[str] = []
        for record, end in zip(records, ends, strict=True):
            offset = wrote_offset + end - len(record)
            if end <= room or not is_batch:
                msg_ids.append(create_message_id(msg.store_host, offset))
            offsets = _OFFSETS.pack(queue_offset + (len(placed) if is_queued else 0), offset)
            placed.append(record[:_OFFSETS_AT] + offsets + record[_OFFSETS_AT + _OFFSETS.size :])
        if is_written:
            if records and ":" in msg.born_host.ip:
                _check_host(msg, msg.born_host, BORNHOST_V6_FLAG)
            mapped_file.append(b"".join(placed))
            if is_queued:
                self.topic_queue_table[key] = queue_offset + len(placed)
        mapped_file.last_modified = msg.store_timestamp
        return PutMessageResult(
            PutMessageStatus.PUT_OK,
            AppendMessageStatus.PUT_OK if is_written else AppendMessageStatus.END_OF_FILE,
            wrote_offset,
            total if is_written else blank,
            ",".join(msg_ids),
            msg.store_timestamp,
            queue_offset,
            len(placed) if is_written else 1,
        )


def _too_large(status: AppendMessageStatus) -> PutMessageResult:
    return PutMessageResult(PutMessageStatus.MESSAGE_ILLEGAL, status)


def _check_host(msg: MessageExt, host: Host, bit: int) -> None:
    """Raise `RecordError` for an IPv6 address without its bit."""
    if host.is_v6 and not msg.sys_flag & bit:
        raise RecordError(
            "BufferOverflowException",
            f"message of topic {msg.topic!r} from {msg.born_host.text}: an IPv6 address needs its bit in the sys flag",
        )


def mark_v6_addresses(msg: MessageExt) -> None:
    """Mark IPv6 addresses in the sys flag: `putMessage` does so, `asyncPutMessage` does not (a bug of Java's)."""
    if msg.born_host.is_v6:
        msg.sys_flag |= BORNHOST_V6_FLAG
    if msg.store_host.is_v6:
        msg.sys_flag |= STOREHOST_V6_FLAG
