"""Audits of stores against the real decoder of 4.8.0, which reads the same files; and how much memory they take."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, NamedTuple

from tests.proof.bench.benchmark import Benchmark, Measurement
from tests.proof.bench.made_stores import SIZES, write_sparse_store, write_subscriptions
from tests.proof.bench.store import (
    CPU,
    STORE_BYTES,
    UNIT,
    WALL,
    RecordsDifferError,
    bench,
    checked,
    described,
    real_cpu,
    real_wall,
)

if TYPE_CHECKING:
    from collections.abc import Callable


def _audit(size: int, kind: str, *, on_spark: bool = False) -> Callable[[], Measurement]:
    """From an audit's beginning to its figures: in this process, or on a session that runs."""

    def measure() -> Measurement:
        from rmqlab_tools.spark.audit_store import open_audit

        prepared = bench(size)
        path, records = prepared.store(kind)
        session = prepared.session if on_spark else None
        begin = perf_counter()
        result = open_audit(
            path, subscriptions=prepared.subscriptions, session=session, each_message=False, check_crc=False
        )
        counted = result.total("sent")
        seconds = perf_counter() - begin
        result.close()
        return checked(counted, records), seconds

    return measure


def _verb(size: int, kind: str, *, wall: bool = True) -> Callable[[], Measurement]:
    """From the start of `rmqlab audit` to its end, with checksums of bodies, which the real decoder leaves out."""

    def measure() -> Measurement:
        path, records = bench(size).store(kind)
        audited = audit_verb(path, bench(size).subscriptions)
        return checked(audited.messages, records), audited.seconds if wall else audited.cpu_seconds

    return measure


class Audited(NamedTuple):
    """Messages, seconds on the wall, CPU seconds and the highest memory in MB of a process that audited a store."""

    messages: int
    seconds: float
    cpu_seconds: float
    megabytes: float


def audit_verb(store: Path, subscriptions: Path, *options: str) -> Audited:
    """Audit a store by the verb, in a process of its own; nothing of this machine's Spark counts.

    Raises:
        RecordsDifferError: it failed, or it names damage.
    """
    command = [sys.executable, "-m", "rmqlab", "audit", str(store), "--subscriptions", str(subscriptions), *options]
    with tempfile.TemporaryDirectory(prefix="rmqlab-bench-") as folder:
        record = Path(folder) / "audit.json"
        environment = {name: value for name, value in os.environ.items() if name != "RMQLAB_SPARK"}
        begin = perf_counter()
        process = subprocess.Popen(  # noqa: S603 - our own verb
            [*command, "--json", str(record)], stdout=subprocess.DEVNULL, env=environment
        )
        _, status, used = os.wait4(process.pid, 0)
        seconds = perf_counter() - begin
        process.returncode = os.waitstatus_to_exitcode(status)
        answer = json.loads(record.read_text(encoding="utf-8") if record.exists() else "{}")
    if process.returncode not in {0, 3, 4} or answer.get("damage") != []:
        raise RecordsDifferError(f"{store}: the audit ended with status {process.returncode}")
    messages = sum(row["sent"] for row in answer["groups"]["G"].values())
    return Audited(messages, seconds, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024)


def _sparse(files: int) -> Callable[[], Measurement]:
    """The highest memory of an audit of a sparse store of so many files of 1 GiB."""

    def measure() -> Measurement:
        with tempfile.TemporaryDirectory(prefix="rmqlab-bench-") as folder:
            store = Path(folder) / "store"
            records = write_sparse_store(store, files)
            audited = audit_verb(store, write_subscriptions(Path(folder) / "subscriptions.jsonl"))
            checked(audited.messages, records)
            return 1, audited.megabytes

    return measure


def audit_benchmarks(size: int = STORE_BYTES) -> tuple[Benchmark, ...]:
    """The benchmarks on stores of about `size` bytes of each record size, and on a sparse one."""
    made = []
    for kind in SIZES:
        about = described(kind)
        made += [
            Benchmark(
                f"audit-{kind}",
                f"{about} audited for a group of eight topics, in a process that runs",
                UNIT,
                WALL,
                _audit(size, kind),
                real_wall(size, kind),
            ),
            Benchmark(
                f"audit-{kind}-spark",
                f"{about} audited for a group of eight topics, on a session that runs",
                UNIT,
                WALL,
                _audit(size, kind, on_spark=True),
                real_wall(size, kind),
            ),
            Benchmark(
                f"audit-{kind}-verb",
                f"{about} audited for a group of eight topics, from the verb's start to its end, checksums compared",
                UNIT,
                WALL,
                _verb(size, kind),
                real_wall(size, kind),
            ),
            Benchmark(
                f"audit-{kind}-verb-cpu",
                f"{about} audited for a group of eight topics by the verb, checksums compared, CPU of its process",
                UNIT,
                CPU,
                _verb(size, kind, wall=False),
                real_cpu(size, kind),
            ),
        ]
    made.append(
        Benchmark(
            "audit-sparse-memory",
            "highest memory of an audit of a sparse store of 100 GiB",
            "MB",
            "one of 1 GiB",
            _sparse(100),
            _sparse(1),
            heavy=True,
        )
    )
    return tuple(made)
