"""A name server: called with requests and the time, it holds what brokers registered (4.8.0 `NamesrvController`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rmqlab.namesrv.default_request_processor import DefaultRequestProcessor
from rmqlab.namesrv.kv_config_manager import KVConfigManager
from rmqlab.namesrv.namesrv_config import NamesrvConfig
from rmqlab.namesrv.route_info_manager import RouteInfoManager

if TYPE_CHECKING:
    from rmqlab.protocol.channel import Channel
    from rmqlab.protocol.command import RemotingCommand

SCAN_FIRST = 5_000  # ms after the start
SCAN_PERIOD = 10_000  # ms


class NameServer:
    """Routes and key-value texts. `now` is epoch ms everywhere."""

    def __init__(self, now: int, config: NamesrvConfig | None = None) -> None:
        self.config = config or NamesrvConfig()
        self.route_info_manager = RouteInfoManager()
        self.kv_config_manager = KVConfigManager()
        self._processor = DefaultRequestProcessor(self)
        self._next_scan = now + SCAN_FIRST

    def __repr__(self) -> str:
        """How many topics it knows, and the brokers that are registered."""
        routes = self.route_info_manager
        brokers = ", ".join(map(str, routes.broker_addr_table)) or "none"
        return f"<NameServer: {len(routes.topic_queue_table)} topics; brokers: {brokers}>"

    def handle(self, channel: Channel, command: RemotingCommand, now: int) -> RemotingCommand | None:
        """Process a request; None when nobody waits for the answer, or 4.8.0 gives none."""
        if command.is_response:
            return None
        response = self._processor.process(channel, command, now)
        if response is None or command.is_oneway:
            return None
        return response.reply_to(command)

    def on_channel_close(self, channel: Channel, now: int) -> None:
        """A connection is gone, broke or was idle for 120 s: the broker behind it is forgotten at once."""
        self.route_info_manager.on_channel_destroy(channel.remote_address, channel)

    def next_timer(self) -> int:
        """Return when the next scan for silent brokers is due."""
        return self._next_scan

    def run_timers(self, now: int) -> None:
        """Run the scans due at `now` or before."""
        while self._next_scan <= now:
            self.route_info_manager.scan_not_active_broker(self._next_scan)
            self._next_scan += SCAN_PERIOD
