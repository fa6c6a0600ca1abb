"""What the broker remembers of one client on one connection (4.8.0 `ClientChannelInfo`, row H-39)."""

from __future__ import annotations

from dataclasses import dataclass

from rmqlab.protocol.channel import Channel


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
