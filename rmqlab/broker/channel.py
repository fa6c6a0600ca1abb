"""What a broker sees of a client's connection."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from rmqlab.protocol.command import RemotingCommand


class Channel(Protocol):
    """One connection of a client. Its identity is the key of the client tables, as Netty's channel is in Java."""

    @property
    def remote_address(self) -> str:
        """The client's address, ip:port."""

    def send(self, command: RemotingCommand) -> None:
        """Send an answer or a request to the client; nothing happens when the connection is closed."""

    def close(self) -> None:
        """Close the connection."""
