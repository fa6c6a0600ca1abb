"""Clusters on this machine for benchmarks: ours and the real 4.8.0, each in processes of its own, and a Java client.

Needs a JDK, Maven and a system with `/proc`. Both clusters get the same settings and a new store folder on the same
disk.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from itertools import cycle
from pathlib import Path
from typing import IO, TYPE_CHECKING, Final, Self

from rmqlab.checkout import ROOT
from rmqlab.errors import BadInput
from rmqlab.message.java_properties import properties_line
from tests.proof.real.filter import set_up

if TYPE_CHECKING:
    from types import TracebackType

SETTINGS: Final = {"brokerIP1": "127.0.0.1", "diskMaxUsedSpaceRatio": "99", "flushDiskType": "ASYNC_FLUSH"}
_OPENS: Final = (
    "--add-opens=java.base/java.nio=ALL-UNNAMED",
    "--add-opens=java.base/sun.nio.ch=ALL-UNNAMED",
    "--add-opens=java.base/java.lang=ALL-UNNAMED",
    "--add-opens=java.base/jdk.internal.ref=ALL-UNNAMED",
    "--add-exports=java.base/jdk.internal.ref=ALL-UNNAMED",
)
_LOGBACK: Final = '<configuration><root level="OFF"/></configuration>'
_PATIENCE: Final = 60.0
# Below those that the system gives away, and each process begins elsewhere.
_FIRST_PORTS: Final = cycle([20_000 + (os.getpid() * 97 + number) % 1_000 * 6 for number in range(1_000)])


class BenchError(BadInput):
    """A benchmark that cannot run here, or a program of it that ended before its time."""


class Cluster:
    """A name server and a broker over a folder that goes with it. A context manager; `start` is inside."""

    def __init__(self) -> None:
        self._home = Path(tempfile.mkdtemp(prefix="rmqlab-bench-"))
        self._processes: list[subprocess.Popen[bytes]] = []
        self.ports = free_ports()
        self.started = 0.0

    def __enter__(self) -> Self:
        try:
            self.start()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def namesrv(self) -> str:
        """Address of the name server."""
        return f"127.0.0.1:{self.ports[0]}"

    def start(self) -> None:
        """Start the processes; `started` is when (seconds since the epoch). Clients cannot connect yet, maybe."""
        raise NotImplementedError

    def close(self) -> None:
        """End the processes and delete the folder."""
        for process in reversed(self._processes):
            process.kill()
            process.wait()
        shutil.rmtree(self._home, ignore_errors=True)

    def cpu_seconds(self) -> float:
        """CPU time that the processes took so far."""
        ticks = os.sysconf("SC_CLK_TCK")
        return sum(sum(map(int, _stat(process.pid)[11:13])) for process in self._processes) / ticks

    def resident_bytes(self) -> int:
        """Memory of the processes that is in use now."""
        page = os.sysconf("SC_PAGE_SIZE")
        return sum(int(_read(f"/proc/{process.pid}/statm").split()[1]) * page for process in self._processes)

    def _spawn(self, command: list[str], **environment: str) -> None:
        log = (self._home / f"{len(self._processes)}.log").open("wb")
        with log:
            self._processes.append(
                subprocess.Popen(  # noqa: S603 - our own interpreter, or the real jars
                    command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=ROOT,
                    env={**os.environ, **environment},
                )
            )  # fmt: skip

    def _wait_for(self, port: int) -> None:
        deadline = time.monotonic() + _PATIENCE
        process = self._processes[-1]
        while process.poll() is None and time.monotonic() < deadline:
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
                return
            time.sleep(0.005)
        raise BenchError(f"nothing listens on port {port}: {_read(self._home / f'{len(self._processes) - 1}.log')}")


class OurCluster(Cluster):
    """`rmqlab serve` over `store`, a new folder if none is named, with `settings` over those of all clusters."""

    def __init__(self, store: Path | None = None, **settings: str) -> None:
        super().__init__()
        self._store = store or self._home / "store"
        self._settings = {**SETTINGS, **settings}

    @property
    def broker(self) -> str:
        """Address of the broker."""
        return f"127.0.0.1:{self.ports[1]}"

    def start(self) -> None:
        """One process."""
        self.started = time.time()
        self._spawn([
            sys.executable, "-m", "rmqlab", "serve", "--namesrv", self.namesrv,
            "--listen", self.broker, *self._where(),
            *(f"--set={name}={value}" for name, value in self._settings.items()),
        ])  # fmt: skip
        self._wait_for(self.ports[1])

    def _where(self) -> list[str]:
        return ["--store", str(self._store)]

    def signal(self, number: int) -> int:
        """Send a signal, wait until the process has ended, and return its exit status. Raises BenchError."""
        process = self._processes[-1]
        process.send_signal(number)
        try:
            return process.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            raise BenchError(f"rmqlab serve did not end within {_PATIENCE:g} s of signal {number}") from None

    def log(self) -> str:
        """Return what it wrote to its output and error output so far."""
        return _read(self._home / f"{len(self._processes) - 1}.log")


class MemoryCluster(OurCluster):
    """`rmqlab serve` that keeps its messages in memory."""

    def _where(self) -> list[str]:
        return []


class RealCluster(Cluster):
    """The real name server and broker."""

    def start(self) -> None:
        """Two processes; the broker is started when the name server listens."""
        java, folder = set_up()
        home, store = self._home, self._home / "store"
        (home / "conf").mkdir()
        for name in ("logback_namesrv.xml", "logback_broker.xml"):
            (home / "conf" / name).write_text(_LOGBACK, encoding="utf-8")
        settings = {
            **SETTINGS, "brokerName": "broker-a", "brokerClusterName": "DefaultCluster", "brokerId": "0",
            "namesrvAddr": self.namesrv, "listenPort": str(self.ports[1]), "haListenPort": "0",
            "storePathRootDir": str(store), "storePathCommitLog": str(store / "commitlog"),
        }  # fmt: skip
        _write_conf(home / "broker.conf", settings)
        _write_conf(home / "namesrv.conf", {"listenPort": str(self.ports[0])})
        command = [
            str(java / "bin" / "java"), *_OPENS, "-Xmx1g", f"-Duser.home={home}", f"-Drocketmq.home.dir={home}",
            "-cp", str(folder / "lib" / "*"),
        ]  # fmt: skip
        self.started = time.time()
        for package, main, conf, port in (
            ("namesrv", "NamesrvStartup", "namesrv.conf", self.ports[0]),
            ("broker", "BrokerStartup", "broker.conf", self.ports[1]),
        ):
            name = f"org.apache.rocketmq.{package}.{main}"
            self._spawn([*command, name, "-c", str(home / conf)], ROCKETMQ_HOME=str(home))
            self._wait_for(port)


class JavaClient:
    """`ServeBench.java`: real 4.8.0 clients that do one command after the other. A context manager."""

    def __init__(self, namesrv: str) -> None:
        java, folder = set_up()
        self._process = subprocess.Popen(  # noqa: S603 - our own program
            [
                str(java / "bin" / "java"), *_OPENS, "-Xmx1g", f"-Dlogback.configurationFile={folder / 'logback.xml'}",
                f"-Duser.home={folder}", "-Drocketmq.client.logUseSlf4j=true",
                "-Drocketmq.client.rebalance.waitInterval=1000",
                "-cp", f"{folder / 'classes'}{os.pathsep}{folder / 'lib' / '*'}", "ServeBench", namesrv,
            ],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, bufsize=1,
        )  # fmt: skip

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def ask(self, *words: object) -> list[int]:
        """Have a command done and return the numbers it answers. Raises BenchError when the client ends instead."""
        self.tell(*words)
        return self.answer()

    def tell(self, *words: object) -> None:
        """Give a command."""
        pipe = _pipe(self._process.stdin)
        pipe.write(" ".join(map(str, words)) + "\n")
        pipe.flush()

    def answer(self) -> list[int]:
        """Wait for the answer to a command."""
        line = _pipe(self._process.stdout).readline()
        if not line:
            raise BenchError(f"the Java client ended with status {self._process.wait()}")
        return [int(word) for word in line.split()]

    def close(self) -> None:
        """End it."""
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            with contextlib.suppress(OSError):
                _pipe(pipe).close()


def free_ports() -> tuple[int, int]:
    """Return two free ports, of a name server and a broker, which nobody gets who asks for just any.

    A Java process binds its own seconds later. A real broker listens two ports below its own as well, and one above for
    slaves.
    """
    while True:
        first = next(_FIRST_PORTS)
        if all(_is_free(first + more) for more in (0, 2, 4, 5)):
            return first, first + 4


def _is_free(port: int) -> bool:
    try:
        socket.create_server(("127.0.0.1", port)).close()
    except (OSError, OverflowError):  # taken, or above 65535
        return False
    return True


def _write_conf(path: Path, settings: dict[str, str]) -> None:
    path.write_text("".join(properties_line(*setting) for setting in settings.items()), encoding="ascii")


def _stat(pid: int) -> list[str]:
    """Return the fields of `/proc/PID/stat` behind the name."""
    return _read(f"/proc/{pid}/stat").rpartition(")")[2].split()


def _read(path: str | Path) -> str:
    try:
        return Path(path).read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise BenchError(f"{path}: {error.strerror}; these benchmarks need a system with /proc") from error


def _pipe(pipe: IO[str] | None) -> IO[str]:
    if pipe is None:
        raise BenchError("the Java client was started without pipes")
    return pipe
