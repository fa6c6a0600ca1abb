"""The store that benchmarks read: every record whole, in its place, in its queue."""

from __future__ import annotations

import pytest

pytest.importorskip("pyarrow", reason="pyarrow is not installed: ./lab test installs it")

from rmqlab_tools.spark.files.commit_log_files import log_files, log_ranges
from rmqlab_tools.spark.files.log_reader import LogReader
from tests.proof.bench import store as bench_store

pytestmark = pytest.mark.slow


def test_a_store_for_benchmarks_is_sound(tmp_path):
    count = bench_store.write_store(tmp_path, 3 << 20, bench_store.SIZES["470"], file_bytes=1 << 20)
    assert [file.size for file in log_files(tmp_path)] == [1 << 20] * 3
    columns = ("physicalOffset", "size", "queueId", "queueOffset", "tags", "corrupt")
    rows = [
        row
        for part in log_ranges(log_files(tmp_path), 1 << 40)
        for batch in LogReader(columns).read(part)
        for row in batch.to_pylist()
    ]
    assert len(rows) == count
    assert {row["corrupt"] for row in rows} == {None}
    assert all(row["tags"] for row in rows)
    sizes = sum(row["size"] for row in rows) / count
    assert 400 < sizes < 540
    assert sum(bench_store.scan_sums(part)[0] for part in log_ranges(log_files(tmp_path), 100_000)) == count


def test_benchmarks_have_a_reference_in_the_same_run():
    names = [benchmark.name for benchmark in bench_store.store_benchmarks()]
    assert {"store_scan-470", "store_scan-2k", "store_scan-470-bytes", "audit-470"} <= set(names)
    assert len(set(names)) == len(names)
