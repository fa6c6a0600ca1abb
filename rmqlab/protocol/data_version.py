"""The version of a table that a broker registers (4.8.0 `DataVersion`)."""

from __future__ import annotations

from rmqlab.protocol.serializable import RemotingSerializable


class DataVersion(RemotingSerializable):
    """When a table last changed (epoch ms) and how often it did."""

    timestamp: int = 0
    counter: int = 0

    def next_version(self, now: int) -> None:
        """Note a change at `now` (epoch ms)."""
        self.timestamp = now
        self.counter += 1

    def __str__(self) -> str:
        return f"DataVersion[timestamp={self.timestamp}, counter={self.counter}]"
