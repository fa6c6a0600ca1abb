"""Virtual time: nodes, servers and clocks on one heap; thirty minutes pass in milliseconds, and always the same way.

`VirtualTime` is the world: a network and the machines on it. A `VirtualNode` is one client machine and offers the
`Runtime` that client code awaits. Clocks: the world begins at
`epoch_ms`; a node's clock may be off by `skew_ms`.
"""

from __future__ import annotations

from itertools import filterfalse
from operator import attrgetter
from types import coroutine
from typing import TYPE_CHECKING, Any

from rmqlab.client.runtime import PROXY_THREAD, RemotingConnectError, RemotingSendRequestError, RemotingTimeoutError
from rmqlab.protocol.channel import C2S
from rmqlab.protocol.codes import PULLS
from rmqlab.protocol.command import ONEWAY, RESPONSE
from rmqlab.sim.frame_queues import NO_FRAME
from rmqlab.sim.network import Hold, Machine, Network, VirtualConnection
from rmqlab.sim.scheduler import US_PER_MS, Sleep, Trap, VirtualEvent, VirtualTask
from rmqlab.sim.virtual_server import VirtualServer

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Generator

    from rmqlab.protocol.channel import Server
    from rmqlab.protocol.command import RemotingCommand
    from rmqlab.scenario.schedule import Chooser, Timing

FIRST_PORT = 50_000
_IS_DONE = attrgetter("done")


class VirtualTime(Network):
    """A world in virtual time; `epoch_ms` is what an exact clock shows when the run begins."""

    def __init__(self, epoch_ms: int, chooser: Chooser | None = None, timing: Timing | None = None) -> None:
        super().__init__(chooser, timing)
        self.epoch_us = epoch_ms * US_PER_MS
        self.stamps_ms = 0
        self.servers: dict[str, VirtualServer] = {}
        self.nodes: dict[str, VirtualNode] = {}
        self._connections = 0

    def now_ms(self) -> float:
        """Milliseconds since the run began."""
        return self.scheduler.now_us / US_PER_MS

    def epoch_now(self) -> int:
        """Epoch ms on an exact clock."""
        return (self.epoch_us + self.scheduler.now_us) // US_PER_MS

    def serve(self, address: str, handler: Server, skew_ms: int = 0) -> VirtualServer:
        """Put a broker or name server at `address` ("ip:port")."""
        server = VirtualServer(self, address, handler, self.epoch_us, skew_ms)
        self.servers[address] = server
        return server

    def node(self, name: str, *, ip: str = "127.0.0.1", port: int | None = None, skew_ms: int = 0) -> VirtualNode:
        """Add a client machine; its connections come from `ip` and ports counted up from `port`."""
        first = port if port is not None else FIRST_PORT + 100 * len(self.nodes)
        node = VirtualNode(self, name, ip, first, skew_ms)
        self.nodes[name] = node
        return node

    def stamped(self) -> None:
        """A client has stamped a subscription: with open orders, where the clock stands still, the next gets more."""
        if self.lanes is not None:
            self.stamps_ms = max(self.epoch_now(), self.stamps_ms) + 1

    def connect(self, node: VirtualNode, address: str) -> VirtualConnection:
        """Open a connection.

        Raises:
            RemotingConnectError: nothing listens at `address`.
        """
        server = self.servers.get(address)
        if server is None or not server.up:
            raise RemotingConnectError(address)
        self._connections += 1
        connection = VirtualConnection(self._connections, self, node, server, node.next_address())
        node.connections[address] = server.connections[connection.number] = connection
        return connection


class _Invoke(Trap):
    """Send a request and wait for its answer, the loss of the connection, or the timeout."""

    __slots__ = ("_command", "_connection", "_node", "_timeout_ms")

    def __init__(
        self, node: VirtualNode, connection: VirtualConnection, command: RemotingCommand, timeout_ms: int
    ) -> None:
        self._node = node
        self._connection = connection
        self._command = command
        self._timeout_ms = timeout_ms

    def arm(self, task: VirtualTask) -> None:
        ticket = task.ticket
        self._node.pending[self._command.opaque] = (self._connection, task, ticket)
        scheduler = self._node.world.scheduler
        scheduler.at(scheduler.now_us + self._timeout_ms * US_PER_MS, self._expire, task, ticket)
        self._connection.carry(self._command, C2S)

    def _expire(self, task: VirtualTask, ticket: int) -> None:
        if not task.done and task.ticket == ticket:
            self._node.pending.pop(self._command.opaque, None)
            task.wake(ticket, error=RemotingTimeoutError(self._connection.server.name, self._timeout_ms))


class VirtualNode(Machine):
    """One client machine in virtual time; implements `Runtime`."""

    def __init__(self, world: VirtualTime, name: str, ip: str, port: int, skew_ms: int) -> None:
        super().__init__(name, skew_ms)
        self.world = world
        self.ip = ip
        self.connections: dict[str, VirtualConnection] = {}
        self.pending: dict[int, tuple[VirtualConnection, VirtualTask, int]] = {}
        self._port = port
        self._opaque = 0
        self._tasks: list[VirtualTask] = []
        self._processor: Callable[[str, RemotingCommand], RemotingCommand | None] | None = None
        self._set_ms = 0
        self.visitor: VirtualTask | None = None  # runs here but is not of this machine: a pause does not stop it

    # What client code calls (Runtime).
    def now(self) -> int:
        """Epoch ms on this node's clock, its skew included."""
        world = self.world
        return max((world.epoch_us + world.scheduler.now_us) // US_PER_MS, world.stamps_ms) + self.skew_ms

    def monotonic(self) -> int:
        """Ms on a clock that is never set."""
        return self.now() - self._set_ms

    async def sleep(self, ms: int) -> None:
        """Wait `ms` milliseconds."""
        await Sleep(self.world.scheduler, ms * US_PER_MS)

    async def sleep_us(self, us: int) -> None:
        """Wait `us` microseconds: what drives an experiment may be finer than a client's clock."""
        await Sleep(self.world.scheduler, us)

    @coroutine
    def invoke(self, address: str, command: RemotingCommand, timeout_ms: int) -> Generator[Trap, Any, RemotingCommand]:
        """Send a request and wait for its answer.

        Raises:
            RemotingError: that says why there is none.
        """
        connection = self.connections.get(address) or self.world.connect(self, address)
        self._opaque += 1
        command.opaque = self._opaque
        answer: RemotingCommand = yield _Invoke(self, connection, command, timeout_ms)
        # a pull has no thread that waits
        if len(self.world.timing.thread_us) > 1 and command.code not in PULLS:
            yield from self.late(str(int(command.code)), command.code, answer)
        return answer

    async def invoke_oneway(self, address: str, command: RemotingCommand) -> None:
        """Send a request that has no answer."""
        connection = self.connections.get(address) or self.world.connect(self, address)
        self._opaque += 1
        command.opaque = self._opaque
        command.flag |= ONEWAY
        connection.carry(command, C2S)

    def spawn(self, coroutine: Coroutine[Any, Any, Any], name: str) -> VirtualTask:
        """Run a coroutine beside the caller."""
        task = self.world.scheduler.spawn(coroutine, f"{self.name}: {name}")
        self._tasks = [*filterfalse(_IS_DONE, self._tasks), task]
        return task

    def event(self) -> VirtualEvent:
        """A new flag."""
        return VirtualEvent(self.world.scheduler)

    def choose(self, label: str, n: int) -> int:
        """A choice point of the world, labelled with this node's name."""
        return self.world.chooser.choose(f"{self.name}: {label}", n) if n > 1 else 0

    @coroutine
    def late(
        self, thread: str, code: int = NO_FRAME, answer: RemotingCommand | None = None
    ) -> Generator[Trap, Any, None]:
        """Go on when this machine's `thread` gets its turn; `code` and `answer` are what it waited for."""
        world, timing = self.world, self.world.timing
        delays = (timing.proxy_us if thread == PROXY_THREAD else ()) or timing.thread_us
        if len(delays) == 1:
            return
        if world.lanes is not None:
            turn = self.event()
            lane = world.lanes.unused_queue(self.name, "thread")
            world.lanes.post(lane, f"{self.name}'s thread {thread}", _turn, answer, turn, code=code, node=self.name)
            yield from turn.wait()
            return
        us = world.chooser.among(f"thread {self.name} {thread}", delays)
        if us:
            yield Sleep(world.scheduler, us)

    def on_request(self, processor: Callable[[str, RemotingCommand], RemotingCommand | None]) -> None:
        """Take the requests that servers send to this node."""
        self._processor = processor

    def close_connections(self) -> None:
        """Close every connection of this node."""
        for connection in list(self.connections.values()):
            connection.close_by_client()

    # What the lab looks at.
    def running(self) -> list[VirtualTask]:
        """This node's coroutines that have not ended, in the order they were spawned."""
        return [task for task in self._tasks if not task.done]

    def waiting(self) -> list[tuple[VirtualConnection, VirtualTask]]:
        """The requests that wait for an answer, in the order they were sent: connection and coroutine."""
        return [(connection, task) for _, (connection, task, _) in sorted(self.pending.items())]

    # What the world calls.
    def next_address(self) -> str:
        """Source address ("ip:port") of the next connection."""
        address = f"{self.ip}:{self._port}"
        self._port += 1
        return address

    def receive(self, connection: VirtualConnection, command: RemotingCommand) -> None:
        """A frame arrived from a server: an answer to a pending request, or a request of the server's."""
        if command.flag & RESPONSE:
            waiting = self.pending.pop(command.opaque, None)
            if waiting is not None:
                waiting[1].wake(waiting[2], command)
        elif self._processor is not None:
            answer = self._processor(connection.server.name, command)
            if answer is not None and not command.is_oneway:
                connection.carry(answer.reply_to(command), C2S)

    def lost(self, connection: VirtualConnection, *, fail_pending: bool = False) -> None:
        """A connection is gone.

        When this side closed it, pending requests on it fail at once (`NettyRemotingAbstract.failFast`). When the
        other side did, 4.8.0 has no handler that would fail them: they wait for their timeouts.
        """
        address = connection.server.name
        if self.connections.get(address) is connection:
            del self.connections[address]
        if not fail_pending:
            return
        scheduler = self.world.scheduler
        for opaque, (owner, task, ticket) in list(self.pending.items()):
            if owner is connection:
                del self.pending[opaque]
                scheduler.at(scheduler.now_us, _fail, task, ticket, RemotingSendRequestError(address))

    def cut(self, address: str | None = None) -> int:
        """Reset this node's connections (to `address`, or all); how many there were."""
        connections = self._connections_to(address)
        for connection in connections:
            connection.close()
        return len(connections)

    def freeze(self, address: str | None = None, for_us: int | None = None) -> int:
        """Hold back all frames of this node's present connections, both ways; how many there were.

        Without `for_us` they are gone for good; with it they arrive when that time is over.
        """
        connections = self._connections_to(address)
        for connection in connections:
            connection.freeze(for_us)
        return len(connections)

    def _connections_to(self, address: str | None) -> list[VirtualConnection]:
        return [connection for end, connection in self.connections.items() if address in {None, end}]

    def pause(self, for_us: int) -> None:
        """Do nothing for a while, as in a garbage collection: timers come late, what arrives waits."""
        self.hold = self.hold or Hold(self.world.scheduler)
        self.hold.pause(for_us)
        self.world.scheduler.postpone(self._is_mine, self.hold.until_us)

    def _is_mine(self, task: VirtualTask) -> bool:
        return task is not self.visitor and any(task is mine for mine in self._tasks)

    def set_clock(self, by_ms: int) -> None:
        """Move this node's clock by `by_ms`, back if below 0; timers do not notice."""
        self.skew_ms += by_ms
        self._set_ms += by_ms

    def kill(self, *, silent: bool = False) -> int:
        """The process dies: its coroutines end, and nothing more leaves it. Return how many connections it had.

        The operating system closes the connections; `silent`: the whole machine is gone, without a word.
        """
        connections = list(self.connections.values())
        frozen = [connection.frozen for connection in connections]
        for connection in connections:
            connection.frozen = True
        for task in self._tasks:
            task.cancel()
        self._tasks = []
        for connection, was_frozen in zip(connections, frozen, strict=True):
            connection.frozen = was_frozen or silent
            if silent:
                connection.passes_closes = False
            else:
                connection.close_by_client()
        return len(connections)


def _turn(_answer: RemotingCommand | None, turn: VirtualEvent) -> None:
    turn.set()


def _fail(task: VirtualTask, ticket: int, error: Exception) -> None:
    task.wake(ticket, error=error)
