"""What a server sees of a client's connection, and what whoever carries its frames sees of a server."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from rmqlab.protocol.command import RemotingCommand


C2S, S2C = "c2s", "s2c"  # ways of a frame: to the server, to the client


class Channel(Protocol):
    """One connection of a client. Its identity is the key of the client tables, as Netty's channel is in Java."""

    @property
    def remote_address(self) -> str:
        """The client's address, ip:port."""

    def send(self, command: RemotingCommand) -> None:
        """Send an answer or a request to the client; nothing happens when the connection is closed."""

    def close(self) -> None:
        """Close the connection."""


@dataclass(slots=True, eq=False)
class LocalChannel:
    """A server's connection to a name server in its own process: nothing goes over it."""

    remote_address: str

    def send(self, command: RemotingCommand) -> None:
        """No caller waits for it."""

    def close(self) -> None:
        """The name server found the other side silent."""


class Server(Protocol):
    """A broker or name server: called with the time (epoch ms), answers at once or later through the channel."""

    def handle(self, channel: Channel, command: RemotingCommand, now: int) -> RemotingCommand | None:
        """Serve one request; None: the answer comes later, or never (no caller waits for that of a one-way request)."""

    def on_channel_close(self, channel: Channel, now: int) -> None:
        """A connection is gone."""

    def next_timer(self) -> int | None:
        """When `run_timers` wants to be called (epoch ms)."""

    def run_timers(self, now: int) -> None:
        """Run the timers due at or before `now`."""
