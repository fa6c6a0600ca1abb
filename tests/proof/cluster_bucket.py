"""Stores of two brokers and a slave in a bucket, audited in one process and on a standalone cluster of two workers.

The bucket is moto's, in a thread of this process; the workers read it by ranges. Nothing is copied to them.

    .venv/bin/python -m tests.proof.cluster_bucket
"""

from __future__ import annotations

import json
import logging
import os
import shutil
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from unittest.mock import patch
from urllib.request import Request, urlopen

import pyarrow.fs as pafs

from rmqlab_tools.spark.session import provide_java
from tests.proof.cluster_run import quick, run_python, workers_used
from tests.proof.spark_servers import StandaloneCluster

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

RECORDED: Final = Path(__file__).parents[2] / "data" / "golden" / "broker-4.8.0" / "two-brokers"
NAMES: Final = ("broker-a", "broker-b", "broker-a-slave")
ADDRESSES: Final = tuple(f"s3://bucket/{name}" for name in NAMES)


def main() -> int:
    """Put the stores into a bucket, audit them at both places, and print what each said; 1 if they differ."""
    from moto.server import ThreadedMotoServer

    provide_java(os.environ)
    logging.getLogger("werkzeug").setLevel(logging.ERROR)  # a line for each request else
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    try:
        host, port = server.get_host_and_port()
        credentials = {
            "AWS_ACCESS_KEY_ID": "tester", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_DEFAULT_REGION": "us-east-1",
            "AWS_EC2_METADATA_DISABLED": "true", "AWS_ENDPOINT_URL": f"http://{host}:{port}",
        }  # fmt: skip
        with patch.dict(os.environ, credentials):
            _fill(f"http://{host}:{port}/bucket")
            here = audited("")
            with StandaloneCluster(2) as cluster:
                there = audited(cluster.address)
                used = workers_used(cluster)
    finally:
        server.stop()
    for place, result in (("one process", here), (f"a cluster, {len(used)} workers used", there)):
        sys.stdout.write(f"{place}: {says(result)}\n")
    same = here["groups"] == there["groups"] and len(used) == 2
    sys.stdout.write(f"{'the same answer' if same else 'NOT the same answer'}\n")
    return 0 if same else 1


def _fill(bucket: str) -> None:
    urlopen(Request(bucket, method="PUT")).close()  # noqa: S310 - our own server
    there, _ = pafs.FileSystem.from_uri(f"{ADDRESSES[0]}/x")
    with tempfile.TemporaryDirectory(prefix="rmqlab-bucket-") as folder:
        for name in NAMES:
            shutil.unpack_archive(RECORDED / name / "store.tar.gz", Path(folder, name), filter="data")
            shutil.copy(RECORDED / name / "broker.conf", Path(folder, name))
        for path in _files(Path(folder)):
            with there.open_output_stream(f"bucket/{path.relative_to(folder).as_posix()}") as stream:
                stream.write(path.read_bytes())


def _files(folder: Path) -> Iterator[Path]:
    return (path for path in sorted(folder.rglob("*")) if path.is_file())


def audited(address: str, stores: Sequence[str] = ADDRESSES) -> dict[str, Any]:
    """What `rmqlab audit --json` says of the stores, at a Spark's address or, without, in one process.

    Raises:
        ClusterRunError: the audit failed.
    """
    with tempfile.TemporaryDirectory(prefix="rmqlab-run-") as folder:
        result, log = Path(folder) / "audit.json", str(RECORDED / "events.jsonl.gz")
        command = ["-m", "rmqlab", "audit", *stores, "--subscriptions", log, "--delivered", log, "--json", str(result)]
        more = {"PYSPARK_SUBMIT_ARGS": quick(address)} if address else {}
        run_python([*command, *(["--spark", address] if address else [])], address or "one process", more)
        record: dict[str, Any] = json.loads(result.read_text(encoding="utf-8"))
    return record


def says(result: dict[str, Any]) -> str:
    """The sums of an audit, in a line."""
    topics = [topic for topics in result["groups"].values() for topic in topics.values()]
    sent, lost = (sum(topic[name] for topic in topics) for name in ("sent", "lost"))
    brokers = ", ".join(broker["broker"] for broker in result["brokers"])
    return f"{sent} messages of {brokers}, {lost} lost; copies not counted: {len(result['copies'])}"


if __name__ == "__main__":
    sys.exit(main())
