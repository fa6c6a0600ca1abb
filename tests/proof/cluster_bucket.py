"""Stores of two brokers and a slave in a bucket, audited in one process and on a standalone cluster of two workers.

The bucket is moto's, in a thread of this process; the workers read it by ranges. Nothing is copied to them.

    .venv/bin/python -m tests.proof.cluster_bucket
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from rmqlab_tools.spark.session import provide_java
from tests.proof.cluster_run import quick, run_python, workers_used
from tests.proof.spark_servers import StandaloneCluster
from tests.proof.two_brokers import ADDRESS, NAMES, RECORDED, bucket, unpack, upload

if TYPE_CHECKING:
    from collections.abc import Sequence

ADDRESSES: Final = tuple(f"{ADDRESS}/{name}" for name in NAMES)


def main() -> int:
    """Put the stores into a bucket, audit them at both places, and print what each said; 1 if they differ."""
    provide_java(os.environ)
    with bucket(), tempfile.TemporaryDirectory(prefix="rmqlab-bucket-") as folder:
        unpack(Path(folder))
        upload(Path(folder))
        here = audited("")
        with StandaloneCluster(2) as cluster:
            there = audited(cluster.address)
            used = workers_used(cluster)
    for place, result in (("one process", here), (f"a cluster, {len(used)} workers used", there)):
        sys.stdout.write(f"{place}: {says(result)}\n")
    same = here["groups"] == there["groups"] and len(used) == 2
    sys.stdout.write(f"{'the same answer' if same else 'NOT the same answer'}\n")
    return 0 if same else 1


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
