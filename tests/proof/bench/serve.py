"""`rmqlab serve` beside the real 4.8.0 broker: the same Java clients, the same machine, in turns (P8).

Both brokers run all the time and only one of them works; for starts and memory they are started anew each turn.
"""

from __future__ import annotations

import weakref
from functools import cached_property, partial
from time import sleep
from typing import TYPE_CHECKING, Final

from tests.proof.bench.benchmark import Benchmark, Measurement
from tests.proof.real.clusters import Cluster, JavaClient, MemoryCluster, OurCluster, RealCluster

if TYPE_CHECKING:
    from collections.abc import Callable

SENDS: Final = {1: 4_000, 16: 40_000}
FILLED: Final = 400_000
"""Messages in the topic that is consumed; every second one has the tag. Fewer take a moment, which any pause spoils."""
_READ_BEFORE: Final = 6
"""How often a client has consumed the topic before it is measured: its rate grows threefold on the first million."""
_WARM_UP: Final = {1: 6_000, 16: 80_000}
"""Sends that do not count; a Java virtual machine compiles what it runs often while it runs."""
_REST_SECONDS: Final = 3.0
_MEGABYTE: Final = 1_000_000
_NANO: Final = 1e-9


class Side:
    """One cluster with a client that stays, both made when they are first needed."""

    def __init__(self, kind: type[Cluster]) -> None:
        self._kind = kind
        self._groups = 0

    @cached_property
    def cluster(self) -> Cluster:
        """The cluster that runs all the time."""
        cluster = self._kind()
        weakref.finalize(self, cluster.close)
        cluster.start()
        return cluster

    @cached_property
    def client(self) -> JavaClient:
        """Its client, warmed up."""
        client = JavaClient(self.cluster.namesrv)
        weakref.finalize(self, client.close)
        client.ask("create", "Sends")
        for threads in SENDS:
            client.ask("send", "Sends", threads, _WARM_UP[threads])
        return client

    @cached_property
    def consuming_client(self) -> JavaClient:
        """The same one with messages to consume, warmed up for that too: on either side after as many messages."""
        client = self.client
        client.ask("create", "Filled")
        client.ask("fill", "Filled", FILLED)
        for _ in range(_READ_BEFORE):
            self._consume(client)
        return client

    def sends(self, threads: int) -> Measurement:
        """Synchronous sends."""
        whole, *_ = self.client.ask("send", "Sends", threads, SENDS[threads])
        return SENDS[threads], whole * _NANO

    def latency(self, percentile: int) -> Measurement:
        """The median or the 99th percentile of synchronous sends, one after the other."""
        _, median, high = self.client.ask("send", "Sends", 1, SENDS[1])
        return 1.0, (median if percentile == 50 else high) * _NANO

    def cpu(self, threads: int) -> Measurement:
        """CPU time of the server's processes for synchronous sends."""
        client = self.client
        before = self.cluster.cpu_seconds()
        client.ask("send", "Sends", threads, SENDS[threads])
        return SENDS[threads], self.cluster.cpu_seconds() - before

    def cpu_of_consumed(self) -> Measurement:
        """CPU time of the server's processes for a message that a push consumer gets."""
        client = self.consuming_client
        before = self.cluster.cpu_seconds()
        count, _ = self._consume(client)
        return count, self.cluster.cpu_seconds() - before

    def consumed(self) -> Measurement:
        """A push consumer of one tag reads its half of a topic."""
        return self._consume(self.consuming_client)

    def _consume(self, client: JavaClient) -> Measurement:
        self._groups += 1
        count = FILLED // 2
        (nanoseconds,) = client.ask("consume", "Filled", "TagA", f"G{self._groups}", count)
        return count, nanoseconds * _NANO

    def ready(self) -> Measurement:
        """From the start of its first process to the first message that is acknowledged."""
        cluster = self._kind()
        try:
            with JavaClient(cluster.namesrv) as client:
                client.ask("up")
                client.tell("first", "TBW102")  # tried again every few ms
                cluster.start()
                (stored,) = client.answer()
                return 1.0, stored * _NANO - cluster.started
        finally:
            cluster.close()

    def memory(self) -> Measurement:
        """Resident memory of name server and broker, nobody connected."""
        with self._kind() as cluster:
            sleep(_REST_SECONDS)
            return 1.0, cluster.resident_bytes() / _MEGABYTE


OURS, IN_MEMORY, REAL = Side(OurCluster), Side(MemoryCluster), Side(RealCluster)


def _beside(name: str, about: str, unit: str, measure: Callable[[Side], Measurement], ours: Side = OURS) -> Benchmark:
    """A figure of `ours` beside the real broker's, which has its messages on disk."""
    return Benchmark(
        f"serve-{name}", about, unit, "the real 4.8.0 broker", lambda: measure(ours), lambda: measure(REAL)
    )


BENCHMARKS = (
    _beside("ready", "from the start of rmqlab serve to the first message acknowledged", "s", Side.ready),
    _beside("memory", "memory of rmqlab serve at rest, its name server included", "MB", Side.memory),
    *(
        _beside(
            f"sends-{threads}", f"synchronous sends of 256 bytes, Java threads: {threads}", "sends/s",
            partial(Side.sends, threads=threads),
        )
        for threads in SENDS
    ),
    *(
        _beside(
            f"cpu-{threads}", f"CPU time of the server for one of these sends, Java threads: {threads}", "ms",
            partial(Side.cpu, threads=threads),
        )
        for threads in SENDS
    ),
    _beside("p50", "median time of a synchronous send, one thread", "ms", partial(Side.latency, percentile=50)),
    _beside("p99", "99th percentile of the same", "ms", partial(Side.latency, percentile=99)),
    _beside("consume", "messages of one tag of two, to a push consumer", "messages/s", Side.consumed),
    _beside("consume-cpu", "CPU time of the server for one of these messages", "ms", Side.cpu_of_consumed),
    _beside(
        "in-memory-sends-16", "synchronous sends of 256 bytes to a broker without a store, Java threads: 16", "sends/s",
        partial(Side.sends, threads=16), IN_MEMORY,
    ),
    _beside(
        "in-memory-cpu-16", "CPU time of a server without a store for one of these sends", "ms",
        partial(Side.cpu, threads=16), IN_MEMORY,
    ),
    _beside(
        "in-memory-consume", "messages of one tag of two, from a broker without a store", "messages/s", Side.consumed,
        IN_MEMORY,
    ),
    _beside(
        "in-memory-consume-cpu", "CPU time of a server without a store for one of these messages", "ms",
        Side.cpu_of_consumed, IN_MEMORY,
    ),
)  # fmt: skip
