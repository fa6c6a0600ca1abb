"""Clients that fall silent and connections that end (4.8.0 `ClientHousekeepingService`, rows H-40 and H-44)."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rmqlab.broker.broker import Broker
    from rmqlab.protocol.channel import Channel

TIMER = "client housekeeping"


class ClientHousekeepingService:
    """Scans every 10 s, the first time 10 s after the start: producers, consumers, filter servers, in this order.

    A connection that closes, breaks or idles takes the short way, at once and in the same order. A new connection
    means nothing yet: a client exists from its first heartbeat.
    """

    def __init__(self, broker: Broker) -> None:
        self._broker = broker
        self.set_interval(broker.rules.scan_period_ms)

    def set_interval(self, interval_ms: int) -> None:
        """Scan every `interval_ms` from now on; 10 s is a constant in 4.8.0."""
        timers, now = self._broker.timers, self._broker.now
        timers.cancel(TIMER)
        timers.at_fixed_rate(TIMER, now + interval_ms, interval_ms, self.scan_exception_channel)

    def scan_exception_channel(self, now: int) -> None:
        """Close and forget connections that no heartbeat has refreshed; the timer calls it."""
        self._broker.producer_manager.scan_not_active_channel(now)
        self._broker.consumer_manager.scan_not_active_channel(now)
        self._broker.filter_server_manager.scan_not_active_channel(now)

    def on_channel_connect(self, channel: Channel, now: int) -> None:
        """A client connected: nothing happens."""

    def on_channel_close(self, channel: Channel, now: int) -> None:
        """A connection was closed."""
        self._forget(channel)

    def on_channel_exception(self, channel: Channel, now: int) -> None:
        """A connection broke."""
        self._forget(channel)

    def on_channel_idle(self, channel: Channel, now: int) -> None:
        """Nothing was read or written on a connection for 120 s."""
        self._forget(channel)

    def _forget(self, channel: Channel) -> None:
        self._broker.producer_manager.do_channel_close_event(channel)
        self._broker.consumer_manager.do_channel_close_event(channel)
        self._broker.filter_server_manager.do_channel_close_event(channel)
