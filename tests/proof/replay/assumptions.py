"""What a pass over a recording may assume: orders, and what later answers alone can tell."""

from __future__ import annotations

from dataclasses import dataclass

from rmqlab_tools.recordings.exchange import Domain, Exchange


@dataclass(frozen=True, slots=True)
class OrderChoice:
    """Two requests under way at the same moment on the same part of the broker: `second` may have been the first."""

    domain: Domain
    first: Exchange
    second: Exchange

    @property
    def key(self) -> tuple[int, ...]:
        """The same in every pass."""
        return self.first.number, self.second.number


@dataclass(frozen=True, slots=True)
class TornHeartbeat:
    """`second`, an older subscription, was compared with what was held before `first`, and put after it.

    4.8.0 reads the table and writes it without a lock (`ConsumerGroupInfo.updateSubscription`).
    """

    first: Exchange
    second: Exchange

    @property
    def key(self) -> tuple[int, ...]:
        """The same in every pass, and no order's."""
        return self.first.number, self.second.number, 0


@dataclass(frozen=True, slots=True)
class Lost:
    """A request that got no answer before its connection ended, and never came to the broker."""

    request: Exchange

    @property
    def key(self) -> tuple[int, ...]:
        """The same in every pass, and no message's."""
        return -1, self.request.number


@dataclass(frozen=True, slots=True)
class Stall:
    """The reput thread stands still before the message at a commit log offset, until an answer shows it or a later one.

    At the latest it goes on `STALL_MS` after that message was stored.
    """

    at: int

    @property
    def key(self) -> tuple[int, ...]:
        """The same in every pass."""
        return (self.at,)


@dataclass(frozen=True, slots=True)
class PopWay:
    """How a pop went about that its answer leaves open: one of the queues it may have begun with, early or late looks.

    `way` numbers them (`PopRequests`); `LATE` is that of a pop which found nothing, and waits.
    """

    request: Exchange
    way: int

    @property
    def key(self) -> tuple[int, ...]:
        """The same in every pass, and no other's."""
        return -2, self.request.number, self.way


Assumption = OrderChoice | TornHeartbeat | Lost | Stall | PopWay
