"""Sockets for tests: a handler one can script, a raw connection, a broker with its name server on free ports."""

from __future__ import annotations

import asyncio
import contextlib
from types import SimpleNamespace

import pytest

from rmqlab.protocol.command import RemotingCommand
from rmqlab_tools.live.broker_startup import BrokerStartup
from rmqlab_tools.live.endpoint import Endpoint
from rmqlab_tools.live.serve_config import ServeConfig
from rmqlab_tools.live.socket_server import SocketServer
from rmqlab_tools.live.sockets import SocketRuntime


class Echo:
    """Answers every request with its own body; remembers what happened."""

    def __init__(self):
        self.handled, self.closed, self.timers = [], [], []
        self.due = None
        self.answer = lambda channel, command: RemotingCommand.response(0, body=command.body).reply_to(command)

    def handle(self, channel, command, now):
        self.handled.append((channel, command))
        return self.answer(channel, command)

    def on_channel_close(self, channel, now):
        self.closed.append(channel)

    def next_timer(self):
        return self.due

    def run_timers(self, now):
        self.timers.append((self.due, now))
        self.due = None


@contextlib.asynccontextmanager
async def listening(handler, **settings):
    server = SocketServer(handler, **settings)
    socket = Endpoint().bind()
    await server.start(socket)
    try:
        yield server, "127.0.0.1:" + str(socket.getsockname()[1])
    finally:
        await server.stop()


@contextlib.asynccontextmanager
async def client(**settings):
    runtime = SocketRuntime(**settings)
    try:
        yield runtime
    finally:
        await runtime.aclose()


@contextlib.asynccontextmanager
async def raw(address):
    host, _, port = address.rpartition(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    try:
        yield reader, writer
    finally:
        writer.close()
        with contextlib.suppress(OSError):
            await writer.wait_closed()


@contextlib.asynccontextmanager
async def cluster(**properties):
    startup = BrokerStartup(ServeConfig.of(properties, where="test", listen="127.0.0.1:0", namesrv="127.0.0.1:0"))
    await startup.start()
    try:
        yield startup
    finally:
        await startup.stop()


async def soon(condition, seconds=60.0):
    """Wait until a condition holds; a busy machine may miss a rebalance and take the next, 20 s later."""
    async with asyncio.timeout(seconds):
        while not condition():  # noqa: ASYNC110 - nobody tells when
            await asyncio.sleep(0.005)


@pytest.fixture
def echo():
    return Echo()


@pytest.fixture
def net():
    """The helpers above: a test folder is no package that a test could import from."""
    return SimpleNamespace(Echo=Echo, client=client, cluster=cluster, listening=listening, raw=raw, soon=soon)
