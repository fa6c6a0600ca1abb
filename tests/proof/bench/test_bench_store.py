"""The store that benchmarks read: every record whole, in its place, in its queue."""

from __future__ import annotations

import pytest

pytest.importorskip("pyarrow", reason="pyarrow is not installed: ./lab test installs it")

from rmqlab_tools.spark.files.commit_log_files import log_files, log_ranges
from rmqlab_tools.spark.files.log_reader import LogReader
from tests.proof.bench import store as bench_store
from tests.proof.bench.audits import audit_benchmarks, audit_verb
from tests.proof.bench.made_stores import SIZES, write_sparse_store, write_store, write_subscriptions

pytestmark = pytest.mark.slow


def test_a_store_for_benchmarks_is_sound(tmp_path):
    count = write_store(tmp_path, 3 << 20, SIZES["470"], file_bytes=1 << 20)
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
    names = [benchmark.name for benchmark in (*bench_store.store_benchmarks(), *audit_benchmarks())]
    assert {"store_scan-470", "store_scan-2k", "store_scan-470-bytes", "audit-470"} <= set(names)
    assert len(set(names)) == len(names)


def test_memory_of_an_audit_does_not_grow_with_the_store(tmp_path):
    """Four times the bytes, in files with holes and in records whose bodies are holes: what is kept is as little."""
    subscriptions = write_subscriptions(tmp_path / "subscriptions.jsonl")
    megabytes = []
    for files in (8, 32):
        store = tmp_path / str(files)
        records = write_sparse_store(store, files, file_bytes=64 << 20, block_bytes=64 << 10)
        audited = audit_verb(store, subscriptions)
        assert audited.messages == records
        megabytes.append(audited.megabytes)
    assert megabytes[1] - megabytes[0] < 150
