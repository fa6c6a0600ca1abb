"""SQL92 in large requests is compiled beside the event loop, so that nothing else waits for it.

4.8.0 answers heartbeats and pulls in pools of threads: what one client's expressions cost is that client's wait. Here
one thread compiles what a large request brings, its connection waits, and the request is answered as any other.
"""

from __future__ import annotations

import gc
import sys
from contextlib import contextmanager, suppress
from threading import Lock
from typing import TYPE_CHECKING, Final

from rmqlab.errors import BadInput
from rmqlab.filter.filter import PARSE_CACHE
from rmqlab.filter.message_filter import ExpressionMessageFilter
from rmqlab.filter.sql92.compiler import CompiledSql92, compiled_or_refused
from rmqlab.protocol.bodies import CheckClientRequestBody
from rmqlab.protocol.codes import PULLS, RequestCode
from rmqlab.protocol.consumer_headers import PullMessageRequestHeader
from rmqlab.protocol.header import FrameError, RemotingCommandException
from rmqlab.protocol.heartbeat import HeartbeatData
from rmqlab.protocol.subscription_data import SQL92
from rmqlab.store.config import CQ_STORE_UNIT_SIZE
from rmqlab.store.queue_reader import MIN_SCAN_BYTES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from rmqlab.filter.message_filter import MessageFilter
    from rmqlab.filter.sql92.errors import MQFilterException
    from rmqlab.filter.sql92.tokens import Version
    from rmqlab.protocol.command import RemotingCommand

    Prepared = dict[tuple[str, Version], CompiledSql92 | MQFilterException]

LARGE_BYTES: Final = 4_096
"""Requests up to this size are compiled where they are answered: at most some 50 ms."""
USUAL_LENGTH: Final = 512
"""Characters up to which a pull looks at as many messages as in 4.8.0; of a longer expression at fewer at once."""

TURN_S: Final = 0.001
"""Seconds that a thread which compiles goes on when the event loop wants its turn; Python gives 5 ms."""

_BRING_EXPRESSIONS: Final = frozenset((RequestCode.HEART_BEAT, RequestCode.CHECK_CLIENT_CONFIG, *PULLS))
_turns: Final = Lock()
_compiling, _usual_s = 0, sys.getswitchinterval()


def is_large(command: RemotingCommand, frame_length: int) -> bool:
    """Whether a request of `frame_length` bytes may bring expressions that take long."""
    return frame_length > LARGE_BYTES and command.code in _BRING_EXPRESSIONS and not command.is_response


def prepare(command: RemotingCommand, is_over: Callable[[], bool], sql92: Version) -> Prepared:
    """Compile the expressions of a request; what is no request at all has none. Called in a thread of its own.

    `is_over()` says that no caller waits for the rest any more; `sql92` is the version whose words they have.
    """
    prepared: Prepared = {}
    with _short_turns(), suppress(BadInput, FrameError, RemotingCommandException, ValueError):
        # what is wrong is said by whoever answers the request
        for text in _expressions(command):
            if is_over():
                break
            if (text, sql92) not in prepared:
                prepared[text, sql92] = compiled_or_refused(text, sql92)
                gc.freeze()  # a collector that walks all these nodes stops everybody, for a second and more
    return prepared


@contextmanager
def _short_turns() -> Iterator[None]:
    """While a thread compiles, of whichever server: the event loop asks for its turn many times a request."""
    global _compiling, _usual_s  # noqa: PLW0603 - the interval is the process's
    with _turns:
        if not _compiling:
            _usual_s = sys.getswitchinterval()
            sys.setswitchinterval(TURN_S)
        _compiling += 1
    try:
        yield
    finally:
        with _turns:
            _compiling -= 1
            if not _compiling:
                sys.setswitchinterval(_usual_s)


def most_scanned(message_filter: MessageFilter | None) -> int:
    """Bytes of a queue that one pull looks at: fewer for a long expression; the rest comes with the next pulls.

    No bound (`sys.maxsize`) for tags, and for an expression of usual length.
    """
    wanted = message_filter.filter if isinstance(message_filter, ExpressionMessageFilter) else None
    length = 0 if wanted is None or wanted.by_tag else len(wanted.subscription.sub_string or "")
    if length <= USUAL_LENGTH:
        return sys.maxsize
    entries = MIN_SCAN_BYTES // CQ_STORE_UNIT_SIZE * USUAL_LENGTH // length
    return max(entries, 1) * CQ_STORE_UNIT_SIZE


def use(prepared: Prepared) -> None:
    """Have the results repeated instead of made, until the next call."""
    PARSE_CACHE.prepared = prepared


def _expressions(command: RemotingCommand) -> Iterator[str]:
    if command.code == RequestCode.HEART_BEAT:
        expressions = [
            (data.expression_type, data.sub_string)
            for consumer in command.decode_body(HeartbeatData).consumer_data_set
            for data in consumer.subscription_data_set
        ]
    elif command.code == RequestCode.CHECK_CLIENT_CONFIG:
        data = command.decode_body(CheckClientRequestBody).subscription_data
        expressions = [] if data is None else [(data.expression_type, data.sub_string)]
    else:
        header = command.decode_header(PullMessageRequestHeader)
        expressions = [(header.expression_type, header.subscription)]
    return (text for kind, text in expressions if kind == SQL92 and text)
