"""Errors of the client calls, with their texts, and the checks of names, messages and settings that raise them.

Source: `MQClientException`, `MQBrokerException`, `ClientErrorCode`, `Validators`, `checkConfig`.
"""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING, Final, Self

from rmqlab.client.runtime import RemotingError
from rmqlab.message.java import is_blank, utf16_length
from rmqlab.message.topics import (
    DEFAULT_CONSUMER_GROUP,
    DEFAULT_PRODUCER_GROUP,
    NOT_ALLOWED_SEND_TOPICS,
    TOPIC_MAX_LENGTH,
    VALID_NAME_PATTERN,
    is_valid_name,
    validate_not_system_topic,
    validate_send_topic,
    validate_topic,
)
from rmqlab.protocol.codes import ResponseCode
from rmqlab.protocol.wire import DEFAULT_WIRE, Wire

if TYPE_CHECKING:
    from rmqlab.message.message import Message


class ClientErrorCode(IntEnum):
    """Why a send failed, when no broker gave the reason."""

    CONNECT_BROKER_EXCEPTION = 10001
    ACCESS_BROKER_TIMEOUT = 10002
    BROKER_NOT_EXIST_EXCEPTION = 10003
    NO_NAME_SERVER_EXCEPTION = 10004
    NOT_FOUND_TOPIC_EXCEPTION = 10005
    REQUEST_TIMEOUT_EXCEPTION = 10006
    CREATE_REPLY_MESSAGE_EXCEPTION = 10007


class MQClientError(Exception):
    """A client call failed: `response_code` is the answer's code or -1, `error_message` the text alone."""

    def __init__(self, error_message: str | None, response_code: int | None = None, wire: Wire = DEFAULT_WIRE) -> None:
        """With a code the text reads `CODE: 23  DESC: ...`; without it the text is `error_message`."""
        text = str(error_message) if response_code is None else f"CODE: {int(response_code)}  DESC: {error_message}"
        super().__init__(wire.attach_default_url(text))
        self._text = text
        self.error_message = error_message
        self.response_code = -1 if response_code is None else int(response_code)

    def with_link_of(self, wire: Wire) -> Self:
        """This error with the link of a version: checks of names and messages, which belong to no client, know none.

        >>> from rmqlab.protocol.wire import WIRE_5_5_0
        >>> "bestPractice" in str(MQClientError("the specified group is blank").with_link_of(WIRE_5_5_0))
        True
        """
        self.args = (wire.attach_default_url(self._text),)
        return self


class MQBrokerError(Exception):
    """A broker answered with an error code; `response_code` and `error_message` tell which."""

    def __init__(
        self,
        response_code: int,
        error_message: str | None,
        broker_addr: str | None = None,
        wire: Wire = DEFAULT_WIRE,
    ) -> None:
        """The text reads `CODE: 1  DESC: remark BROKER: ip:port`."""
        broker = "" if broker_addr is None else f" BROKER: {broker_addr}"
        super().__init__(wire.attach_default_url(f"CODE: {int(response_code)}  DESC: {error_message}{broker}"))
        self.response_code = int(response_code)
        self.error_message = error_message


class RemotingTooMuchRequestError(RemotingError):
    """The time a send was given had passed before the request was made."""


class IllegalStateError(Exception):
    """What 4.8.0 throws unchecked: no name server could be asked for a route, or a client is in another state."""


class IllegalArgumentError(Exception):
    """An argument that no call takes."""


CALL_ERRORS: Final = (MQClientError, MQBrokerError, RemotingError, IllegalStateError)
"""What a request may end with; the client's threads log these in Java and go on."""


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


def check_consumer_group(group: str | None, wire: Wire = DEFAULT_WIRE) -> None:
    """As `check_group`; the built-in default name is refused too."""
    check_group(group)
    if group == DEFAULT_CONSUMER_GROUP:
        raise MQClientError(f"consumerGroup can not equal {group}, please specify another one.{wire.suggest_todo}")


def check_producer_group(group: str | None) -> None:
    """As `check_group`; the built-in default name is refused too."""
    check_group(group)
    if group == DEFAULT_PRODUCER_GROUP:
        raise MQClientError(f"producerGroup can not equal {group}, please specify another one.")


def check_topic(topic: str | None) -> None:
    """Refuse a topic name that is blank, too long (127) or has other characters than `%|a-zA-Z0-9_-`."""
    if validate_topic(topic) is None:
        return
    if topic is None or is_blank(topic):
        raise MQClientError("The specified topic is blank")
    if not is_valid_name(topic):
        raise MQClientError(
            f"The specified topic[{topic}] contains illegal characters, allowing only {VALID_NAME_PATTERN}"
        )
    raise MQClientError(f"The specified topic is longer than topic max length {TOPIC_MAX_LENGTH}.")


def check_not_system_topic(topic: str) -> None:
    """Refuse one of RocketMQ's own topics."""
    remark = validate_not_system_topic(topic)
    if remark is not None:
        raise MQClientError(remark)


def check_message(message: Message | None, max_message_size: int) -> None:
    """Refuse a message that cannot be sent; `max_message_size` bounds the body in bytes (code MESSAGE_ILLEGAL)."""
    if message is None:
        raise MQClientError("the message is null", ResponseCode.MESSAGE_ILLEGAL)
    check_topic(message.topic)
    check_send_topic(message.topic)
    check_body(message.body, max_message_size)


def check_send_topic(topic: str) -> None:
    """Refuse a topic that no one may send to."""
    if topic in NOT_ALLOWED_SEND_TOPICS:
        raise MQClientError(validate_send_topic(topic) or "")


def check_body(body: bytes | None, max_message_size: int) -> None:
    """Refuse a body that is missing, empty or above `max_message_size` bytes (code MESSAGE_ILLEGAL)."""
    illegal = ResponseCode.MESSAGE_ILLEGAL
    if body is None:
        raise MQClientError("the message body is null", illegal)
    if not body:
        raise MQClientError("the message body length is zero", illegal)
    if len(body) > max_message_size:
        raise MQClientError(f"the message body size over max value, MAX: {max_message_size}", illegal)
