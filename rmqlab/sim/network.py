"""The virtual network: connections between machines, delays in order, cuts and freezes.

A connection carries frames both ways; each direction keeps its order, as TCP does. How long a frame takes is a choice
among the delays of its link, so an explorer can move it. A *cut* resets the connection and both sides learn of it; a
*freeze* swallows every frame from then on and notifies no side, as a dead router would; one that ends delivers what was
under way. A machine that is *paused* does nothing, and what reaches it waits (`Hold`).
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from rmqlab.protocol.channel import C2S, S2C
from rmqlab.protocol.codes import RequestCode
from rmqlab.protocol.command import RemotingCommand
from rmqlab.scenario.schedule import Chooser, Timing
from rmqlab.sim.frame_queues import GOODBYE, NO_FRAME, FrameQueues
from rmqlab.sim.scheduler import US_PER_MS, Scheduler

if TYPE_CHECKING:
    from collections.abc import Callable


# Both sides close a channel without traffic (`NettyClientConfig`, `NettyServerConfig`).
CHANNEL_IDLE_US = 120_000 * US_PER_MS


@dataclass(slots=True)
class LinkFaults:
    """What is wrong with a client's links: `slow_us` more for every frame, heartbeats still to be lost."""

    slow_us: int = 0
    heartbeats_to_lose: int = 0

    def loses(self, direction: str, command: RemotingCommand) -> bool:
        """Whether this frame never arrives; a lost heartbeat is counted."""
        if direction != C2S or command.code != RequestCode.HEART_BEAT or not self.heartbeats_to_lose:
            return False
        self.heartbeats_to_lose -= 1
        return True


class Hold:
    """What waits for a machine that is paused. `until_us` is when it goes on (us since the run began)."""

    def __init__(self, scheduler: Scheduler) -> None:
        self._scheduler = scheduler
        self.held: deque[tuple[Callable[..., None], tuple[Any, ...]]] = deque()
        self.until_us = 0

    @property
    def active(self) -> bool:
        """Whether the pause goes on."""
        return self._scheduler.now_us < self.until_us

    def pause(self, for_us: int, *, priority: int = 0) -> None:
        """Begin a pause, or make one longer; `priority` is that of going on (the scheduler's)."""
        self.until_us = max(self.until_us, self._scheduler.now_us + for_us)
        self._scheduler.at(self.until_us, self._go_on, priority=priority)

    def takes(self, action: Callable[..., None], *arguments: Any) -> bool:
        """Keep an action for later if there is a pause, or if others that were kept have not had their turn."""
        if not (self.held or self.active):
            return False
        self.held.append((action, arguments))
        return True

    def _go_on(self) -> None:
        if self.active:
            return
        waiting, self.held = self.held, deque()
        for action, arguments in waiting:
            action(*arguments)


class Network:
    """What all machines share: the heap, the chooser that answers choice points, delays, open orders.

    `timing` gives the delays of every connection; `lanes` are there with open orders.
    `on_frame(connection, direction, command, sent_us, due_us)` sees each frame.
    """

    def __init__(self, chooser: Chooser | None = None, timing: Timing | None = None) -> None:
        self.scheduler = Scheduler()
        self.chooser = chooser or Chooser()
        self.timing = timing or Timing()
        self.lanes = FrameQueues(self.scheduler, self.chooser, self.timing.lag_us) if self.timing.open_orders else None
        self.on_frame: Callable[[VirtualConnection, str, RemotingCommand, int, int], None] | None = None


class Machine:
    """One end of connections, a client's node or a server, with a clock that may be off by `skew_ms`."""

    def __init__(self, name: str, skew_ms: int) -> None:
        self.name = name
        self.skew_ms = skew_ms
        self.up = True
        self.hold: Hold | None = None
        self.faults: LinkFaults | None = None
        self.is_behind_proxy = False

    def receive(self, connection: VirtualConnection, command: RemotingCommand) -> None:
        """A frame arrived."""
        raise NotImplementedError

    def lost(self, connection: VirtualConnection, *, fail_pending: bool = False) -> None:
        """A connection is gone; `fail_pending`: so are the requests that wait for an answer on it."""
        raise NotImplementedError


@dataclass(slots=True, eq=False, repr=False)
class VirtualConnection:
    """One TCP connection between a node and a server; it is the server's `Channel`.

    `number` counts the connections of a run.
    """

    number: int
    network: Network
    node: Machine
    server: Machine
    remote_address: str
    frozen: bool = False
    passes_closes: bool = True
    closed: bool = False
    abandoned: bool = False
    # What a freeze that will end holds back: frames that were under way, and frames sent since.
    _arrived: list[tuple[RemotingCommand, str]] | None = None
    _sent: list[tuple[RemotingCommand, str]] = field(default_factory=list)
    _last_arrival_us: dict[str, int] = field(default_factory=lambda: {C2S: 0, S2C: 0})
    _scheduler: Scheduler = field(init=False)
    _touched_us: int = field(init=False)

    def __post_init__(self) -> None:
        self._scheduler = self.network.scheduler
        self._touched_us = self._scheduler.now_us
        self._scheduler.at(self._touched_us + CHANNEL_IDLE_US, self._idle_check)

    def __repr__(self) -> str:
        """Number and ends, without an address in memory."""
        return f"Connection({self.number}, {self.node.name} -> {self.server.name})"

    def send(self, command: RemotingCommand) -> None:
        """Server to client."""
        if not self.closed:
            self.carry(command, S2C)

    def carry(self, command: RemotingCommand, direction: str) -> None:
        """Put a frame on its way, to the server (`C2S`) or to the client (`S2C`)."""
        network, faults, now_us = self.network, self.node.faults, self._scheduler.now_us
        self._touched_us = now_us
        if self.frozen:
            if self._arrived is not None:
                self._sent.append((command, direction))
            return
        more_us = 0
        if faults is not None:
            if faults.loses(direction, command):
                return
            more_us = faults.slow_us
        last_us = self._last_arrival_us[direction]
        if network.lanes is not None:
            if network.on_frame is not None:
                network.on_frame(self, direction, command, now_us, now_us)
            due = max(now_us + more_us, last_us)
            if due > now_us:
                self._last_arrival_us[direction] = due
                self._scheduler.at(due, self._post, command, direction, network.lanes)
            else:
                self._post(command, direction, network.lanes)
            return
        delays = network.timing.delays_us
        delay = delays[0]
        if len(delays) > 1:
            delay = network.chooser.among(f"delay {self.node.name} {direction} {command.code}", delays)
        due = max(now_us + delay + more_us, last_us + network.timing.spacing_us)
        self._last_arrival_us[direction] = due
        if network.on_frame is not None:
            network.on_frame(self, direction, command, now_us, due)
        self._scheduler.at(due, self._arrive, command, direction)

    def _post(self, command: RemotingCommand, direction: str, lanes: FrameQueues) -> None:
        """Put a frame at the end of its lane."""
        name, code, is_answer, upward = self.node.name, int(command.code), command.is_response, direction == C2S
        if is_answer:
            code, _ = lanes.pending.pop((self.number, S2C if upward else C2S, command.opaque), (NO_FRAME, 0))
        elif not command.is_oneway:
            lanes.pending[self.number, direction, command.opaque] = (code, self._scheduler.now_us)
        text = f"{name}{'>' if upward else '<'}{'re ' if is_answer else ''}{code}"
        lane, node = (self.number, direction), "" if upward else name
        lanes.post(lane, text, self._arrive, command, direction, code=code, node=node, server=self.server.name)

    def _arrive(self, command: RemotingCommand, direction: str) -> None:
        machine, gone = (self.server, not self.server.up) if direction == C2S else (self.node, self.abandoned)
        if machine.hold is not None and machine.hold.takes(self._arrive, command, direction):
            return
        if self.frozen:
            if self._arrived is not None:
                self._arrived.append((command, direction))
        elif not (self.closed or gone):
            self._touched_us = self._scheduler.now_us
            machine.receive(self, command)

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
        return [command for command, _ in (*(self._arrived or ()), *self._sent)]

    def _thaw(self) -> None:
        if not self.frozen:
            return
        arrived, sent = self._arrived or [], self._sent
        self.frozen, self._arrived, self._sent = False, None, []
        if self.closed:
            self.node.lost(self)
            return
        for command, direction in arrived:
            self._arrive(command, direction)
        for command, direction in sent:
            self.carry(command, direction)
        if self.abandoned:
            self._say_goodbye()

    def close(self) -> None:
        """The server closes, or the network resets: both sides learn of it now (one that will thaw: the server only).

        The server's handler hears of it when what it does at present is done: Netty closes asynchronously (row H-43).
        """
        if not self.closed:
            self.closed_by_exit()
            self._scheduler.at(self._scheduler.now_us, self.server.lost, self)

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
                self.node.lost(self)

    def _passes_close(self) -> bool:
        return not self.frozen or self.passes_closes

    def _say_goodbye(self) -> None:
        """The goodbye must not overtake frames already on their way to the server."""
        now_us, last_us, lanes = self._scheduler.now_us, self._last_arrival_us[C2S], self.network.lanes
        if lanes is None:
            self._scheduler.at(max(now_us, last_us), self._goodbye)
        elif last_us > now_us:
            self._scheduler.at(last_us, self._post_goodbye, lanes)
        else:
            self._post_goodbye(lanes)

    def _post_goodbye(self, lanes: FrameQueues) -> None:
        """With open orders the server learns of it after the frames that left before."""
        lane, text = (self.number, C2S), f"{self.node.name}>goodbye"
        lanes.post(lane, text, VirtualConnection._goodbye, self, code=GOODBYE, server=self.server.name)

    def _goodbye(self) -> None:
        if self.server.hold is not None and self.server.hold.takes(self._goodbye):
            return
        if not self.closed:
            self.closed = True
            self.server.lost(self)

    def _idle_check(self) -> None:
        if self.closed:
            return
        due = self._touched_us + CHANNEL_IDLE_US
        if due > self._scheduler.now_us:
            self._scheduler.at(due, self._idle_check)
            return
        self.closed = True
        self.node.lost(self, fail_pending=True)
        self.server.lost(self)
