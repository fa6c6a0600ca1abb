"""Clusters on the bench: ours starts, tells its memory and CPU time, and leaves nothing behind."""

from __future__ import annotations

import socket
import sys
import time

import pytest

from tests.proof.bench.benchmark import Benchmark, run_benchmark
from tests.proof.real import clusters as bench_cluster
from tests.proof.real.clusters import BenchError, OurCluster

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="these benchmarks read /proc: run them on Linux")


def test_our_cluster_serves_and_goes():
    with OurCluster() as cluster:
        host, port = cluster.namesrv.split(":")
        socket.create_connection((host, int(port)), 5).close()
        assert 5_000_000 < cluster.resident_bytes() < 500_000_000
        assert cluster.cpu_seconds() > 0
        home = cluster._home
        while not (home / "store" / "lock").exists():  # the name server answers before the broker has its folder
            assert all(process.poll() is None for process in cluster._processes)
            time.sleep(0.05)
    assert not home.exists()
    with pytest.raises(OSError, match="refused"):
        socket.create_connection((host, int(port)), 5)


def test_a_cluster_that_does_not_start_says_why(monkeypatch):
    monkeypatch.setitem(bench_cluster.SETTINGS, "flushDiskType", "SOMETIMES")
    with pytest.raises(BenchError, match="flushDiskType must be"), OurCluster():
        pass


def test_memory_is_counted_once():
    turns = iter([(1, 100.0), (1, 30.0), (1, 200.0), (1, 50.0)])
    benchmark = Benchmark("x", "memory", "MB", "another", lambda: next(turns), lambda: next(turns))
    result = run_benchmark(benchmark, runs=1)
    assert (result.value, result.reference, result.ratio) == (50.0, 200.0, 0.25)
