"""Fingerprints of a simulation's state: with equal ones everything that can still happen is the same.

Taken between two moves of open orders (`rmqlab.sim.frame_queues`), when no coroutine runs. The state is: the instant;
every client with its coroutines; the broker's tables and timers; the name server; what lies on the heap and in the
lanes; the messages stored; and of the past what an outcome or a fate is read from. Left out is only what cannot make
a difference later, each with its reason in `LEFT_OUT`. Two kinds of numbers count by their order alone: versions of
subscriptions, which are compared with each other and never with anything else, and the opaque numbers of requests.
"""

from __future__ import annotations

import marshal
import re
from functools import cache
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, get_args

from rmqlab.broker.broker_config import BrokerConfig
from rmqlab.broker.config_manager import file_text
from rmqlab.broker.consumer_manage_processor import ConsumerOffsetManager
from rmqlab.broker.processor import Timers
from rmqlab.broker.pull_request_hold_service import PullRequest
from rmqlab.client.client_config import LitePullConsumerConfig, ProducerConfig, PushConsumerConfig
from rmqlab.filter.message_filter import ConsumerFilterData
from rmqlab.filter.sql92 import CompiledSql92
from rmqlab.message.ids import UniqueIdMaker
from rmqlab.protocol.codes import RequestCode
from rmqlab.protocol.command import RemotingCommand
from rmqlab.protocol.consumer_headers import PullMessageRequestHeader
from rmqlab.protocol.namesrv import TopicRouteData
from rmqlab.protocol.subscription_data import SubscriptionData
from rmqlab.protocol.wire import Wire
from rmqlab.rules import Rules
from rmqlab.run.facts import FactLog
from rmqlab.scenario.fault_steps import FaultStep, SetClock
from rmqlab.scenario.scenario import OutgoingMessage, Step
from rmqlab.scenario.schedule import Timing
from rmqlab.sim.cluster import Cluster
from rmqlab.sim.frame_queues import FrameQueues
from rmqlab.sim.network import VirtualConnection
from rmqlab.sim.run_recorder import RunRecorder
from rmqlab.sim.scheduler import Scheduler, VirtualEvent, VirtualTask
from rmqlab.sim.simulate import Simulation
from rmqlab.sim.virtual import VirtualNode, VirtualTime
from rmqlab.sim.virtual_server import LateReput, VirtualServer
from rmqlab.store.config import MessageStoreConfig
from rmqlab.store.message_store import MessageStore
from rmqlab_tools.search.explorer.run_history import RunHistory
from rmqlab_tools.search.explorer.state_walk import Canonical, Reader, Walk

if TYPE_CHECKING:
    from collections.abc import Callable


# Beyond this many ms idle channels close (120 s), stuck queues are taken back (120 s) and locks end (30 s): then the
# times of last use are state. The margin is for what a scenario does before its first step.
SHORT_SCENARIO_MS = 100_000
WITH_CLOCKS: dict[str, tuple[str, ...]] = {
    "ProcessQueue": ("last_pull_timestamp", "last_consume_timestamp", "last_lock_timestamp")
}
LEFT_OUT: dict[str, tuple[str, ...]] = {
    "Broker": (
        "observe", "on_register", "choose", "message_store", "config", "store_host",  # fixed, or looked at elsewhere
    ),
    "BrokerHooks": ("observe",),
    "NameServer": ("_answers",),  # its own methods, and those of its tables
    "Broker2Client": ("_opaque",),  # numbers of one-way requests that nobody answers
    "VirtualNode": ("world", "_opaque", "pending", "_tasks"),  # the last two: see _client
    "VirtualTask": ("_scheduler", "ticket", "result"),  # live entries of the heap stand for the ticket
    "VirtualServer": ("_scheduler", "network", "_epoch_us", "handler", "connections"),
    "MQClientInstance": ("heartbeats_sent", "observe", "unique_ids"),  # a count for the log; a hook; names of messages
    "ScheduledExecutor": ("_count",),  # as the broker's timers
    "ClientChannelInfo": ("language", "version"),
    "ConsumerGroupInfo": ("_client_ids", "_client_list"),  # kept from the table of channels
    "RebalanceImpl": ("_sorted",),  # kept from the lists of queues
}  # fmt: skip
FIXED = (
    BrokerConfig, MessageStoreConfig, MessageStore, Timing, PushConsumerConfig, LitePullConsumerConfig, ProducerConfig,
    UniqueIdMaker, LateReput, VirtualTime, Scheduler, FrameQueues, Simulation, Cluster, RunRecorder, FactLog,
    Rules, Wire,
)  # fmt: skip
UNCHANGING = (TopicRouteData, OutgoingMessage, *get_args(Step))
VERSION_IN_TEXT = re.compile(rb'"subVersion":(\d+)')


class StateWalk(Walk):
    """A walk over a simulation's state. `versions` met so far; `node` is the client whose frames are looked at."""

    __slots__ = ("node", "texts", "versions")

    def __init__(self, reader: Reader, texts: dict[int, tuple[object, bytes]]) -> None:
        super().__init__(reader)
        self.versions: list[int] = []
        self.node: VirtualNode | None = None
        self.texts = texts


class Fingerprint:
    """Reads the state of one simulation with open orders."""

    def __init__(self, simulation: Simulation) -> None:
        steps = simulation.scenario.steps
        self._simulation = simulation
        self._world = simulation.world
        self._history = RunHistory(simulation)
        self._clocks = bool(steps) and (
            steps[-1].at > SHORT_SCENARIO_MS
            or not simulation.scenario.ends_with_question
            or any(getattr(step, "orderly", False) or isinstance(step, FaultStep) for step in steps)
        )
        self._clocks_move = any(isinstance(step, SetClock) for step in steps)
        self._texts: dict[int, tuple[object, bytes]] = {}

    def digest(self) -> bytes:
        """16 bytes that stand for the present state."""
        return blake2b(marshal.dumps(self.state(), 2), digest_size=16).digest()

    def state(self) -> Canonical:
        """The present state as one tuple; two of them tell what differs between two states."""
        world, cluster = self._world, self._simulation.cluster
        walk = StateWalk(_reader(clocks=self._clocks), self._texts)
        lanes = world.lanes
        body = (
            world.scheduler.now_us,
            tuple(walk.of(node) for node in world.nodes.values()),
            walk.of(cluster.broker),
            walk.of(cluster.namesrv),
            tuple(self._entry(walk, *entry) for entry in world.scheduler.live()),
            () if lanes is None else self._under_way(walk, lanes),
            self._history.state(),
            tuple(
                (server.address, server.up, server.skew_ms, walk.of(server.hold)) for server in world.servers.values()
            ),
            tuple((name, file_text(body)) for name, body in sorted(cluster.on_disk.items())),
        )
        ranks = {version: rank for rank, version in enumerate(sorted(set(walk.versions)))}
        slowest = min((node.skew_ms for node in world.nodes.values()), default=0)
        # A version ahead of some clock is compared with stamps yet to come: then it counts as a number.
        ahead = [version for version in ranks if self._clocks_move or version > world.epoch_now() + slowest]
        return (*body, tuple(ranks[version] for version in walk.versions), tuple(sorted(ahead)))

    def _under_way(self, walk: StateWalk, lanes: FrameQueues) -> Canonical:
        frames = []
        for lane, queued_frames in lanes.lanes.items():
            for frame in queued_frames:
                sender = getattr(frame.action, "__self__", None)
                end = sender.node if isinstance(sender, VirtualConnection) else None
                walk.node = end if isinstance(end, VirtualNode) else None
                frames.append((str(lane), frame.text, walk.of(frame.arguments)))
        walk.node = None
        heads = tuple(frame.text for frame in lanes.heads())
        return (tuple(frames), heads, tuple(sorted(lanes.pending.values())))

    def _entry(
        self, walk: Walk, time_us: int, priority: int, action: Callable[..., None], arguments: tuple[Any, ...]
    ) -> Canonical:
        owner = getattr(action, "__self__", None)
        if isinstance(owner, VirtualServer):
            return (time_us, priority, owner.address)
        if isinstance(owner, VirtualConnection) and not self._clocks and not arguments:  # its look whether it is idle
            return (priority, owner.number)
        return (time_us, priority, walk.of(action), walk.of(arguments))


# How single types are read.


def _name(_: StateWalk, thing: object) -> Canonical:
    return type(thing).__name__


def _connection(walk: StateWalk, connection: VirtualConnection) -> Canonical:
    held_back = tuple(map(walk.of, connection.held_back())) if connection.frozen else ()
    return ("connection", connection.number, connection.closed, connection.frozen, connection.abandoned, held_back)


def _client(walk: StateWalk, node: VirtualNode) -> Canonical:
    if again := walk.again(node):
        return again
    walk.node = node
    state = (walk.instance(node), walk.of(node.running()), walk.of(node.waiting()))
    walk.node = None
    return state


def _task(walk: StateWalk, task: VirtualTask) -> Canonical:
    return "done" if task.done else walk.again(task) or walk.instance(task)


def _event(walk: StateWalk, event: VirtualEvent) -> Canonical:
    return walk.again(event) or (event.is_set(), *map(walk.of, event.waiting()))


def _command(walk: StateWalk, command: RemotingCommand) -> Canonical:
    if again := walk.again(command):
        return again
    body = command.body
    if command.code == RequestCode.HEART_BEAT and body is not None:
        walk.versions += map(int, VERSION_IN_TEXT.findall(body))
        body = VERSION_IN_TEXT.sub(b"", body)
    fields = walk.of(command.ext_fields) if command.header is None else walk.of(command.header)
    # The opaque number tells which of its client's waiting requests this is, or answers; -1: nobody waits.
    pending = {} if walk.node is None else walk.node.pending
    rank = sorted(pending).index(command.opaque) if command.opaque in pending else -1
    return (int(command.code), int(command.flag), command.remark, fields, body, rank)


def _held(walk: StateWalk, request: PullRequest) -> Canonical:
    walk.node = getattr(request.channel, "node", None)
    state = tuple(map(walk.of, request))
    walk.node = None
    return state


def _pull_header(walk: StateWalk, header: PullMessageRequestHeader) -> Canonical:
    walk.versions.append(header.sub_version)
    return (
        header.consumer_group, header.topic, header.queue_id, header.queue_offset, header.max_msg_nums,
        int(header.sys_flag), header.commit_offset, header.suspend_timeout_millis, header.subscription,
        header.expression_type,
    )  # fmt: skip


def _subscription(walk: StateWalk, data: SubscriptionData) -> Canonical:
    if again := walk.again(data):
        return again
    walk.versions.append(data.sub_version)
    return (data.topic, data.sub_string, data.expression_type, data.class_filter_mode)


def _filter_data(walk: StateWalk, data: ConsumerFilterData) -> Canonical:
    if again := walk.again(data):
        return again
    walk.versions.append(data.client_version)
    return (data.consumer_group, data.topic, data.expression, data.born_time, data.dead_time)


def _unchanging(walk: StateWalk, thing: object) -> Canonical:
    """What is never changed where it stands, by its text, which is written once."""
    known = walk.texts.get(id(thing))
    if known is None:
        known = walk.texts[id(thing)] = (thing, blake2b(repr(thing).encode(), digest_size=16).digest())
    return known[1]


def _timers(walk: StateWalk, timers: Timers) -> Canonical:
    return walk.again(timers) or tuple((due, name, walk.of(action)) for due, name, action in timers.upcoming())


def _compiled(_: StateWalk, compiled: CompiledSql92) -> Canonical:
    return compiled.text


def _offsets(_: StateWalk, manager: ConsumerOffsetManager) -> Canonical:
    """These tables are not read in their order."""
    return tuple((key, tuple(sorted(queues.items()))) for key, queues in sorted(manager.offset_table.items()))


_HANDLERS: dict[type, Callable[[Any, Any], Canonical]] = {
    **dict.fromkeys(FIXED, _name),
    **dict.fromkeys(UNCHANGING, _unchanging),
    CompiledSql92: _compiled,
    VirtualConnection: _connection,
    ConsumerFilterData: _filter_data,
    ConsumerOffsetManager: _offsets,
    PullMessageRequestHeader: _pull_header,
    PullRequest: _held,
    RemotingCommand: _command,
    SubscriptionData: _subscription,
    Timers: _timers,
    VirtualEvent: _event,
    VirtualNode: _client,
    VirtualTask: _task,
}


@cache
def _reader(*, clocks: bool) -> Reader:
    return Reader(_HANDLERS, LEFT_OUT if clocks else LEFT_OUT | WITH_CLOCKS)
