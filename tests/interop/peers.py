"""RocketMQ's own integration tests of 4.8.0 against `rmqlab serve`: fetched as they were released, bodies untouched.

They come from Maven Central, `org.apache.rocketmq:rocketmq-test:4.8.0`, whose `tests` jar has the classes of the module
`test` of the tag. One class of ours, the base of all the others, stands before them on the class path: where theirs
starts a name server and two brokers, ours takes a cluster that runs already.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import zipfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from tests.interop.conftest import HERE, LOGBACK, OPENS, QUICK, compiled, fetched, java_home

BASE = "org.apache.rocketmq.test."
POM = HERE / "pom-peers.xml"
SOURCES = [HERE / "peers" / "Peers.java", *sorted((HERE / "peers" / "org").rglob("*.java"))]
# What a check of a few seconds runs, in two JVMs: filters, tags, order, offsets, rebalance, lookups, TLS.
PART = (
    (
        "client.consumer.balance.NormalMsgStaticBalanceIT", "client.consumer.filter.SqlFilterIT",
        "client.producer.querymsg.QueryMsgByKeyIT",
    ),
    (
        "tls.TLS_IT", "client.consumer.tag.MulTagSubIT", "client.consumer.tag.TagMessageWithMulConsumerIT",
        "client.producer.order.OrderMsgWithTagIT",
    ),
)  # fmt: skip
STARTS_ITS_OWN_BROKER = "base.dledger."
HAS_NO_TESTS = "client.consumer.broadcast.BaseBroadCastIT"
LANES = 2
START_SECONDS = 60
SETTINGS = {"enablePropertyFilter": "true"}


@dataclass(frozen=True)
class Result:
    """How one test ended: PASS, FAIL or IGNORED."""

    how: str
    test: str
    ms: int
    why: str


class PeerJars:
    """The jars of the tests, and our two classes compiled against them."""

    def __init__(self, cache) -> None:
        self.java = java_home()
        self.library = fetched(POM, cache)
        self.classpath = os.pathsep.join(
            map(str, [compiled(self.java, self.library, SOURCES, cache), self.library / "*"])
        )

    def classes(self):
        """Every test class in the jar that takes the cluster of its base class."""
        (jar,) = self.library.glob("rocketmq-test-*-tests.jar")
        with zipfile.ZipFile(jar) as archive:
            names = [name.removesuffix(".class").replace("/", ".") for name in archive.namelist()]
        short = sorted(name.removeprefix(BASE) for name in names if name.endswith("IT"))
        return [name for name in short if not name.startswith(STARTS_ITS_OWN_BROKER) and name != HAS_NO_TESTS]

    def run(self, ready, names, home, seconds):
        """Run classes in one JVM; return the results, and what it said beside them."""
        home.mkdir()
        logback = home / "logback.xml"
        logback.write_text(LOGBACK, encoding="utf-8")
        options = {"namesrv": ready[0]["namesrv"], "broker1": "broker0", "broker2": "broker1"}
        command = [
            str(self.java / "bin" / "java"), *OPENS, *QUICK, f"-Duser.home={home}",
            f"-Dlogback.configurationFile={logback}", "-Drocketmq.client.logUseSlf4j=true",
            *(f"-Dpeers.{name}={value}" for name, value in options.items()),
            "-cp", self.classpath, "Peers", *(BASE + name for name in names),
        ]  # fmt: skip
        told = subprocess.run(command, capture_output=True, text=True, timeout=seconds, check=False, cwd=home)
        return results(told.stdout), told.stdout[-3000:] + told.stderr[-3000:]


def results(text):
    """Read the lines that Peers prints."""
    rows = [line.split(" ", 4) for line in text.splitlines() if line.startswith("RESULT ")]
    return [Result(row[1], row[2].removeprefix(BASE), int(row[3]), row[4] if len(row) > 4 else "") for row in rows]


@contextlib.contextmanager
def served(*options):
    """Run two brokers and their name server as `rmqlab serve` does; give what they say when they are ready."""
    processes, ready = [], []
    try:
        for number in range(2):
            others = ["--namesrv", "127.0.0.1:0"] if number == 0 else ["--join", ready[0]["namesrv"]]
            settings = {**SETTINGS, "brokerName": f"broker{number}"}
            command = [
                sys.executable, "-m", "rmqlab", "serve", "--listen", "127.0.0.1:0", *others, "--json", "-", "--quiet",
                *(part for name, value in settings.items() for part in ("--set", f"{name}={value}")), *options,
            ]  # fmt: skip
            process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            processes.append(process)
            line = process.stdout.readline()  # the one line of JSON that comes when it is ready
            assert line, process.communicate(timeout=START_SECONDS)[1]
            ready.append(json.loads(line))
        yield ready
    finally:
        for process in reversed(processes):
            process.send_signal(signal.SIGTERM)
        for process in processes:
            process.communicate(timeout=START_SECONDS)


def run_lanes(jars, ready, lanes, folder, seconds):
    """Run lists of classes beside each other, each in a JVM; return all results and all that was said.

    Some tests look at the clock: a class with a failure is run once more, alone, and then counts as it ends.
    """
    with ThreadPoolExecutor(len(lanes)) as pool:
        told = list(
            pool.map(lambda pair: jars.run(ready, pair[1], folder / f"jvm{pair[0]}", seconds), enumerate(lanes))
        )
    rows = [row for lane, _ in told for row in lane]
    again = sorted({row.test.partition("#")[0] for row in rows if row.how == "FAIL"})
    if again:
        told.append(jars.run(ready, again, folder / "again", seconds))
        rows = [row for row in rows if row.test.partition("#")[0] not in again] + told[-1][0]
    return rows, "\n".join(said for _, said in told)
