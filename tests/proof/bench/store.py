"""Reading a store directory against the real decoder of 4.8.0: the same files, in turns.

Files are made in a temporary folder and removed afterwards. Both sides must find the same records, or the benchmark
fails.
"""

from __future__ import annotations

import atexit
import shutil
import tempfile
from functools import cached_property, lru_cache
from pathlib import Path
from time import perf_counter, process_time
from typing import TYPE_CHECKING, Final

from tests.proof.bench.benchmark import Benchmark, Measurement
from tests.proof.bench.made_stores import FILE, SIZES, write_store, write_subscriptions

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    import pyarrow as pa
    from pyspark.sql import SparkSession

    from rmqlab_tools.spark.files.commit_log_files import LogRange
    from tests.proof.real.decoder import RealDecoder, Scanned

STORE_BYTES: Final = 1 << 30
CPU, WALL = "MessageDecoder without bodies, CPU", "MessageDecoder without bodies, one thread"
"""What the real decoder is compared by: its CPU time, its time on the wall."""
UNIT: Final = "messages/s"
_COLUMNS: Final = (
    "topic", "queueId", "queueOffset", "physicalOffset", "tags", "keys", "storeTimestamp", "bodyLength",
)  # fmt: skip


class RecordsDifferError(AssertionError):
    """Our decoder and the real one found different records."""


class Bench:
    """Stores, session and the Java process, each made when first needed."""

    def __init__(self, size: int) -> None:
        """Make nothing yet."""
        self.size = size
        self._folder = tempfile.TemporaryDirectory(prefix="rmqlab-bench-")
        self._stores: dict[str, tuple[Path, int]] = {}

    def store(self, kind: str) -> tuple[Path, int]:
        """The store directory of one record size, and its number of records; only one is kept."""
        if kind not in self._stores:
            for path, _ in self._stores.values():
                shutil.rmtree(path)
            self._stores.clear()
            path = Path(self._folder.name) / kind
            path.mkdir()
            self._stores[kind] = path, write_store(path, self.size, SIZES[kind])
        return self._stores[kind]

    @cached_property
    def subscriptions(self) -> Path:
        """What members ask for in each of the stores, and what the broker held."""
        # Where nothing tells since when the group is there, every message of a big log may be lost, and is a row.
        return write_subscriptions(Path(self._folder.name) / "subscriptions.jsonl")

    @cached_property
    def java(self) -> RealDecoder:
        """The real decoder."""
        from tests.proof.real.decoder import RealDecoder

        return RealDecoder()

    @cached_property
    def session(self) -> SparkSession:
        """The session, with memory for throughput."""
        from rmqlab_tools.spark.session import open_session

        return open_session(conf={"spark.driver.memory": "2g"})

    def real(self, kind: str) -> Scanned:
        """Let the real decoder read the store."""
        path, records = self.store(kind)
        scanned = self.java.scan(path / "commitlog")
        if scanned.records != records:
            raise RecordsDifferError(f"the real decoder reads {scanned.records} of {records} records")
        return scanned

    def close(self) -> None:
        """End the Java process and remove the files."""
        if "java" in self.__dict__:
            self.java.close()
        self._folder.cleanup()


@lru_cache(maxsize=1)
def bench(size: int) -> Bench:
    """The one bench of this process."""
    made = Bench(size)
    atexit.register(made.close)
    return made


def scan_sums(part: LogRange) -> tuple[int, int]:
    """Decode a range into eight columns; return the number of records and the checksum that `LogScan` has."""
    import pyarrow.compute as pc

    from rmqlab_tools.spark.files.log_reader import LogReader

    records = total = 0
    for batch in LogReader(_COLUMNS).read(part):
        records += batch.num_rows
        total += (pc.sum(batch["queueOffset"]).as_py() or 0) + (pc.sum(pc.utf8_length(batch["tags"])).as_py() or 0)
    return records, total


def _scan(size: int, kind: str) -> Callable[[], Measurement]:
    known: list[Scanned] = []

    def measure() -> Measurement:
        from rmqlab_tools.spark.files.commit_log_files import log_files, log_ranges

        prepared = bench(size)
        path, _ = prepared.store(kind)
        if not known:
            known.append(prepared.real(kind))
        begin = process_time()
        parts = [scan_sums(part) for part in log_ranges(log_files(path), FILE)]
        seconds = process_time() - begin
        counts = sum(records for records, _ in parts), sum(total for _, total in parts)
        if counts != known[0][:2]:
            raise RecordsDifferError(f"{counts} here, {known[0][:2]} by the real decoder (records, checksum)")
        return counts[0], seconds

    return measure


def real_cpu(size: int, kind: str) -> Callable[[], Measurement]:
    """The CPU time of the real decoder."""

    def measure() -> Measurement:
        scanned = bench(size).real(kind)
        return scanned.records, scanned.cpu_seconds

    return measure


def real_wall(size: int, kind: str) -> Callable[[], Measurement]:
    """The time on the wall of the real decoder, which has one thread."""

    def measure() -> Measurement:
        scanned = bench(size).real(kind)
        return scanned.records, scanned.seconds

    return measure


def _bytes(size: int, kind: str) -> Callable[[], Measurement]:
    def measure() -> Measurement:
        import numpy as np

        path, records = bench(size).store(kind)
        begin = process_time()
        for file in sorted((path / "commitlog").iterdir()):
            np.memmap(file, np.uint64, "r").sum()
        return records, process_time() - begin

    return measure


def _in_workers(size: int, kind: str) -> Callable[[], Measurement]:
    """Decode and add up inside the tasks."""

    def measure() -> Measurement:
        import pyarrow as pa

        from rmqlab_tools.spark.files.commit_log_files import log_files, log_ranges
        from rmqlab_tools.spark.files.tasks import over_ranges

        prepared = bench(size)
        path, records = prepared.store(kind)
        parts = log_ranges(log_files(path), FILE)
        schema = pa.schema([("records", pa.int64()), ("total", pa.int64())])

        def work(parts: Sequence[LogRange]) -> Iterator[pa.RecordBatch]:
            for part in parts:
                yield pa.record_batch([[figure] for figure in scan_sums(part)], schema=schema)

        begin = perf_counter()
        frame = over_ranges(prepared.session, parts, work, schema)
        counted = sum(row.records for row in frame.collect())
        return checked(counted, records), perf_counter() - begin

    return measure


def _data_source(size: int, kind: str) -> Callable[[], Measurement]:
    def measure() -> Measurement:
        from pyspark.sql import functions as F  # noqa: N812

        from rmqlab_tools.spark import read_store

        prepared = bench(size)
        path, records = prepared.store(kind)
        begin = perf_counter()
        frame = read_store(prepared.session, path, columns=_COLUMNS)
        row = frame.agg(F.count(F.lit(1)), F.sum("queueOffset"), F.sum(F.length("tags"))).collect()[0]
        return checked(row[0], records), perf_counter() - begin

    return measure


def _cpu(work: Callable[[], Measurement]) -> Callable[[], Measurement]:
    """Tell the CPU time of this process and all it started in the place of the time: the real decoder waits by now."""

    def measure() -> Measurement:
        from tests.proof.bench.cpu_time import cpu_seconds

        begin = cpu_seconds()
        done, _ = work()
        return done, cpu_seconds() - begin

    return measure


def checked(counted: int, records: int) -> int:
    """The number of records; raises `RecordsDifferError` where it is not that of the store."""
    if counted != records:
        raise RecordsDifferError(f"{counted} of {records} records")
    return counted


def described(kind: str) -> str:
    """What the texts of benchmarks call the store of a record size."""
    return f"a store with records of {kind} bytes"


def store_benchmarks(size: int = STORE_BYTES) -> tuple[Benchmark, ...]:
    """The benchmarks on stores of about `size` bytes of each record size."""
    made = []
    for kind in SIZES:
        about = described(kind)
        made += [
            Benchmark(
                f"store_scan-{kind}",
                f"{about} into columns, CPU of one core",
                UNIT,
                CPU,
                _scan(size, kind),
                real_cpu(size, kind),
            ),
            Benchmark(
                f"store_scan-{kind}-bytes",
                f"{about} into columns, one core",
                UNIT,
                "adding up the bytes",
                _scan(size, kind),
                _bytes(size, kind),
            ),
            Benchmark(
                f"store_scan-{kind}-workers",
                f"{about} on Spark, added up in the tasks",
                UNIT,
                WALL,
                _in_workers(size, kind),
                real_wall(size, kind),
            ),
            Benchmark(
                f"store_scan-{kind}-source",
                f"{about} through the data source, added up by Spark",
                UNIT,
                WALL,
                _data_source(size, kind),
                real_wall(size, kind),
            ),
            Benchmark(
                f"store_scan-{kind}-workers-cpu",
                f"{about} on Spark, added up in the tasks, CPU of all processes",
                UNIT,
                CPU,
                _cpu(_in_workers(size, kind)),
                real_cpu(size, kind),
            ),
            Benchmark(
                f"store_scan-{kind}-source-cpu",
                f"{about} through the data source, added up by Spark, CPU of all processes",
                UNIT,
                CPU,
                _cpu(_data_source(size, kind)),
                real_cpu(size, kind),
            ),
        ]
    return tuple(made)
