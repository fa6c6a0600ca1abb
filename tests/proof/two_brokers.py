"""The recorded stores of two brokers and a slave, unpacked; and folders as a bucket of an S3 server of this process."""

from __future__ import annotations

import logging
import os
import shutil
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final
from unittest.mock import patch
from urllib.request import Request, urlopen

import pyarrow.fs as pafs

from rmqlab.checkout import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

RECORDED: Final = ROOT / "data" / "golden" / "broker-4.8.0" / "two-brokers"
NAMES: Final = ("broker-a", "broker-b", "broker-a-slave")
ADDRESS: Final = "s3://bucket"
CREDENTIALS: Final = {
    "AWS_ACCESS_KEY_ID": "tester",
    "AWS_SECRET_ACCESS_KEY": "secret",
    "AWS_DEFAULT_REGION": "us-east-1",
    "AWS_EC2_METADATA_DISABLED": "true",
}


def unpack(folder: Path) -> None:
    """Put each store into `folder`, with its broker's settings, under its name."""
    for name in NAMES:
        shutil.unpack_archive(RECORDED / name / "store.tar.gz", folder / name, filter="data")
        shutil.copy(RECORDED / name / "broker.conf", folder / name)


@contextmanager
def bucket() -> Iterator[str]:
    """While the block runs, `ADDRESS` is an empty bucket, and the environment says how to reach it; HOST:PORT."""
    from moto.server import ThreadedMotoServer

    logging.getLogger("werkzeug").setLevel(logging.ERROR)  # a line for each request else
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    try:
        host, port = server.get_host_and_port()
        endpoint = f"http://{host}:{port}"
        with patch.dict(os.environ, CREDENTIALS | {"AWS_ENDPOINT_URL": endpoint}):
            urlopen(Request(f"{endpoint}/bucket", method="PUT")).close()  # noqa: S310 - our own server
            yield f"{host}:{port}"
    finally:
        server.stop()


def upload(folder: Path, address: str = ADDRESS) -> None:
    """Put the files below `folder` to an address in the bucket."""
    there, inner = pafs.FileSystem.from_uri(f"{address}/x")
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        name = f"{inner.removesuffix('/x')}/{path.relative_to(folder).as_posix()}"
        with there.open_output_stream(name, compression=None) as stream:  # Arrow would pack what is packed once more
            stream.write(path.read_bytes())
