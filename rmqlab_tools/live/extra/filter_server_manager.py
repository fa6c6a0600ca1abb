"""Filter servers that registered with the broker (`FilterServerManager`, rows F-99, H-41).

4.8.0 still keeps their table, and still starts `bin/startfsrv.sh` when `filterServerNums` is above 0, although the
program that the script starts has been gone since 4.3.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rmqlab.broker.processor import success
from rmqlab.events import StartFilterServer
from rmqlab.protocol.codes import RequestCode
from rmqlab.protocol.consumer_headers import RegisterFilterServerRequestHeader, RegisterFilterServerResponseHeader

if TYPE_CHECKING:
    from collections.abc import Callable

    from rmqlab.broker.broker_config import BrokerConfig
    from rmqlab.broker.processor import BrokerHooks, Handler, Timers
    from rmqlab.protocol.channel import Channel
    from rmqlab.protocol.command import RemotingCommand

FILTER_SERVER_MAX_IDLE_TIME_MS = 30_000
CREATE_FIRST_MS = 5_000
CREATE_PERIOD_MS = 30_000


@dataclass(slots=True)
class FilterServerInfo:
    """A filter server's address ("ip:port") and when it was heard last (epoch ms)."""

    filter_server_addr: str
    last_update_timestamp: int


class FilterServerManager:
    """Remembers filter servers by connection, and asks for those that are missing.

    Java starts a program; here `start_filter_server` is called instead, if there is one. The look every 30 s is taken
    only by a broker that was given a number of filter servers: without one there is nothing to see.
    """

    def __init__(self, config: BrokerConfig, timers: Timers, hooks: BrokerHooks) -> None:
        self._config = config
        self._hooks = hooks
        self.handlers: dict[int, Handler] = {RequestCode.REGISTER_FILTER_SERVER: self._register}
        self.filter_server_table: dict[Channel, FilterServerInfo] = {}
        self.start_filter_server: Callable[[], None] | None = None
        if config.filter_server_nums > 0:
            timers.at_fixed_rate(
                "filter servers",
                timers.started + CREATE_FIRST_MS,
                CREATE_PERIOD_MS,
                lambda _: self.create_filter_server(),
            )

    def create_filter_server(self) -> None:
        """Start as many as are missing now; those that were started and have not registered are started again."""
        missing = self._config.filter_server_nums - len(self.filter_server_table)
        for _ in range(missing):
            self._hooks.tell(StartFilterServer())
            if self.start_filter_server is not None:
                self.start_filter_server()

    def register_filter_server(self, channel: Channel, filter_server_addr: str, now: int) -> None:
        """Take in a registration; a known connection keeps the address it came with first."""
        info = self.filter_server_table.get(channel)
        if info is None:
            self.filter_server_table[channel] = FilterServerInfo(filter_server_addr, now)
        else:
            info.last_update_timestamp = now

    def _register(self, channel: Channel, command: RemotingCommand, now: int) -> RemotingCommand:
        header = command.decode_header(RegisterFilterServerRequestHeader)
        self.register_filter_server(channel, header.filter_server_addr, now)
        config = self._config
        return success(
            header=RegisterFilterServerResponseHeader(broker_name=config.broker_name, broker_id=config.broker_id)
        )

    def scan_not_active_channel(self, now: int) -> None:
        """Forget servers silent for more than 30 s, then close their connections."""
        for channel, info in list(self.filter_server_table.items()):
            if now - info.last_update_timestamp > FILTER_SERVER_MAX_IDLE_TIME_MS:
                del self.filter_server_table[channel]
                channel.close()

    def do_channel_close_event(self, channel: Channel) -> None:
        """Forget the server on a closed connection."""
        self.filter_server_table.pop(channel, None)

    def filter_servers(self) -> list[str]:
        """The addresses of all servers, as the broker registers them with the name server."""
        return [info.filter_server_addr for info in self.filter_server_table.values()]
