"""The same audit at several addresses: on one core, on a cluster, over Connect.

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
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from rmqlab.errors import BadInput
from rmqlab_tools.spark.session import PACKAGE_FOLDER, SAFE_PATH, provide_java
from tests.proof.class_archive import with_archive
from tests.proof.spark_servers import HOST, ConnectServer, StandaloneCluster

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_LOSSES: Final = 3
_EXECUTOR: Final = re.compile(r"Launching executor .* on worker (\S+)")
_CHECK: Final = {0, _LOSSES}
# A small audit is over before the better compiler has paid; one that is measured runs as Spark comes.
_QUICK: Final = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
PLACES: Final = ("one core", "cluster", "Connect")
GROUP: Final = "G_p-audit-006"


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
        run_python(command, address, {"PYSPARK_SUBMIT_ARGS": quick(address)})
        record: dict[str, Any] = json.loads(result.read_text(encoding="utf-8"))
    return record


def quick(address: str) -> str:
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
        BadInput: a server does not start.
    """
    if not 1 <= workers <= 8:
        raise BadInput(f"workers is {workers}; from 1 to 8 can be started on one machine")
    if unknown := [name for name in places if name not in PLACES]:
        raise BadInput(f"no place {unknown[0]!r}; there are {', '.join(PLACES)}")

    def here() -> Ran:
        return _ran("one core", "local[1]", 0, audit_at("local[1]", store, subscriptions, group))

    def cluster() -> Ran:
        with StandaloneCluster(workers) as servers:
            result = audit_at(servers.address, store, subscriptions, group)
            used = workers_used(servers)
        name = f"a cluster of {workers} worker{'s' * (workers > 1)}"
        return _ran(name, "spark://HOST:PORT", len(used), result)

    def connect() -> Ran:
        with ConnectServer("local[1]") as server:
            return _ran("Connect", "sc://HOST:PORT", 0, audit_at(server.address, store, subscriptions, group))

    # Two at a time: a machine may have no more cores than that.
    with ThreadPoolExecutor(2) as pool:
        waiting = [
            pool.submit(run_there)
            for name, run_there in zip(PLACES, (here, cluster, connect), strict=True)
            if name in places
        ]
        return [future.result() for future in waiting]


def workers_used(servers: StandaloneCluster) -> set[str]:
    """The workers of a cluster that had an executor, as its master says.

    An executor that ends a moment before its driver may be launched anew: workers are counted, not launches.
    """
    return {match[1] for line in servers.processes[0].log if (match := _EXECUTOR.search(line))}


def _ran(where: str, address: str, executors: int, result: dict[str, Any]) -> Ran:
    topics = [topic for topics in result["groups"].values() for topic in topics.values()]
    ids = {
        group: {name: topic["lost_ids"] for name, topic in topics.items()} for group, topics in result["groups"].items()
    }
    answer = blake2b(json.dumps(ids, sort_keys=True).encode(), digest_size=4).hexdigest()
    sent, lost = (sum(int(topic[name]) for topic in topics) for name in ("sent", "lost"))
    return Ran(where, address, executors, sent, lost, answer)


def run_python(arguments: Sequence[str], address: str, more: Mapping[str, str] | None = None) -> str:
    """Run our interpreter for a job at `address` and return what it prints; `more` goes into its environment.

    Raises:
        ClusterRunError: it failed.
    """
    environ = {
        **os.environ,
        "PYTHONPATH": str(PACKAGE_FOLDER.parent),
        SAFE_PATH: "1",
        "PYSPARK_PYTHON": sys.executable,
        **(more or {}),
    }
    done = subprocess.run(  # noqa: S603 - our own interpreter and module
        [sys.executable, *arguments],
        env=environ,
        capture_output=True,
        text=True,
        check=False,
        cwd=PACKAGE_FOLDER.parent,
    )
    if done.returncode not in _CHECK:
        last = "\n  ".join((done.stderr or done.stdout).strip().splitlines()[-5:])
        raise ClusterRunError(f"the job at {address} ended with status {done.returncode}:\n  {last}")
    return done.stdout
