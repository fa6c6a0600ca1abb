"""Clients that misbehave, by the thousand, while one that behaves is served: what that costs a broker, and how it ends.

Every kind runs against `rmqlab serve` in a process of its own: memory before and at the worst moment, how long the
sends of a good client took before and meanwhile, how many connections the broker closed and for what reasons.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
import re
import socket
import struct
from collections import Counter
from dataclasses import dataclass, field
from statistics import quantiles
from typing import TYPE_CHECKING, Final

from rmqlab.errors import BadInput
from rmqlab.protocol.codes import RequestCode
from rmqlab.protocol.command import RemotingCommand
from rmqlab.protocol.consumer_headers import PullMessageRequestHeader
from rmqlab_tools.live.system import WANTED_FILES, allow_many_connections
from rmqlab_tools.live.wire.frame_codec import encode_frame
from tests.proof.real.clusters import OurCluster
from tests.proof.stress.frame_fuzz import mutated, recorded_requests
from tests.proof.stress.load import QUEUES, TOPIC, Producer, connected

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

IDLE_SECONDS: Final = 4
CONNECTIONS: Final = {"idle": 10_000, "slow": 100, "half-open": 2_000, "bombs": 2_000, "mutated": 2_000}
MEGABYTE: Final = 1_000_000
_SENDS: Final = 300
_SPARE_FILES: Final = 200
_PIPELINED_PULLS: Final = 200
_SLOW_MESSAGES: Final = 400
_LONGEST_BODY: Final = 60_000
_AT_ONCE: Final = 200
_PATIENCE_SECONDS: Final = 120.0
_NUMBERS: Final = re.compile(r"\d[\d.]*")
_CLOSED: Final = re.compile(r"connection \S+ closed: (.*)")


@dataclass(slots=True)
class SocketResult:
    """What came out: memory in MB, times of the good client's sends in ms, connections, reasons the broker logged.

    `limited_to` is set when the system allows fewer open files than were asked for; `wrong` is empty when all is well.
    """

    kind: str
    connections: int = 0
    limited_to: int | None = None
    memory_before: float = 0.0
    memory_worst: float = 0.0
    memory_after: float = 0.0
    p50_before: float = 0.0
    p99_before: float = 0.0
    p50_meanwhile: float = 0.0
    p99_meanwhile: float = 0.0
    closed: int = 0
    reasons: dict[str, int] = field(default_factory=dict)
    wrong: list[str] = field(default_factory=list)


@dataclass(slots=True)
class Attack:
    """One run of a kind: the broker, what comes out, how many, and what chance decides."""

    cluster: OurCluster
    result: SocketResult
    connections: int
    choose: random.Random
    writers: list[asyncio.StreamWriter] = field(default_factory=list)
    readers: list[asyncio.StreamReader] = field(default_factory=list)

    async def connect(self, count: int) -> None:
        """Open so many connections more, a few at a time."""
        host, _, port = self.cluster.broker.rpartition(":")
        for begin in range(0, count, _AT_ONCE):
            many = min(_AT_ONCE, count - begin)
            for reader, writer in await asyncio.gather(
                *(asyncio.open_connection(host, int(port), limit=1024) for _ in range(many))
            ):
                self.readers.append(reader)
                self.writers.append(writer)
            self.weigh()

    def weigh(self) -> None:
        """Note how much memory the broker has now."""
        self.result.memory_worst = max(self.result.memory_worst, self.cluster.resident_bytes() / MEGABYTE)

    async def closed(self, count: int, what: str) -> None:
        """Wait until the broker has logged that it closed so many connections."""
        try:
            async with asyncio.timeout(_PATIENCE_SECONDS):
                while len(_CLOSED.findall(self.cluster.log())) < count:
                    await asyncio.sleep(0.1)
                    self.weigh()
        except TimeoutError:
            self.result.wrong.append(f"not all of {count} {what} were closed")

    def close(self) -> None:
        """Reset every connection."""
        for writer in self.writers:
            writer.transport.abort()
        self.writers.clear()
        self.readers.clear()


async def _idle(attack: Attack) -> None:
    """Connections on which nothing ever happens."""
    await attack.connect(attack.connections)


async def _slow(attack: Attack) -> None:
    """Consumers that pull a topic of large messages again and again and never read an answer."""
    await attack.connect(attack.connections)
    for index, writer in enumerate(attack.writers):
        writer.transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        writer.transport.pause_reading()  # type: ignore[attr-defined]
        writer.write(b"".join(_pull(number, index % QUEUES) for number in range(_PIPELINED_PULLS)))
    attack.weigh()
    await attack.closed(attack.connections, "slow readers")


async def _half_open(attack: Attack) -> None:
    """Peers that vanish in the middle of a frame."""
    await attack.connect(attack.connections)
    for writer in attack.writers:
        writer.write(struct.pack(">ii", 4 << 20, 1000) + attack.choose.randbytes(20_000))
    attack.weigh()
    await attack.closed(attack.connections, "half-open connections")


async def _bombs(attack: Attack) -> None:
    """Lengths that lie and headers that explode."""
    deep, wide = b"[" * 60_000, b'{"code":' + b"9" * 60_000 + b".5}"
    many = b'{"extFields":{' + b",".join(b'"%d":"x"' % number for number in range(5_000)) + b"}"
    bombs = [
        struct.pack(">ii", -1, 0), struct.pack(">ii", (1 << 31) - 1, 100), struct.pack(">ii", 100, 1 << 20) + bytes(92),
        struct.pack(">iI", 8, 7 << 24 | 4) + b"abcd", struct.pack(">ii", 8, 4) + b"null", b"GET / HTTP/1.1\r\n\r\n",
        *(struct.pack(">ii", 4 + len(header), len(header)) + header for header in (deep, wide, many)),
    ]  # fmt: skip
    await attack.connect(attack.connections)
    for index, writer in enumerate(attack.writers):
        writer.write(bombs[index % len(bombs)])
        if index % _AT_ONCE == 0:
            await asyncio.sleep(0)
            attack.weigh()
    await attack.closed(attack.connections, "connections with bombs")


async def _mutated(attack: Attack) -> None:
    """Recorded requests with bytes changed, over sockets; what can be read is answered, and silence ends the rest."""
    requests = recorded_requests()
    await attack.connect(attack.connections)
    for index, writer in enumerate(attack.writers):
        frames = [mutated(attack.choose.choice(requests), attack.choose, requests) for _ in range(20)]
        writer.write(b"".join(frames))
        if index % _AT_ONCE == 0:
            await asyncio.sleep(0)
            attack.weigh()
    await attack.closed(attack.connections, "connections with mutated frames")


KINDS: Final[dict[str, Callable[[Attack], Coroutine[None, None, None]]]] = {
    "idle": _idle, "slow": _slow, "half-open": _half_open, "bombs": _bombs, "mutated": _mutated,
}  # fmt: skip


def misbehave(kind: str, connections: int | None = None, seed: int = 0) -> SocketResult:
    """Let so many clients misbehave; those that stay silent are closed after four seconds, but idle ones live on.

    Raises BadInput for a kind that is none, or when `rmqlab serve` does not start.
    """
    if kind not in KINDS:
        raise BadInput(f"{kind!r}: one of {', '.join(KINDS)} is wanted")
    wanted = CONNECTIONS[kind] if connections is None else connections
    allow_many_connections()
    allowed = most_files() - _SPARE_FILES
    result = SocketResult(kind, min(wanted, allowed), allowed if allowed < wanted else None)
    settings: dict[str, str] = {} if kind == "idle" else {"serverChannelMaxIdleTimeSeconds": str(IDLE_SECONDS)}
    with OurCluster(None, **settings) as cluster:
        asyncio.run(_run(Attack(cluster, result, result.connections, random.Random(seed))))
    return result


async def _run(attack: Attack) -> None:
    cluster, result = attack.cluster, attack.result
    if attack.result.kind == "slow":
        await _fill(cluster.broker)
    result.p50_before, result.p99_before = await _good_client(cluster.broker, result)
    result.memory_before = cluster.resident_bytes() / MEGABYTE
    attack.weigh()
    bad = asyncio.create_task(KINDS[result.kind](attack))
    if result.kind == "idle":
        await bad
    result.p50_meanwhile, result.p99_meanwhile = await _good_client(cluster.broker, result)
    await bad
    attack.weigh()
    attack.close()
    await _good_client(cluster.broker, result)
    result.memory_after = cluster.resident_bytes() / MEGABYTE
    log = cluster.log()
    reasons = _CLOSED.findall(log)
    result.closed = len(reasons)
    result.reasons = dict(Counter(_NUMBERS.sub("N", reason) for reason in reasons).most_common())
    if "Traceback" in log:
        result.wrong.append(log[log.index("Traceback") :][:2_000])


async def _good_client(address: str, result: SocketResult) -> tuple[float, float]:
    """Send messages one after the other; median and 99th percentile in ms."""
    producer = Producer("good", 1, 1)
    done = asyncio.Event()

    def count() -> None:
        if len(producer.took) >= _SENDS:
            producer.is_sending = False
            done.set()

    producer.on_answer = count
    await connected(address, producer)
    try:
        await asyncio.wait_for(done.wait(), _PATIENCE_SECONDS)
    except TimeoutError:
        result.wrong.append(f"a client that behaves got {len(producer.took)} answers in {_PATIENCE_SECONDS:g} s")
        return 0.0, 0.0
    finally:
        producer.close()
    if producer.refused:
        result.wrong.append(f"a client that behaves was refused: {producer.refused[0]}")
    of_hundred = quantiles(producer.took, n=100)
    return of_hundred[49] * 1000, of_hundred[98] * 1000


async def _fill(address: str) -> None:
    """Store large messages."""
    producer = Producer("large", 2, 8, _LONGEST_BODY)
    done = asyncio.Event()
    producer.on_answer = lambda: done.set() if len(producer.took) >= _SLOW_MESSAGES else None
    await connected(address, producer)
    with contextlib.closing(producer):
        await asyncio.wait_for(done.wait(), _PATIENCE_SECONDS)


def _pull(opaque: int, queue_id: int) -> bytes:
    header = PullMessageRequestHeader(
        consumer_group="Slow", topic=TOPIC, queue_id=queue_id, queue_offset=0, max_msg_nums=32, sys_flag=4,
        commit_offset=0, suspend_timeout_millis=0, subscription="*", sub_version=1, expression_type="TAG",
    )  # fmt: skip
    command = RemotingCommand.request(RequestCode.PULL_MESSAGE, header)
    command.opaque = opaque
    return encode_frame(command)


def most_files() -> int:
    """Return how many files and connections this process may have open."""
    try:
        import resource
    except ImportError:  # no such limit on this system
        return WANTED_FILES
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return WANTED_FILES if soft == resource.RLIM_INFINITY else soft
