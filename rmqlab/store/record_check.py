"""Reading a commit log record for dispatch (4.8.0 `CommitLog.checkMessageAndReturnSize`)."""

from __future__ import annotations

import struct
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
from rmqlab.message.record import BLANK_MAGIC_CODE, MESSAGE_MAGIC_CODE, body_crc, message_length
from rmqlab.message.sysflag import BORNHOST_V6_FLAG, STOREHOSTADDRESS_V6_FLAG
from rmqlab.message.topics import SCHEDULE_TOPIC
from rmqlab.store.dispatch_request import DispatchRequest

if TYPE_CHECKING:
    from rmqlab.message.message import MessageExtBrokerInner
    from rmqlab.rules import Rules
    from rmqlab.store.delay_levels import DelayLevels

_SIZE_AND_MAGIC = struct.Struct(">ii")
# total size, magic, CRC, queue id, flag, queue offset, physical offset, sys flag, born time
_HEAD = struct.Struct(">5iqqiq")
# born host, store time, store host, reconsume times, prepared offset, body length
_TAILS = {
    (born, store): struct.Struct(f">{20 if born else 8}xq{20 if store else 8}xiqi")
    for born in (0, BORNHOST_V6_FLAG)
    for store in (0, STOREHOSTADDRESS_V6_FLAG)
}
_PROPERTIES_LENGTH = struct.Struct(">h")
_MAX_ADDR = -(1 << 31) - 1  # tags codes up to here are addresses in the extension
_TAGS = f"{PROPERTY_TAGS}{NAME_VALUE_SEPARATOR}".encode()
_SEPARATOR = PROPERTY_SEPARATOR.encode()
_SCHEDULE_TOPIC = SCHEDULE_TOPIC.encode()
_V6_FLAGS = BORNHOST_V6_FLAG | STOREHOSTADDRESS_V6_FLAG


def check_message_and_return_size(
    data: bytes,
    position: int,
    delay_levels: DelayLevels,
    rules: Rules,
    *,
    check_crc: bool = False,
    read_body: bool = False,
) -> DispatchRequest:
    """Read the record at `position` of `data` (bytes to the end of what is written).

    A blank record gives size 0 with success; bytes that are no record give -1 without it, as does a wrong body CRC
    when both flags ask for it; a record whose parts do not make its size gives its size without success.
    """
    try:
        return _check(data, position, delay_levels, rules, check_crc=check_crc and read_body)
    except (struct.error, IndexError, ValueError):
        return DispatchRequest.nothing(-1, success=False)


def _check(data: bytes, position: int, delay_levels: DelayLevels, rules: Rules, *, check_crc: bool) -> DispatchRequest:
    total_size, magic = _SIZE_AND_MAGIC.unpack_from(data, position)
    if magic == BLANK_MAGIC_CODE:
        return DispatchRequest.nothing(0, success=True)
    if magic != MESSAGE_MAGIC_CODE or total_size < 0:
        return DispatchRequest.nothing(-1, success=False)
    _, _, crc, queue_id, _, queue_offset, phy_offset, sys_flag, _ = _HEAD.unpack_from(data, position)
    tail = _TAILS[sys_flag & BORNHOST_V6_FLAG, sys_flag & STOREHOSTADDRESS_V6_FLAG]
    store_timestamp, _, prepared, body_length = tail.unpack_from(data, position + _HEAD.size)
    cursor = position + _HEAD.size + tail.size
    if body_length > 0:
        body_end = cursor + body_length
        if check_crc and (body_length > total_size or body_crc(data[cursor:body_end]) != crc):
            return DispatchRequest.nothing(-1, success=False)
        cursor = body_end
    topic_length = data[cursor]
    topic_end = cursor + 1 + topic_length
    # Java reads into an array of the total size, and the length is a signed byte
    if topic_length > 127 or topic_length > total_size:
        return DispatchRequest.nothing(-1, success=False)
    (properties_length,) = _PROPERTIES_LENGTH.unpack_from(data, topic_end)
    topic = from_utf8(data[cursor + 1 : topic_end])
    tags_code, uniq_key, properties = 0, None, None
    keys: str | None = ""
    if properties_length > 0:
        properties_end = topic_end + 2 + properties_length
        if properties_end > len(data) or properties_length > total_size:
            return DispatchRequest.nothing(-1, success=False)
        properties = string_to_properties(from_utf8(data[topic_end + 2 : properties_end]))
        keys = properties.get(PROPERTY_KEYS)
        uniq_key = properties.get(PROPERTY_UNIQ_CLIENT_MESSAGE_ID_KEYIDX)
        tags_code = _code_in_queue(topic, properties, store_timestamp, delay_levels, rules)
    if total_size != message_length(sys_flag, body_length, topic_length, properties_length):
        return DispatchRequest.nothing(total_size, success=False)
    return DispatchRequest(
        topic,
        queue_id,
        phy_offset,
        total_size,
        tags_code,
        store_timestamp,
        queue_offset,
        keys,
        uniq_key,
        sys_flag,
        prepared,
        properties,
    )


def _code_in_queue(
    topic: str, properties: dict[str, str], store_timestamp: int, delay_levels: DelayLevels, rules: Rules
) -> int:
    """Return the tags code of a queue's entry; on the delay topic that is when the message is due (epoch ms)."""
    if topic == SCHEDULE_TOPIC and PROPERTY_DELAY_TIME_LEVEL in properties:
        level = min(parse_int(properties[PROPERTY_DELAY_TIME_LEVEL]), delay_levels.max_delay_level)
        if level > 0:
            return delay_levels.compute_deliver_timestamp(level, store_timestamp)
    return rules.tags_code(properties.get(PROPERTY_TAGS))


def request_of_put(
    msg: MessageExtBrokerInner, wrote_offset: int, size: int, delay_levels: DelayLevels, rules: Rules
) -> DispatchRequest | None:
    """Return what reading the record of `msg`, just written, would give; None when only its bytes can tell.

    Text that is not ASCII may not survive being written, and addresses of both kinds lie differently.
    """
    topic, text, sys_flag = msg.topic, msg.properties_string, msg.sys_flag
    if sys_flag & _V6_FLAGS or not topic.isascii() or (text and not text.isascii()):
        return None
    tags_code, uniq_key, properties = 0, None, None
    keys: str | None = ""
    if text:
        properties = string_to_properties(text)
        keys = properties.get(PROPERTY_KEYS)
        uniq_key = properties.get(PROPERTY_UNIQ_CLIENT_MESSAGE_ID_KEYIDX)
        try:
            tags_code = _code_in_queue(topic, properties, msg.store_timestamp, delay_levels, rules)
        except ValueError:
            return None
    return DispatchRequest(
        topic,
        msg.queue_id,
        wrote_offset,
        size,
        tags_code,
        msg.store_timestamp,
        msg.queue_offset,
        keys,
        uniq_key,
        sys_flag,
        msg.prepared_transaction_offset,
        properties,
    )


def is_sound(record: bytes, topic: bytes, queue_id: int, queue_offset: int, entry: tuple[int, int, int]) -> bool:
    """Tell whether the record that a queue's entry leads to is that queue's message, unchanged as far as can be told.

    `topic` is UTF-8; `entry` is commit log offset, size and tags code. Compared are the places, the body's checksum and
    the tag; no checksum guards other properties.
    """
    offset, size, tags_code = entry
    try:
        total, magic, crc, stored_queue, _, stored_offset, phy_offset, sys_flag, _ = _HEAD.unpack_from(record)
        tail = _TAILS[sys_flag & BORNHOST_V6_FLAG, sys_flag & STOREHOSTADDRESS_V6_FLAG]
        body_length = tail.unpack_from(record, _HEAD.size)[3]
        cursor = _HEAD.size + tail.size
        body = record[cursor : cursor + body_length]
        cursor += body_length
        properties_at = cursor + 1 + record[cursor]
        (properties_length,) = _PROPERTIES_LENGTH.unpack_from(record, properties_at)
    except (struct.error, IndexError):
        return False
    if (magic, total, phy_offset) != (MESSAGE_MAGIC_CODE, size, offset) or len(record) != size:
        return False
    if (stored_queue, stored_offset) != (queue_id, queue_offset) or record[cursor + 1 : properties_at] != topic:
        return False
    if body_length < 0 or body_crc(body) != crc:
        return False
    if tags_code <= _MAX_ADDR or topic == _SCHEDULE_TOPIC:
        return True
    properties = record[properties_at + 2 : properties_at + 2 + properties_length]
    begin = 0 if properties.startswith(_TAGS) else properties.find(_SEPARATOR + _TAGS) + 1
    if begin == 0 and not properties.startswith(_TAGS):
        return tags_code == 0
    tag, _, _ = properties[begin + len(_TAGS) :].partition(_SEPARATOR)
    return tags_code == _tags_code(tag)


@lru_cache(maxsize=1024)
def _tags_code(tag: bytes) -> int:
    return string_hash(from_utf8(tag))
