"""Requests of the broker to a client (4.8.0 `Broker2Client`)."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from rmqlab.broker.timers import Timers
    from rmqlab.protocol.channel import Channel
    from rmqlab.protocol.command import RemotingCommand

    OnAnswer = Callable[[RemotingCommand | None], None]

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
