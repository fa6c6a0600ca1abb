"""Messages that come back: the retry message a client makes itself, and the topic a listener sees (4.8.0)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rmqlab.message.message import Message
from rmqlab.message.properties import (
    PROPERTY_MAX_RECONSUME_TIMES,
    PROPERTY_RECONSUME_TIME,
    PROPERTY_RETRY_TOPIC,
    PROPERTY_TRANSACTION_PREPARED,
)
from rmqlab.message.topics import retry_topic

if TYPE_CHECKING:
    from rmqlab.message.message import MessageExt

FIRST_DELAY_LEVEL = 3


def reset_retry_topic(messages: list[MessageExt], group: str) -> None:
    """Show a message that came by the group's retry topic under the topic it was sent to."""
    group_topic = retry_topic(group)
    for message in messages:
        origin = message.properties.get(PROPERTY_RETRY_TOPIC)
        if origin is not None and message.topic == group_topic:
            message.topic = origin


def retry_message(message: MessageExt, group: str, reconsume_times: int, max_reconsume_times: int) -> Message:
    """The message a client sends to the retry topic itself, when the broker does not take `message` back.

    It shares the properties of `message`, as 4.8.0: so the ORIGIN_MESSAGE_ID set a line earlier is lost there too.
    """
    properties = message.properties
    properties[PROPERTY_RETRY_TOPIC] = message.topic
    properties[PROPERTY_RECONSUME_TIME] = str(reconsume_times)
    properties[PROPERTY_MAX_RECONSUME_TIMES] = str(max_reconsume_times)
    properties.pop(PROPERTY_TRANSACTION_PREPARED, None)
    back = Message(retry_topic(group), message.body, message.flag, properties)
    back.delay_time_level = FIRST_DELAY_LEVEL + message.reconsume_times
    return back
