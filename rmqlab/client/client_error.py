"""Errors of the client calls, with the texts of 4.8.0 (`MQClientException`, `MQBrokerException`, `ClientErrorCode`)."""

from __future__ import annotations

from enum import IntEnum
from typing import Final

from rmqlab.runtime.runtime import RemotingError

_FAQ = "http://rocketmq.apache.org/docs/faq/"
_SEE = "\nSee "


class ClientErrorCode(IntEnum):
    """Why a send failed, when no broker gave the reason."""

    CONNECT_BROKER_EXCEPTION = 10001
    ACCESS_BROKER_TIMEOUT = 10002
    BROKER_NOT_EXIST_EXCEPTION = 10003
    NO_NAME_SERVER_EXCEPTION = 10004
    NOT_FOUND_TOPIC_EXCEPTION = 10005
    REQUEST_TIMEOUT_EXCEPTION = 10006
    CREATE_REPLY_MESSAGE_EXCEPTION = 10007


def suggest_todo() -> str:
    """The line that many texts end with (`FAQUrl.suggestTodo`)."""
    return f"{_SEE}{_FAQ} for further details."


def _attach_default_url(text: str) -> str:
    return text if _SEE in text else f"{text}\nFor more information, please visit the url, {_FAQ}"


class MQClientError(Exception):
    """A client call failed: `response_code` is the answer's code or -1, `error_message` the text alone."""

    java_name = "MQClientException"

    def __init__(self, error_message: str | None, response_code: int | None = None) -> None:
        """With a code the text reads `CODE: 23  DESC: ...`; without it the text is `error_message`."""
        text = str(error_message) if response_code is None else f"CODE: {int(response_code)}  DESC: {error_message}"
        super().__init__(_attach_default_url(text))
        self.error_message = error_message
        self.response_code = -1 if response_code is None else int(response_code)


class MQBrokerError(Exception):
    """A broker answered with an error code; `response_code`, `error_message` and `broker_addr` tell which and who."""

    java_name = "MQBrokerException"

    def __init__(self, response_code: int, error_message: str | None, broker_addr: str | None = None) -> None:
        """The text reads `CODE: 1  DESC: remark BROKER: ip:port`."""
        broker = "" if broker_addr is None else f" BROKER: {broker_addr}"
        super().__init__(_attach_default_url(f"CODE: {int(response_code)}  DESC: {error_message}{broker}"))
        self.response_code = int(response_code)
        self.error_message = error_message
        self.broker_addr = broker_addr


class RemotingTooMuchRequestError(RemotingError):
    """The time a send was given had passed before the request was made."""

    java_name = "RemotingTooMuchRequestException"


class IllegalStateError(Exception):
    """The name server could not be asked for a route (4.8.0 throws an unchecked `IllegalStateException` here)."""

    java_name = "IllegalStateException"


CALL_ERRORS: Final = (MQClientError, MQBrokerError, RemotingError, IllegalStateError)
"""What a request may end with; the client's threads log these in Java and go on."""
