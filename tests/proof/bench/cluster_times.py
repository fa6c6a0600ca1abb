"""What an audit costs at several places: `python -m tests.proof.bench.cluster_times` measures it.

With the argument `answers` it keeps the times and asks every place again what it answers.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any, Final

from rmqlab.checkout import checkout_path
from rmqlab.files import atomic_write
from rmqlab_tools.spark.session import open_session
from tests.proof.cluster_run import GROUP, run_everywhere, run_python
from tests.proof.interval import Interval
from tests.proof.spark_servers import ConnectServer, StandaloneCluster

if TYPE_CHECKING:
    from tests.proof.cluster_run import Ran

ONE, TWO, CONNECT = "local, 1 core", "cluster, 2 workers", "Connect, 2 cores"
ROUNDS: Final = 9
_GIB: Final = 1 << 30
_SMALL: Final = 8 << 20  # eight tasks, as the big one: each worker gets some


def measure(store: Path, small: Path, address: str) -> dict[str, float]:
    """CPU seconds at an address: `session`, the `first` audit of `small`, the same `again`, the `data` of `store`.

    Both are audited in turns ``ROUNDS`` times: `again` is the median of the small one, `data` that of what the big one
    cost more, and `swing` the share by which a round lay off it, the farthest at either end left out. Counted over all
    processes below this one: driver, executors, Python workers, and servers from when the session was asked for. Unlike
    time on the clock it hardly depends on what else the machine does.

    Raises:
        ClusterRunError: a job failed.
    """
    output = run_python(
        ["-m", "tests.proof.bench.cluster_times", str(os.getpid()), address, str(store), str(small)], address
    )
    seconds: dict[str, float] = json.loads(output.splitlines()[-1])
    return seconds


def times(gib: float = 0.5) -> dict[str, Any]:
    """Measure every place on a store of so many GiB that is made for it; minutes, and twice that room on the disk.

    A small store of the same kind (the same group, topics and sizes) is what `first` and `again` read. `bytes` and
    `messages` are what the big one has more.

    Raises:
        BadInput: no room, or a job failed.
    """
    from tests.proof.bench.made_stores import SIZES, write_store

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
    """What the recorded set `audit` gives for that page's group at every place."""
    from tests.proof.recorded_store import RecordedStore

    recorded = RecordedStore("audit")
    try:
        return run_everywhere(recorded.store, recorded.events, group=GROUP)
    finally:
        recorded.cleanup()


def _log_bytes(store: Path) -> int:
    return sum(path.stat().st_size for path in (store / "commitlog").iterdir())


def _row(name: str, cores: int, address: str, store: Path, small: Path) -> dict[str, Any]:
    seconds = measure(store, small, address)
    return {"name": name, "cores": cores, **{key: round(value, 2) for key, value in seconds.items()}}


def _measured(root: str, address: str, store: str, small: str) -> dict[str, float]:
    """What `measure` runs in its process; `root` is the process below which everything counts."""
    from rmqlab_tools.spark.audit.audit import Audit
    from tests.proof.bench.cpu_time import cpu_seconds

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
    seconds = {"session": session, "first": first, "again": again, "data": middle}
    return {**seconds, "swing": max(high - middle, middle - low) / middle}


def _write(*, only_answers: bool) -> None:
    """Measure, and write what that page shows: the times as soon as they are there, they take minutes."""
    path = checkout_path("data") / "cluster" / "times.json"
    path.parent.mkdir(exist_ok=True)
    record = json.loads(path.read_text(encoding="utf-8")) if only_answers else {**times(), "answers": []}
    for is_answered in (False, True):
        if is_answered:
            record["answers"] = answers()
        with atomic_write(path) as part:
            part.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    if sys.argv[1:] in ([], ["answers"]):
        _write(only_answers=len(sys.argv) > 1)
    else:
        sys.stdout.write(json.dumps(_measured(*sys.argv[1:5])) + "\n")
