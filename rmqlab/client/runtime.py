"""What a client may await: the only door between client code and time, transport and choices.

Client code is written once against :class:`Runtime`. The virtual runtime answers from a heap ordered by time; the
asyncio runtime answers from sockets. Nothing here does any work, so the core may import it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine

    from rmqlab.protocol.command import RemotingCommand

PROXY_THREAD = "proxy"
"""What `Runtime.late` calls the way to a proxy and its threads: they have times of their own (`Timing.proxy_us`)."""


class RemotingError(Exception):
    """A request got no answer; the subclasses say why (`RemotingException`)."""


class RemotingConnectError(RemotingError):
    """No connection to the address could be opened."""

    def __init__(self, address: str) -> None:
        """Name the address ("ip:port") that could not be reached."""
        super().__init__(f"connect to {address} failed")


class RemotingSendRequestError(RemotingError):
    """The connection was lost before an answer came."""

    def __init__(self, address: str, reason: str = "") -> None:
        """Name the address ("ip:port") that the request was meant for, and why it failed, if that is known."""
        super().__init__(f"send request to <{address}> failed" + (f": {reason}" if reason else ""))
        self.reason = reason


class RemotingTimeoutError(RemotingError):
    """The answer did not come within the request's timeout."""

    def __init__(self, address: str, timeout_ms: int) -> None:
        """Name the address ("ip:port") and the timeout (ms) that passed."""
        super().__init__(f"wait response on the channel <{address}> timeout, {timeout_ms}(ms)")
        self.timeout_ms = timeout_ms


class Task(Protocol):
    """A coroutine that runs by itself."""

    def cancel(self) -> object:
        """Stop it at its next await; nothing happens when it has ended."""


class Flag(Protocol):
    """A flag that coroutines wait for."""

    def set(self) -> None:
        """Raise the flag and wake everyone who waits."""

    def clear(self) -> None:
        """Lower the flag."""

    def wait(self, timeout_ms: int | None = None) -> Awaitable[bool]:
        """Wait until the flag is up; False when `timeout_ms` passed first (None: wait for ever)."""


class Runtime(Protocol):
    """One node's view of time, network, concurrency and choices. All times in ms."""

    def now(self) -> int:
        """Epoch ms on this node's own clock, its skew included."""

    def monotonic(self) -> int:
        """Ms on a clock that is never set (Java's `System.nanoTime`): timers run by it."""

    async def sleep(self, ms: int) -> None:
        """Wait `ms` milliseconds; 0 lets others run first."""

    def invoke(self, address: str, command: RemotingCommand, timeout_ms: int) -> Awaitable[RemotingCommand]:
        """Send a request and wait for its answer.

        Raises:
            RemotingConnectError: there is no connection.
            RemotingSendRequestError: the frame could not be sent.
            RemotingTimeoutError: no answer came in time.
        """

    async def invoke_oneway(self, address: str, command: RemotingCommand) -> None:
        """Send a request that has no answer.

        Raises:
            RemotingConnectError: there is no connection.
            RemotingSendRequestError: the frame could not be sent.
        """

    def spawn(self, coroutine: Coroutine[object, object, object], name: str) -> Task:
        """Run a coroutine beside the caller; it starts after the caller's next await."""

    def event(self) -> Flag:
        """A new flag, lowered."""

    def choose(self, label: str, n: int) -> int:
        """A number in 0..n-1: a numbered choice point of the schedule, unless n is 1."""

    def late(self, thread: str) -> Awaitable[None]:
        """A thread that has something to do runs when the machine lets it: how late is a choice point."""

    def on_request(self, processor: Callable[[str, RemotingCommand], RemotingCommand | None]) -> None:
        """Take requests that a server sends to this node; the processor gets the server's address and the request."""

    def close_connections(self) -> None:
        """Close every connection of this node."""
