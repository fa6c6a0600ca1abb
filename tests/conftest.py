"""Fixtures and settings for every test, the tiers, and how a run on two cores shares the tests out.

Each test belongs to one tier, and its place says which: ``notebooks``, ``browser`` (Chromium), ``java`` (real jars),
``spark``, ``hostile`` (what strangers write), ``slow`` (a module that says so: whole searches, many simulations), and
``fast``, all others.
"""

from __future__ import annotations

import gc
import itertools
import os
import re
import socket
import subprocess
import sys
import time
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

from rmqlab.language import ENGLISH, LOCALE, SETTING
from rmqlab_tools.java_runtime import find_java

if TYPE_CHECKING:
    from collections.abc import Iterator

    from xdist.scheduler import LoadScopeScheduling

    from tests.proof.spark_servers import SharedJvm

ROOT = Path(__file__).resolve().parent.parent
TIERS = ("notebooks", "browser", "java", "spark", "slow", "hostile", "fast")
NOTEBOOK = re.compile(r"\b\d\d_\w+")
ASKS_FOR_SPARK = re.compile(r"^def \w+\((?:\w+, )*spark\b", re.MULTILINE)
NOTEBOOK_ON_SPARK = re.compile(r"\brmqlab\.spark\(")
# One session, or one JVM for several: what is warm does in one second what a new one does in ten.
INTEROP, SPARK, CONNECT, JVM = "tests/interop", "the Spark session", "one Connect server", "one JVM"
ROOMS = ("rmqlab", "rmqlab_tools", "tests")
KERNEL_PORTS = range(10_000, 20_000)  # below those that real brokers get, and Linux, macOS and Windows give away
CONNECT_READY_S = 90  # on a machine with other work
# The lessons that open a session where they are told to; what they do on this machine is compared strictly.
AT_CONNECT = (
    *(f"test_lesson_runs_with_other_parameters[{name}]" for name in ("11_audit", "12_distributions")),
    "test_filters_sweeps_and_stores_over_connect",
)
# What several modules look at is built, or fetched and compiled, once.
TOGETHER = {
    "tests/browser/test_decoder_page.py": "the built site",
    "tests/browser/test_quiz_page.py": "the built site",
    "tests/proof/site/test_site.py": "the built site",
    "tests/browser/test_browser_lessons.py": "Python for browsers",
    "tests/browser/test_playgrounds.py": "Python for browsers",
    "tests/browser/test_pyodide.py": "Python for browsers",
}
RUNS = re.compile("test_lesson_runs|test_every_stub")
SHARED_JVM = pytest.StashKey["SharedJvm | None"]()
FOLDERS = {"notebooks": "notebooks", "browser": "browser", "interop": "java", "spark": "spark", "hostile": "hostile"}

# Texts are compared in English, whatever this machine's locale is; a test that wants another language says so.
os.environ[SETTING] = ENGLISH
# Lines are as long as they are, and plain; here too a test that wants a width or colours says so.
for _name in (*LOCALE[:2], "COLUMNS", "NO_COLOR", "FORCE_COLOR"):
    os.environ.pop(_name, None)
    os.unsetenv(_name)  # pytest loads readline, which sets COLUMNS for child processes behind `os.environ`

# The same examples in every run: a red test is red for everybody, and no slow machine makes it flaky.
settings.register_profile("rmqlab", derandomize=True, deadline=None, database=None)
settings.load_profile("rmqlab")


@pytest.fixture(scope="session")
def root() -> Path:
    """The project's top folder."""
    return ROOT


@pytest.fixture(scope="session")
def golden() -> Path:
    """Folder of the vectors and recordings made with the real jars."""
    return ROOT / "data" / "golden"


@pytest.fixture(scope="session")
def spark():
    """One Spark session for all tests: the one that `rmqlab.spark` opens by default, on two cores."""
    pytest.importorskip("pyspark", reason="PySpark is not installed: ./lab test installs it")
    if "JAVA_HOME" not in os.environ and find_java(os.environ) is None:
        pytest.skip("no Java 17 or newer here: ./lab test installs one")
    from rmqlab_tools.spark.session import open_session

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYSPARK_PYTHON", sys.executable)
        # One JVM serves every test: a small heap and the quick compiler alone start it sooner.
        session = open_session(
            "local[2]",
            {
                "spark.driver.memory": "1g",
                "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
            },
        )
        yield session
        session.stop()


@pytest.fixture(scope="session")
def connect(tmp_path_factory):
    """A Connect server for all tests, without our package on its path; its address."""
    pyspark = pytest.importorskip("pyspark", reason="PySpark is not installed: ./lab test installs it")
    from rmqlab_tools.spark.session import provide_java

    if "JAVA_HOME" not in os.environ and find_java(os.environ) is None:
        pytest.skip("no Java 17 or newer here: ./lab test installs one")
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port = one.getsockname()[1]
    folder = tmp_path_factory.mktemp("connect")
    environ = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    provide_java(environ)
    environ |= {"PYSPARK_PYTHON": sys.executable, "SPARK_HOME": str(Path(pyspark.__file__).parent)}
    command = [
        str(Path(pyspark.__file__).parent / "bin" / "spark-submit"), "--master", "local[1]", "--driver-memory", "1g",
        "--driver-java-options", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
        "--conf", "spark.ui.enabled=false", "--conf", "spark.driver.host=127.0.0.1", "--conf", "spark.log.level=ERROR",
        "--conf", "spark.sql.shuffle.partitions=2",
        "--conf", f"spark.connect.grpc.binding.port={port}", "--conf", "spark.connect.grpc.binding.address=127.0.0.1",
        "--class", "org.apache.spark.sql.connect.service.SparkConnectServer", "--name", "rmqlab-test", "spark-internal",
    ]  # fmt: skip
    with (folder / "log").open("w") as log:
        server = subprocess.Popen(command, env=environ, cwd=folder, stdout=log, stderr=log)
        try:
            deadline = time.monotonic() + CONNECT_READY_S
            while socket.socket().connect_ex(("127.0.0.1", port)):
                assert server.poll() is None, (folder / "log").read_text()
                assert time.monotonic() < deadline, (folder / "log").read_text()
                time.sleep(0.2)
            yield f"sc://127.0.0.1:{port}"
        finally:
            server.terminate()
            server.wait()


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the site in both languages, made where only the site's packages are, without the playgrounds."""
    from tests.proof.installed import make_environment

    out = tmp_path_factory.mktemp("built") / "new" / "site"
    python = make_environment(tmp_path_factory.mktemp("alone") / "env", {"site"})
    command = [str(python), "-P", "-m", "rmqlab", "site", "--no-lab", "--out", str(out)]
    environ = os.environ | {"RMQLAB_SITE_ADDRESS": "https://example.org/rmqlab/"}
    told = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, env=environ)
    assert told.returncode == 0, told.stderr
    return out


def _no_skip(report: pytest.TestReport | pytest.CollectReport) -> None:
    """Turn a skip into a failure where everything must be there (RMQLAB_REQUIRE_ALL=1, set by .ci/run)."""
    if report.skipped and not hasattr(report, "wasxfail") and os.environ.get("RMQLAB_REQUIRE_ALL") == "1":
        report.outcome = "failed"
        report.longrepr = f"skipped although RMQLAB_REQUIRE_ALL=1: {report.longrepr}"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    report = yield
    _no_skip(report)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector):
    report = yield
    _no_skip(report)
    return report


def _tier(item: pytest.Item) -> str:
    """The tier of a test, by its folder, by the session it asks for, or by its module's own mark."""
    folders = item.path.relative_to(ROOT).parts
    by_place = FOLDERS.get(folders[1] if folders[0] == "tests" else folders[0])
    if by_place is None and {"spark", "connect"} & set(getattr(item, "fixturenames", ())):
        return "spark"
    return by_place or ("slow" if item.get_closest_marker("slow") else "fast")


@pytest.hookimpl(tryfirst=True)  # before -m chooses among them
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark each test with its tier, and sort the tiers."""
    tiers = {item: _tier(item) for item in items}
    for item, tier in tiers.items():
        item.add_marker(tier)
    # The longest work comes first, so that no core waits at the end for the other one.
    items.sort(key=lambda item: (_scope(item.nodeid) not in {INTEROP, SPARK, CONNECT, JVM}, TIERS.index(tiers[item])))


@pytest.hookimpl(tryfirst=True)  # before xdist starts its processes
def pytest_sessionstart(session: pytest.Session) -> None:
    """Compile what all processes import."""
    config = session.config
    if not sys.dont_write_bytecode and not hasattr(config, "workerinput") and config.getoption("numprocesses", None):
        from tests.proof.compiled_tests import compile_modules

        compile_modules(config, sorted(path for room in ROOMS for path in (ROOT / room).rglob("*.py")))


def _keep_ports_of_kernels_apart() -> None:
    """Start kernels on ports that nobody gets who asks for just any.

    Jupyter looks for a free port and tells the kernel, which binds it a second later. A broker that another core
    started meanwhile could have it: the kernel did not come up, and its client wrote to that broker.
    """
    from jupyter_client.connect import LocalPortCache

    following = itertools.cycle(KERNEL_PORTS)
    for _ in range(os.getpid() * 97 % len(KERNEL_PORTS)):  # each core begins elsewhere
        next(following)

    def find_available_port(_: LocalPortCache, ip: str) -> int:
        for port in following:
            with suppress(OSError), socket.create_server((ip, port)):
                return port
        raise AssertionError

    LocalPortCache.find_available_port = find_available_port


@pytest.hookimpl(trylast=True)
def pytest_collection_finish(session: pytest.Session) -> None:
    """Set thousands of tests and all modules apart: the collector walks them over and over, a tenth of the time."""
    from rmqlab_tools.gc_tuning import OBJECTS

    if any(item.get_closest_marker("fast") is None for item in session.items):
        from tests.proof.warm_kernels import use_warm_kernels

        _keep_ports_of_kernels_apart()
        use_warm_kernels()
    gc.collect()
    gc.freeze()
    gc.set_threshold(OBJECTS, *gc.get_threshold()[1:])


@cache
def _on_spark(path: Path) -> bool:
    """Whether a notebook opens a session, or a module's tests ask for the one that there is."""
    sign = NOTEBOOK_ON_SPARK if path.suffix == ".ipynb" else ASKS_FOR_SPARK
    return sign.search(path.read_text("utf-8")) is not None


@cache
def _notebooks(name: str) -> list[Path]:
    """A lesson, or tasks with their solutions."""
    return list((ROOT / "notebooks").rglob(f"{name}.ipynb"))


@cache
def _scope(nodeid: str) -> str:
    """What one core runs in one go: a module, and together what shares a server or a session that starts slowly."""
    module, _, test = nodeid.partition("::")
    if module.startswith("tests/interop/"):
        return INTEROP  # real brokers on fixed ports
    if test in AT_CONNECT:
        return CONNECT
    if module in TOGETHER:
        return TOGETHER[module]
    if module == "tests/notebooks/test_running.py":
        name = NOTEBOOK.search(test)
        return JVM if name and RUNS.match(test) and any(map(_on_spark, _notebooks(name[0]))) else nodeid
    if _on_spark(ROOT / module):
        return JVM if module.endswith(".ipynb") else SPARK
    return module


def _shared_jvm(stash: pytest.Stash) -> SharedJvm | None:
    """The JVM for notebooks on Spark; None without PySpark or Java: then they say so themselves."""
    from rmqlab.errors import BadInput
    from tests.proof.spark_servers import SharedJvm

    if SHARED_JVM not in stash:
        stash[SHARED_JVM] = None
        with suppress(BadInput):
            stash[SHARED_JVM] = SharedJvm()
    return stash[SHARED_JVM]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> Iterator[None]:
    """Lead the sessions of notebooks into one JVM, one session after the other."""
    if _scope(item.nodeid) != JVM:
        return (yield)
    jvm = _shared_jvm(item.config.stash)
    with pytest.MonkeyPatch.context() as patch:
        for name, value in (jvm.environment if jvm else {}).items():
            patch.setenv(name, value)
        result = yield
    if jvm and (nextitem is None or nextitem.path != item.path or item.path.suffix == ".py"):
        jvm.free()
        if nextitem is None or _scope(nextitem.nodeid) != JVM:
            jvm.end()
            del item.config.stash[SHARED_JVM]
    return result


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> LoadScopeScheduling:
    """Give a core one scope after the other, so that what its tests share is made once."""
    from xdist.scheduler import LoadScopeScheduling

    class ByScope(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return _scope(nodeid)

    return ByScope(config, log)
