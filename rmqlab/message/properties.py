"""Message properties: their reserved names (`MessageConst`) and the text in which a record stores them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rmqlab.message.java import split

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rmqlab.message.java import Key

PROPERTY_KEYS = "KEYS"
PROPERTY_TAGS = "TAGS"
PROPERTY_WAIT_STORE_MSG_OK = "WAIT"
PROPERTY_DELAY_TIME_LEVEL = "DELAY"
PROPERTY_RETRY_TOPIC = "RETRY_TOPIC"
PROPERTY_REAL_TOPIC = "REAL_TOPIC"
PROPERTY_REAL_QUEUE_ID = "REAL_QID"
PROPERTY_TRANSACTION_PREPARED = "TRAN_MSG"
PROPERTY_PRODUCER_GROUP = "PGROUP"
PROPERTY_MIN_OFFSET = "MIN_OFFSET"
PROPERTY_MAX_OFFSET = "MAX_OFFSET"
PROPERTY_ORIGIN_MESSAGE_ID = "ORIGIN_MESSAGE_ID"
PROPERTY_RECONSUME_TIME = "RECONSUME_TIME"
PROPERTY_MSG_REGION = "MSG_REGION"
PROPERTY_TRACE_SWITCH = "TRACE_ON"
PROPERTY_UNIQ_CLIENT_MESSAGE_ID_KEYIDX = "UNIQ_KEY"
PROPERTY_MAX_RECONSUME_TIMES = "MAX_RECONSUME_TIMES"
PROPERTY_CONSUME_START_TIMESTAMP = "CONSUME_START_TIME"
PROPERTY_TRANSACTION_PREPARED_QUEUE_OFFSET = "TRAN_PREPARED_QUEUE_OFFSET"
PROPERTY_TRANSACTION_CHECK_TIMES = "TRANSACTION_CHECK_TIMES"
PROPERTY_CHECK_IMMUNITY_TIME_IN_SECONDS = "CHECK_IMMUNITY_TIME_IN_SECONDS"
PROPERTY_CORRELATION_ID = "CORRELATION_ID"
PROPERTY_MESSAGE_REPLY_TO_CLIENT = "REPLY_TO_CLIENT"
PROPERTY_MESSAGE_TTL = "TTL"
PROPERTY_REPLY_MESSAGE_ARRIVE_TIME = "ARRIVE_TIME"
PROPERTY_PUSH_REPLY_TIME = "PUSH_REPLY_TIME"
PROPERTY_CLUSTER = "CLUSTER"
PROPERTY_MESSAGE_TYPE = "MSG_TYPE"
# of 5.x
PROPERTY_POP_CK = "POP_CK"
PROPERTY_FIRST_POP_TIME = "1ST_POP_TIME"
PROPERTY_ORIGIN_GROUP = "ORIGIN_GROUP"
PROPERTY_TIMER_DELIVER_MS = "TIMER_DELIVER_MS"
PROPERTY_TIMER_OUT_MS = "TIMER_OUT_MS"

KEY_SEPARATOR = " "
NAME_VALUE_SEPARATOR = "\x01"
PROPERTY_SEPARATOR = "\x02"
_EMPTY = NAME_VALUE_SEPARATOR + PROPERTY_SEPARATOR

# names that Java forbids to user code; three names of the transaction service are not among them
SYSTEM_PROPERTIES = frozenset((
    "KEYS", "TAGS", "WAIT", "DELAY", "RETRY_TOPIC", "REAL_TOPIC", "REAL_QID", "TRAN_MSG", "PGROUP", "MIN_OFFSET",
    "MAX_OFFSET", "BUYER_ID", "ORIGIN_MESSAGE_ID", "TRANSFER_FLAG", "CORRECTION_FLAG", "MQ2_FLAG", "RECONSUME_TIME",
    "MSG_REGION", "TRACE_ON", "UNIQ_KEY", "MAX_RECONSUME_TIMES", "CONSUME_START_TIME", "INSTANCE_ID", "CORRELATION_ID",
    "REPLY_TO_CLIENT", "TTL", "ARRIVE_TIME", "PUSH_REPLY_TIME", "CLUSTER", "MSG_TYPE",
))  # fmt: skip


class PropertiesText(str):
    """The stored text of properties that carries what reading it gives: within a process it is read no more."""

    __slots__ = ("properties",)
    properties: dict[str, str]


def properties_to_string(properties: Mapping[Key, str | None] | Mapping[Key, str] | None) -> str:
    """The stored text of `properties`: name, U+0001, value, U+0002 for each, in the order of the map.

    A property whose value is None is left out, a name that is None is written "null"
    (`MessageDecoder.messageProperties2String`). Java's order is that of its map: see `message.java.in_hash_map_order`.
    """
    if not properties:
        return ""
    text = ""
    for name, value in properties.items():
        if value is not None:
            text += f"{'null' if name is None else name}{NAME_VALUE_SEPARATOR}{value}{PROPERTY_SEPARATOR}"
    return text


def text_with_properties(properties: Mapping[str, str]) -> str:
    """The text of `properties` with a map that `string_to_properties` takes as read: `properties_to_string`.

    It is a plain text when reading it gives another map: a value is empty, or something has a separator in it.
    """
    written, count = properties_to_string(properties), len(properties)
    if (written.count(NAME_VALUE_SEPARATOR), written.count(PROPERTY_SEPARATOR)) != (count, count) or _EMPTY in written:
        return written
    text = PropertiesText(written)
    text.properties = dict(properties)
    return text


def string_to_properties(text: str | None) -> dict[str, str]:
    """The properties in the stored `text`; {} for None.

    An item that is not exactly a name and a value is skipped, so an empty value is lost, and of two items with one name
    the later wins (`MessageDecoder.string2messageProperties`).
    """
    if isinstance(text, PropertiesText):
        return dict(text.properties)
    properties: dict[str, str] = {}
    if text is None:
        return properties
    for item in text.split(PROPERTY_SEPARATOR):
        pair = item.split(NAME_VALUE_SEPARATOR)
        if len(pair) > 2:
            pair = split(item, NAME_VALUE_SEPARATOR)
        if len(pair) == 2 and pair[1]:
            properties[pair[0]] = pair[1]
    return properties
