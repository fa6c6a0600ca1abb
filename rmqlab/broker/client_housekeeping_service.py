"""What the broker remembers of a client, and when it forgets it: silence, and connections that end.

Source: `ClientChannelInfo` (row H-39), `ClientHousekeepingService` (rows H-40 and H-44).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from rmqlab.protocol.channel import Channel

if TYPE_CHECKING:
    from rmqlab.broker.timers import Timers


@dataclass(slots=True, eq=False)
class ClientChannelInfo:
    """A client's id, language and version, and when it was heard last (epoch ms).

    One heartbeat makes one of these, shared by all groups it names: what the first beat of a connection put into a
    group's table stays there, and later beats refresh its `last_update_timestamp`. Two are equal when their
    connections are the same.
    """

    channel: Channel
    client_id: str
    language: str | None
    version: int
    last_update_timestamp: int

    def __eq__(self, other: object) -> bool:
        """Tell whether both stand for the same connection."""
        return isinstance(other, ClientChannelInfo) and self.channel is other.channel

    def __hash__(self) -> int:
        """Hash by connection, in agreement with equality."""
        return hash(self.channel)


TIMER = "client housekeeping"


class ChannelManager(Protocol):
    """Remembers clients by connection."""

    def scan_not_active_channel(self, now: int) -> None:
        """Close and forget connections that were silent for too long."""

    def do_channel_close_event(self, channel: Channel) -> None:
        """Forget a connection that ended."""


class ClientHousekeepingService:
    """Scans every 10 s, the first time 10 s after the start: producers, consumers and others, in this order.

    A connection that closes, breaks or idles takes the short way, at once and in the same order. A new connection
    means nothing yet: a client exists from its first heartbeat.
    """

    def __init__(self, timers: Timers, interval_ms: int, *managers: ChannelManager) -> None:
        self.managers = list(managers)
        timers.at_fixed_rate(TIMER, timers.now + interval_ms, interval_ms, self.scan_exception_channel)

    def scan_exception_channel(self, now: int) -> None:
        """Close and forget connections that no heartbeat has refreshed; the timer calls it."""
        for manager in self.managers:
            manager.scan_not_active_channel(now)

    def on_channel_close(self, channel: Channel) -> None:
        """A connection was closed, broke, or nothing was read or written on it for 120 s."""
        for manager in self.managers:
            manager.do_channel_close_event(channel)
