"""The same audit at several addresses: on one core, on a cluster, over Connect; and how long it takes there.

Each runs in a process of its own, `rmqlab audit STORE --spark ADDRESS`: a process is a Connect client or it is not.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from rmqlab.errors import BadInput
from rmqlab.spark.servers import ConnectServer, StandaloneCluster
from rmqlab.spark.session import PACKAGE, open_session

if TYPE_CHECKING:
    from collections.abc import Sequence

_LOSSES: Final = 3
_EXECUTOR: Final = "Launching executor"
_CHECK: Final = {0, _LOSSES}
ONE, TWO, CONNECT = "local, 1 core", "cluster, 2 workers", "Connect, 2 cores"


class Ran(NamedTuple):
    """What one address answered: executors that a master launched for it (0: none did), messages, losses, the answer.

    `answer` is a digest of everything the audit said.
    """

    where: str
    address: str
    executors: int
    messages: int
    lost: int
    answer: str


class ClusterRunError(BadInput):
    """A job that failed at an address; with the last words of its program."""


def audit_at(address: str, store: Path, subscriptions: Path | None = None) -> dict[str, Any]:
    """Audit `store` in a process whose session is at `address`, and return what `rmqlab audit --json` says.

    Raises:
        ClusterRunError: the audit failed there.
    """
    with tempfile.TemporaryDirectory(prefix="rmqlab-run-") as folder:
        result = Path(folder) / "audit.json"
        given = ["--subscriptions", str(subscriptions)] if subscriptions else []
        _python(["-m", "rmqlab", "audit", str(store), *given, "--spark", address, "--json", str(result)], address)
        found: dict[str, Any] = json.loads(result.read_text(encoding="utf-8"))
    return found


def run_everywhere(store: Path, subscriptions: Path | None = None, *, workers: int = 2) -> list[Ran]:
    """Audit `store` on one core, on a standalone cluster of so many workers, and over Connect; all at once.

    The servers are started for it on this machine and are gone when it is done, also when it fails.

    Raises:
        ClusterRunError: an audit failed.
        SparkMissingError: a server does not start.
    """
    if not 1 <= workers <= 8:
        raise BadInput(f"workers is {workers}; from 1 to 8 can be started on one machine")

    def here() -> Ran:
        return _ran("one core", "local[1]", 0, audit_at("local[1]", store, subscriptions))

    def cluster() -> Ran:
        with StandaloneCluster(workers) as servers:
            found = audit_at(servers.address, store, subscriptions)
            launched = sum(_EXECUTOR in line for line in servers.processes[0].log)
        name = f"a cluster of {workers} worker{'s' * (workers > 1)}"
        return _ran(name, "spark://HOST:PORT", launched, found)

    def connect() -> Ran:
        with ConnectServer("local[1]") as server:
            return _ran("Connect", "sc://HOST:PORT", 0, audit_at(server.address, store, subscriptions))

    # Two at a time: a machine may have no more cores than that.
    with ThreadPoolExecutor(2) as pool:
        waiting = [pool.submit(one) for one in (here, cluster, connect)]
        return [one.result() for one in waiting]


def measure(store: Path, small: Path, address: str) -> dict[str, float]:
    """CPU seconds at an address: `session`, the `first` audit of `small`, the same `again`, that of `store` (`big`).

    Counted over all processes below this one: driver, servers that it started, executors, Python workers. Unlike time
    on the clock it does not depend on what else the machine does.

    Raises:
        ClusterRunError: a job failed.
    """
    told = _python(["-m", "rmqlab.spark.cluster_run", str(os.getpid()), address, str(store), str(small)], address)
    found: dict[str, float] = json.loads(told.splitlines()[-1])
    return found


def times(gib: float = 1.0) -> dict[str, Any]:
    """Measure every place on a store of so many GiB that is made for it; minutes, and twice that room on the disk.

    Raises:
        BadInput: no room, or a job failed.
    """
    from rmqlab.lab.recorded_store import RecordedStore
    from rmqlab.spark.bench_store import SIZES, write_store

    rows: list[dict[str, Any]] = []
    recorded = RecordedStore("audit")
    with tempfile.TemporaryDirectory(prefix="rmqlab-times-") as folder:
        store = Path(folder)
        messages = write_store(store, round(gib * (1 << 30)), SIZES["470"])
        size = sum(path.stat().st_size for path in (store / "commitlog").iterdir())
        try:
            rows.append(_row(ONE, 1, "local[1]", store, recorded.store))
            with StandaloneCluster(2) as cluster:
                rows.append(_row(TWO, 2, cluster.address, store, recorded.store))
            with ConnectServer("local[2]") as server:
                rows.append(_row(CONNECT, 2, server.address, store, recorded.store))
        finally:
            recorded.cleanup()
    return {"bytes": size, "messages": messages, "machine_cores": os.cpu_count(), "places": rows}


def _row(name: str, cores: int, address: str, store: Path, small: Path) -> dict[str, Any]:
    found = measure(store, small, address)
    return {"name": name, "cores": cores, **{key: round(value, 2) for key, value in found.items()}}


def _ran(where: str, address: str, executors: int, found: dict[str, Any]) -> Ran:
    topics = [one for topics in found["groups"].values() for one in topics.values()]
    answer = blake2b(json.dumps(found, sort_keys=True).encode(), digest_size=4).hexdigest()
    sent, lost = (sum(int(one[name]) for one in topics) for name in ("sent", "lost"))
    return Ran(where, address, executors, sent, lost, answer)


def _python(arguments: Sequence[str], address: str) -> str:
    environ = {**os.environ, "PYTHONPATH": str(PACKAGE.parent), "PYSPARK_PYTHON": sys.executable}
    done = subprocess.run(  # noqa: S603 - our own interpreter and module
        [sys.executable, *arguments], env=environ, capture_output=True, text=True, check=False, cwd=PACKAGE.parent
    )
    if done.returncode not in _CHECK:
        last = "\n  ".join((done.stderr or done.stdout).strip().splitlines()[-5:])
        raise ClusterRunError(f"the job at {address} ended with status {done.returncode}:\n  {last}")
    return done.stdout


def _measured(root: str, address: str, store: str, small: str) -> dict[str, float]:
    """What `measure` runs in its process; `root` is the process below which everything counts."""
    from rmqlab.spark.audit import Audit
    from rmqlab.spark.cpu_time import cpu_seconds

    begin = cpu_seconds(root=int(root))
    spark = open_session(address)
    found = {}
    for name, folder in (("session", None), ("first", small), ("again", small), ("big", store)):
        if folder is not None:
            audit = Audit(spark, folder)
            _ = audit.counts.num_rows
            audit.close()
        now = cpu_seconds(root=int(root))
        found[name], begin = now - begin, now
    spark.stop()
    return found


def _write() -> None:
    """Measure, and write what notebook 13 shows."""
    from rmqlab.checkout import folder

    path = folder("data") / "cluster" / "times.json"
    path.parent.mkdir(exist_ok=True)
    part = path.with_suffix(".part")
    part.write_text(json.dumps(times(), indent=1) + "\n", encoding="utf-8")
    part.replace(path)


if __name__ == "__main__":
    if len(sys.argv) == 1:
        _write()
    else:
        sys.stdout.write(json.dumps(_measured(*sys.argv[1:5])) + "\n")
