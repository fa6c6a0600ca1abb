"""What answers requests of one code (4.8.0 `NettyRequestProcessor`), and what an answer is made of."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rmqlab.protocol.codes import ResponseCode
from rmqlab.protocol.command import RemotingCommand

if TYPE_CHECKING:
    from collections.abc import Callable

    from rmqlab.protocol.channel import Channel
    from rmqlab.protocol.command import Body
    from rmqlab.protocol.header import CommandHeader, HeaderT

    # Answers a request at a time (epoch ms); None: the answer comes later, or never. Raises ProcessorError.
    Handler = Callable[[Channel, RemotingCommand, int], RemotingCommand | None]

NULL_POINTER = "java.lang.NullPointerException"
NOT_SET = "not set any response code"
"""The remark that Java leaves in an answer that nobody filled in."""
SUGGEST_TODO = "\nSee http://rocketmq.apache.org/docs/faq/ for further details."
"""The sentence that Java adds to some remarks (`FAQUrl.suggestTodo`; all its links are the same)."""


class ProcessorError(Exception):
    """A request met what throws in Java; the text is the remark of the SYSTEM_ERROR answer.

    4.8.0 adds the line of its own source where it was thrown (`RemotingHelper.exceptionSimpleDesc`); we do not.
    """


def require(header: CommandHeader, names: tuple[str, ...]) -> None:
    """Raise ProcessorError when one of the fields is null: Java lets such a header in and fails on first use."""
    for name in names:
        if getattr(header, name) is None:
            raise ProcessorError(NULL_POINTER)


def named(name: str | None) -> str:
    """Return a name that is there, as a table of Java's that takes no null demands. Raises ProcessorError."""
    if name is None:
        raise ProcessorError(NULL_POINTER)
    return name


def success(body: Body = None, header: CommandHeader | None = None, remark: str | None = None) -> RemotingCommand:
    """Return the answer SUCCESS."""
    return RemotingCommand.response(ResponseCode.SUCCESS, remark, header, body)


def system_error(remark: str) -> RemotingCommand:
    """Return the answer SYSTEM_ERROR."""
    return RemotingCommand.response(ResponseCode.SYSTEM_ERROR, remark)


def with_header(kind: type[HeaderT], answer: Callable[[HeaderT, int], RemotingCommand | None]) -> Handler:
    """Return a handler of requests of which only the header and the time count."""
    return lambda _channel, command, now: answer(command.decode_header(kind), now)


def without_header(answer: Callable[[], RemotingCommand]) -> Handler:
    """Return a handler of requests that say nothing but their code."""
    return lambda _channel, _command, _now: answer()
