"""Services on this machine that speak as Azure's, Google's and Hadoop's do: fetched when they are asked for, and kept.

Azurite comes by npm, fake-gcs-server by go, a MiniDFSCluster by Maven. Arrow reads HDFS by libhdfs, which Hadoop's
distribution has: the folder in ARROW_LIBHDFS_DIR, else it is made from the sources in the crate hdfs-sys.
"""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple
from urllib.parse import quote

import pyarrow.fs as pafs

from rmqlab_tools.spark.session import provide_java

if TYPE_CHECKING:
    from collections.abc import Iterator

KEPT: Final = Path(tempfile.gettempdir()) / "rmqlab-emulators"
_HERE: Final = Path(__file__).parent
AZURE_KEY: Final = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
"""The well-known key of Azurite's only account."""
_STARTS_WITHIN: Final = 120


class Service(NamedTuple):
    """A running service: an address with `{}` for a path in a bucket, what the environment needs, and wrong ones.

    `wrong`: by what is wrong, an address and variables, all of which are to give one line soon.
    """

    name: str
    address: str
    environment: Mapping[str, str]
    wrong: Mapping[str, tuple[str, Mapping[str, str]]]
    filesystem: pafs.FileSystem


class NotHereError(Exception):
    """What a service needs is not on this machine; the text says what."""


@contextmanager
def azure() -> Iterator[Service]:
    """Azurite."""
    program = KEPT / "npm" / "node_modules" / ".bin" / "azurite-blob"
    if not program.exists():
        _fetch(
            "npm", "install", "--silent", "--no-audit", "--no-fund", "--prefix", program.parents[2], "azurite@3.37.0"
        )
    with _folder() as folder, _deaf() as deaf:
        port = _free_port()
        options = ["--silent", "--location", folder, "--blobHost", "127.0.0.1", "--blobPort", port]
        with _running([program, *options, "--skipApiVersionCheck"], port):
            where = "abfs://{at}@devstoreaccount1.dfs.core.windows.net/{path}?enable_tls=false&blob_storage_authority={host}&dfs_storage_authority={host}"
            host, key = f"127.0.0.1:{port}", {"AZURE_STORAGE_KEY": AZURE_KEY}
            address = where.format(at="bucket", path="{}", host=host)
            filesystem = pafs.AzureFileSystem(
                "devstoreaccount1", account_key=AZURE_KEY, blob_storage_authority=host, dfs_storage_authority=host,
                blob_storage_scheme="http", dfs_storage_scheme="http",
            )  # fmt: skip
            wrong: dict[str, tuple[str, Mapping[str, str]]] = {
                "no such bucket": (where.format(at="other", path="broker-a", host=host), key),
                "another key": (address.format("broker-a"), {"AZURE_STORAGE_KEY": "b3RoZXI="}),
                "no key": (address.format("broker-a"), {"AZURE_STORAGE_KEY": "no key"}),
                "no credentials": (address.format("broker-a"), {}),
                "other account": (f"abfs://other:{quote(AZURE_KEY, '')}@{host}/bucket/broker-a?enable_tls=false", {}),
                "nobody there": (where.format(at="bucket", path="broker-a", host=f"127.0.0.1:{_free_port()}"), key),
                "deaf": (where.format(at="bucket", path="broker-a", host=f"127.0.0.1:{deaf}"), key),
                "HTTPS of HTTP": (address.format("broker-a").replace("enable_tls=false&", ""), key),
                "no account": ("abfs://bucket/broker-a", key),
            }
            yield Service("Azurite 3.37.0", address, key, wrong, filesystem)


@contextmanager
def google() -> Iterator[Service]:
    """fake-gcs-server."""
    program = KEPT / "go" / "fake-gcs-server"
    if not program.exists():
        _fetch("go", "install", "github.com/fsouza/fake-gcs-server@v1.56.1", GOBIN=str(program.parent))
    with _deaf() as deaf:
        port = _free_port()
        host = f"127.0.0.1:{port}"
        options = ["-scheme", "http", "-host", "127.0.0.1", "-port", port, "-backend", "memory", "-public-host", host]
        with _running([program, *options], port):
            emulator = {"STORAGE_EMULATOR_HOST": f"http://{host}"}
            nobody = {"GOOGLE_APPLICATION_CREDENTIALS": "/nowhere/key.json"}
            own = f"gs://bucket/broker-a?scheme=http&endpoint_override={host}"
            wrong: dict[str, tuple[str, Mapping[str, str]]] = {
                "no such bucket": ("gs://other/broker-a", emulator),
                "no credentials": (own, nobody),
                "nobody there": ("gs://bucket/broker-a", {"STORAGE_EMULATOR_HOST": f"127.0.0.1:{_free_port()}"}),
                "deaf": ("gs://bucket/broker-a", {"STORAGE_EMULATOR_HOST": f"127.0.0.1:{deaf}"}),
                "HTTPS of HTTP": (own.replace("scheme=http&", ""), nobody),
                "unknown option": (f"{own}&none=1", emulator),
            }
            filesystem = pafs.GcsFileSystem(anonymous=True, scheme="http", endpoint_override=host, project_id="tests")
            yield Service("fake-gcs-server 1.56.1", "gs://bucket/{}", emulator, wrong, filesystem)


@contextmanager
def hadoop() -> Iterator[Service]:
    """A name node and a data node of Hadoop, in one JVM.

    Raises:
        NotHereError: no libhdfs.
    """
    jars = KEPT / "hadoop" / "jars"
    if not jars.exists():
        _fetch("mvn", "-q", "-B", "-f", _HERE / "pom.xml", "dependency:copy-dependencies", f"-DoutputDirectory={jars}")
    provide_java(os.environ)
    library = _libhdfs()
    # The tests' jars of the cluster are not for its clients.
    classpath = os.pathsep.join(str(jar) for jar in sorted(jars.glob("*.jar")) if "minicluster" not in jar.name)
    with _folder() as folder, _deaf() as deaf:
        port = _free_port()
        java = Path(os.environ["JAVA_HOME"], "bin", "java")
        quiet = "-Dorg.slf4j.simpleLogger.defaultLogLevel=error"
        command = [java, quiet, "-cp", jars / "*", _HERE / "NameAndDataNode.java", folder, port]
        with _running(command, port, b"ready"):
            environment = {
                "ARROW_LIBHDFS_DIR": str(library), "JAVA_HOME": os.environ["JAVA_HOME"], "CLASSPATH": classpath,
                "LIBHDFS_OPTS": quiet,
            }  # fmt: skip
            os.environ.update(environment)  # for the file system of this process
            address = f"hdfs://127.0.0.1:{port}/bucket/{{}}"
            without = {name: value for name, value in environment.items() if name != "CLASSPATH"}
            wrong: dict[str, tuple[str, Mapping[str, str]]] = {
                "no such folder": (f"hdfs://127.0.0.1:{port}/other/broker-a", environment),
                "nobody there": (f"hdfs://127.0.0.1:{_free_port()}/bucket/broker-a", environment),
                "no such host": ("hdfs://nowhere.invalid/bucket/broker-a", environment),
                "deaf": (f"hdfs://127.0.0.1:{deaf}/bucket/broker-a", environment),
                "no libhdfs": (address.format("broker-a"), environment | {"ARROW_LIBHDFS_DIR": "/nowhere"}),
                "no jars": (address.format("broker-a"), without),
            }
            filesystem, _ = pafs.FileSystem.from_uri(address.format(""))
            yield Service("MiniDFSCluster of Hadoop 3.4.2", address, environment, wrong, filesystem)


def _libhdfs() -> Path:
    """The folder of libhdfs.so."""
    if "ARROW_LIBHDFS_DIR" in os.environ:
        return Path(os.environ["ARROW_LIBHDFS_DIR"])
    folder = KEPT / "hadoop" / "libhdfs"
    if not (folder / "libhdfs.so").exists():
        target = KEPT / "hadoop" / "target"
        source = shutil.copytree(_HERE / "libhdfs", KEPT / "hadoop" / "source", dirs_exist_ok=True)  # it gets a lock
        _fetch(
            "cargo", "build", "--quiet", "--manifest-path", source / "Cargo.toml", "--target-dir", target,
            CFLAGS="-DLIBHDFS_DLL_EXPORT",
        )  # fmt: skip
        archive = next(target.glob("debug/build/hdfs-sys-*/out/libhdfs.a"))
        folder.mkdir(parents=True, exist_ok=True)
        jvm = Path(os.environ["JAVA_HOME"], "lib", "server")
        _fetch(
            "cc", "-shared", "-o", folder / "libhdfs.so", "-Wl,--whole-archive", archive, "-Wl,--no-whole-archive",
            f"-L{jvm}", "-ljvm", f"-Wl,-rpath,{jvm}", "-lpthread", "-ldl",
        )  # fmt: skip
    return folder


def _fetch(program: str, *arguments: object, **environment: str) -> None:
    if shutil.which(program) is None:
        raise NotHereError(f"{program} is not on this machine")
    done = subprocess.run(  # noqa: S603 - our own words
        [program, *map(str, arguments)], env=os.environ | environment, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise NotHereError(f"{program} failed: {(done.stderr or done.stdout).strip().splitlines()[-1:]}")


@contextmanager
def _running(command: list[object], port: int, ready: bytes = b"") -> Iterator[None]:
    """A server while the block runs: it prints `ready`, or listens."""
    with _folder() as folder, Path(folder, "printed").open("wb") as printed:
        process = subprocess.Popen(  # noqa: S603 - our own words
            [*map(str, command)], stdin=subprocess.PIPE, stdout=printed, stderr=printed, start_new_session=True
        )
        try:
            until = time.monotonic() + _STARTS_WITHIN
            while not (ready in Path(printed.name).read_bytes() if ready else _listens(port)):
                if process.poll() is not None or time.monotonic() > until:
                    raise NotHereError(f"{command[0]}: {Path(printed.name).read_bytes()[-300:]!r}")
                time.sleep(0.2)
            yield
        finally:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def _listens(port: int) -> bool:
    with socket.socket() as client:
        return client.connect_ex(("127.0.0.1", port)) == 0


def _free_port() -> int:
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        return int(server.getsockname()[1])


@contextmanager
def _deaf() -> Iterator[int]:
    """A port that takes connections and says nothing."""
    with socket.create_server(("127.0.0.1", 0), backlog=64) as server:
        yield int(server.getsockname()[1])


@contextmanager
def _folder() -> Iterator[str]:
    with tempfile.TemporaryDirectory(prefix="rmqlab-emulator-", ignore_cleanup_errors=True) as folder:
        yield folder
