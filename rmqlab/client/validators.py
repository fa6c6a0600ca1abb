"""Checks before a client starts or sends (`Validators`, `checkConfig`); they raise `MQClientError`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rmqlab.client.client_error import MQClientError, suggest_todo
from rmqlab.message.java import is_blank, utf16_length
from rmqlab.message.topics import (
    DEFAULT_CONSUMER_GROUP,
    DEFAULT_PRODUCER_GROUP,
    TOPIC_MAX_LENGTH,
    VALID_NAME_PATTERN,
    is_valid_name,
    validate_not_system_topic,
    validate_send_topic,
)
from rmqlab.protocol.codes import ResponseCode

if TYPE_CHECKING:
    from rmqlab.message.message import Message

_GROUP_MAX_LENGTH = 255


def check_group(group: str | None) -> None:
    """Refuse a group name that is blank, too long (255) or has other characters than `%|a-zA-Z0-9_-`."""
    if group is None or is_blank(group):
        raise MQClientError("the specified group is blank")
    if utf16_length(group) > _GROUP_MAX_LENGTH:
        raise MQClientError("the specified group is longer than group max length 255.")
    if not is_valid_name(group):
        raise MQClientError(
            f"the specified group[{group}] contains illegal characters, allowing only {VALID_NAME_PATTERN}"
        )


def check_consumer_group(group: str | None) -> None:
    """As `check_group`; the built-in default name is refused too."""
    check_group(group)
    if group == DEFAULT_CONSUMER_GROUP:
        raise MQClientError(f"consumerGroup can not equal {group}, please specify another one.{suggest_todo()}")


def check_producer_group(group: str | None) -> None:
    """As `check_group`; the built-in default name is refused too."""
    check_group(group)
    if group == DEFAULT_PRODUCER_GROUP:
        raise MQClientError(f"producerGroup can not equal {group}, please specify another one.")


def check_topic(topic: str | None) -> None:
    """Refuse a topic name that is blank, too long (127) or has other characters than `%|a-zA-Z0-9_-`."""
    if topic is None or is_blank(topic):
        raise MQClientError("The specified topic is blank")
    if not is_valid_name(topic):
        raise MQClientError(
            f"The specified topic[{topic}] contains illegal characters, allowing only {VALID_NAME_PATTERN}"
        )
    if utf16_length(topic) > TOPIC_MAX_LENGTH:
        raise MQClientError(f"The specified topic is longer than topic max length {TOPIC_MAX_LENGTH}.")


def check_not_system_topic(topic: str) -> None:
    """Refuse one of RocketMQ's own topics."""
    remark = validate_not_system_topic(topic)
    if remark is not None:
        raise MQClientError(remark)


def check_message(message: Message | None, max_message_size: int) -> None:
    """Refuse a message that cannot be sent; `max_message_size` bounds the body in bytes (code MESSAGE_ILLEGAL)."""
    illegal = ResponseCode.MESSAGE_ILLEGAL
    if message is None:
        raise MQClientError("the message is null", illegal)
    check_topic(message.topic)
    remark = validate_send_topic(message.topic)
    if remark is not None:
        raise MQClientError(remark)
    if message.body is None:
        raise MQClientError("the message body is null", illegal)
    if not message.body:
        raise MQClientError("the message body length is zero", illegal)
    if len(message.body) > max_message_size:
        raise MQClientError(f"the message body size over max value, MAX: {max_message_size}", illegal)


def check_range(name: str, value: int, low: int, high: int) -> None:
    """Refuse a setting out of `low`..`high`, with the name Java gives it."""
    if not low <= value <= high:
        raise MQClientError(f"{name} Out of range [{low}, {high}]{suggest_todo()}")
