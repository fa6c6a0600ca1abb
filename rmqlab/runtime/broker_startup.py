"""A broker and its name server on sockets (4.8.0 `BrokerStartup`, `NamesrvStartup`): put together, started, stopped."""

from __future__ import annotations

import random
import socket
from dataclasses import replace
from typing import TYPE_CHECKING

from rmqlab.broker.broker import Broker
from rmqlab.message.message import Host
from rmqlab.namesrv.name_server import NameServer
from rmqlab.runtime.broker_outer_api import BrokerOuterAPI
from rmqlab.runtime.clock import epoch_ms
from rmqlab.runtime.serve_config import LOOPBACK, ServeConfig
from rmqlab.runtime.socket_server import SocketChannel, SocketServer
from rmqlab.runtime.sockets import SocketRuntime
from rmqlab.store.message_store import MessageStore

if TYPE_CHECKING:
    from collections.abc import Callable

_EVERY_ADDRESS = {"", "0.0.0.0", "::"}  # noqa: S104 - compared, never bound without being asked for


class BrokerStartup:
    """One broker, and a name server unless others are named. Start and stop it on the same loop."""

    def __init__(self, config: ServeConfig, *, choose: Callable[[str, int], int] | None = None) -> None:
        self.config = config
        self._choose = choose or (lambda _label, n: random.randrange(n))
        self._runtime = SocketRuntime()
        self._name_server: SocketServer | None = None
        self._broker_server: SocketServer | None = None
        self._outer: BrokerOuterAPI | None = None
        self.broker: Broker | None = None
        self.namesrv_addr = ""
        self.broker_addr = ""

    async def start(self) -> None:
        """Listen, and register the broker. Raises CannotListen."""
        config = self.config
        sockets = [config.listen.bind()]
        try:
            if not config.name_servers:
                sockets.append(config.namesrv.bind())
            await self._start(*sockets)
        except BaseException:
            for one in sockets:
                one.close()
            raise

    async def _start(self, broker_socket: socket.socket, namesrv_socket: socket.socket | None = None) -> None:
        config = self.config
        now = epoch_ms()
        name_servers, own = config.name_servers, None
        if namesrv_socket is not None:
            own = NameServer(now)
            self._name_server = SocketServer(own)
            await self._name_server.start(namesrv_socket)
            self.namesrv_addr = _address(_reachable(config.namesrv.host), _port(namesrv_socket))
        else:
            self.namesrv_addr = ";".join(name_servers)

        settings = replace(config.broker, listen_port=_port(broker_socket), namesrv_addr=self.namesrv_addr)
        if not config.advertise:
            settings.broker_ip1 = settings.broker_ip2 = _reachable(config.listen.host)
        store = MessageStore(config.store, store_host=Host(settings.broker_ip1, settings.listen_port))
        self._outer = BrokerOuterAPI(self._runtime, name_servers, own)
        self.broker = self._outer.broker = Broker(
            settings, store, now=now, choose=self._choose, on_register=self._outer.register_broker_all
        )
        self.broker_addr = settings.broker_addr
        self._broker_server = SocketServer(self.broker, on_closed=self._closed)
        await self._broker_server.start(broker_socket)
        await self._outer.registered()

    def _closed(self, channel: SocketChannel) -> None:
        """Pulls that a lost connection holds would wait until their time is over, for nobody."""
        if self.broker is not None:
            self.broker.pull_request_hold_service.forget(channel)

    async def stop(self) -> None:
        """Unregister, let answers leave, close everything."""
        if self._outer is not None and self.broker is not None:
            await self._outer.close()
            await self._outer.unregister_broker_all(self.broker.config)
        if self._broker_server is not None:
            await self._broker_server.stop()
        await self._runtime.aclose()
        if self._name_server is not None:
            await self._name_server.stop()


def _reachable(host: str) -> str:
    """Return the address under which clients reach a listener: every address has none, so this machine's own."""
    if host not in _EVERY_ADDRESS:
        return LOOPBACK if host == "localhost" else host
    try:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            probe.connect(("192.0.2.1", 9))  # no packet is sent: this only asks which address would be used
            return str(probe.getsockname()[0])
    except OSError:
        return LOOPBACK


def _port(listening: socket.socket) -> int:
    return int(listening.getsockname()[1])


def _address(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
