"""The real message decoder of RocketMQ 4.8.0 beside ours: a Java process that reads commit log files with it."""

from __future__ import annotations

import os
import struct
import subprocess
from typing import TYPE_CHECKING, NamedTuple

from rmqlab.lab.real_filter import RealFilterMissingError, set_up

if TYPE_CHECKING:
    from pathlib import Path


class Scanned(NamedTuple):
    """Records read, a checksum over their columns, CPU seconds of the process, seconds on the wall."""

    records: int
    checksum: int
    cpu_seconds: float
    seconds: float


class RealDecoder:
    """A Java process with the real decoder. Raises `RealFilterMissingError` when it cannot be set up."""

    def __init__(self, heap: str = "5g", young: str = "3g") -> None:
        """Start it with that much heap, most of it for new objects: a small heap would time the collector."""
        java, folder = set_up()
        command = [
            str(java / "bin" / "java"), f"-Xms{heap}", f"-Xmx{heap}", f"-Xmn{young}", "-XX:+UseSerialGC",
            f"-Dlogback.configurationFile={folder / 'logback.xml'}", f"-Duser.home={folder}",
            "-Drocketmq.client.logUseSlf4j=true", "-cp", f"{folder / 'classes'}{os.pathsep}{folder / 'lib' / '*'}",
            "LogScan",
        ]  # fmt: skip
        self._process = subprocess.Popen(  # noqa: S603 - our own program
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )

    @property
    def pid(self) -> int:
        """Process id, for those who count CPU time."""
        return self._process.pid

    def scan(self, folder: Path) -> Scanned:
        """Read every file of a `commitlog` folder, bodies left out, and keep eight columns of each file in memory."""
        name = os.fsencode(folder)
        assert self._process.stdin is not None  # noqa: S101 - made with pipes
        assert self._process.stdout is not None  # noqa: S101
        self._process.stdin.write(b"S" + struct.pack(">i", len(name)) + name)
        self._process.stdin.flush()
        answer = self._process.stdout.read(32)
        if len(answer) < 32:
            raise RealFilterMissingError(f"the Java process with the real decoder ended: {self._process.wait()}")
        records, checksum, cpu, wall = struct.unpack(">qqqq", answer)
        return Scanned(records, checksum, cpu / 1e9, wall / 1e9)

    def close(self) -> None:
        """End the process."""
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()
        self._process.wait()
