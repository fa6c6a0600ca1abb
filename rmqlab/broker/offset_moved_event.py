"""The message a broker writes to itself when it corrects a consumer's offset (row S-74)."""

from __future__ import annotations

from rmqlab.message.message import Host, MessageExtBrokerInner, MessageQueue
from rmqlab.message.properties import (
    PROPERTY_DELAY_TIME_LEVEL,
    PROPERTY_KEYS,
    PROPERTY_TAGS,
    in_hash_map_order,
    properties_to_string,
)
from rmqlab.message.topics import OFFSET_MOVED_EVENT
from rmqlab.protocol.serializable import RemotingSerializable
from rmqlab.rules import tags_code


class OffsetMovedEvent(RemotingSerializable):
    """A group asked for `offset_request` of a queue and was told to go on at `offset_new` (4.8.0, same name)."""

    consumer_group: str
    message_queue: MessageQueue
    offset_request: int
    offset_new: int


def offset_moved_message(event: OffsetMovedEvent, host: Host, now: int) -> MessageExtBrokerInner:
    """Return the event for the system topic OFFSET_MOVED_EVENT, tagged and keyed with the group."""
    group = event.consumer_group
    # Java sets delay level 0, which leaves a property behind.
    properties = in_hash_map_order({PROPERTY_TAGS: group, PROPERTY_DELAY_TIME_LEVEL: "0", PROPERTY_KEYS: group})
    return MessageExtBrokerInner(
        topic=OFFSET_MOVED_EVENT,
        body=event.encode(),
        properties=properties,
        queue_id=0,
        born_timestamp=now,
        born_host=host,
        store_host=host,
        properties_string=properties_to_string(properties),
        tags_code=tags_code(group),
    )
