"""A crowd: as many clients as one likes that do nothing but beat, on the real rules of a broker.

What is simulated in full: the broker. Every heartbeat goes through ``Broker.handle`` as any client's does, with its
registration, subscriptions, notifications, retry topics, scans every 10 s and the expiry after 120 s, and what the
broker tells the name server. What is not: the clients. They have no connection that takes time, no route, no rebalance,
no pull; each sends the same prepared heartbeat every 30 s from its own moment on, counts what the broker sends, and
does nothing about it. The beats that a client adds at its start and after a change of its subscription are left out.
The clients of one group share one subscription, stamp included.
"""

from __future__ import annotations

from dataclasses import dataclass

from rmqlab.errors import BadInput
from rmqlab.message.topics import retry_topic
from rmqlab.protocol.codes import RequestCode, ResponseCode
from rmqlab.protocol.command import RemotingCommand
from rmqlab.protocol.heartbeat import ConsumeFromWhere, ConsumerData, ConsumeType, HeartbeatData, MessageModel
from rmqlab.protocol.subscription_data import build_subscription
from rmqlab.sim.cluster import Cluster, ClusterConfig
from rmqlab.sim.scheduler import US_PER_MS
from tests.proof.virtual_clock import run_until_ms

PERIOD_MS = 30_000  # `heartbeatBrokerInterval` of 4.8.0
MINUTE_MS = 60_000
TOPIC = "T"


class CrowdClient:
    """One client and its connection, which is a ``Channel`` of the broker's."""

    __slots__ = ("_crowd", "beat", "closed", "remote_address", "silent")

    def __init__(self, crowd: Crowd, number: int, consumer: ConsumerData) -> None:
        ip = f"10.{number >> 16 & 255}.{number >> 8 & 255}.{number & 255}"
        self._crowd = crowd
        self.remote_address = f"{ip}:{40_000 + (number >> 24)}"
        self.beat = RemotingCommand.request(
            RequestCode.HEART_BEAT, body=HeartbeatData(f"{ip}@{number}", consumer_data_set=[consumer])
        )
        self.silent = False
        self.closed = False

    def send(self, command: RemotingCommand) -> None:
        """The broker sends something of its own: it is counted by its code."""
        received = self._crowd.received
        received[command.code] = received.get(command.code, 0) + 1

    def close(self) -> None:
        """The broker closes the connection."""
        self.closed = True


@dataclass(frozen=True, slots=True)
class CrowdCount:
    """What became of a crowd. ``events``: beats and everything else that happened in virtual time.

    ``online`` are clients in the broker's tables, ``groups`` those with a member there. ``refused``: beats whose answer
    was no SUCCESS. ``notified``: NOTIFY_CONSUMER_IDS_CHANGED sent. ``closed``: connections that a scan closed.
    """

    clients: int
    minutes: float
    events: int
    beats: int
    refused: int
    notified: int
    online: int
    groups: int
    silent: int
    closed: int


class Crowd:
    """``clients`` heartbeating clients in groups of ``members`` on a cluster, whose virtual time they share.

    They begin at the present instant, spread evenly over the first 30 s. Run the world to let time pass.
    """

    def __init__(self, cluster: Cluster, clients: int, *, members: int = 50) -> None:
        """Raises BadInput: a number of clients or members below 1, or more clients than there are addresses."""
        if not 1 <= clients <= 1 << 32:
            raise BadInput(f"clients is {clients}; it must lie between 1 and {1 << 32}")
        if members < 1:
            raise BadInput(f"members is {members}; a group has at least one")
        self._cluster = cluster
        self._scheduler = cluster.world.scheduler
        self._server = cluster.world.servers[cluster.broker_address]
        self.beats = 0
        self.refused = 0
        self.received: dict[int, int] = {}
        stamp = cluster.world.epoch_now()
        self.clients: list[CrowdClient] = []
        for number in range(clients):
            if number % members == 0:
                consumer = _consumer(f"G{number // members}", stamp)
            self.clients.append(CrowdClient(self, number, consumer))
        slots: dict[int, list[CrowdClient]] = {}
        for number, client in enumerate(self.clients):
            slots.setdefault(number * PERIOD_MS // clients, []).append(client)
        self._slots = list(slots.items())
        self._turn_us = self._scheduler.now_us
        self._next = 0
        self._scheduler.at(self._turn_us + self._slots[0][0] * US_PER_MS, self._beat)

    def fall_silent(self, clients: int) -> None:
        """That many more clients, taken evenly from the crowd, beat no more; their connections stay open."""
        talking = [client for client in self.clients if not client.silent]
        if not 0 <= clients <= len(talking):
            raise BadInput(f"{clients} clients cannot fall silent; {len(talking)} still beat")
        for number in range(clients):
            talking[number * len(talking) // clients].silent = True

    def count(self) -> CrowdCount:
        """How things stand now."""
        tables = self._cluster.broker.consumer_manager.consumer_table.values()
        return CrowdCount(
            clients=len(self.clients),
            minutes=self._cluster.world.now_ms() / MINUTE_MS,
            events=self._scheduler.steps + self.beats,
            beats=self.beats,
            refused=self.refused,
            notified=self.received.get(RequestCode.NOTIFY_CONSUMER_IDS_CHANGED, 0),
            online=sum(len(info.channel_info_table) for info in tables),
            groups=len(tables),
            silent=sum(client.silent for client in self.clients),
            closed=sum(client.closed for client in self.clients),
        )

    def _beat(self) -> None:
        """Let the clients of this millisecond beat; those of the next one come then."""
        server = self._server
        now = server.now()
        for client in self._slots[self._next][1]:
            if client.silent or client.closed:
                continue
            self.beats += 1
            answer = server.handler.handle(client, client.beat, now)
            if answer is None or answer.code != ResponseCode.SUCCESS:
                self.refused += 1
        server.arm_timer()
        self._next += 1
        if self._next == len(self._slots):
            self._next = 0
            self._turn_us += PERIOD_MS * US_PER_MS
        self._scheduler.at(self._turn_us + self._slots[self._next][0] * US_PER_MS, self._beat)


def _consumer(group: str, stamp: int) -> ConsumerData:
    subscriptions = [build_subscription(topic, "*", None, stamp) for topic in (TOPIC, retry_topic(group))]
    return ConsumerData(
        group, ConsumeType.CONSUME_PASSIVELY, MessageModel.CLUSTERING, ConsumeFromWhere.CONSUME_FROM_LAST_OFFSET,
        subscriptions,
    )  # fmt: skip


def crowd_beats(
    clients: int = 100_000,
    *,
    members: int = 50,
    minutes: float = 60,
    silent: int = 0,
    config: ClusterConfig | None = None,
) -> CrowdCount:
    """Let a crowd beat for ``minutes`` of virtual time; ``silent`` of them stop half-way, and the broker's scans tell.

    Raises:
        BadInput: a number that cannot be.
    """
    if minutes <= 0:
        raise BadInput(f"minutes is {minutes}; it must be more than 0")
    if not 0 <= silent <= clients:
        raise BadInput(f"silent is {silent}; it must lie between 0 and {clients}")
    cluster = Cluster(config or ClusterConfig())
    crowd = Crowd(cluster, clients, members=members)
    run_until_ms(cluster.world, minutes * MINUTE_MS / 2)
    if silent:
        crowd.fall_silent(silent)
    run_until_ms(cluster.world, minutes * MINUTE_MS)
    return crowd.count()
