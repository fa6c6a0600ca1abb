"""The real message decoder of RocketMQ 4.8.0 beside ours: a Java process that reads commit log files with it."""

from __future__ import annotations

import os
import struct
from typing import TYPE_CHECKING, NamedTuple

from tests.proof.real.filter import RealProgram

if TYPE_CHECKING:
    from pathlib import Path


class Scanned(NamedTuple):
    """Records read, a checksum over their columns, CPU seconds of the process, seconds on the wall."""

    records: int
    checksum: int
    cpu_seconds: float
    seconds: float


class RealDecoder(RealProgram):
    """The real decoder."""

    def __init__(self, heap: str = "5g", young: str = "3g") -> None:
        """Start it with that much heap, most of it for new objects: a small heap would time the collector."""
        super().__init__("LogScan", "decoder", f"-Xms{heap}", f"-Xmx{heap}", f"-Xmn{young}")

    def scan(self, folder: Path) -> Scanned:
        """Read every file of a `commitlog` folder, bodies left out, and keep eight columns of each file in memory."""
        name = os.fsencode(folder)
        self._send(b"S" + struct.pack(">i", len(name)) + name)
        records, checksum, cpu, wall = struct.unpack(">qqqq", self._receive(32))
        return Scanned(records, checksum, cpu / 1e9, wall / 1e9)
