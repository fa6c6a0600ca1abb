"""Real jars: found or fetched by Maven once, compiled once, run against brokers of ours and of theirs."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import os
import shutil
import socket
import subprocess
import tempfile
import time
from pathlib import Path

import pytest

from rmqlab.protocol.codes import RequestCode
from rmqlab.protocol.command import RemotingCommand
from rmqlab.protocol.namesrv import GetRouteInfoRequestHeader
from rmqlab_tools.java_runtime import find_java
from rmqlab_tools.live.sockets import SocketRuntime
from tests.proof.real.clusters import free_ports

HERE = Path(__file__).resolve().parent / "java"
POMS = {"4.8.0": HERE / "pom.xml", "5.3.3": HERE / "pom-5.xml", "5.5.0": HERE / "pom-55.xml"}
OPENS = [
    "--add-opens=java.base/java.nio=ALL-UNNAMED",
    "--add-opens=java.base/sun.nio.ch=ALL-UNNAMED",
    "--add-opens=java.base/java.lang=ALL-UNNAMED",
    "--add-opens=java.base/jdk.internal.ref=ALL-UNNAMED",
    "--add-exports=java.base/jdk.internal.ref=ALL-UNNAMED",
]
QUICK = ["-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xshare:auto"]
LOGBACK = '<configuration><root level="OFF"/></configuration>'


class Jars:
    """The jars of one version, and Interop compiled against them."""

    def __init__(self, version, java, libraries, classes):
        self.version, self.java = version, java
        self.classpath = f"{classes}{os.pathsep}{libraries / '*'}"

    def command(self, main, *arguments, home, options=()):
        logback = home / "logback.xml"
        logback.write_text(LOGBACK, encoding="utf-8")
        return [
            str(self.java / "bin" / "java"), *OPENS, *QUICK, f"-Duser.home={home}",
            "-Drocketmq.client.rebalance.waitInterval=1000", f"-Dlogback.configurationFile={logback}",
            "-Drocketmq.client.logUseSlf4j=true", *options, "-cp", self.classpath, main, *arguments,
        ]  # fmt: skip

    def interop(self, namesrv, *checks, home, environment=None, seconds=60):
        """Run checks in one JVM and return the lines they print."""
        told = subprocess.run(
            self.command("Interop", namesrv, *checks, home=home),
            capture_output=True, text=True, timeout=seconds, check=False, env={**os.environ, **(environment or {})},
        )  # fmt: skip
        lines = [line for line in told.stdout.splitlines() if line.split(" ")[0] in {"ok", "failed", "message", "sent"}]
        assert told.returncode == 0, told.stdout + told.stderr
        return lines, told.stderr

    def admin_tool(self, namesrv, commands, out, *keys, home, seconds=240):
        """Run the scenario of the recorded set "admin" and many commands of the admin tool in one JVM."""
        (home / "conf").mkdir(exist_ok=True)
        (home / "conf" / "logback_tools.xml").write_text(LOGBACK, encoding="utf-8")
        options = [f"-Drocketmq.home.dir={home}", "-Duser.timezone=UTC"]
        told = subprocess.run(
            self.command("AdminTool", namesrv, str(commands), str(out), *keys, home=home, options=options),
            capture_output=True, text=True, timeout=seconds, check=False, cwd=home,
        )  # fmt: skip
        return told.stdout + told.stderr

    def mqadmin(self, *arguments, home, seconds=60):
        """Run one command of the admin tool and return what it prints."""
        (home / "conf").mkdir(exist_ok=True)
        (home / "conf" / "logback_tools.xml").write_text(LOGBACK, encoding="utf-8")
        told = subprocess.run(
            self.command("org.apache.rocketmq.tools.command.MQAdminStartup", *arguments, home=home,
                         options=[f"-Drocketmq.home.dir={home}"]),
            capture_output=True, text=True, timeout=seconds, check=False, cwd=home,  # consumerStatus writes files
        )  # fmt: skip
        return told.stdout + told.stderr


@contextlib.contextmanager
def _made_whole(folder):
    """Give a new folder that becomes `folder` at the end, unless another process has made that meanwhile.

    Nobody sees it half full, and no version finds what another one has left behind.
    """
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="partial-", dir=folder.parent, ignore_cleanup_errors=True) as partial:
        made = Path(partial) / folder.name
        made.mkdir()
        yield made
        with contextlib.suppress(OSError):  # somebody else was first
            made.rename(folder)


def java_home():
    """Return a JDK; skip without one."""
    java = find_java(os.environ)
    if java is None or not (java / "bin" / "javac").exists():
        pytest.skip("no JDK 17 or newer: install openjdk-17-jdk-headless")
    return java


def _base(cache):
    given = os.environ.get("RMQLAB_INTEROP_CACHE")
    return Path(given) if given else cache.mkdir("rmqlab-interop")


def fetched(pom, cache):
    """Return a folder with the jars that a pom names, fetched by Maven once; skip when that cannot be."""
    libraries = _base(cache) / f"jars-{pom.stem}-{hashlib.sha256(pom.read_bytes()).hexdigest()[:12]}"
    if not libraries.is_dir():
        if shutil.which("mvn") is None:
            pytest.skip("no Maven to fetch the real jars with: install maven")
        with _made_whole(libraries) as partial:
            told = subprocess.run(
                ["mvn", "-q", "-B", "-f", str(pom), "dependency:copy-dependencies", f"-DoutputDirectory={partial}"],
                capture_output=True, text=True, check=False, timeout=600,
            )  # fmt: skip
            if told.returncode != 0:
                pytest.skip(f"Maven could not fetch the real jars: {told.stdout[-500:]}")
    return libraries


def compiled(java, libraries, sources, cache):
    """Return a folder with classes compiled against the jars of a folder, once."""
    digest = hashlib.sha256(b"".join(map(Path.read_bytes, sources)) + str(java).encode() + libraries.name.encode())
    classes = _base(cache) / f"classes-{digest.hexdigest()[:12]}"
    if not classes.is_dir():
        with _made_whole(classes) as partial:
            subprocess.run(
                [str(java / "bin" / "javac"), "-nowarn", "-Xlint:none", "-cp", f"{libraries / '*'}",
                 "-d", str(partial), *map(str, sources)],
                check=True, capture_output=True, timeout=120,
            )  # fmt: skip
    return classes


def _jars(version, cache):
    java = java_home()
    more = ["AdminTool.java", "Scenarios.java"] if version == "4.8.0" else []
    sources = [HERE / name for name in ("Interop.java", "DoctorScene.java", *more)]
    libraries = fetched(POMS[version], cache)
    return Jars(version, java, libraries, compiled(java, libraries, sources, cache))


@pytest.fixture(scope="session")
def jars(request):
    """Give the jars of a version, by name."""
    found = {}

    def get(version="4.8.0"):
        if version not in found:
            found[version] = _jars(version, request.config.cache)
        return found[version]

    return get


def wait_for_port(port, process, log, seconds=30):
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if process.poll() is not None:
            break
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return
        time.sleep(0.02)
    raise AssertionError(f"nothing listens on {port}: {log.read_text('utf-8', 'replace')[-2000:]}")


class RealCluster:
    """The real name server and broker of one version on free ports, over a store folder."""

    def __init__(self, jars, folder, store, **settings):
        self.jars, self.folder, self.store, self.settings = jars, folder, store, settings
        self.processes = []
        self.namesrv = self.broker = ""

    def __enter__(self):
        home = self.folder
        (home / "conf").mkdir(parents=True, exist_ok=True)
        for name in ("logback_namesrv.xml", "logback_broker.xml"):
            (home / "conf" / name).write_text(LOGBACK, encoding="utf-8")
        ports = free_ports()
        (home / "namesrv.conf").write_text(f"listenPort={ports[0]}\n", encoding="utf-8")
        self.namesrv, self.broker = f"127.0.0.1:{ports[0]}", f"127.0.0.1:{ports[1]}"
        settings = {
            "brokerClusterName": "DefaultCluster", "brokerName": "broker-a", "brokerId": "0",
            "namesrvAddr": self.namesrv, "brokerIP1": "127.0.0.1", "listenPort": str(ports[1]),
            "haListenPort": "0", "enablePropertyFilter": "true", "diskMaxUsedSpaceRatio": "99",
            "mappedFileSizeCommitLog": "1048576", "mappedFileSizeConsumeQueue": "20000",
            "mappedFileSizeConsumeQueueExt": "65536", "storePathRootDir": str(self.store),
            "storePathCommitLog": str(self.store / "commitlog"), **self.settings,
        }  # fmt: skip
        if self.jars.version != "4.8.0":
            settings.setdefault("timerWheelEnable", "false")  # its files take 137 MB
        conf = home / "broker.conf"
        conf.write_text("".join(f"{name}={value}\n" for name, value in settings.items()), encoding="utf-8")
        self._start("org.apache.rocketmq.namesrv.NamesrvStartup", "-c", str(home / "namesrv.conf"), port=ports[0])
        self._start("org.apache.rocketmq.broker.BrokerStartup", "-c", str(conf), port=ports[1])
        asyncio.run(self._registered())
        return self

    async def _registered(self):
        runtime = SocketRuntime()
        request = RemotingCommand.request(RequestCode.GET_ROUTEINFO_BY_TOPIC, GetRouteInfoRequestHeader("TBW102"))
        async with asyncio.timeout(60):
            while (await runtime.invoke(self.namesrv, request, 3000)).code != 0:  # noqa: ASYNC110 - nobody tells
                await asyncio.sleep(0.02)
        await runtime.aclose()

    def _start(self, main, *arguments, port):
        log = self.folder / f"{main.rpartition('.')[2]}.log"
        command = self.jars.command(
            main, *arguments, home=self.folder, options=[f"-Drocketmq.home.dir={self.folder}", "-Xmx512m"]
        )
        environment = {**os.environ, "ROCKETMQ_HOME": str(self.folder)}
        with log.open("wb") as out:
            process = subprocess.Popen(command, stdout=out, stderr=out, env=environment)
        self.processes.append(process)
        wait_for_port(port, process, log)

    def shut_down(self):
        """Stop the broker in order: it writes what it holds, which takes seconds."""
        self.processes[1].terminate()
        self.processes[1].wait(30)

    def __exit__(self, *error):
        for process in reversed(self.processes):
            process.kill()
            process.wait()


@pytest.fixture(scope="session")
def real_cluster_of(jars):
    """Start the real broker of a version in a folder: `with real_cluster_of("5.3.3", folder) as cluster`."""
    return lambda version, folder, **settings: RealCluster(jars(version), folder, folder / "store", **settings)


@pytest.fixture
def real_cluster(jars, tmp_path):
    """Start the real 4.8.0 over a store folder: `with real_cluster(store) as cluster`."""
    return lambda store, **settings: RealCluster(jars(), tmp_path / "real", store, **settings)
