"""Client code on real connections: the `Runtime` on asyncio (`NettyRemotingClient`).

Everything happens on the loop that runs the client. A runtime is one node with its own connections; each client id
needs one of its own.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import random
import time
from typing import TYPE_CHECKING, Any, cast

from rmqlab.client.runtime import RemotingConnectError, RemotingSendRequestError, RemotingTimeoutError
from rmqlab.protocol.command import ONEWAY, RemotingCommand, SerializeType
from rmqlab.protocol.header import FrameError
from rmqlab_tools.live.frames import BadFrame, FrameDecoder
from rmqlab_tools.live.system import epoch_ms
from rmqlab_tools.live.wire.frame_codec import decode_frame, encode_frame

if TYPE_CHECKING:
    import ssl
    from collections.abc import Callable, Coroutine

    Processor = Callable[[str, RemotingCommand], RemotingCommand | None]
    Hook = Callable[[RemotingCommand], None]

logger = logging.getLogger(__name__)

CONNECT_SECONDS = 3.0
"""4.8.0 `connectTimeoutMillis`."""
CLIENT_IDLE_SECONDS = 120.0
"""4.8.0 `clientChannelMaxIdleTimeSeconds`."""
_OPAQUE_MASK = 0x7FFFFFFF


class SocketEvent:
    """A flag on the loop."""

    def __init__(self) -> None:
        self._event = asyncio.Event()

    def set(self) -> None:
        """Raise the flag."""
        self._event.set()

    def clear(self) -> None:
        """Lower the flag."""
        self._event.clear()

    async def wait(self, timeout_ms: int | None = None) -> bool:
        """Wait until the flag is up; False when `timeout_ms` passed first."""
        if self._event.is_set():
            return True
        try:
            async with asyncio.timeout(None if timeout_ms is None else timeout_ms / 1000):
                await self._event.wait()
        except TimeoutError:
            return self._event.is_set()
        return True


class _Connection(asyncio.Protocol):
    """One connection to a server; frames that arrive go to the runtime."""

    def __init__(self, runtime: SocketRuntime, address: str) -> None:
        self._runtime = runtime
        self._decoder = FrameDecoder()
        self._idle: asyncio.TimerHandle | None = None
        self._touched = 0.0
        self._loop = asyncio.get_running_loop()
        self.address = address
        self.transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast("asyncio.Transport", transport)
        self._touched = self._loop.time()
        self._idle = self._loop.call_later(CLIENT_IDLE_SECONDS, self._check_idle)

    def connection_lost(self, exc: Exception | None) -> None:
        self.transport = None
        if self._idle is not None:
            self._idle.cancel()
        self._runtime.lost(self)

    def data_received(self, data: bytes) -> None:
        self._touched = self._loop.time()
        self._runtime.carried(self.address, 0, len(data))
        try:
            self._decoder.feed(data)
            while self.transport is not None and (frame := self._decoder.next()) is not None:
                self._runtime.received(self, decode_frame(frame))
        except (BadFrame, FrameError) as error:
            self._runtime.drop(self, str(error))

    def write(self, frame: bytes) -> None:
        """Send a frame.

        Raises:
            RemotingSendRequestError: when the connection is gone.
        """
        if self.transport is None or self.transport.is_closing():
            raise RemotingSendRequestError(self.address)
        self._touched = self._loop.time()
        self._runtime.carried(self.address, len(frame), 0)
        self.transport.write(frame)

    def close(self) -> None:
        """Close from this side."""
        if self.transport is not None:
            self.transport.close()

    def _check_idle(self) -> None:
        rest = self._touched + CLIENT_IDLE_SECONDS - self._loop.time()
        if rest > 0:
            self._idle = self._loop.call_later(rest, self._check_idle)
        else:
            self._runtime.drop(self)


class SocketRuntime:
    """One node's connections, clock and tasks; implements `Runtime`.

    `serialize_type` is how requests are written; `hook` sees each request before it is sent (access control
    signs it there). Choice points are answered at random. With `tls` every connection is encrypted (4.8.0
    `useTLS`; the server's name is checked only if the context says so). `on_bytes` hears of an address and the bytes
    sent to it or received from it.
    """

    def __init__(
        self,
        *,
        serialize_type: SerializeType = SerializeType.JSON,
        hook: Hook | None = None,
        tls: ssl.SSLContext | None = None,
        on_bytes: Callable[[str, int, int], None] | None = None,
    ) -> None:
        self.serialize_type = serialize_type
        self._hook = hook
        self._tls = tls
        self.carried = on_bytes or (lambda _address, _sent, _received: None)
        self._opaque = 0
        self._connections: dict[str, _Connection] = {}
        self._connecting: dict[str, asyncio.Task[_Connection]] = {}
        self._pending: dict[int, tuple[_Connection, asyncio.Future[RemotingCommand]]] = {}
        self._tasks: set[asyncio.Task[object]] = set()
        self._processor: Processor | None = None

    # What client code calls (Runtime).
    def monotonic(self) -> int:
        """Ms on a clock that is never set."""
        return time.monotonic_ns() // 1_000_000

    def now(self) -> int:
        """Epoch ms on this machine's clock."""
        return epoch_ms()

    async def sleep(self, ms: int) -> None:
        """Wait `ms` milliseconds."""
        await asyncio.sleep(ms / 1000)

    async def invoke(self, address: str, command: RemotingCommand, timeout_ms: int) -> RemotingCommand:
        """Send a request and wait for its answer.

        Raises:
            RemotingError: that says why there is none.
        """
        loop = asyncio.get_running_loop()
        deadline = loop.time() + timeout_ms / 1000
        connection = await self._connection(address)
        self._prepare(command)
        answer: asyncio.Future[RemotingCommand] = loop.create_future()
        self._pending[command.opaque] = connection, answer
        try:
            connection.write(encode_frame(command))
            async with asyncio.timeout_at(deadline):
                return await answer
        except TimeoutError:
            raise RemotingTimeoutError(address, timeout_ms) from None
        finally:
            self._pending.pop(command.opaque, None)

    async def invoke_oneway(self, address: str, command: RemotingCommand) -> None:
        """Send a request that has no answer."""
        connection = await self._connection(address)
        self._prepare(command)
        command.flag |= ONEWAY
        connection.write(encode_frame(command))

    def spawn(self, coroutine: Coroutine[Any, Any, object], name: str) -> asyncio.Task[object]:
        """Run a coroutine beside the caller."""
        task = asyncio.get_running_loop().create_task(coroutine, name=name)
        self._tasks.add(task)
        task.add_done_callback(self._ended)
        return task

    def event(self) -> SocketEvent:
        """A new flag."""
        return SocketEvent()

    def choose(self, label: str, n: int) -> int:
        """A number in 0..n-1."""
        return random.randrange(n) if n > 1 else 0

    async def late(self, thread: str) -> None:
        """At once: this machine is as late as it is."""

    def on_request(self, processor: Processor) -> None:
        """Take the requests that servers send to this node."""
        self._processor = processor

    def close_connections(self) -> None:
        """Close every connection of this node; requests that wait for an answer fail."""
        for connection in list(self._connections.values()):
            self.drop(connection)

    async def aclose(self) -> None:
        """End what still runs here and close every connection."""
        tasks = [task for task in self._tasks if task is not asyncio.current_task()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self.close_connections()
        await asyncio.sleep(0)

    # What connections call.
    def received(self, connection: _Connection, command: RemotingCommand) -> None:
        """Take a frame: an answer that somebody waits for, or a request of the server's."""
        if command.is_response:
            waiting = self._pending.get(command.opaque)
            if waiting is not None and not waiting[1].done():
                waiting[1].set_result(command)
        elif self._processor is not None:
            try:
                answer = self._processor(connection.address, command)
            except Exception:
                logger.exception("request %s of %s", command.code, connection.address)
                return
            if answer is not None and not command.is_oneway:
                with contextlib.suppress(RemotingSendRequestError):
                    connection.write(encode_frame(answer.reply_to(command)))

    def lost(self, connection: _Connection) -> None:
        """Forget a connection. When the server closed it, requests wait for their timeouts, as in 4.8.0."""
        if self._connections.get(connection.address) is connection:
            del self._connections[connection.address]

    def drop(self, connection: _Connection, reason: str = "") -> None:
        """Close a connection from this side: its requests fail at once (`failFast`), with the reason."""
        logger.info("connection to %s closed: %s", connection.address, reason)
        self.lost(connection)
        connection.close()
        for owner, answer in list(self._pending.values()):
            if owner is connection and not answer.done():
                answer.set_exception(RemotingSendRequestError(connection.address, reason))

    def _prepare(self, command: RemotingCommand) -> None:
        self._opaque = (self._opaque + 1) & _OPAQUE_MASK
        command.opaque = self._opaque
        command.serialize_type = self.serialize_type
        if self._hook is not None:
            self._hook(command)

    async def _connection(self, address: str) -> _Connection:
        connection = self._connections.get(address)
        if connection is not None:
            return connection
        task = self._connecting.get(address)
        if task is None:
            task = self._connecting[address] = asyncio.get_running_loop().create_task(self._connect(address))
            task.add_done_callback(lambda _: self._connecting.pop(address, None))
        return await asyncio.shield(task)

    async def _connect(self, address: str) -> _Connection:
        host, _, port = address.rpartition(":")
        try:
            async with asyncio.timeout(CONNECT_SECONDS):
                _, connection = await asyncio.get_running_loop().create_connection(
                    lambda: _Connection(self, address), host.strip("[]"), int(port), ssl=self._tls
                )
        except (OSError, ValueError, OverflowError) as error:
            raise RemotingConnectError(address) from error
        self._connections[address] = connection
        return connection

    def _ended(self, task: asyncio.Task[object]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and task.exception() is not None:
            logger.error("task %s ended", task.get_name(), exc_info=task.exception())
