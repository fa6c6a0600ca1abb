"""A reput thread that lags: a message is in the commit log, its entry in the queue comes later.

4.8.0 `DefaultMessageStore.ReputMessageService` looks every millisecond, when its thread gets its turn. Here how long it
takes is a choice (``Timing.reput_us``); with open orders its turn is a move like the frames.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rmqlab.runtime.scheduler import US_PER_MS

if TYPE_CHECKING:
    from rmqlab.broker.broker import Broker
    from rmqlab.protocol.channel import Channel
    from rmqlab.protocol.command import RemotingCommand
    from rmqlab.runtime.virtual import VirtualTime
    from rmqlab.runtime.virtual_server import VirtualServer

REPUT = "reput"


class LateReput:
    """A broker in virtual time whose store leaves what was put to the reput thread."""

    def __init__(self, world: VirtualTime, broker: Broker) -> None:
        """``server`` has to be set before the first request."""
        self._world = world
        self._broker = broker
        self._under_way = False
        self.server: VirtualServer | None = None
        broker.message_store.defers_dispatch = True

    def handle(self, channel: Channel, command: RemotingCommand, now: int) -> RemotingCommand | None:
        """As the broker; then the reput thread learns that there may be something new."""
        answer = self._broker.handle(channel, command, now)
        self._look()
        return answer

    def on_channel_close(self, channel: Channel, now: int) -> None:
        """As the broker."""
        self._broker.on_channel_close(channel, now)

    def next_timer(self) -> int | None:
        """As the broker."""
        return self._broker.next_timer()

    def run_timers(self, now: int) -> None:
        """As the broker; what was delayed is put by a timer."""
        self._broker.run_timers(now)
        self._look()

    def _look(self) -> None:
        if self._under_way or not self._broker.message_store.dispatch_behind_bytes() or self.server is None:
            return
        world, address = self._world, self.server.address
        self._under_way = True
        if world.lanes is not None:
            world.lanes.post((address, REPUT), REPUT, self._reput, server=address)
            return
        us = world.chooser.among(f"reput {address}", world.timing.reput_us)
        if us:
            world.scheduler.at(world.scheduler.now_us + us, self._reput)
        else:
            self._reput()

    def _reput(self) -> None:
        server = self.server
        self._under_way = False
        if server is None or server.handler is not self:
            return  # this broker's process has ended
        if server.hold is not None and server.hold.active:
            self._under_way = True
            self._world.scheduler.at(server.hold.until_us, self._reput)
            return
        self._broker.now = (self._world.epoch_us + self._world.scheduler.now_us) // US_PER_MS + server.skew_ms
        self._broker.message_store.dispatch_deferred()
        server.arm_timer()
