"""The virtual network: servers, connections, delays in order, cuts and freezes.

A connection carries frames both ways; each direction keeps its order, as TCP does. How long a frame takes is a
choice among the delays of its link, so an explorer can move it. A *cut* resets the connection and both sides learn of
it; a *freeze* swallows every frame from then on and nobody is told, as a paused process or a dead router would.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from rmqlab.runtime.scheduler import US_PER_MS

if TYPE_CHECKING:
    from collections.abc import Callable

    from rmqlab.protocol.command import RemotingCommand
    from rmqlab.runtime.lanes import Lanes
    from rmqlab.runtime.virtual import VirtualNode, VirtualTime

CHANNEL_IDLE_US = (
    120_000 * US_PER_MS
)  # both sides close a channel without traffic (4.8.0 NettyClientConfig/NettyServerConfig)
C2S, S2C = "c2s", "s2c"


@dataclass(frozen=True, slots=True)
class Timing:
    """What the rules leave open about time; the first of each is the nominal one.

    ``delays_us``: how long a frame takes on a link. ``wake_us``: how long a server takes to begin work that is due at
    once; that is a held pull which a message has woken, and in 4.8.0 the thread that builds the consume queue and a
    thread of the pull pool stand between the two. ``uptime_ms``: how long the broker had been up when the run began,
    which sets the phase of its timers. ``shutdown_ms``: how long a client takes to end its threads (recorded
    "stopping" to "stopped": 6 to 8 ms). ``consume_ms``: how long a listener takes; the client's next pull has left by
    then or not, and carries another offset to commit. ``spacing_us`` lies at least between two frames of one direction:
    with 0 a notification and an answer come at one instant, and a client's two rounds of rebalance fall into one. With
    ``open_orders`` frames and wake-ups take no time and their order is a choice (``lanes``); ``lag_us`` is how long a
    frame may then be under way when a timer is due.
    """

    delays_us: tuple[int, ...] = (1_000,)
    wake_us: tuple[int, ...] = (500,)
    uptime_ms: tuple[int, ...] = (3_700,)
    shutdown_ms: tuple[int, ...] = (5,)
    consume_ms: tuple[int, ...] = (0,)
    spacing_us: int = 1
    open_orders: bool = False
    lag_us: int = 0


class Channel(Protocol):
    """What a server sees of a client: Netty's channel. Identity is the key."""

    @property
    def remote_address(self) -> str:
        """Address of the client, ip:port."""

    def send(self, command: RemotingCommand) -> None:
        """Send a frame to the client: a late answer or a request of the server's own."""

    def close(self) -> None:
        """Close the connection from the server's side."""


class Server(Protocol):
    """A broker or name server: called with the time, answers at once or later through the channel."""

    def handle(self, channel: Channel, command: RemotingCommand, now: int) -> RemotingCommand | None:
        """Serve one request at ``now`` (epoch ms)."""

    def on_channel_close(self, channel: Channel, now: int) -> None:
        """A connection is gone."""

    def next_timer(self) -> int | None:
        """Epoch ms of the next due timer."""

    def run_timers(self, now: int) -> None:
        """Run the timers due at or before ``now`` (epoch ms)."""


class VirtualServer:
    """A server at an address of the virtual network, with a clock of its own (``skew_ms``)."""

    __slots__ = ("_armed_us", "_epoch_us", "_scheduler", "_world", "address", "connections", "handler", "skew_ms", "up")

    def __init__(self, world: VirtualTime, address: str, handler: Server, epoch_us: int, skew_ms: int = 0) -> None:
        self._world = world
        self._scheduler = world.scheduler
        self._epoch_us = epoch_us
        self._armed_us: int | None = None
        self.address = address
        self.handler = handler
        self.skew_ms = skew_ms
        self.up = True
        self.connections: dict[int, Connection] = {}
        self.arm_timer()

    def now(self) -> int:
        """Epoch ms on this server's clock."""
        return (self._epoch_us + self._scheduler.now_us) // US_PER_MS + self.skew_ms

    def receive(self, connection: Connection, command: RemotingCommand) -> None:
        """A frame arrived: serve it, send the answer if there is one now."""
        answer = self.handler.handle(connection, command, self.now())
        if answer is not None and not command.is_oneway:
            connection.send(answer.reply_to(command))
        self.arm_timer()

    def closed(self, connection: Connection) -> None:
        """A connection of this server is gone."""
        if self.connections.pop(connection.number, None) is not None:
            self.handler.on_channel_close(connection, self.now())
            self.arm_timer()

    def arm_timer(self) -> None:
        """Put the handler's next timer on the heap unless an earlier one is there already."""
        due = self.handler.next_timer()
        if due is None:
            return
        now_us = self._scheduler.now_us
        due_us = (due - self.skew_ms) * US_PER_MS - self._epoch_us
        if due_us <= now_us:
            if self._world.lanes is not None:
                self._wake_in_lane(self._world.lanes)
                return
            due_us = now_us + self._world.wake_delay_us(self.address)
        if self._armed_us is None or due_us < self._armed_us:
            self._armed_us = due_us
            self._scheduler.at(due_us, self._timer, due_us)

    def _wake_in_lane(self, lanes: Lanes) -> None:
        lane = (self.address, "wake")
        if not lanes.lanes.get(lane):
            lanes.post(lane, "wake-up", self._woken, server=self.address)

    def _woken(self) -> None:
        if self.up:
            self.handler.run_timers(self.now())
            self.arm_timer()

    def _timer(self, due_us: int) -> None:
        if due_us != self._armed_us:
            return
        self._armed_us = None
        if self.up:
            self.handler.run_timers(self.now())
            self.arm_timer()


class Connection:
    """One TCP connection between a node and a server; it is the server's ``Channel``.

    ``number`` counts the connections of a run. ``on_frame`` of the node's world sees every frame as it is sent.
    """

    __slots__ = (
        "_last_arrival_us",
        "_scheduler",
        "_touched_us",
        "abandoned",
        "closed",
        "frozen",
        "node",
        "number",
        "remote_address",
        "server",
        "timing",
    )

    def __init__(
        self, number: int, node: VirtualNode, server: VirtualServer, remote_address: str, timing: Timing
    ) -> None:
        self._scheduler = node.world.scheduler
        self._last_arrival_us = {C2S: 0, S2C: 0}
        self._touched_us = self._scheduler.now_us
        self.number = number
        self.node = node
        self.server = server
        self.remote_address = remote_address
        self.timing = timing
        self.frozen = False
        self.closed = False
        self.abandoned = False
        server.connections[number] = self
        self._scheduler.at(self._touched_us + CHANNEL_IDLE_US, self._idle_check)

    def __repr__(self) -> str:
        """Number and ends, without an address in memory."""
        return f"Connection({self.number}, {self.node.name} -> {self.server.address})"

    def _carry(self, direction: str, command: RemotingCommand, arrive: Callable[[RemotingCommand], None]) -> None:
        scheduler, world = self._scheduler, self.node.world
        self._touched_us = scheduler.now_us
        if self.frozen:
            return
        if world.lanes is not None:
            if world.on_frame is not None:
                world.on_frame(self, direction, command, scheduler.now_us, scheduler.now_us)
            world.lanes.carry(self, direction, command, arrive)
            return
        delays = self.timing.delays_us
        index = (
            world.chooser.choose(f"delay {self.node.name} {direction} {command.code}", len(delays))
            if len(delays) > 1
            else 0
        )
        due = max(scheduler.now_us + delays[index], self._last_arrival_us[direction] + self.timing.spacing_us)
        self._last_arrival_us[direction] = due
        if world.on_frame is not None:
            world.on_frame(self, direction, command, scheduler.now_us, due)
        scheduler.at(due, arrive, command)

    def send_to_server(self, command: RemotingCommand) -> None:
        """Client to server."""
        self._carry(C2S, command, self._at_server)

    def send(self, command: RemotingCommand) -> None:
        """Server to client."""
        if not self.closed:
            self._carry(S2C, command, self._at_client)

    def _at_server(self, command: RemotingCommand) -> None:
        if not (self.closed or self.frozen) and self.server.up:
            self._touched_us = self._scheduler.now_us
            self.server.receive(self, command)

    def _at_client(self, command: RemotingCommand) -> None:
        if not (self.closed or self.frozen or self.abandoned):
            self._touched_us = self._scheduler.now_us
            self.node.receive(self, command)

    def close(self) -> None:
        """The server closes, or the network resets: both sides learn of it now (a frozen one: the server only)."""
        if self.closed:
            return
        self.closed = True
        if not self.frozen:
            self.node.lost(self, fail_pending=False)
        self.server.closed(self)

    def close_by_client(self) -> None:
        """The client closes; a frozen connection leaves the server in the dark."""
        if self.closed or self.abandoned:
            return
        self.abandoned = True
        self.node.lost(self, fail_pending=True)
        if not self.frozen:
            # The goodbye must not overtake frames already on their way to the server.
            lanes = self.node.world.lanes
            if lanes is not None:
                lanes.goodbye(self, Connection._goodbye)
                return
            self._scheduler.at(max(self._scheduler.now_us, self._last_arrival_us[C2S]), self._goodbye)

    def _goodbye(self) -> None:
        if not self.closed:
            self.closed = True
            self.server.closed(self)

    def _idle_check(self) -> None:
        if self.closed:
            return
        due = self._touched_us + CHANNEL_IDLE_US
        if due > self._scheduler.now_us:
            self._scheduler.at(due, self._idle_check)
            return
        self.closed = True
        self.node.lost(self, fail_pending=True)
        self.server.closed(self)
