"""Who is connected: producers by group, and the scan for connections that fell silent.

Source: `ClientHousekeepingService`, `ProducerManager`; rows H-26..H-28, H-41 and H-42.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from rmqlab.events import Expired, Register, Unregister
from rmqlab.protocol.channel import Channel

if TYPE_CHECKING:
    from rmqlab.broker.processor import BrokerHooks, Timers
    from rmqlab.rules import Rules


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
        """Whether both stand for the same connection."""
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


class ProducerManager:
    """Registers producers and forgets them; no client is notified. A group emptied by a scan or a close stays."""

    def __init__(self, rules: Rules, hooks: BrokerHooks) -> None:
        self._hooks = hooks
        self.group_channel_table: dict[str, dict[Channel, ClientChannelInfo]] = {}
        self.client_channel_table: dict[str, Channel] = {}
        self._rules = rules
        self._turn = 0

    def register_producer(self, group: str, client_channel_info: ClientChannelInfo, now: int) -> None:
        """Take in one producer group of a heartbeat: a new connection is put in, a known one refreshed."""
        table = self.group_channel_table.setdefault(group, {})
        known = table.get(client_channel_info.channel)
        if known is not None:
            known.last_update_timestamp = now
            return
        table[client_channel_info.channel] = client_channel_info
        self.client_channel_table[client_channel_info.client_id] = client_channel_info.channel
        self._hooks.tell(Register(group, client_channel_info.client_id))

    def unregister_producer(self, group: str, client_channel_info: ClientChannelInfo) -> None:
        """Forget a producer that says goodbye; its group goes with the last one."""
        table = self.group_channel_table.get(group)
        if not table:
            return
        removed = table.pop(client_channel_info.channel, None)
        self.client_channel_table.pop(client_channel_info.client_id, None)
        if removed is not None:
            self._hooks.tell(Unregister(group, removed.client_id))
        if not table:
            del self.group_channel_table[group]

    def do_channel_close_event(self, channel: Channel) -> None:
        """Forget every producer on a closed connection."""
        for group, table in self.group_channel_table.items():
            removed = table.pop(channel, None)
            if removed is not None:
                self.client_channel_table.pop(removed.client_id, None)
                self._hooks.tell(Unregister(group, removed.client_id))

    def scan_not_active_channel(self, now: int) -> None:
        """Forget connections silent for more than 120 s, then close them."""
        rules = self._rules
        for group, table in self.group_channel_table.items():
            for channel, info in list(table.items()):
                if rules.is_expired(now, info.last_update_timestamp, rules.channel_expired_ms):
                    table.pop(channel, None)
                    self.client_channel_table.pop(info.client_id, None)
                    self._hooks.tell(Expired(group, info.client_id))
                    channel.close()

    def find_channel(self, client_id: str) -> Channel | None:
        """The connection of a producer, or None."""
        return self.client_channel_table.get(client_id)

    def get_available_channel(self, group: str | None) -> Channel | None:
        """A connection of a group, each in its turn, to ask about a transaction; None when there is none.

        Java passes over connections that are closed or clogged; here a connection in the table is neither.
        """
        channels = list(self.group_channel_table.get(group, ())) if group is not None else []
        if not channels:
            return None
        self._turn += 1
        return channels[self._turn % len(channels)]
