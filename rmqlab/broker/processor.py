"""What the broker's parts share: hooks, handlers of requests, answers, and requests to clients.

Source: `NettyRequestProcessor`, `Broker2Client`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from rmqlab.events import Observer
from rmqlab.protocol.codes import ResponseCode
from rmqlab.protocol.command import RemotingCommand

if TYPE_CHECKING:
    from rmqlab.broker.timers import Timers
    from rmqlab.protocol.channel import Channel
    from rmqlab.protocol.command import Body
    from rmqlab.protocol.header import CommandHeader, HeaderT

    Handler = Callable[[Channel, RemotingCommand, int], RemotingCommand | None]
    OnAnswer = Callable[[RemotingCommand | None], None]


@dataclass(slots=True)
class BrokerHooks:
    """Each is None while nobody listens; times are epoch ms.

    `observe(event)` hears what happened. The others count: `on_put(topic, messages, bytes, now)` what producers stored,
    `on_get(group, topic, queue id, messages, bytes, now)` what consumers got, `on_sent_back(group, topic, now)` what
    they sent back.
    """

    observe: Observer | None = None
    on_put: Callable[[str, int, int, int], None] | None = None
    on_get: Callable[[str, str, int | None, int, int, int], None] | None = None
    on_sent_back: Callable[[str, str, int], None] | None = None


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


CALL_TIMEOUT_MS = 10_000


class Broker2Client:
    """Numbers the broker's requests and pairs the answers of clients with them.

    Java blocks a thread until the answer is there. Here the processor that asked returns None, and `on_answer` sends
    its own answer when it knows what to say. Java counts every command of the process, those it reads and answers too,
    so that real numbers are higher.
    """

    def __init__(self, timers: Timers) -> None:
        self._timers = timers
        self._opaque = 0
        self._waiting: dict[tuple[Channel, int], OnAnswer] = {}

    def send_oneway(self, channel: Channel, request: RemotingCommand) -> None:
        """Send a request that nobody answers."""
        self._opaque += 1
        request.opaque = self._opaque
        request.mark_oneway()
        channel.send(request)

    def call_client(
        self, channel: Channel, request: RemotingCommand, on_answer: OnAnswer, timeout_ms: int = CALL_TIMEOUT_MS
    ) -> None:
        """Send a request; `on_answer` gets the answer, or None when there is none in time."""
        self._opaque += 1
        request.opaque = self._opaque
        key = channel, request.opaque
        self._waiting[key] = on_answer
        self._timers.once(f"answer to {request.opaque}", self._timers.now + timeout_ms, partial(self._give_up, key))
        channel.send(request)

    def on_response(self, channel: Channel, command: RemotingCommand) -> None:
        """Hand a client's answer to whoever asked; one that nobody waits for is dropped."""
        on_answer = self._waiting.pop((channel, command.opaque), None)
        if on_answer is not None:
            on_answer(command)

    def _give_up(self, key: tuple[Channel, int], _now: int) -> None:
        on_answer = self._waiting.pop(key, None)
        if on_answer is not None:
            on_answer(None)
