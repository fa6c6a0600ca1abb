"""Why a question was not answered, in a few words for an operator."""

from __future__ import annotations

import os
import ssl

from rmqlab.client.client_error import MQBrokerError
from rmqlab.protocol.codes import ResponseCode
from rmqlab.protocol.header import FrameError
from rmqlab.runtime.runtime import RemotingConnectError, RemotingSendRequestError, RemotingTimeoutError

_ACCESS_REFUSALS = "AclException", "AuthenticationException", "AuthorizationException"


def why(error: Exception) -> str:
    """Say in a few words why a question was not answered.

    >>> why(RemotingTimeoutError("127.0.0.1:10911", 3000))
    'no answer within 3000 ms'
    """
    if isinstance(error, MQBrokerError):
        return f"refused with code {error.response_code}: {error.error_message}"
    if isinstance(error, RemotingTimeoutError):
        return f"no answer within {error.timeout_ms} ms"
    if isinstance(error, RemotingConnectError):
        return f"no connection: {_of_the_system(error.__cause__)}"
    if isinstance(error, RemotingSendRequestError) and error.reason:
        return f"what it sends is not RocketMQ's protocol: {error.reason}"
    if isinstance(error, FrameError):
        return f"its answer cannot be read: {error}"
    return str(error)


def _of_the_system(cause: BaseException | None) -> str:
    if isinstance(cause, TimeoutError):
        return "nothing answers there"
    if isinstance(cause, ConnectionError) and not cause.strerror:
        return "it was closed at once (does one side encrypt, and the other not?)"
    if isinstance(cause, OSError) and not isinstance(cause, ssl.SSLError) and (cause.errno or 0) > 0:
        return os.strerror(cause.errno or 0)  # asyncio's own text repeats the address
    return str(cause)


def is_about_access(refused: MQBrokerError) -> bool:
    """Whether a broker refuses the key, or the want of one: 4.8.0 with code 1 and the exception's name, 5.x with 16.

    Name servers of both versions check no keys.
    """
    remark = refused.error_message or ""
    return refused.response_code == ResponseCode.NO_PERMISSION or any(name in remark for name in _ACCESS_REFUSALS)
