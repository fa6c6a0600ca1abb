"""Servers of the virtual network: frames and timers reach a broker or name server, and its reput thread may lag."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rmqlab.protocol.channel import S2C
from rmqlab.sim.network import Hold, Machine, Network, VirtualConnection
from rmqlab.sim.scheduler import US_PER_MS

if TYPE_CHECKING:
    from collections.abc import Callable

    from rmqlab.broker.broker import Broker
    from rmqlab.broker.pop.pop_message_processor import PopMessageProcessor
    from rmqlab.protocol.channel import Server
    from rmqlab.protocol.command import RemotingCommand
    from rmqlab.sim.frame_queues import FrameQueues

REPUT = "reput"
STEP_US = 300  # a pop that finds something takes 1 to 2 ms from frame to answer, in five steps or more


class VirtualServer(Machine):
    """`handler` at `address` ("ip:port"); `epoch_us` is what an exact clock shows when the run begins."""

    def __init__(self, network: Network, address: str, handler: Server, epoch_us: int, skew_ms: int = 0) -> None:
        super().__init__(address, skew_ms)
        self.network = network
        self._scheduler = network.scheduler
        self._epoch_us = epoch_us
        self._armed_us: int | None = None
        self.address = address
        self.handler = handler
        self.reput: LateReput | None = None
        self.pops: LatePops | None = None
        self.connections: dict[int, VirtualConnection] = {}
        self.arm_timer()

    def stop(self) -> None:
        """The process ends: clients see their connections close, and nothing listens."""
        self.up = False
        self.hold = None
        for connection in list(self.connections.values()):
            connection.closed_by_exit()
        self.connections.clear()

    def start(self, handler: Server) -> None:
        """A new process listens at this address."""
        self.handler = handler
        self.reput = self.pops = None
        self.up = True
        self._armed_us = None
        self.arm_timer()

    def pause(self, for_us: int) -> None:
        """Do nothing for a while; which comes first afterwards, frames or timers, is a choice."""
        timers_first = self.network.chooser.choose(f"{self.address}: frames or timers first after a pause", 2)
        self.hold = self.hold or Hold(self._scheduler)
        self.hold.pause(for_us, priority=timers_first)

    def set_clock(self, by_ms: int) -> None:
        """Move this server's clock; its handler's timers follow (see the handler)."""
        self.skew_ms += by_ms
        self._armed_us = None
        self.arm_timer()

    def now(self) -> int:
        """Epoch ms on this server's clock."""
        return (self._epoch_us + self._scheduler.now_us) // US_PER_MS + self.skew_ms

    def receive(self, connection: VirtualConnection, command: RemotingCommand) -> None:
        """A frame arrived: serve it, send the answer if there is one now."""
        now = (self._epoch_us + self._scheduler.now_us) // US_PER_MS + self.skew_ms
        answer = self.handler.handle(connection, command, now)
        if self.reput is not None:
            self.reput.look()
        if answer is not None and not connection.closed:
            connection.carry(answer, S2C)
        self.arm_timer()

    def served(self) -> None:
        """The handler did something by itself: what it stored is looked at, and its next timer is set."""
        if self.reput is not None:
            self.reput.look()
        self.arm_timer()

    def lost(self, connection: VirtualConnection, *, fail_pending: bool = False) -> None:
        """A connection of this server is gone."""
        if self.hold is not None and self.hold.takes(self.lost, connection):
            return
        if self.connections.pop(connection.number, None) is not None:
            self.handler.on_channel_close(connection, self.now())
            self.arm_timer()

    def arm_timer(self) -> None:
        """Put the handler's next timer on the heap unless an earlier one is there already."""
        due = self.handler.next_timer()
        if due is None:
            return
        now_us, network = self._scheduler.now_us, self.network
        due_us = (due - self.skew_ms) * US_PER_MS - self._epoch_us
        if due_us <= now_us:
            if network.lanes is not None:
                self._wake_in_lane(network.lanes)
                return
            # how long it takes to begin work that is due at once
            delays = network.timing.wake_us
            delay = delays[0] if len(delays) == 1 else network.chooser.among(f"wake {self.address}", delays)
            due_us = now_us + delay
        if self._armed_us is None or due_us < self._armed_us:
            self._armed_us = due_us
            self._scheduler.at(due_us, self._timer, due_us)

    def _wake_in_lane(self, lanes: FrameQueues) -> None:
        lane = (self.address, "wake")
        if not lanes.lanes.get(lane):
            lanes.post(lane, "wake-up", self._run_timers, server=self.address)

    def _run_timers(self) -> None:
        if self.hold is None or not self.hold.takes(self._run_timers):
            self._run_due()

    def _run_due(self) -> None:
        if self.up:
            self.handler.run_timers(self.now())
            self.served()

    def _timer(self, due_us: int) -> None:
        if due_us != self._armed_us:
            return
        if self.hold is not None and self.hold.active:
            self._scheduler.at(self.hold.until_us, self._timer, due_us)
            return
        self._armed_us = None
        self._run_due()


class LateReput:
    """The reput thread of a broker at `server`, which lags: the store leaves to it what was put.

    `DefaultMessageStore.ReputMessageService` looks every millisecond, when its thread gets its turn. Here how
    long it takes is a choice (`Timing.reput_us`); with open orders its turn is a move like the frames.
    """

    def __init__(self, server: VirtualServer, broker: Broker) -> None:
        self._network = server.network
        self._broker = broker
        self._server = server
        self._under_way = False
        broker.message_store.defers_dispatch = True

    def look(self) -> None:
        """A request was handled or a timer ran: there may be something new."""
        if self._under_way or not self._broker.message_store.dispatch_behind_bytes():
            return
        network, address = self._network, self._server.address
        self._under_way = True
        if network.lanes is not None:
            network.lanes.post((address, REPUT), REPUT, self._reput, server=address)
            return
        us = network.chooser.among(f"reput {address}", network.timing.reput_us)
        if us:
            network.scheduler.at(network.scheduler.now_us + us, self._reput)
        else:
            self._reput()

    def _reput(self) -> None:
        server = self._server
        self._under_way = False
        if server.reput is not self:
            return  # this broker's process has ended
        if server.hold is not None and server.hold.active:
            self._under_way = True
            self._network.scheduler.at(server.hold.until_us, self._reput)
            return
        self._broker.now = server.now()
        self._broker.message_store.dispatch()
        server.arm_timer()


class LatePops:
    """The threads of a broker at `server` that pop: each may stand still between two steps, as another goes on.

    How long is a choice (`Timing.pop_us`). While some pop holds the lock of a queue, each step of another takes
    `STEP_US` at least: who found a queue locked is woken by what is in it, and comes again and again until it is not.
    """

    def __init__(self, server: VirtualServer, broker: Broker, processor: PopMessageProcessor) -> None:
        self._network = server.network
        self._broker = broker
        self._server = server
        self._processor = processor
        processor.pause = self.pause

    def pause(self, go_on: Callable[[], None]) -> bool:
        """Whether a thread stands still now; then `go_on` is called later."""
        network = self._network
        us = network.chooser.among(f"pop {self._server.address}", network.timing.pop_us)
        us = us or (STEP_US if self._processor.locked else 0)
        if us:
            network.scheduler.at(network.scheduler.now_us + us, self._go_on, go_on)
        return us > 0

    def _go_on(self, go_on: Callable[[], None]) -> None:
        server = self._server
        if server.hold is not None and server.hold.takes(self._go_on, go_on):
            return
        if server.pops is self:  # else this broker's process has ended
            self._broker.now = server.now()
            go_on()
            server.served()
