"""What the doctor costs: a look at many groups, and what looks do to the sends on the same broker."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
import weakref
from contextlib import AbstractContextManager
from functools import cache, partial
from typing import IO, TYPE_CHECKING, Final, Self

from rmqlab.checkout import ROOT
from rmqlab_tools.doctor.diagnosis import diagnose
from rmqlab_tools.doctor.read_client import ReadClient
from rmqlab_tools.doctor.take_snapshot import take_look
from tests.proof.bench.benchmark import Benchmark, Measurement
from tests.proof.bench.serve import OURS, REAL
from tests.proof.real.clusters import BenchError

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

    from rmqlab_tools.doctor.snapshot import ClusterSnapshot
    from tests.proof.bench.serve import Side

MANY, MEMBERS = 1_000, 10
"""Groups of the large look, and members of each."""
USUAL, USUAL_MEMBERS = 30, 4
"""Groups that are looked at while somebody sends."""
_MEGABYTE: Final = 1_000_000
_PERCENTILE: Final = 50


class Crowd(AbstractContextManager["Crowd"]):
    """A process with the members of many groups (`doctor_crowd`)."""

    def __init__(self, broker: str, groups: int, members: int) -> None:
        self._process = subprocess.Popen(  # noqa: S603 - our own program
            [sys.executable, "-m", "tests.proof.bench.doctor_crowd", broker, str(groups), str(members)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT,
        )  # fmt: skip
        if _pipe(self._process.stdout).readline() != "ready\n":
            raise BenchError(f"the crowd ended with status {self._process.wait()}")

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End it."""
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            _pipe(pipe).close()


def _pipe(pipe: IO[str] | None) -> IO[str]:
    if pipe is None:
        raise BenchError("the crowd was started without pipes")
    return pipe


@cache
def second_look(side: Side) -> ClusterSnapshot:
    """A look at `MANY` groups of a cluster, the second one, so that it has one to compare with. Raises BenchError."""

    async def look() -> ClusterSnapshot:
        async with ReadClient(side.cluster.namesrv) as client:
            return await take_look(client, await take_look(client))

    side.client.ask("up")  # it has sent to the topic that the groups consume
    with Crowd(f"127.0.0.1:{side.cluster.ports[1]}", MANY, MEMBERS):
        seen = asyncio.run(look())
    answered = sum(member.running is not None for group in seen.groups.values() for member in group.members.values())
    if answered < MANY * MEMBERS:
        raise BenchError(f"{answered} of {MANY * MEMBERS} members told what they run: {seen.unanswered[:3]}")
    return seen


def look_seconds(side: Side) -> Measurement:
    """How long the look took."""
    return 1.0, second_look(side).took_ms / 1000


def look_megabytes(side: Side) -> Measurement:
    """What the servers answered in it."""
    return 1.0, sum(cost.received_bytes for cost in second_look(side).cost.values()) / _MEGABYTE


def look_requests(side: Side) -> Measurement:
    """Requests a second that it sent."""
    seen = second_look(side)
    return sum(cost.requests for cost in seen.cost.values()), seen.took_ms / 1000


class Looks:
    """Looks one after the other without a rest, on a thread, inside `with`: one at least; `count` were taken."""

    def __init__(self, namesrv: str) -> None:
        self._namesrv = namesrv
        self._over = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._look()))
        self.count = 0

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        self._thread.join()

    async def _look(self) -> None:
        before = None
        async with ReadClient(self._namesrv) as client:
            while not self.count or not self._over.is_set():
                look = await take_look(client, before)
                diagnose(look, before)
                before = look
                self.count += 1


@cache
def _usual_crowd(side: Side) -> Crowd:
    side.client.ask("up")
    crowd = Crowd(f"127.0.0.1:{side.cluster.ports[1]}", USUAL, USUAL_MEMBERS)
    weakref.finalize(side, crowd.close)
    return crowd


def sends(side: Side, *, looked_at: bool) -> Measurement:
    """The median of synchronous sends, one after the other, with looks going on beside or without."""
    _usual_crowd(side)
    if not looked_at:
        return side.latency(_PERCENTILE)
    with Looks(side.cluster.namesrv):
        return side.latency(_PERCENTILE)


def _large(name: str, about: str, unit: str, measure: Callable[[Side], Measurement]) -> Benchmark:
    return Benchmark(
        f"doctor-{name}", f"{about} at {MANY:,} groups of {MEMBERS} members, rmqlab serve", unit,
        "the same at the real 4.8.0 broker", partial(measure, OURS), partial(measure, REAL), heavy=True,
    )  # fmt: skip


def _beside(name: str, where: str, side: Side) -> Benchmark:
    return Benchmark(
        f"doctor-sends-{name}",
        f"median time of a synchronous send to {where} while looks at {USUAL} groups follow each other without a rest",
        "ms",
        "without looks",
        partial(sends, side, looked_at=True),
        partial(sends, side, looked_at=False),
    )


BENCHMARKS = (
    _large("look", "seconds of a look", "s", look_seconds),
    _large("bytes", "bytes received in a look", "MB", look_megabytes),
    _large("requests", "requests sent in a look", "requests/s", look_requests),
    _beside("serve", "rmqlab serve", OURS),
    _beside("real", "the real 4.8.0 broker", REAL),
)
