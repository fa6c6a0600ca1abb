"""The real filters of RocketMQ 4.8.0 beside ours: its jars, fetched once by Maven, behind a small program of ours.

Needs a JDK and Maven. Jars and classes are kept in the folder RMQLAB_CACHE names, by default `~/.cache/rmqlab`.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import struct
import subprocess
import tempfile
from pathlib import Path
from typing import IO, TYPE_CHECKING, Final, NamedTuple, Self

from rmqlab.errors import BadInput
from rmqlab_tools.java_runtime import cache_folder, find_java

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import TracebackType

HERE: Final = Path(__file__).resolve().parent / "java"
_LOGBACK: Final = '<configuration><root level="OFF"/></configuration>'
_LONGEST_SETUP: Final = 600


class RealFilterMissingError(BadInput):
    """The real filters cannot be had here: JDK, Maven or the jars are missing."""


class Work(NamedTuple):
    """What a timed command did: messages looked at, those that matched, CPU seconds of its thread."""

    messages: int
    matched: int
    seconds: float


class RealProgram:
    """A Java process with classes of the real broker (`what` of them, in words), asked over pipes; a context manager.

    Raises `RealFilterMissingError` when it cannot be set up, or has ended.
    """

    def __init__(self, program: str, what: str, *options: str) -> None:
        """Start our class `program` with these options of Java."""
        java, folder = set_up()
        command = [
            str(java / "bin" / "java"), *options, "-XX:+UseSerialGC",
            f"-Dlogback.configurationFile={folder / 'logback.xml'}", f"-Duser.home={folder}",
            "-Drocketmq.client.logUseSlf4j=true", "-cp", f"{folder / 'classes'}{os.pathsep}{folder / 'lib' / '*'}",
            program,
        ]  # fmt: skip
        self._what = what
        self._process = subprocess.Popen(  # noqa: S603 - our own program
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )

    def __enter__(self) -> Self:
        """Give itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End the process."""
        self.close()

    @property
    def pid(self) -> int:
        """Process id, for those who count CPU time."""
        return self._process.pid

    def close(self) -> None:
        """End the process."""
        self._pipe(self._process.stdin).close()
        self._pipe(self._process.stdout).close()
        self._process.wait()

    def _send(self, data: bytes) -> None:
        pipe = self._pipe(self._process.stdin)
        try:
            pipe.write(data)
            pipe.flush()
        except BrokenPipeError as error:
            raise RealFilterMissingError(f"the Java process with the real {self._what} has ended") from error

    def _receive(self, size: int) -> bytes:
        data = self._pipe(self._process.stdout).read(size)
        if len(data) < size:
            raise RealFilterMissingError(f"the Java process with the real {self._what} ended: {self._process.wait()}")
        return data

    @staticmethod
    def _pipe(pipe: IO[bytes] | None) -> IO[bytes]:
        if pipe is None:
            raise RealFilterMissingError("the Java process was started without pipes")
        return pipe


class RealFilter(RealProgram):
    """The real filters. Texts must be free of lone surrogates."""

    def __init__(self, heap: str = "1g") -> None:
        """Start it with that much heap."""
        super().__init__("RealFilter", "filters", f"-Xmx{heap}")

    def load(self, encoded: Sequence[bytes]) -> None:
        """Load messages: the properties of each as the commit log has them."""
        packed = b"".join(struct.pack(">i", len(properties)) + properties for properties in encoded)
        self._send(b"L" + struct.pack(">i", len(encoded)) + packed)
        self._receive(1)

    def verdict(self, expression: str) -> tuple[bool, str]:
        """Compile: whether it is accepted, and the tree as it prints itself, or what was thrown."""
        self._send(b"V" + _text(expression))
        accepted, size = struct.unpack(">bi", self._receive(5))
        return bool(accepted), self._receive(size).decode()

    def outcomes(self, expression: str) -> bytes:
        """Evaluate on every message: a byte each, 0 false, 1 true, 2 null, 3 something was thrown, 4 another value."""
        self._send(b"O" + _text(expression))
        (count,) = struct.unpack(">i", self._receive(4))
        return self._receive(count)

    def decode_and_evaluate(self, expression: str, rounds: int = 1) -> Work:
        """Do what the broker's second layer does: decode the properties of every message, evaluate."""
        return self._timed(b"D", expression, rounds)

    def evaluate(self, expression: str, rounds: int = 1) -> Work:
        """Evaluate on properties that were decoded before the clock starts."""
        return self._timed(b"M", expression, rounds)

    def compile(self, expression: str, rounds: int = 1) -> Work:
        """Compile so many times, past the parser's cache."""
        return self._timed(b"C", expression, rounds)

    def match_tags(self, subscription: str, rounds: int = 1) -> Work:
        """Match every message's tags code as the broker's first layer does."""
        return self._timed(b"T", subscription, rounds)

    def _timed(self, command: bytes, text: str, rounds: int) -> Work:
        self._send(command + _text(text) + struct.pack(">i", rounds))
        messages, matched, nanoseconds = struct.unpack(">qqq", self._receive(24))
        return Work(messages, matched, nanoseconds / 1e9)


def set_up() -> tuple[Path, Path]:
    """Fetch the jars and compile the programs beside them unless that was done; return the JDK's home and the folder.

    Raises `RealFilterMissingError`.
    """
    java = find_java(os.environ)
    if java is None or not (java / "bin" / "javac").exists():
        raise RealFilterMissingError("no JDK 17 or newer to compile with: install openjdk-17-jdk-headless")
    sources = sorted(HERE.iterdir())
    name = hashlib.sha256(b"".join(path.read_bytes() for path in sources) + os.fsencode(java)).hexdigest()[:12]
    folder = cache_folder() / f"real-filter-{name}"
    if folder.is_dir():
        return java, folder
    if shutil.which("mvn") is None:
        raise RealFilterMissingError("no Maven to fetch the jars of RocketMQ 4.8.0 with: install maven")
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent) as partial:
        _fill(Path(partial), java)
        try:
            Path(partial).rename(folder)
        except OSError:
            if not folder.is_dir():  # else another process was first
                raise
        else:
            Path(partial).mkdir()
    return java, folder


def _fill(folder: Path, java: Path) -> None:
    (folder / "classes").mkdir()
    (folder / "logback.xml").write_text(_LOGBACK, encoding="utf-8")
    _run(
        "Maven cannot fetch the jars of RocketMQ 4.8.0",
        "mvn", "-q", "-B", "-f", str(HERE / "pom.xml"), "dependency:copy-dependencies",
        f"-DoutputDirectory={folder / 'lib'}",
    )  # fmt: skip
    _run(
        "javac cannot compile our programs",
        str(java / "bin" / "javac"), "-nowarn", "-cp", f"{folder / 'lib' / '*'}", "-d", str(folder / "classes"),
        *map(str, sorted(HERE.glob("*.java"))),
    )  # fmt: skip


def _run(problem: str, *command: str) -> None:
    ran = subprocess.run(command, capture_output=True, text=True, timeout=_LONGEST_SETUP, check=False)  # noqa: S603
    if ran.returncode:
        raise RealFilterMissingError(f"{problem}: {(ran.stdout + ran.stderr).strip()[-500:]}")


def _text(text: str) -> bytes:
    data = text.encode()
    return struct.pack(">i", len(data)) + data
