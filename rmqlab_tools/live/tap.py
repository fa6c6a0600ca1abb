"""A recorder between clients and a broker: every frame goes on as it came, and is written down.

Clients use the tap's name server address. In the answers that tell where brokers are, the tap puts its own address for
the broker's, so that clients come to the broker through it too. Nothing else is changed. What is no frame (another
protocol, a length beyond 16 MiB) is passed on all the same, unrecorded.
"""

from __future__ import annotations

import asyncio
import logging
import re
import struct
import time
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from rmqlab.client.runtime import RemotingError
from rmqlab.message.java_properties import shown_properties
from rmqlab.protocol.channel import C2S, S2C
from rmqlab.protocol.codes import RequestCode, ResponseCode
from rmqlab.protocol.command import RemotingCommand
from rmqlab.protocol.header import FrameError
from rmqlab.protocol.heartbeat import HeartbeatData
from rmqlab_tools.live.endpoint import Endpoint
from rmqlab_tools.live.frames import FRAME_MAX_LENGTH, BadFrame, FrameDecoder
from rmqlab_tools.live.sockets import SocketRuntime
from rmqlab_tools.live.system import epoch_ms
from rmqlab_tools.live.tap_recording import TapSummary
from rmqlab_tools.live.wire.frame_codec import decode_frame

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine
    from typing import Any

    from rmqlab_tools.live.tap_recording import TapRecording

    _Work = Coroutine[Any, Any, None]

logger = logging.getLogger(__name__)

TO_BROKER, TO_NAMESRV = "broker", "namesrv"
_READ_BYTES = 64 * 1024
_FLUSH_SECONDS = 0.5
_LENGTH = struct.Struct(">i")
_HEAD = struct.Struct(">iI")
_BROKER_ADDRS = re.compile(rb'"brokerAddrs":\{[^{}]*\}')
_ADDRESS = re.compile(rb'"([^"\s]+:\d{1,5})"')


@dataclass(slots=True)
class TapConfig:
    """Whom to tap, and where to listen; port 0 means any free one.

    `broker` None: the first broker that a route names. `with_namesrv` records the name server's frames as well, which
    makes sense when the broker registers through the tap. `control` takes lines "freeze CLIENT", "cut CLIENT" and
    "mark TEXT" and answers each with the number of connections it concerned.
    """

    namesrv: Endpoint = field(default_factory=lambda: Endpoint(port=9876))
    broker: Endpoint | None = None
    listen: Endpoint = field(default_factory=lambda: Endpoint(port=19876))
    broker_listen: Endpoint = field(default_factory=lambda: Endpoint(port=20911))
    control: Endpoint | None = None
    with_namesrv: bool = False


@dataclass(eq=False, slots=True)
class _Link:
    """A client's connection and the one that leads on."""

    number: int
    to: str
    writers: dict[str, asyncio.StreamWriter]
    client: str | None = None
    frozen: bool = False


class Tap:
    """Start and stop it on one loop; `tell` hears what is worth a line at once."""

    def __init__(self, config: TapConfig, recording: TapRecording, tell: Callable[[str], None] | None = None) -> None:
        self.config = config
        self.recording = recording
        self.summary = TapSummary()
        self.namesrv_addr = ""
        self.broker_addr = ""
        self.broker: str | None = None if config.broker is None else f"{config.broker.host}:{config.broker.port}"
        self._tell = tell or (lambda _line: None)
        self._began = time.monotonic()
        self._links: set[_Link] = set()
        self._count = 0
        self._servers: list[asyncio.Server] = []
        self._tasks: set[asyncio.Task[None]] = set()
        self._runtime = SocketRuntime()

    async def start(self) -> None:
        """Listen.

        Raises:
            BadInput: it cannot be used; the text says what and why.
        """
        config = self.config
        self.namesrv_addr = await self._serve(config.listen, self._to_namesrv)
        self.broker_addr = await self._serve(config.broker_listen, self._to_broker)
        if config.control is not None:
            await self._serve(config.control, self._controlled)
        self.recording.control(self._now(), "began", str(epoch_ms()), [])
        self._spawn(self._flush_now_and_then())
        if self.broker is not None:
            self._spawn(self._fetch_settings())

    async def stop(self) -> None:
        """End the recording, then the connections: that they close is no part of it."""
        self.recording.finish()
        for server in self._servers:
            server.close()
        for link in list(self._links):
            for writer in link.writers.values():
                writer.close()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._runtime.aclose()

    def _now(self) -> float:
        return round((time.monotonic() - self._began) * 1000, 1)

    async def _serve(
        self, endpoint: Endpoint, handler: Callable[[asyncio.StreamReader, asyncio.StreamWriter], _Work]
    ) -> str:
        listening = endpoint.bind()
        port = listening.getsockname()[1]

        def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            self._spawn(handler(reader, writer))

        self._servers.append(await asyncio.start_server(connected, sock=listening))
        return f"{endpoint.host}:{port}"

    def _spawn(self, work: _Work) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _flush_now_and_then(self) -> None:
        while True:
            await asyncio.sleep(_FLUSH_SECONDS)
            self.recording.flush()

    async def _to_namesrv(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await self._join(TO_NAMESRV, self.config.namesrv, reader, writer)

    async def _to_broker(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self.broker is None:
            self._tell(f"a client came to {self.broker_addr} before any route named a broker: not connected")
            writer.close()
            return
        await self._join(TO_BROKER, Endpoint.parse(self.broker, "broker address"), reader, writer)

    async def _join(
        self, to: str, target: Endpoint, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        """Connect a client with whom it wants to reach, until one side ends."""
        try:
            there_reader, there = await asyncio.open_connection(target.host, target.port)
        except OSError as error:
            self._tell(f"{to} {target.host}:{target.port} cannot be reached: {error.strerror or error}")
            writer.close()
            return
        self._count += 1
        link = _Link(self._count, to, {C2S: there, S2C: writer})
        self._links.add(link)
        if self._records(link):
            self.recording.opened(self._now(), link.number)
        try:
            await asyncio.gather(self._pump(link, reader, C2S), self._pump(link, there_reader, S2C))
        finally:
            self._links.discard(link)
            if to == TO_BROKER:
                self._say(self.summary.close(self._now(), link.number))

    def _records(self, link: _Link) -> bool:
        return link.to == TO_BROKER or self.config.with_namesrv

    async def _pump(self, link: _Link, reader: asyncio.StreamReader, direction: str) -> None:
        writer, frames, framed = link.writers[direction], FrameDecoder(header_max=FRAME_MAX_LENGTH), True
        ended = direction  # whose end it was: the sender's, unless the receiver takes nothing more
        try:
            while data := await _read(reader):
                if link.frozen:
                    continue
                if framed:
                    frames.feed(data)
                    try:
                        while (payload := frames.next()) is not None:
                            writer.write(self._pass(link, direction, _LENGTH.pack(len(payload)) + payload))
                    except BadFrame:
                        framed, data = False, frames.rest()
                        self._tell(f"connection {link.number}: no frames of RocketMQ; passed on, not recorded")
                if not framed:
                    writer.write(data)
                await writer.drain()
        except OSError:
            ended = C2S if direction == S2C else S2C
        finally:
            if self._records(link):
                self.recording.closed(self._now(), link.number, ended)
            writer.close()

    def _pass(self, link: _Link, direction: str, frame: bytes) -> bytes:
        """Note a frame and return what goes on."""
        if link.to == TO_NAMESRV and direction == S2C:
            frame = self._rewritten(frame)
        t = self._now()
        if not self._records(link):
            return frame
        try:
            command = decode_frame(frame[4:])
        except FrameError as error:
            self._tell(f"connection {link.number}: a frame that cannot be read ({error}); passed on, not recorded")
            return frame
        if link.to == TO_BROKER:
            if link.client is None and command.code == RequestCode.HEART_BEAT and not command.is_response:
                with suppress(FrameError):
                    link.client = str(HeartbeatData.decode(command.body or b"").client_id)
                    self.recording.client(t, link.number, link.client)
            self._say(self.summary.see(t, link.number, direction, command))
        self.recording.frame(t, link.number, link.to, direction, frame)
        return frame

    def _say(self, lines: list[str]) -> None:
        for line in lines:
            self._tell(line)

    def _rewritten(self, frame: bytes) -> bytes:
        """An answer of the name server with the tap's address for the broker's."""
        if b'"brokerAddrs"' not in frame:
            return frame
        _, head = _HEAD.unpack_from(frame)
        start = _HEAD.size + (head & 0xFFFFFF)
        body = frame[start:]
        if self.broker is None:
            self._choose_broker(body)
        if self.broker is None:
            return frame
        old, new = f'"{self.broker}"'.encode(), f'"{self.broker_addr}"'.encode()
        body = _BROKER_ADDRS.sub(lambda match: match[0].replace(old, new), body)
        return _LENGTH.pack(start - _LENGTH.size + len(body)) + frame[_LENGTH.size : start] + body

    def _choose_broker(self, body: bytes) -> None:
        """Take the first broker of a route; others are reached directly."""
        for table in _BROKER_ADDRS.findall(body):
            for address in _ADDRESS.findall(table):
                self.broker = address.decode()
                self._tell(f"tapping the broker at {self.broker}")
                self._spawn(self._fetch_settings())
                return

    async def _fetch_settings(self) -> None:
        """Ask the broker for its settings, beside the recording: a replay needs them."""
        request = RemotingCommand.request(RequestCode.GET_BROKER_CONFIG)
        try:
            answer = await self._runtime.invoke(self.broker or "", request, 3_000)
        except RemotingError as error:
            self._tell(f"the broker's settings are not known: {error}; a replay needs them in broker.conf")
            return
        if answer.code == ResponseCode.SUCCESS and answer.body:
            try:
                self.recording.settings(shown_properties(answer.body))
            except OSError as error:
                self._tell(f"the broker's settings are not kept: {error.strerror}; a replay needs them in broker.conf")
        else:
            self._tell(f"the broker does not tell its settings ({answer.remark}); a replay needs them in broker.conf")

    async def _controlled(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while line := await reader.readline():
            verb, _, argument = line.decode("utf-8", "replace").strip().partition(" ")
            hit = [link for link in self._links if link.client and argument in link.client]
            hit = hit if verb in {"freeze", "cut"} else []
            self.recording.control(self._now(), verb, argument, [link.number for link in hit])
            for link in hit:
                link.frozen = link.frozen or verb == "freeze"
                if verb == "cut":
                    for target in link.writers.values():
                        target.transport.abort()
            writer.write(b"%d\n" % len(hit))
            await writer.drain()
        writer.close()


async def _read(reader: asyncio.StreamReader) -> bytes:
    """What came, nothing when the sender has ended or is gone."""
    try:
        return await reader.read(_READ_BYTES)
    except OSError:
        return b""
