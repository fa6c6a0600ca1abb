"""Spark's own servers on this machine: a standalone cluster of a master and workers, and a Connect server.

For trying out what a cluster changes, for tests and for notebooks: on loopback, ports that are free, nothing left
behind. A real cluster is somebody else's; only its address is needed (`rmqlab_tools.spark.session`).
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Final, Self

from rmqlab.errors import BadInput
from rmqlab_tools.spark.session import (
    ADDRESS_SETTING,
    DEFAULT,
    MODULES,
    PACKAGE_FOLDER,
    SAFE_PATH,
    SUBMITTED,
    provide_java,
    require_modules,
)
from tests.proof.class_archive import with_archive

if TYPE_CHECKING:
    from types import TracebackType

HOST: Final = "127.0.0.1"
READY_S: Final = 300  # only a start that hangs waits so long; two busy cores with many other programs took 70
GOES_S: Final = 10
_MASTER: Final = "org.apache.spark.deploy.master.Master"
_WORKER: Final = "org.apache.spark.deploy.worker.Worker"
_CONNECT: Final = "org.apache.spark.sql.connect.service.SparkConnectServer"


class _Process:
    """One JVM: started, ready when its log has a line that matches, ended with its group."""

    def __init__(self, command: list[str], ready: str, environment: dict[str, str]) -> None:
        self.command = command
        self.log: list[str] = []
        self._pattern, self._found, self._ready = re.compile(ready), "", threading.Event()
        self._process = subprocess.Popen(  # noqa: S603 - Spark's own launcher, with our arguments
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", env=environment
        )
        # read to its end, or the server stops when the pipe is full
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        for line in self._process.stdout or ():
            if len(self.log) < 1_000:
                self.log.append(line.rstrip())
            match = self._pattern.search(line)
            if match and not self._ready.is_set():
                self._found = match.group(match.lastindex or 0)
                self._ready.set()
        self._ready.set()

    def wait(self, until: float) -> str:
        """What the pattern's last group matched.

        Raises:
            BadInput: the server ended, or did not say so in time; with its last lines.
        """
        self._ready.wait(max(0.0, until - monotonic()))
        if not self._found:
            last = "\n  ".join(self.log[-5:]) or "it printed nothing"
            raise BadInput(f"{self._name()} is not ready within {READY_S} s:\n  {last}")
        return self._found

    def _name(self) -> str:
        names = [part for part in self.command if part.startswith("org.apache.spark.")]
        return names[-1] if names else self.command[0]

    def end(self) -> None:
        self._process.terminate()
        try:
            self._process.wait(GOES_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


class _Servers:
    """Processes and a folder of their own, gone at the end of the `with`."""

    def __init__(self) -> None:
        require_modules(MODULES)
        java = provide_java(os.environ)
        import pyspark

        self.home = Path(pyspark.__file__).parent
        self.folder = Path(tempfile.mkdtemp(prefix="rmqlab-spark-"))
        self.processes: list[_Process] = []
        self._java: list[str] = []
        known = [str(PACKAGE_FOLDER.parent), *filter(None, [os.environ.get("PYTHONPATH")])]
        # Spark's shell scripts look it up; without it neither launcher nor worker finds the jars
        scala = next((jar.name.split("_")[1].split("-")[0] for jar in self.home.glob("jars/spark-core_*.jar")), "")
        self.environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith("SPARK_")},
            "JAVA_HOME": str(java),
            "SPARK_HOME": str(self.home),
            "SPARK_SCALA_VERSION": scala,
            "SPARK_LOCAL_IP": HOST,
            # master and workers do little themselves: a small heap and the quick compiler start sooner
            "SPARK_DAEMON_MEMORY": "256m",
            "SPARK_DAEMON_JAVA_OPTS": with_archive("-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"),
            "SPARK_LOCAL_DIRS": str(self.folder),
            "PYSPARK_PYTHON": sys.executable,
            "PYTHONPATH": os.pathsep.join(known),
            SAFE_PATH: "1",
        }

    def start(self, program: str, arguments: list[str], ready: str) -> _Process:
        process = _Process([str(self.home / "bin" / program), *arguments], ready, self.environment)
        self.processes.append(process)
        return process

    def start_daemon(self, name: str, arguments: list[str], ready: str) -> _Process:
        """Start a daemon without a launcher of its own: `spark-class` starts a JVM to find out how to start a JVM."""
        if not self._java:
            self._java = self._java_command()
        process = _Process([*self._java, name, *arguments], ready, self.environment)
        self.processes.append(process)
        return process

    def _java_command(self) -> list[str]:
        """The Java of Spark's daemons with its options and class path, as Spark's own launcher puts them together."""
        java = str(Path(self.environment["JAVA_HOME"]) / "bin" / "java")
        ran = subprocess.run(  # noqa: S603 - Spark's own launcher, with our arguments
            [java, "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xmx128m", "-cp", str(self.home / "jars" / "*"),
             "org.apache.spark.launcher.Main", _MASTER],
            env=self.environment, capture_output=True, text=True, check=False,
        )  # fmt: skip
        command = [part.strip() for part in ran.stdout.split("\0") if part.strip()]
        if ran.returncode or not command or command[-1] != _MASTER:
            raise BadInput(f"Spark's launcher in {self.home} says: {(ran.stderr or ran.stdout)[-300:]}")
        return command[:-1]

    def stop(self) -> None:
        """End every process, the last one first, and take the folder away."""
        for process in reversed(self.processes):
            process.end()
        self.processes.clear()
        shutil.rmtree(self.folder, ignore_errors=True)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()


class StandaloneCluster(_Servers):
    """A master and ``workers`` of ``cores`` cores and ``memory_mib`` MiB each; ``address`` is spark://HOST:PORT.

    ``with StandaloneCluster(workers=2) as cluster: open_session(cluster.address)``

    Raises:
        BadInput: a package or Java is missing, or a server does not start; with its last lines.
    """

    def __init__(self, workers: int = 2, cores: int = 1, memory_mib: int = 1_024) -> None:
        super().__init__()
        self.workers, self.cores, self.memory_mib = workers, cores, memory_mib
        self.address = ""

    def __enter__(self) -> Self:
        try:
            until = monotonic() + READY_S
            arguments = ["--host", HOST, "--port", "0", "--webui-port", "0"]
            self.address = self.start_daemon(_MASTER, arguments, r"Starting Spark master at (spark://\S+)").wait(until)
            size = ["-c", str(self.cores), "-m", f"{self.memory_mib}M", "-d", str(self.folder)]
            started = [
                self.start_daemon(
                    _WORKER,
                    ["--host", HOST, "--port", "0", "--webui-port", "0", *size, self.address],
                    r"Successfully registered with master",
                )
                for _ in range(self.workers)
            ]
            for worker in started:
                worker.wait(until)
        except BaseException:
            self.stop()
            raise
        return self


class ConnectServer(_Servers):
    """A Connect server with a session of ``master`` behind it; ``address`` is sc://HOST:PORT.

    Raises:
        BadInput: a package or Java is missing, or the server does not start; with its last lines.
    """

    def __init__(self, master: str = "local[2]", conf: dict[str, str] | None = None) -> None:
        super().__init__()
        self.master, self.conf = master, conf or {}
        # spark-submit takes it for a daemon, but it is a driver: it needs a driver's memory
        self.environment["SPARK_DAEMON_MEMORY"] = "1g"
        self.address = ""

    def __enter__(self) -> Self:
        conf = {
            "spark.connect.grpc.binding.address": HOST,
            "spark.connect.grpc.binding.port": "0",
            "spark.driver.host": HOST,
            "spark.driver.bindAddress": HOST,
            "spark.ui.enabled": "false",
            "spark.log.level": "INFO",
            "spark.sql.shuffle.partitions": "2",  # for stores of some hundred messages
            **self.conf,
        }
        settings = [part for name, value in conf.items() for part in ("--conf", f"{name}={value}")]
        try:
            server = self.start(
                "spark-submit",
                ["--master", self.master, "--class", _CONNECT, *settings, "spark-internal"],
                r"Spark Connect server started at: \S*?:(\d+)",
            )
            self.address = f"sc://{HOST}:{server.wait(monotonic() + READY_S)}"
        except BaseException:
            self.stop()
            raise
        return self


class SharedJvm:
    """A JVM for sessions of this machine, one after another, each of a process of its own started in ``environment``.

    A JVM that is warm does in a second what a new one does in ten. ``free`` ends a session that its process has left.

    Raises:
        BadInput: a package or Java is missing.
    """

    def __init__(self) -> None:
        require_modules(MODULES)
        provide_java(os.environ)
        from pyspark import SparkConf
        from pyspark.java_gateway import launch_gateway

        conf = SparkConf().setAll([
            ("spark.driver.memory", "1g"),
            ("spark.driver.extraJavaOptions", with_archive("-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")),
        ])  # fmt: skip
        self._gateway = launch_gateway(conf, {"stderr": subprocess.DEVNULL})  # type: ignore[no-untyped-call]
        reached = self._gateway.java_parameters
        self.environment = {
            SUBMITTED: str(reached.port),
            "PYSPARK_GATEWAY_SECRET": reached.auth_token,
            ADDRESS_SETTING: os.environ.get(ADDRESS_SETTING, DEFAULT),
        }

    def free(self) -> None:
        """End the session that is open, if any: a JVM has room for one."""
        if self._gateway.proc.poll() is None:
            session = self._gateway.jvm.SparkSession.getDefaultSession()
            if session.isDefined():
                session.get().stop()

    def end(self) -> None:
        """End the JVM: it goes when its standard input ends."""
        process = self._gateway.proc
        process.stdin.close()
        try:
            process.wait(GOES_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
