"""A broker or name server on a TCP port: asyncio carries the frames, the rules are called one at a time.

Source of the bounds: `NettyRemotingServer`, `NettyServerConfig`. What a peer can make this process keep is
bounded: unfinished frames (`frames`), answers it does not read (`WRITE_*`), silence (`SERVER_IDLE_SECONDS`).
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING, cast

from rmqlab.errors import BadInput
from rmqlab.language import _
from rmqlab.protocol.codes import ResponseCode
from rmqlab.protocol.header import FrameError
from rmqlab.rules import DEFAULT_RULES
from rmqlab_tools.live import long_expressions
from rmqlab_tools.live.frames import BadFrame, FrameDecoder, UnreadBudget
from rmqlab_tools.live.system import epoch_ms
from rmqlab_tools.live.tls import HANDSHAKE_MAGIC_CODE, TlsConfig, TlsError, TlsSession
from rmqlab_tools.live.wire.frame_codec import decode_frame, encode_frame

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable, Coroutine

    from rmqlab.filter.sql92.tokens import Version
    from rmqlab.protocol.channel import Channel, Server
    from rmqlab.protocol.command import RemotingCommand
    from rmqlab_tools.live.durable_store import DurableStore

    Handle = Callable[[Channel, RemotingCommand, int], RemotingCommand | None]

logger = logging.getLogger(__name__)

SERVER_IDLE_SECONDS = 120
"""4.8.0 `serverChannelMaxIdleTimeSeconds`: neither read nor written for so long, and the connection is closed."""
WRITE_HIGH_BYTES = 1024 * 1024
"""Unread answers of a connection above which its next requests wait."""
WRITE_MAX_BYTES = 64 * 1024 * 1024
"""Unread answers of a connection above which it is closed; woken pulls and notices may add to them while it waits."""
UNSENT_MAX_BYTES = 256 * 1024 * 1024
"""Ours: unread answers of all slow connections together above which the one with the most is closed."""
BACKLOG = 1024
TLS_OFF = TlsConfig(mode="disabled")
_TURN_BYTES = 64 * 1024
TURN_SECONDS = 0.02
"""Ours: how long the requests of one connection are served before the others have their turn."""
ANSWER_SECONDS = 0.00025
"""Ours: how long an answer waits for those of the requests behind it, so that client and server work at once."""
_GOODBYE_SECONDS = 1.0
_SWEEP_SECONDS = 1.0
_LONGEST_WAIT_MS = 5_000


class SocketChannel(asyncio.Protocol):
    """One connection, as the rules see it (`Channel`) and as asyncio sees it (`Protocol`)."""

    def __init__(self, server: SocketServer, handle: Handle | None = None) -> None:
        self._server = server
        self.handle = handle or server.handler.handle
        self._decoder = FrameDecoder(server.budget)
        self._is_greeted = False
        self._tls: TlsSession | None = None
        self._transport: asyncio.Transport | None = None
        self._write_paused = False
        self._waits_for: str | None = None
        self._outbox: list[bytes | RemotingCommand] | None = None
        self._outbox_bytes = 0
        self.acknowledges = False
        self._aborted = False
        self.remote_address = "unknown"
        self.closed_because: str | None = None
        self.last_active = 0.0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """A client connected."""
        self._transport = cast("asyncio.Transport", transport)
        host, port = transport.get_extra_info("peername")[:2]
        self.remote_address = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        self._transport.set_write_buffer_limits(high=WRITE_HIGH_BYTES)
        self._server.opened(self)

    def connection_lost(self, exc: Exception | None) -> None:
        """The connection is gone, whoever closed it."""
        self._decoder.close()
        self._transport = None
        if self.closed_because is None:
            self.closed_because = "closed by the client" if exc is None else f"broken: {exc}"
        self._server.lost(self)

    def data_received(self, data: bytes) -> None:
        """Take bytes of the client."""
        self.last_active = self._server.loop.time()
        try:
            if not self._is_greeted and data:
                self._is_greeted = True
                self._tls = self._server.greet(data)
            if self._tls is not None:
                data = self._decrypted(self._tls, data)
            self._decoder.feed(data)
        except (BadFrame, TlsError) as error:
            self.abort(str(error))
            return
        self._process()

    def _decrypted(self, tls: TlsSession, data: bytes) -> bytes:
        """What came; what TLS itself has to say leaves at once, the reason why it cannot go on too."""
        try:
            return tls.received(data)
        finally:
            reply = tls.outgoing()
            if reply and self._transport is not None:
                self._transport.write(reply)

    def pause_writing(self) -> None:
        """The client does not read fast enough: take no further request from it."""
        self._write_paused = True
        if self._transport is not None:
            self._transport.pause_reading()
        self._server.slowed(self)

    def resume_writing(self) -> None:
        """The client has read on."""
        self._write_paused = False
        self._server.slow.discard(self)
        self.last_active = self._server.loop.time()
        self._server.loop.call_soon(self._go_on)

    def _go_on(self) -> None:
        self._process()
        if self._transport is not None and not self._write_paused and self._waits_for is None:
            self._transport.resume_reading()

    def _rest(self, reason: str) -> None:
        """Serve and read nothing more from here until `_rested`."""
        self._waits_for = reason
        if self._transport is not None:
            self._transport.pause_reading()

    def _rested(self) -> None:
        self._waits_for = None
        if self._transport is None:
            return
        self.last_active = self._server.loop.time()
        self._go_on()

    async def _serve_prepared(self, command: RemotingCommand) -> None:
        """Serve a request when its expressions are compiled; what came after it waits."""
        prepared = await self._server.prepared(command)
        if self.closed_because is None:
            long_expressions.use(prepared)
            try:
                self._server.serve(self, command)
            finally:
                long_expressions.use({})
        self._rested()

    def _process(self) -> None:
        """Serve the frames that are there; answers that are ready at about the same time leave together."""
        self._outbox = self._outbox or []
        server = self._server
        if server.log is not None:
            server.log.hold()
        began = monotonic()
        until, leave = began + TURN_SECONDS, began + ANSWER_SECONDS
        try:
            while not (
                self._write_paused
                or self._waits_for is not None
                or server.is_stopped
                or self.closed_because is not None
            ):
                frame = self._decoder.next()
                if frame is None:
                    break
                command = _decode(frame)
                if server.compiles_aside and long_expressions.is_large(command, len(frame)):
                    self._rest("its expressions are compiled")
                    server.later(self._serve_prepared(command))
                    break
                server.serve(self, command)
                now = monotonic()
                if now > until:
                    self._rest("others have their turn")
                    server.loop.call_soon(self._rested)
                    break
                # the write buffer says whether many bytes are too much
                if now > leave or self._outbox_bytes > _TURN_BYTES:
                    self._flush_outbox()
                    self._outbox = []
                    leave = monotonic() + ANSWER_SECONDS
        except (BadFrame, FrameError) as error:
            self.abort(str(error))
        finally:
            try:
                self._flush_outbox()
                server.settle()
            finally:
                if server.log is not None:
                    server.log.release()

    def _flush_outbox(self) -> None:
        """Let the answers leave; what they acknowledge, the system has before."""
        frames, self._outbox, self._outbox_bytes = self._outbox, None, 0
        acknowledges, self.acknowledges = self.acknowledges, False
        log = self._server.log
        if acknowledges and log is not None and not log.write_held():
            self.abort("what it sent cannot be written to the log")
        elif frames:
            self._write(b"".join([frame if isinstance(frame, bytes) else encode_frame(frame) for frame in frames]))

    def _write(self, data: bytes) -> None:
        transport = self._transport
        if transport is None or transport.is_closing():
            return
        transport.write(data if self._tls is None else self._tls.sealed(data))
        waiting = transport.get_write_buffer_size()
        if waiting == 0:
            self.last_active = self._server.loop.time()
        elif waiting > WRITE_MAX_BYTES:
            self.abort(f"{waiting} bytes of answers were not read, the limit is {WRITE_MAX_BYTES}")
        elif self._write_paused:
            self._server.slowed(self)

    def send(self, command: RemotingCommand) -> None:
        """Send an answer or a request; nothing happens when the connection is closed."""
        if self._transport is None or self.closed_because is not None:
            return
        frame = encode_frame(command)
        if self._outbox is not None:
            self._outbox.append(frame)
            self._outbox_bytes += len(frame)
        else:
            self._write(frame)

    def answer(self, command: RemotingCommand) -> None:
        """Send an answer, which does not change any more."""
        if self._outbox is None or self._transport is None or self.closed_because is not None:
            self.send(command)
        else:
            self._outbox.append(command)
            self._outbox_bytes += 300 + len(command.body or b"")

    def send_soon(self, command: RemotingCommand) -> None:
        """Send an answer together with others that are sent at this moment."""
        if self._outbox is None:
            self._outbox = []
            self._server.loop.call_soon(self._flush_outbox)
        self.send(command)

    @property
    def unsent_bytes(self) -> int:
        """Bytes of answers that the client has not read yet."""
        return 0 if self._transport is None or self._aborted else self._transport.get_write_buffer_size()

    def close(self) -> None:
        """Close the connection when what was written has left."""
        if self.closed_because is None:
            self.closed_because = "closed by the server"
        if self._transport is not None:
            if self._tls is not None and not self._transport.is_closing():
                self._transport.write(self._tls.goodbye())
            self._transport.close()

    def abort(self, reason: str) -> None:
        """Close the connection at once and say why."""
        if self._transport is None or self._aborted:
            return
        self._aborted = True
        if self.closed_because is None:
            self.closed_because = reason
        logger.warning("connection %s closed: %s", self.remote_address, reason)
        self._transport.abort()


class SocketServer:
    """Serves a handler on one port. Everything runs on the loop that started it.

    `log` is written to before the answers of a turn leave; `barrier` is what single answers wait for: the disk, under
    SYNC_FLUSH. `after_answers` is called when the answers of a turn have left. With `compiles_aside`, the version whose
    SQL92 they have, large requests wait for their expressions, not everybody. Why a connection ended stands in
    `channel.closed_because`.
    """

    def __init__(
        self,
        handler: Server,
        *,
        log: DurableStore | None = None,
        barrier: DurableStore | None = None,
        after_answers: Callable[[], None] | None = None,
        idle_seconds: float = SERVER_IDLE_SECONDS,
        tls: TlsConfig = TLS_OFF,
        compiles_aside: Version | None = None,
    ) -> None:
        self.handler = handler
        self._tls = tls
        self.compiles_aside = compiles_aside
        self._compiler: ThreadPoolExecutor | None = None
        self.budget = UnreadBudget()
        self.channels: set[SocketChannel] = set()
        self.slow: set[SocketChannel] = set()
        self.idle_seconds = idle_seconds
        self.log = log
        self._barrier = barrier
        self._after_answers = after_answers
        self._armed: tuple[int, asyncio.TimerHandle] | None = None
        self._sweeper: asyncio.TimerHandle | None = None
        self._servers: list[asyncio.Server] = []
        self._waiting: set[asyncio.Task[None]] = set()
        self.is_stopped = False
        self._all_gone = asyncio.Event()

    async def start(self, listening: socket.socket) -> None:
        """Serve a bound socket; it is closed by `stop`."""
        self.loop = asyncio.get_running_loop()
        await self.listen(listening, self.handler.handle)
        self.arm_timer()
        self._sweep()

    async def listen(self, listening: socket.socket, handle: Handle) -> None:
        """Serve another bound socket as well, whose requests go to `handle`."""
        self._servers.append(
            await self.loop.create_server(lambda: SocketChannel(self, handle), sock=listening, backlog=BACKLOG)
        )

    def greet(self, data: bytes) -> TlsSession | None:
        """The TLS session of a connection that begins with `data`, None when it needs none.

        Raises:
            TlsError: the handshake or the session is broken.
        """
        mode = self._tls.mode
        if data[0] != HANDSHAKE_MAGIC_CODE:
            if mode == "enforcing":
                raise TlsError("it began without a TLS handshake, and TLS is enforced here (tls.server.mode=enforcing)")
            return None
        if mode == "disabled":
            raise TlsError("it began with a TLS handshake, and TLS is off here (tls.server.mode=disabled)")
        try:
            return TlsSession(self._tls.context())
        except BadInput as error:
            raise TlsError(str(error)) from error

    async def stop(self) -> None:
        """Take no more connections and requests, let answers that wait for the disk leave, close what is open."""
        self.is_stopped = True
        for server in self._servers:
            server.close()
        if self._barrier is not None:
            await self._barrier.flushed()
        while self._waiting:
            await asyncio.wait(self._waiting)
        if self._compiler is not None:
            self._compiler.shutdown(wait=False)
        for timer in (self._sweeper, None if self._armed is None else self._armed[1]):
            if timer is not None:
                timer.cancel()
        for channel in list(self.channels):
            channel.close()
        if self.channels:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._all_gone.wait(), _GOODBYE_SECONDS)
        for channel in list(self.channels):
            channel.abort("it did not read its last answers before the server stopped")
        await asyncio.sleep(0)

    def opened(self, channel: SocketChannel) -> None:
        """A client connected."""
        self.channels.add(channel)
        channel.last_active = self.loop.time()

    def lost(self, channel: SocketChannel) -> None:
        """A connection ended."""
        self.channels.discard(channel)
        self.slow.discard(channel)
        if not self.channels and self.is_stopped:
            self._all_gone.set()
        self.handler.on_channel_close(channel, epoch_ms())
        self.arm_timer()

    def slowed(self, channel: SocketChannel) -> None:
        """A client does not read its answers; when all such clients leave too much unread, the worst one must go."""
        self.slow.add(channel)
        unsent = sum(client.unsent_bytes for client in self.slow)
        if unsent > UNSENT_MAX_BYTES:
            worst = max(self.slow, key=lambda client: client.unsent_bytes)
            worst.abort(
                f"{worst.unsent_bytes} bytes of answers were not read, the most of {len(self.slow)} slow connections "
                f"with {unsent}, the limit is {UNSENT_MAX_BYTES}"
            )

    def serve(self, channel: SocketChannel, command: RemotingCommand) -> None:
        """Hand one command to the handler and send what it answers; a bug in a rule ends this connection only."""
        before = 0 if self.log is None else self.log.held_records
        try:
            answer = channel.handle(channel, command, epoch_ms())
        except Exception:
            logger.exception("request %s of %s", command.code, channel.remote_address)
            channel.abort(f"request {command.code} broke a rule of ours, see the log")
            return
        log, barrier = self.log, self._barrier
        if log is not None and log.held_records != before:
            channel.acknowledges = True
        if barrier is not None and barrier.pending():
            if answer is not None:
                barrier.when_flushed(partial(_answer_when_flushed, channel, answer))
        elif answer is not None:
            channel.answer(answer)

    def later(self, what: Coroutine[object, object, None]) -> None:
        """Have something done that `stop` waits for."""
        task = self.loop.create_task(what)
        self._waiting.add(task)
        task.add_done_callback(self._waiting.discard)

    async def prepared(self, command: RemotingCommand) -> long_expressions.Prepared:
        """Compile the expressions of a request in a thread; nothing more once the server stops."""
        if self._compiler is None:
            self._compiler = ThreadPoolExecutor(1, "expressions")
        version = self.compiles_aside or DEFAULT_RULES.sql92
        return await self.loop.run_in_executor(
            self._compiler, long_expressions.prepare, command, lambda: self.is_stopped, version
        )

    def settle(self) -> None:
        """Do what the answers that have left did not wait for."""
        if self._after_answers is not None:
            try:
                self._after_answers()
            except Exception:
                logger.exception("after answers")
        self.arm_timer()

    def arm_timer(self) -> None:
        """Have the handler woken when it wants; at once means after what is ready now."""
        if self.is_stopped:
            return
        due = self.handler.next_timer()
        if due is None:
            return
        if self._armed is not None:
            if self._armed[0] <= due:
                return
            self._armed[1].cancel()
        # never long: the clock of the machine may be set while we wait
        delay = min(max(due - epoch_ms(), 0), _LONGEST_WAIT_MS) / 1000
        self._armed = due, self.loop.call_later(delay, self._run_timers)

    def _run_timers(self) -> None:
        self._armed = None
        try:
            self.handler.run_timers(epoch_ms())
        except Exception:
            logger.exception(_("a timer"))
        self.arm_timer()

    def _sweep(self) -> None:
        """Close connections on which nothing moved (Netty's `IdleStateHandler`, which looks at each by itself)."""
        since = self.loop.time() - self.idle_seconds
        for channel in [idle for idle in self.channels if idle.last_active < since]:
            channel.abort(f"nothing read or written for {self.idle_seconds:g} s")
        self._sweeper = self.loop.call_later(_SWEEP_SECONDS, self._sweep)


def _answer_when_flushed(channel: SocketChannel, answer: RemotingCommand, is_on_disk: bool) -> None:
    if not is_on_disk:
        answer.code = ResponseCode.FLUSH_DISK_TIMEOUT
    channel.send_soon(answer)


def _decode(frame: bytes) -> RemotingCommand:
    """Read a frame. No parser is trusted to know every way in which bytes can be wrong.

    Raises:
        FrameError: what cannot be read.
    """
    try:
        return decode_frame(frame)
    except FrameError:
        raise
    except Exception as error:
        raise FrameError(type(error).__name__, f"the header cannot be read: {error}") from error
