"""The same audit at several addresses: on one core, on a cluster, over Connect; and how long it takes there.

Each runs in a process of its own, `rmqlab audit STORE --spark ADDRESS`: a process is a Connect client or it is not.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from hashlib import blake2b
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from rmqlab.errors import BadInput
from rmqlab.files import atomic_write
from rmqlab.lab.cluster_times import stored_file
from rmqlab.lab.interval import Interval
from rmqlab.spark.class_archive import with_archive
from rmqlab.spark.servers import HOST, ConnectServer, StandaloneCluster
from rmqlab.spark.session import PACKAGE, open_session, provide_java

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_LOSSES: Final = 3
_EXECUTOR: Final = re.compile(r"Launching executor .* on worker (\S+)")
_CHECK: Final = {0, _LOSSES}
ONE, TWO, CONNECT = "local, 1 core", "cluster, 2 workers", "Connect, 2 cores"
# A small audit is over before the better compiler has paid; one that is measured runs as Spark comes.
_QUICK: Final = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
PLACES: Final = ("one core", "cluster", "Connect")
ROUNDS: Final = 9
GROUP: Final = "G_p-audit-006"
_GIB: Final = 1 << 30
_SMALL: Final = 8 << 20  # eight tasks, as the big one: each worker gets some


class Ran(NamedTuple):
    """What one address answered: workers that ran an executor (0: there were none), messages, losses, which.

    `answer` is a digest of the ids of all lost messages, by group and topic, in the order of the log.
    """

    where: str
    address: str
    workers: int
    messages: int
    lost: int
    answer: str


class ClusterRunError(BadInput):
    """A job that failed at an address; with the last words of its program."""


def audit_at(address: str, store: Path, subscriptions: Path | None = None, group: str = "") -> dict[str, Any]:
    """Audit `store` in a process whose session is at `address`, and return what `rmqlab audit --json` says.

    With `group`, only that one.

    Raises:
        ClusterRunError: the audit failed there.
    """
    with tempfile.TemporaryDirectory(prefix="rmqlab-run-") as folder:
        result = Path(folder) / "audit.json"
        given = ["--subscriptions", str(subscriptions)] if subscriptions else []
        given += ["--group", group] if group else []
        command = ["-m", "rmqlab", "audit", str(store), *given, "--spark", address, "--json", str(result)]
        _python(command, address, {"PYSPARK_SUBMIT_ARGS": _quick(address)})
        found: dict[str, Any] = json.loads(result.read_text(encoding="utf-8"))
    return found


def _quick(address: str) -> str:
    """What spark-submit is given; executors on this machine find the archive of classes as well."""
    provide_java(os.environ)
    here = with_archive(_QUICK)
    there = here if f"//{HOST}:" in address else _QUICK
    return (
        f"--conf 'spark.driver.extraJavaOptions={here}' --conf 'spark.executor.extraJavaOptions={there}' pyspark-shell"
    )


def run_everywhere(
    store: Path,
    subscriptions: Path | None = None,
    *,
    group: str = "",
    workers: int = 2,
    places: Sequence[str] = PLACES,
) -> list[Ran]:
    """Audit `store` at these places: on one core, on a standalone cluster of so many workers, over Connect.

    The servers are started for it on this machine and are gone when it is done, also when it fails.

    Raises:
        ClusterRunError: an audit failed.
        SparkMissingError: a server does not start.
    """
    if not 1 <= workers <= 8:
        raise BadInput(f"workers is {workers}; from 1 to 8 can be started on one machine")
    if unknown := [name for name in places if name not in PLACES]:
        raise BadInput(f"no place {unknown[0]!r}; there are {', '.join(PLACES)}")

    def here() -> Ran:
        return _ran("one core", "local[1]", 0, audit_at("local[1]", store, subscriptions, group))

    def cluster() -> Ran:
        with StandaloneCluster(workers) as servers:
            found = audit_at(servers.address, store, subscriptions, group)
            # An executor that ends a moment before its driver may be launched anew: workers are counted, not launches.
            used = {match[1] for line in servers.processes[0].log if (match := _EXECUTOR.search(line))}
        name = f"a cluster of {workers} worker{'s' * (workers > 1)}"
        return _ran(name, "spark://HOST:PORT", len(used), found)

    def connect() -> Ran:
        with ConnectServer("local[1]") as server:
            return _ran("Connect", "sc://HOST:PORT", 0, audit_at(server.address, store, subscriptions, group))

    # Two at a time: a machine may have no more cores than that.
    with ThreadPoolExecutor(2) as pool:
        waiting = [
            pool.submit(one) for name, one in zip(PLACES, (here, cluster, connect), strict=True) if name in places
        ]
        return [one.result() for one in waiting]


def measure(store: Path, small: Path, address: str) -> dict[str, float]:
    """CPU seconds at an address: `session`, the `first` audit of `small`, the same `again`, the `data` of `store`.

    Both are audited in turns ``ROUNDS`` times: `again` is the median of the small one, `data` that of what the big one
    cost more, and `swing` the share by which a round lay off it, the farthest at either end left out. Counted over all
    processes below this one: driver, executors, Python workers, and servers from when the session was asked for. Unlike
    time on the clock it hardly depends on what else the machine does.

    Raises:
        ClusterRunError: a job failed.
    """
    told = _python(["-m", "rmqlab.spark.bench.cluster_run", str(os.getpid()), address, str(store), str(small)], address)
    found: dict[str, float] = json.loads(told.splitlines()[-1])
    return found


def times(gib: float = 0.5) -> dict[str, Any]:
    """Measure every place on a store of so many GiB that is made for it; minutes, and twice that room on the disk.

    A small store of the same kind (the same group, topics and sizes) is what `first` and `again` read. `bytes` and
    `messages` are what the big one has more.

    Raises:
        BadInput: no room, or a job failed.
    """
    from rmqlab.spark.bench.store import SIZES, write_store

    with tempfile.TemporaryDirectory(prefix="rmqlab-times-") as folder:
        store, small = Path(folder) / "big", Path(folder) / "small"
        for path in (store, small):
            path.mkdir()
        messages = write_store(store, round(gib * _GIB), SIZES["470"])
        messages -= write_store(small, _SMALL, SIZES["470"], file_bytes=_SMALL)
        size = _log_bytes(store) - _log_bytes(small)
        rows = [_row(ONE, 1, "local[1]", store, small)]
        with StandaloneCluster(2) as cluster:
            rows.append(_row(TWO, 2, cluster.address, store, small))
        with ConnectServer("local[2]") as server:
            rows.append(_row(CONNECT, 2, server.address, store, small))
    return {"bytes": size, "messages": messages, "places": rows}


def answers() -> list[Ran]:
    """What the recorded set `audit` gives for notebook 13's group at every place."""
    from rmqlab.lab.recorded.store import RecordedStore

    recorded = RecordedStore("audit")
    try:
        return run_everywhere(recorded.store, recorded.events, group=GROUP)
    finally:
        recorded.cleanup()


def _log_bytes(store: Path) -> int:
    return sum(path.stat().st_size for path in (store / "commitlog").iterdir())


def _row(name: str, cores: int, address: str, store: Path, small: Path) -> dict[str, Any]:
    found = measure(store, small, address)
    return {"name": name, "cores": cores, **{key: round(value, 2) for key, value in found.items()}}


def _ran(where: str, address: str, executors: int, found: dict[str, Any]) -> Ran:
    topics = [one for topics in found["groups"].values() for one in topics.values()]
    ids = {group: {name: one["lost_ids"] for name, one in topics.items()} for group, topics in found["groups"].items()}
    answer = blake2b(json.dumps(ids, sort_keys=True).encode(), digest_size=4).hexdigest()
    sent, lost = (sum(int(one[name]) for one in topics) for name in ("sent", "lost"))
    return Ran(where, address, executors, sent, lost, answer)


def _python(arguments: Sequence[str], address: str, more: Mapping[str, str] | None = None) -> str:
    environ = {**os.environ, "PYTHONPATH": str(PACKAGE.parent), "PYSPARK_PYTHON": sys.executable, **(more or {})}
    done = subprocess.run(  # noqa: S603 - our own interpreter and module
        [sys.executable, *arguments], env=environ, capture_output=True, text=True, check=False, cwd=PACKAGE.parent
    )
    if done.returncode not in _CHECK:
        last = "\n  ".join((done.stderr or done.stdout).strip().splitlines()[-5:])
        raise ClusterRunError(f"the job at {address} ended with status {done.returncode}:\n  {last}")
    return done.stdout


def _measured(root: str, address: str, store: str, small: str) -> dict[str, float]:
    """What `measure` runs in its process; `root` is the process below which everything counts."""
    from rmqlab.spark.audit.auditing import Audit
    from rmqlab.spark.cpu_time import cpu_seconds

    begin = cpu_seconds(root=int(root))

    def spent(folder: str | None = None) -> float:
        """CPU seconds since it was asked last, with an audit of `folder`."""
        nonlocal begin
        if folder is not None:
            audit = Audit(spark, folder)
            _ = audit.counts.num_rows
            audit.close()
        now = cpu_seconds(root=int(root))
        took, begin = now - begin, now
        return took

    spark = open_session(address)
    session, first = spent(), spent(small)
    rounds = [(spent(small), spent(store)) for _ in range(ROUNDS)]
    spark.stop()
    # Pairs: the JVM still compiles, so later rounds cost less than earlier ones.
    middle, low, high = Interval.of([big - again for again, big in rounds], outer=1)
    again = median(again for again, _ in rounds)
    found = {"session": session, "first": first, "again": again, "data": middle}
    return {**found, "swing": max(high - middle, middle - low) / middle}


def _write(*, only_answers: bool) -> None:
    """Measure, and write what notebook 13 shows: the times as soon as they are there, they take minutes."""
    path = stored_file()
    path.parent.mkdir(exist_ok=True)
    found = json.loads(path.read_text(encoding="utf-8")) if only_answers else {**times(), "answers": []}
    for asked in (False, True):
        if asked:
            found["answers"] = answers()
        with atomic_write(path) as part:
            part.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    if sys.argv[1:] in ([], ["answers"]):
        _write(only_answers=len(sys.argv) > 1)
    else:
        sys.stdout.write(json.dumps(_measured(*sys.argv[1:5])) + "\n")
