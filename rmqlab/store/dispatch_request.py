"""What a store knows of a message: what became of its put, and what queue, index and held pulls need of its record.

Beside them stand what the store is still able to do (`RunningFlags`) and its counters (`StoreStatsService`).
"""

from __future__ import annotations

import struct
from bisect import bisect_right
from collections import Counter
from dataclasses import dataclass, field
from enum import Enum
from functools import lru_cache
from typing import TYPE_CHECKING

from rmqlab.message.java import from_utf8, parse_int, string_hash
from rmqlab.message.properties import (
    NAME_VALUE_SEPARATOR,
    PROPERTY_DELAY_TIME_LEVEL,
    PROPERTY_KEYS,
    PROPERTY_SEPARATOR,
    PROPERTY_TAGS,
    PROPERTY_UNIQ_CLIENT_MESSAGE_ID_KEYIDX,
    string_to_properties,
)
from rmqlab.message.record import (
    BLANK_MAGIC_CODE,
    LAYOUTS,
    MESSAGE_MAGIC_CODE,
    body_crc,
    layout_at,
    message_length,
)
from rmqlab.message.sysflag import BORNHOST_V6_FLAG, STOREHOST_V6_FLAG
from rmqlab.message.topics import SCHEDULE_TOPIC
from rmqlab.store.consume_queue_ext import is_ext_addr

if TYPE_CHECKING:
    from rmqlab.message.message import MessageExtBrokerInner
    from rmqlab.rules import Rules
    from rmqlab.store.config import DelayLevels

_SIZE_AND_MAGIC = struct.Struct(">ii")
_PROPERTIES_LENGTH = struct.Struct(">h")
_TAGS = f"{PROPERTY_TAGS}{NAME_VALUE_SEPARATOR}".encode()
_SEPARATOR = PROPERTY_SEPARATOR.encode()
_SCHEDULE_TOPIC = SCHEDULE_TOPIC.encode()
_PLAIN = LAYOUTS[4, 4]
_REMEMBERED = 64
"""Bytes of the longest tag whose code is remembered."""
# what a record of IPv4 addresses is checked by; but for the body's length it lies at the same places in the others
_CHECKED_FIELDS = {
    "total_size",
    "magic_code",
    "body_crc",
    "queue_id",
    "queue_offset",
    "commit_log_offset",
    "sys_flag",
    "body_length",
}
_CHECKED = struct.Struct(
    ">"
    + "".join(
        text if name in _CHECKED_FIELDS else f"{struct.calcsize('>' + text)}x" for name, text in _PLAIN.formats.items()
    )
)
_BODY_LENGTH = struct.Struct(">i")
_V6_FLAGS = BORNHOST_V6_FLAG | STOREHOST_V6_FLAG


@dataclass(slots=True)
class DispatchRequest:
    """One record of the commit log, read back (`DispatchRequest`).

    `msg_size` bytes; 0 with `success` is the end of a file, -1 without `success` bytes that are no record, another
    size without `success` a record whose parts do not add up. Times are epoch ms; `tags_code` is a hash code, or the
    time of delivery on the delay topic. `bit_map` is filled by the dispatcher that computes bitmaps.
    """

    topic: str = ""
    queue_id: int = 0
    commit_log_offset: int = 0
    msg_size: int = 0
    tags_code: int = 0
    store_timestamp: int = 0
    consume_queue_offset: int = 0
    keys: str | None = ""
    uniq_key: str | None = None
    sys_flag: int = 0
    prepared_transaction_offset: int = 0
    properties_map: dict[str, str] | None = None
    success: bool = True
    bit_map: bytes | None = None

    def set_properties(self, text: str, delay_levels: DelayLevels, rules: Rules) -> None:
        """Take in the property text. On the delay topic the tags code is when the message is due (epoch ms).

        Raises:
            ValueError: a delay level that is no number.
        """
        self.properties_map = properties = string_to_properties(text)
        self.keys = properties.get(PROPERTY_KEYS)
        self.uniq_key = properties.get(PROPERTY_UNIQ_CLIENT_MESSAGE_ID_KEYIDX)
        if self.topic == SCHEDULE_TOPIC and PROPERTY_DELAY_TIME_LEVEL in properties:
            level = min(parse_int(properties[PROPERTY_DELAY_TIME_LEVEL]), delay_levels.max_delay_level)
            if level > 0:
                self.tags_code = delay_levels.compute_deliver_timestamp(level, self.store_timestamp)
                return
        try:
            self.tags_code = rules.tags_code(properties.get(PROPERTY_TAGS))
        except (IndexError, ValueError) as error:  # a rule of somebody's own; the record is as it should be
            raise RuntimeError(f"the rule tags_code raised {error!r}") from error


def request_of_record(
    data: bytes, position: int, delay_levels: DelayLevels, rules: Rules, *, check_crc: bool
) -> DispatchRequest | None:
    """Read the record at `position` of `data`; None for what is none; see `CommitLog.check_message_and_return_size`.

    Raises:
        struct.error: bytes that end too early or a delay level that is no number.
        IndexError: bytes that end too early or a delay level that is no number.
        ValueError: bytes that end too early or a delay level that is no number.
    """
    total_size, magic = _SIZE_AND_MAGIC.unpack_from(data, position)
    if magic == BLANK_MAGIC_CODE:
        return DispatchRequest(msg_size=0)
    if magic != MESSAGE_MAGIC_CODE or total_size < 0:
        return None
    layout = layout_at(data, position)
    (
        _, _, crc, queue_id, _, queue_offset, phy_offset, sys_flag, _, _, _, store_timestamp, _, _, _, prepared,
        body_length,
    ) = layout.fields.unpack_from(data, position)  # fmt: skip
    cursor = position + layout.size
    if body_length > 0:
        body_end = cursor + body_length
        if check_crc and (body_length > total_size or body_crc(data[cursor:body_end]) != crc):
            return None
        cursor = body_end
    topic_length = data[cursor]
    topic_end = cursor + 1 + topic_length
    # Java reads into an array of the total size, and the length is a signed byte
    if topic_length > 127 or topic_length > total_size:
        return None
    (properties_length,) = _PROPERTIES_LENGTH.unpack_from(data, topic_end)
    request = DispatchRequest(
        topic=from_utf8(data[cursor + 1 : topic_end]),
        queue_id=queue_id,
        commit_log_offset=phy_offset,
        msg_size=total_size,
        store_timestamp=store_timestamp,
        consume_queue_offset=queue_offset,
        sys_flag=sys_flag,
        prepared_transaction_offset=prepared,
    )
    if properties_length > 0:
        properties_end = topic_end + 2 + properties_length
        if properties_end > len(data) or properties_length > total_size:
            return None
        request.set_properties(from_utf8(data[topic_end + 2 : properties_end]), delay_levels, rules)
    if total_size != message_length(sys_flag, body_length, topic_length, properties_length):
        return DispatchRequest(msg_size=total_size, success=False)
    return request


def request_of_put(msg: MessageExtBrokerInner, delay_levels: DelayLevels, rules: Rules) -> DispatchRequest | None:
    """What reading the record of `msg`, just written, would give; None when only its bytes can tell.

    Text that is not ASCII may not survive being written, and addresses of both kinds lie differently.
    """
    topic, text = msg.topic, msg.properties_string
    if msg.sys_flag & _V6_FLAGS or not topic.isascii() or (text and not text.isascii()):
        return None
    request = DispatchRequest(
        topic=topic,
        queue_id=msg.queue_id,
        commit_log_offset=msg.commit_log_offset,
        msg_size=msg.store_size,
        store_timestamp=msg.store_timestamp,
        consume_queue_offset=msg.queue_offset,
        sys_flag=msg.sys_flag,
        prepared_transaction_offset=msg.prepared_transaction_offset,
    )
    try:
        if text:
            request.set_properties(text, delay_levels, rules)
    except ValueError:
        return None
    return request


def is_sound(record: bytes, topic: bytes, queue_id: int, queue_offset: int, entry: tuple[int, int, int]) -> bool:
    """Whether the record that a queue's entry leads to is that queue's message, unchanged as far as is known.

    `topic` is UTF-8; `entry` is commit log offset, size and tags code. Compared are the places, the body's checksum and
    the tag; no checksum guards other properties.
    """
    offset, size, tags_code = entry
    try:
        total, magic, crc, stored_queue, stored_offset, phy_offset, sys_flag, body_length = _CHECKED.unpack_from(record)
        begin = _PLAIN.size
        if sys_flag & _V6_FLAGS:
            begin = layout_at(record).size
            (body_length,) = _BODY_LENGTH.unpack_from(record, begin - 4)
        cursor = begin + body_length
        properties_at = cursor + 1 + record[cursor]
        (properties_length,) = _PROPERTIES_LENGTH.unpack_from(record, properties_at)
    except (struct.error, IndexError):
        return False
    if (
        magic != MESSAGE_MAGIC_CODE
        or total != size
        or phy_offset != offset
        or len(record) != size
        or stored_queue != queue_id
        or stored_offset != queue_offset
        or record[cursor + 1 : properties_at] != topic
        or body_length < 0
        or body_crc(record[begin:cursor]) != crc
    ):
        return False
    if is_ext_addr(tags_code) or topic == _SCHEDULE_TOPIC:
        return True
    first, end = properties_at + 2, properties_at + 2 + properties_length
    name_at = record.find(_TAGS, first, end)
    while name_at > first and record[name_at - 1] != _SEPARATOR[0]:  # the end of another name
        name_at = record.find(_TAGS, name_at + 1, end)
    if name_at < 0:
        return tags_code == 0
    tag_end = record.find(_SEPARATOR, name_at + len(_TAGS), end)
    tag = record[name_at + len(_TAGS) : end if tag_end < 0 else tag_end]
    return tags_code == (_code_of if len(tag) <= _REMEMBERED else _code_of.__wrapped__)(tag)


@lru_cache(maxsize=1024)
def _code_of(tag: bytes) -> int:
    return string_hash(from_utf8(tag))


class AppendMessageStatus(Enum):
    """What the commit log says (`AppendMessageStatus`)."""

    PUT_OK = "PUT_OK"
    END_OF_FILE = "END_OF_FILE"
    MESSAGE_SIZE_EXCEEDED = "MESSAGE_SIZE_EXCEEDED"
    PROPERTIES_SIZE_EXCEEDED = "PROPERTIES_SIZE_EXCEEDED"


class PutMessageStatus(Enum):
    """What the store says (`PutMessageStatus`)."""

    PUT_OK = "PUT_OK"
    SLAVE_NOT_AVAILABLE = "SLAVE_NOT_AVAILABLE"
    SERVICE_NOT_AVAILABLE = "SERVICE_NOT_AVAILABLE"
    CREATE_MAPEDFILE_FAILED = "CREATE_MAPEDFILE_FAILED"
    MESSAGE_ILLEGAL = "MESSAGE_ILLEGAL"
    WHEEL_TIMER_MSG_ILLEGAL = "WHEEL_TIMER_MSG_ILLEGAL"  # of 5.x


@dataclass(slots=True)
class PutMessageResult:
    """The store's status, and the commit log's (`AppendMessageResult`) when the message got that far.

    `wrote_offset` is the commit log offset of the record (or batch of `msg_num` records), `wrote_bytes` its size,
    `logics_offset` its queue offset, `msg_id` its offsetMsgId (for a batch: all of them, separated by commas),
    `store_timestamp` epoch ms.
    """

    status: PutMessageStatus
    append_status: AppendMessageStatus | None = None
    wrote_offset: int = 0
    wrote_bytes: int = 0
    msg_id: str = ""
    store_timestamp: int = 0
    logics_offset: int = 0
    msg_num: int = 1

    @property
    def is_ok(self) -> bool:
        """Whether the message is in the log, whatever the disk or the slave said."""
        return self.append_status is AppendMessageStatus.PUT_OK


@dataclass(slots=True)
class RunningFlags:
    """What a store can still do: a full disk forbids new messages, not the consume queues of those already there.

    `disk_used`: the part of the disk that was in use when it was last measured, 0 to 1; -1: it was not.
    """

    is_readable: bool = True
    is_writeable: bool = True
    disk_used: float = -1.0


PUT_TIME_STEPS_MS = (0, 1, 10, 50, 100, 200, 500, 1_000, 2_000, 3_000, 4_000, 5_000, 10_000)
"""From how many ms on a put counts in each of Java's thirteen classes of time."""


@dataclass(slots=True)
class StoreStatsService:
    """How many messages came and went, and how long that took.

    No time passes in a call of a broker in virtual time: whoever runs one on a machine notes what took 1 ms or more
    (`note_put`, `note_get`). `disk_fall_behind_size`: by group, topic and queue id the bytes of commit log after the
    message last looked at.
    """

    single_put_message_topic_times_total: Counter[str] = field(default_factory=Counter)
    single_put_message_topic_size_total: Counter[str] = field(default_factory=Counter)
    get_message_times_total_found: int = 0
    get_message_times_total_miss: int = 0
    get_message_transfered_msg_count: int = 0
    disk_fall_behind_size: dict[tuple[str, str, int], int] = field(default_factory=dict)
    put_message_entire_time_max: int = 0
    get_message_entire_time_max: int = 0
    slow_puts: list[int] = field(default_factory=lambda: [0] * len(PUT_TIME_STEPS_MS))
    """How many puts of this minute took so long, by the steps of `PUT_TIME_STEPS_MS`; the first counts none."""

    def note_put(self, ms: int) -> None:
        """A put took this long, 1 ms or more (`StoreStatsService.setPutMessageEntireTimeMax`)."""
        self.slow_puts[bisect_right(PUT_TIME_STEPS_MS, ms) - 1] += 1
        self.put_message_entire_time_max = max(self.put_message_entire_time_max, ms)

    def note_get(self, ms: int) -> None:
        """A read took this long, 1 ms or more."""
        self.get_message_entire_time_max = max(self.get_message_entire_time_max, ms)
