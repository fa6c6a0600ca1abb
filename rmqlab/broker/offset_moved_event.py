"""The message a broker writes to itself when it corrects a consumer's offset (row S-74)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from rmqlab.message.message import MessageExtBrokerInner, MessageQueue
from rmqlab.message.properties import in_hash_map_order, properties_to_string
from rmqlab.message.topics import OFFSET_MOVED_EVENT

if TYPE_CHECKING:
    from rmqlab.message.message import Host


def offset_moved_message(
    group: str, queue: MessageQueue, offset_request: int, offset_new: int, host: Host, now: int
) -> MessageExtBrokerInner:
    """Return the event for the system topic OFFSET_MOVED_EVENT, tagged and keyed with the group.

    The body is the JSON of 4.8.0 `OffsetMovedEvent`, its fields in fastjson's order, that of the alphabet.
    """
    body = msgspec.json.encode({
        "consumerGroup": group,
        "messageQueue": {"brokerName": queue.broker_name, "queueId": queue.queue_id, "topic": queue.topic},
        "offsetNew": offset_new,
        "offsetRequest": offset_request,
    })  # fmt: skip
    # Java sets delay level 0, which leaves a property behind.
    properties = in_hash_map_order({"TAGS": group, "DELAY": "0", "KEYS": group})
    return MessageExtBrokerInner(
        topic=OFFSET_MOVED_EVENT,
        body=body,
        properties=properties,
        queue_id=0,
        born_timestamp=now,
        born_host=host,
        store_host=host,
        properties_string=properties_to_string(properties),
        tags_code=MessageExtBrokerInner.tags_string_to_tags_code(None, group),
    )
