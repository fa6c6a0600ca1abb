"""The virtual network: servers, connections, delays in order, cuts and freezes.

A connection carries frames both ways; each direction keeps its order, as TCP does. How long a frame takes is a
choice among the delays of its link, so an explorer can move it. A *cut* resets the connection and both sides learn of
it; a *freeze* swallows every frame from then on and nobody is told, as a dead router would; one that ends delivers what
was under way. A client or server that is *paused* does nothing, and what reaches it waits (``Hold``).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rmqlab.protocol.codes import RequestCode
from rmqlab.runtime.hold import Hold
from rmqlab.runtime.scheduler import US_PER_MS

if TYPE_CHECKING:
    from collections.abc import Callable

    from rmqlab.protocol.channel import Server
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
    then or not, and carries another offset to commit. ``start_ms``: how long a client takes from the stamp of its
    subscription to its first frame. ``thread_us``: how late a client's thread goes on: the rebalance service that was
    woken, whoever waited for an answer (but pulls), a pool's thread that begins. ``reput_us``: how long a message is in
    the commit log before the reput thread enters it, and all behind it, in its queue. ``spacing_us`` lies at least
    between two frames of one direction: with 0 a notification and an answer come at one instant, and a client's two
    rounds of rebalance fall into one. With ``open_orders`` frames and wake-ups take no time and their order is a choice
    (``lanes``), and so it is with threads and the reput thread if they have more than one time; ``lag_us`` is how long
    a frame may then be under way when a timer is due.
    """

    delays_us: tuple[int, ...] = (1_000,)
    wake_us: tuple[int, ...] = (500,)
    uptime_ms: tuple[int, ...] = (3_700,)
    shutdown_ms: tuple[int, ...] = (5,)
    consume_ms: tuple[int, ...] = (0,)
    start_ms: tuple[int, ...] = (0,)
    thread_us: tuple[int, ...] = (0,)
    reput_us: tuple[int, ...] = (0,)
    spacing_us: int = 1
    open_orders: bool = False
    lag_us: int = 0


@dataclass(slots=True)
class LinkFaults:
    """What is wrong with a client's links: ``slow_us`` more for every frame, heartbeats still to be lost."""

    slow_us: int = 0
    heartbeats_to_lose: int = 0

    def loses(self, direction: str, command: RemotingCommand) -> bool:
        """Whether this frame never arrives; a lost heartbeat is counted."""
        if direction != C2S or command.code != RequestCode.HEART_BEAT or not self.heartbeats_to_lose:
            return False
        self.heartbeats_to_lose -= 1
        return True


class VirtualServer:
    """A server at an address of the virtual network, with a clock of its own (``skew_ms``)."""

    __slots__ = (
        "_armed_us",
        "_epoch_us",
        "_scheduler",
        "_world",
        "address",
        "connections",
        "handler",
        "hold",
        "skew_ms",
        "up",
    )

    def __init__(self, world: VirtualTime, address: str, handler: Server, epoch_us: int, skew_ms: int = 0) -> None:
        self._world = world
        self._scheduler = world.scheduler
        self._epoch_us = epoch_us
        self._armed_us: int | None = None
        self.address = address
        self.handler = handler
        self.skew_ms = skew_ms
        self.up = True
        self.hold: Hold | None = None
        self.connections: dict[int, Connection] = {}
        self.arm_timer()

    def stop(self) -> None:
        """The process ends: clients see their connections close, and nobody listens."""
        self.up = False
        self.hold = None
        for connection in list(self.connections.values()):
            connection.closed_by_exit()
        self.connections.clear()

    def start(self, handler: Server) -> None:
        """A new process listens at this address."""
        self.handler = handler
        self.up = True
        self._armed_us = None
        self.arm_timer()

    def pause(self, for_us: int) -> None:
        """Do nothing for a while; which comes first afterwards, frames or timers, is a choice."""
        timers_first = self._world.chooser.choose(f"{self.address}: frames or timers first after a pause", 2)
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

    def receive(self, connection: Connection, command: RemotingCommand) -> None:
        """A frame arrived: serve it, send the answer if there is one now."""
        answer = self.handler.handle(connection, command, self.now())
        if answer is not None and not command.is_oneway:
            connection.send(answer.reply_to(command))
        self.arm_timer()

    def closed(self, connection: Connection) -> None:
        """A connection of this server is gone."""
        if self.hold is not None and self.hold.takes(self.closed, connection):
            return
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
        if self.hold is not None and self.hold.takes(self._woken):
            return
        if self.up:
            self.handler.run_timers(self.now())
            self.arm_timer()

    def _timer(self, due_us: int) -> None:
        if due_us != self._armed_us:
            return
        if self.hold is not None and self.hold.active:
            self._scheduler.at(self.hold.until_us, self._timer, due_us)
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
        "_arrived",
        "_last_arrival_us",
        "_scheduler",
        "_sent",
        "_touched_us",
        "abandoned",
        "closed",
        "frozen",
        "node",
        "number",
        "passes_closes",
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
        self.passes_closes = True
        self.closed = False
        self.abandoned = False
        # What a freeze that will end holds back: frames that were under way, and frames sent since.
        self._arrived: list[tuple[RemotingCommand, Callable[[RemotingCommand], None]]] | None = None
        self._sent: list[tuple[str, RemotingCommand, Callable[[RemotingCommand], None]]] = []
        server.connections[number] = self
        self._scheduler.at(self._touched_us + CHANNEL_IDLE_US, self._idle_check)

    def __repr__(self) -> str:
        """Number and ends, without an address in memory."""
        return f"Connection({self.number}, {self.node.name} -> {self.server.address})"

    def _carry(self, direction: str, command: RemotingCommand, arrive: Callable[[RemotingCommand], None]) -> None:
        scheduler, world, faults = self._scheduler, self.node.world, self.node.faults
        self._touched_us = scheduler.now_us
        if self.frozen:
            if self._arrived is not None:
                self._sent.append((direction, command, arrive))
            return
        more_us = 0
        if faults is not None:
            if faults.loses(direction, command):
                return
            more_us = faults.slow_us
        if world.lanes is not None:
            if world.on_frame is not None:
                world.on_frame(self, direction, command, scheduler.now_us, scheduler.now_us)
            if more_us or self._last_arrival_us[direction] > scheduler.now_us:
                due = max(scheduler.now_us + more_us, self._last_arrival_us[direction])
                self._last_arrival_us[direction] = due
                scheduler.at(due, world.lanes.carry, self, direction, command, arrive)
                return
            world.lanes.carry(self, direction, command, arrive)
            return
        delays = self.timing.delays_us
        index = (
            world.chooser.choose(f"delay {self.node.name} {direction} {command.code}", len(delays))
            if len(delays) > 1
            else 0
        )
        due = max(scheduler.now_us + delays[index] + more_us, self._last_arrival_us[direction] + self.timing.spacing_us)
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
        hold = self.server.hold
        if hold is not None and hold.takes(self._at_server, command):
            return
        if self.frozen:
            self._keep(command, self._at_server)
        elif not self.closed and self.server.up:
            self._touched_us = self._scheduler.now_us
            self.server.receive(self, command)

    def _at_client(self, command: RemotingCommand) -> None:
        hold = self.node.hold
        if hold is not None and hold.takes(self._at_client, command):
            return
        if self.frozen:
            self._keep(command, self._at_client)
        elif not (self.closed or self.abandoned):
            self._touched_us = self._scheduler.now_us
            self.node.receive(self, command)

    def _keep(self, command: RemotingCommand, arrive: Callable[[RemotingCommand], None]) -> None:
        if self._arrived is not None:
            self._arrived.append((command, arrive))

    def freeze(self, for_us: int | None = None) -> None:
        """Carry nothing from now on, or for a while; then everything held back arrives, in order.

        Frozen for good, as the recordings did it, it swallows frames, but who closes it is still noticed by the other.
        """
        self.frozen = True
        self.passes_closes = for_us is None
        if for_us is not None:
            self._arrived = self._arrived or []
            self._scheduler.at(self._scheduler.now_us + for_us, self._thaw)

    def held_back(self) -> list[RemotingCommand]:
        """The frames that a freeze holds back."""
        return [*(frame for frame, _ in self._arrived or ()), *(frame for _, frame, _ in self._sent)]

    def _thaw(self) -> None:
        if not self.frozen:
            return
        arrived, sent = self._arrived or [], self._sent
        self.frozen, self._arrived, self._sent = False, None, []
        if self.closed:
            self.node.lost(self, fail_pending=False)
            return
        for command, arrive in arrived:
            arrive(command)
        for direction, command, arrive in sent:
            self._carry(direction, command, arrive)
        if self.abandoned:
            self._say_goodbye()

    def close(self) -> None:
        """The server closes, or the network resets: both sides learn of it now (one that will thaw: the server only).

        The server's handler hears of it when what it does at present is done: Netty closes asynchronously (row H-43).
        """
        if self.closed:
            return
        self.closed = True
        if self._passes_close():
            self.node.lost(self, fail_pending=False)
        self._scheduler.at(self._scheduler.now_us, self.server.closed, self)

    def close_by_client(self) -> None:
        """The client closes; a connection that will thaw, or whose machine is gone, leaves the server in the dark."""
        if self.closed or self.abandoned:
            return
        self.abandoned = True
        self.node.lost(self, fail_pending=True)
        if self._passes_close():
            self._say_goodbye()

    def closed_by_exit(self) -> None:
        """The server's process ended: only the client is left to learn of it."""
        if not self.closed:
            self.closed = True
            if self._passes_close():
                self.node.lost(self, fail_pending=False)

    def _passes_close(self) -> bool:
        return not self.frozen or self.passes_closes

    def _say_goodbye(self) -> None:
        """The goodbye must not overtake frames already on their way to the server."""
        now_us, last_us = self._scheduler.now_us, self._last_arrival_us[C2S]
        lanes = self.node.world.lanes
        if lanes is None:
            self._scheduler.at(max(now_us, last_us), self._goodbye)
        elif last_us > now_us:
            self._scheduler.at(last_us, lanes.goodbye, self, Connection._goodbye)
        else:
            lanes.goodbye(self, Connection._goodbye)

    def _goodbye(self) -> None:
        if self.server.hold is not None and self.server.hold.takes(self._goodbye):
            return
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
