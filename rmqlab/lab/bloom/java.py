"""The same stages in the real broker's classes: a Java process with the 4.8.0 jars times them on the same records.

A witness for the bloom profile: our stages cost what Python makes of them, and the verdict turns where Java's costs do.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING, Any, Final

from rmqlab.lab.bloom.workload import TOPIC
from rmqlab.lab.real.filter import RealProgram

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rmqlab.lab.bloom.workload import Workload

WARM_UP, ROUNDS = 40, 15
PROCESSES: Final = 5
# What 4.8.0 reaches into when it unmaps a file.
_OPENS: Final = [f"--add-opens=java.base/{name}=ALL-UNNAMED" for name in ("java.nio", "sun.nio.ch", "jdk.internal.ref")]
NAMES: Final = ("decode", "build", "write_extension", "read_extension", "check", "layer_2", "layer_2_passed")


@dataclass(frozen=True, slots=True)
class RealStages:
    """CPU ns for a message, all groups together, median of the rounds; pairs of message and group that match, pass.

    `decode` is the properties once, as dispatch does it anyway; `build` the bitmap from decoded properties; `layer_2`
    of every message (what the switch off costs), `layer_2_passed` of those that layer 1 lets pass.
    """

    decode: float
    build: float
    write_extension: float
    read_extension: float
    check: float
    layer_2: float
    layer_2_passed: float
    matched: int
    passed: int

    def with_switch(self, *, decode: bool = False) -> float:
        """Filtering with both switches on; `decode` charges dispatch with the properties the bitmap is made from."""
        with_files = self.write_extension + self.read_extension
        return self.build + with_files + self.check + self.layer_2_passed + (self.decode if decode else 0.0)

    def ratio(self, *, decode: bool = False) -> float:
        """With the switch / without it."""
        return self.with_switch(decode=decode) / self.layer_2

    def as_the_article(self, *, decode: bool = False) -> float:
        """(bitmap + layer 2 with it) / layer 2 without: the article's three figures, and nothing else."""
        return (self.build + (self.decode if decode else 0.0) + self.layer_2_passed) / self.layer_2

    def as_json(self) -> dict[str, Any]:
        """All fields, times to a tenth of a ns."""
        times: dict[str, Any] = {name: round(getattr(self, name), 1) for name in NAMES}
        return {**times, "matched": self.matched, "passed": self.passed}


class RealBloom(RealProgram):
    """The real classes that time stages."""

    def __init__(self, heap: str = "512m") -> None:
        """Start it with that much heap."""
        super().__init__("BloomStages", "filters", f"-Xmx{heap}", *_OPENS)

    def measure(
        self, workload: Workload, records: Sequence[bytes], warm_up: int = WARM_UP, rounds: int = ROUNDS
    ) -> RealStages:
        """Time a workload's stages on its records (`BloomBroker.records`)."""
        pairs = zip(workload.group_names(), workload.expressions(), strict=True)
        job = b"".join(
            [
                struct.pack(">iiii", workload.error_rate, workload.expected, warm_up, rounds),
                _packed(TOPIC.encode()),
                struct.pack(">i", workload.groups),
                *(_packed(text.encode()) for pair in pairs for text in pair),
                struct.pack(">i", len(records)),
                *map(_packed, records),
            ]
        )
        self._send(job)
        size = 16 + 8 * rounds * len(NAMES)
        told = self._receive(size)
        numbers = struct.unpack(f">{size // 8}q", told)
        times = [numbers[2 + stage :: len(NAMES)] for stage in range(len(NAMES))]
        return RealStages(*(median(one) / len(records) for one in times), *numbers[:2])


def measured(workload: Workload, records: Sequence[bytes], processes: int = PROCESSES) -> list[RealStages]:
    """Time them in processes of their own, by rising ratio as the article counts it; the middle one is the result.

    What a JVM compiles differs from process to process, more than from round to round.
    """
    found = []
    for _ in range(processes):
        with RealBloom() as java:
            found.append(java.measure(workload, records))
    return sorted(found, key=RealStages.as_the_article)


def _packed(data: bytes) -> bytes:
    return struct.pack(">i", len(data)) + data
