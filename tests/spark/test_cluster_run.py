"""Jobs at other addresses: what goes wrong is told. docs/how-to/cluster.md shows that the answers agree."""

from __future__ import annotations

import socket

import pytest

from rmqlab.errors import BadInput

pytest.importorskip("pyspark", reason="PySpark is not installed: ./lab test installs it")

from tests.proof.cluster_run import ClusterRunError, audit_at, run_everywhere
from tests.proof.spark_servers import ConnectServer, StandaloneCluster


def test_a_number_of_workers_that_no_machine_has_is_refused(tmp_path):
    for workers in (0, 9):
        with pytest.raises(BadInput, match=f"workers is {workers}; from 1 to 8"):
            run_everywhere(tmp_path, workers=workers)
    with pytest.raises(BadInput, match="no place 'the moon'; there are one core, cluster, Connect"):
        run_everywhere(tmp_path, places=["the moon"])


def test_a_job_that_fails_tells_its_last_words(tmp_path):
    (tmp_path / "commitlog").mkdir()
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port = one.getsockname()[1]
    with pytest.raises(
        ClusterRunError, match=rf"the job at spark://127.0.0.1:{port} ended with status 2:(\n.*)*no group is known"
    ):
        audit_at(f"spark://127.0.0.1:{port}", tmp_path)


def test_what_servers_are_started_with():
    """Workers find Spark's jars by the Scala version; a Connect server is a driver and needs a driver's memory."""
    with_cluster, connect = StandaloneCluster(), ConnectServer()
    try:
        assert with_cluster.environment["SPARK_SCALA_VERSION"].startswith("2.")
        assert with_cluster.environment["SPARK_DAEMON_MEMORY"] == "256m"
        assert connect.environment["SPARK_DAEMON_MEMORY"] == "1g"
    finally:
        with_cluster.stop()
        connect.stop()
    assert not with_cluster.folder.exists()
