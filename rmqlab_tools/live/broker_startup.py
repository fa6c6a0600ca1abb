"""A broker and its name server on sockets (`BrokerStartup`, `NamesrvStartup`): put together, started, stopped."""

from __future__ import annotations

import asyncio
import logging
import random
from dataclasses import replace
from functools import partial
from pathlib import Path
from time import perf_counter_ns
from typing import TYPE_CHECKING, Any, TypeVar

from rmqlab.broker.broker import Broker
from rmqlab.language import _
from rmqlab.message.message import Host
from rmqlab.namesrv.name_server import NameServer
from rmqlab.protocol.codes import PULLS, SENDS, RequestCode, code_name
from rmqlab.store.config import FlushDiskType
from rmqlab.store.mapped_file_queue import in_memory
from rmqlab.store.message_store import PHYSICAL_MEMORY_SIZE, MessageStore
from rmqlab_tools.live.broker_outer_api import BrokerOuterAPI
from rmqlab_tools.live.configuration_files import read_rules, rewrite_properties, rewrite_rules, watch
from rmqlab_tools.live.durable_store import DurableStore
from rmqlab_tools.live.endpoint import bind_with_vip
from rmqlab_tools.live.extra.access_requests import AccessRequests
from rmqlab_tools.live.extra.plain_access import PlainPermissionManager
from rmqlab_tools.live.extra.registration import register_extras
from rmqlab_tools.live.long_expressions import most_scanned
from rmqlab_tools.live.socket_server import SocketServer
from rmqlab_tools.live.sockets import SocketRuntime
from rmqlab_tools.live.store_folder import StoreFolder
from rmqlab_tools.live.system import LOOPBACK, disk_space, epoch_ms, memory_space, own_address, physical_memory

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable, Mapping

    from rmqlab.broker.broker_config import BrokerConfig
    from rmqlab.protocol.channel import Channel
    from rmqlab.protocol.command import RemotingCommand
    from rmqlab.store.mapped_file_queue import Segments
    from rmqlab_tools.live.extra.registration import Extras
    from rmqlab_tools.live.recovery import RecoveryReport
    from rmqlab_tools.live.serve_config import ServeConfig

logger = logging.getLogger(__name__)

T = TypeVar("T")
_MOST_CODES = 100
_TIMED = SENDS | PULLS
_EVERY_ADDRESS = {"", "0.0.0.0", "::"}  # noqa: S104 - compared, never bound without being asked for


class BrokerHandler:
    """A broker whose sends are answered when they are in the log, before queues and index have them.

    So it is in 4.8.0, where `ReputMessageService` is a thread of its own. Here no request but further sends comes in
    between, so that whoever knows that a message is stored can read it at once. With a folder, topics and groups are
    on disk before the request that changed them is answered.
    """

    def __init__(self, broker: Broker, durable: DurableStore | None) -> None:
        self._broker = broker
        self._store = broker.message_store
        self._durable = durable
        self.next_timer = broker.next_timer

    def handle(self, channel: Channel, command: RemotingCommand, now: int) -> RemotingCommand | None:
        """Answer a command."""
        store, code = self._store, command.code
        began = perf_counter_ns()
        if code in SENDS:
            store.defers_dispatch = True
            try:
                answer = self._broker.handle(channel, command, now)
            finally:
                store.defers_dispatch = False
        else:
            store.dispatch()
            answer = self._broker.handle(channel, command, now)
        took = (perf_counter_ns() - began) // 1_000_000
        if took > 0 and code in _TIMED:
            stats = store.store_stats_service
            (stats.note_put if code in SENDS else stats.note_get)(took)
        if self._durable is not None:
            self._durable.persist_changed()
        return answer

    def handle_fast(self, channel: Channel, command: RemotingCommand, now: int) -> RemotingCommand | None:
        """Answer a command that came over the VIP channel, where pulls are not registered (`fastRemotingServer`)."""
        if command.code in PULLS and not command.is_response:
            return self._broker.handle(channel, command, now, known=False)
        return self.handle(channel, command, now)

    def on_channel_close(self, channel: Channel, now: int) -> None:
        """A connection is gone; pulls that it holds would wait until their time is over, for no client."""
        self._broker.on_channel_close(channel, now)
        self._broker.pull_request_hold_service.forget(channel)

    def run_timers(self, now: int) -> None:
        """Run what is due."""
        self._broker.run_timers(now)
        if self._durable is not None:
            self._durable.persist_changed()


class BrokerStartup:
    """One broker, and a name server unless others are named. Start and stop it on the same loop."""

    def __init__(
        self,
        config: ServeConfig,
        *,
        on_broker: Callable[[Broker], None] | None = None,
    ) -> None:
        """`on_broker` gets the broker with what its folder held, before anybody can connect."""
        self.config = config
        self._on_broker = on_broker
        self._runtime = SocketRuntime()
        self._name_server: SocketServer | None = None
        self._broker_server: SocketServer | None = None
        self._outer: BrokerOuterAPI | None = None
        self._folder: StoreFolder | None = None
        self._durable: DurableStore | None = None
        self._access: PlainPermissionManager | None = None
        self._watch: asyncio.Task[None] | None = None
        self.recovery: RecoveryReport | None = None
        self.broker: Broker | None = None
        self.extras: Extras | None = None
        self.namesrv_addr = ""
        self.broker_addr = ""
        self.vip_addr: str | None = None

    async def start(self) -> None:
        """Listen, and register the broker.

        Raises:
            BadInput: a port or rules that cannot be had.
        """
        config = self.config
        self._access = _access(config.acl)
        namesrv_socket = None if config.name_servers else config.namesrv.bind()  # before the VIP channel may want it
        broker_socket = vip_socket = None
        try:
            broker_socket, vip_socket = bind_with_vip(config.listen)
            await self._start(broker_socket, vip_socket, namesrv_socket)
        except BaseException:
            await self.stop()
            for listening in (broker_socket, vip_socket, namesrv_socket):
                if listening is not None:
                    listening.close()
            raise

    async def _start(
        self, broker_socket: socket.socket, vip_socket: socket.socket | None, namesrv_socket: socket.socket | None
    ) -> None:
        config = self.config
        now = epoch_ms()
        name_servers, own = config.name_servers, None
        if namesrv_socket is not None:
            own = NameServer(now, _port(namesrv_socket), wire=config.rules.wire)
            own.on_unknown = SaidOnce(_("name server"))
            self._name_server = SocketServer(own, tls=config.tls)
            await self._name_server.start(namesrv_socket)
            self.namesrv_addr = _address(_reachable(config.namesrv.host), _port(namesrv_socket))
        else:
            self.namesrv_addr = ";".join(name_servers)

        settings = replace(
            config.broker,
            listen_port=_port(broker_socket),
            namesrv_addr=self.namesrv_addr,
        )
        if not config.advertise:
            settings.broker_ip1 = settings.broker_ip2 = _reachable(config.listen.host)
        store, rules = self._open_store(settings), config.rules
        self.broker = Broker(settings, store, now=now, choose=lambda _, n: random.randrange(n), rules=rules)
        self.broker.on_unknown = SaidOnce("broker")
        self.extras = extras = register_extras(self.broker)
        extras.configuration.others.update(config.others)
        if config.settings_file is not None:
            extras.configuration.persist = partial(rewrite_properties, config.settings_file)
        durable = self._load(self.broker, extras)
        if self._access is not None:
            self.broker.rpc_hooks.append(self._access.before_request)
            persist = partial(rewrite_rules, config.acl) if isinstance(config.acl, Path) else None
            self.broker.register_processor(AccessRequests(self.broker, self._access, persist).handlers)
            if isinstance(config.acl, Path):
                self._watch = asyncio.get_running_loop().create_task(watch(config.acl, self._access))
        if self._on_broker is not None:
            self._on_broker(self.broker)
        self._outer = BrokerOuterAPI(self._runtime, self.broker, name_servers, own)
        self.broker.on_register = self._outer.register_broker_all
        self.broker.register_broker_all()
        self.broker_addr = settings.broker_addr
        if vip_socket is not None:
            self.vip_addr = _address(settings.broker_ip1, _port(vip_socket))
        is_sync = durable is not None and config.store.flush_disk_type is FlushDiskType.SYNC_FLUSH
        handler = BrokerHandler(self.broker, durable)
        self._broker_server = SocketServer(
            handler,
            log=durable,
            barrier=durable if is_sync else None,
            after_answers=self.broker.message_store.dispatch,
            idle_seconds=config.idle_seconds,
            tls=config.tls,
            compiles_aside=config.rules.sql92,
        )
        self.broker.message_store.queue_reader.most_scanned = most_scanned
        await self._broker_server.start(broker_socket)
        if vip_socket is not None:
            await self._broker_server.listen(vip_socket, handler.handle_fast)
        await self._outer.registered()

    def _open_store(self, settings: BrokerConfig) -> MessageStore:
        """Make the store, in the folder if there is one.

        Raises:
            BadInput: it cannot be used; the text says what and why.
        """
        config = self.config
        segments: Segments = in_memory
        if config.folder is not None:
            folder = StoreFolder(config.folder, commit_log=config.commit_log)
            folder.open()
            self._folder = folder
            segments = folder.segments
        host = Host(settings.broker_ip1, settings.listen_port)
        memory = physical_memory() or PHYSICAL_MEMORY_SIZE
        return MessageStore(config.store, segments, host, rules=config.rules, physical_memory_size=memory)

    def _load(self, broker: Broker, extras: Extras) -> DurableStore | None:
        """Take in what the folder holds.

        Raises:
            BadInput: it cannot be used; the text says what and why.
        """
        if self._folder is None:
            extras.runtime_info.memory_space = memory_space
            return None
        durable = DurableStore(self._folder, broker)
        self.recovery = durable.load()
        durable.start()
        self._durable = durable
        extras.runtime_info.disk_space = partial(disk_space, self._folder.root)
        return durable

    def call(self, function: Callable[[Broker], T]) -> T:
        """`function(broker)`, called now; held pulls that it wakes are answered at once."""
        broker, server = self.broker, self._broker_server
        if broker is None or server is None:
            raise RuntimeError("the broker does not run")
        broker.now = max(epoch_ms(), broker.now)
        try:
            return function(broker)
        finally:
            server.settle()

    async def stop(self) -> None:
        """Unregister, let answers leave, close everything."""
        if self._watch is not None:
            self._watch.cancel()
            await asyncio.gather(self._watch, return_exceptions=True)
            self._watch = None
        if self._outer is not None and self.broker is not None:
            await self._outer.close()
            await self._outer.unregister_broker_all(self.broker.config)
        if self._broker_server is not None:
            await self._broker_server.stop()
        if self._durable is not None:
            self._durable.stop()
        elif self._folder is not None:
            self._folder.release(in_order=False)
        self._durable = self._folder = None
        await self._runtime.aclose()
        if self._name_server is not None:
            await self._name_server.stop()


class SaidOnce:
    """Logs a request that no handler takes, once for each code; 4.8.0 is silent, on the wire and in its log."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._said: set[int] = set()

    def __call__(self, code: int) -> None:
        """Hear of a request."""
        if code in self._said or len(self._said) >= _MOST_CODES:
            return
        self._said.add(code)
        name = code_name(RequestCode, code)
        logger.warning(
            "request %s%s: the %s has no answer to it, as 4.8.0 has none; who asked waits in vain (said once)",
            code, "" if name == str(code) else f" {name}", self._what,
        )  # fmt: skip


def _access(acl: Path | Mapping[str, Any] | None) -> PlainPermissionManager | None:
    """Access control by these rules, or those in a file.

    Raises:
        BadInput: it cannot be used; the text says what and why.
    """
    if acl is None:
        return None
    return PlainPermissionManager(read_rules(acl) if isinstance(acl, Path) else acl)


def _reachable(host: str) -> str:
    """The address under which clients reach a listener: every address has none, so this machine's own."""
    if host not in _EVERY_ADDRESS:
        return LOOPBACK if host == "localhost" else host
    return own_address("192.0.2.1", 9)  # an address of documentation: where the default route leads


def _port(listening: socket.socket) -> int:
    return int(listening.getsockname()[1])


def _address(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
