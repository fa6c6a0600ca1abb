"""Requests of the broker to a client that answers (4.8.0 `Broker2Client.callClient`)."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from rmqlab.broker.broker import Broker
    from rmqlab.protocol.channel import Channel
    from rmqlab.protocol.command import RemotingCommand

CALL_TIMEOUT_MS = 10_000


class Broker2Client:
    """Pairs answers of clients with the broker's requests.

    Java blocks a thread until the answer is there. Here the processor that asked returns None, and `on_answer` sends
    its own answer when it knows what to say.
    """

    def __init__(self, broker: Broker) -> None:
        self._broker = broker
        self._waiting: dict[tuple[Channel, int], Callable[[RemotingCommand | None], None]] = {}

    def call_client(
        self,
        channel: Channel,
        request: RemotingCommand,
        on_answer: Callable[[RemotingCommand | None], None],
        timeout_ms: int = CALL_TIMEOUT_MS,
    ) -> None:
        """Send a request; `on_answer` gets the answer, or None when there is none in time."""
        request.opaque = self._broker.next_opaque()
        key = channel, request.opaque
        self._waiting[key] = on_answer
        self._broker.timers.once(
            f"answer to {request.opaque}", self._broker.now + timeout_ms, partial(self._give_up, key)
        )
        channel.send(request)

    def on_response(self, channel: Channel, command: RemotingCommand) -> None:
        """Hand a client's answer to whoever asked; one that nobody waits for is dropped."""
        on_answer = self._waiting.pop((channel, command.opaque), None)
        if on_answer is not None:
            on_answer(command)

    def _give_up(self, key: tuple[Channel, int], now: int) -> None:
        on_answer = self._waiting.pop(key, None)
        if on_answer is not None:
            on_answer(None)
