"""The same stages in the real broker's classes: a Java process with the 4.8.0 jars times them on the same records.

A witness for the bloom profile: our stages cost what Python makes of them, and the verdict turns where Java's costs do.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Final

from tests.proof.bloom.stages import STAGES
from tests.proof.bloom.workload import TOPIC
from tests.proof.real.filter import RealProgram

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.proof.bloom.workload import Workload

# What 4.8.0 reaches into when it unmaps a file.
_OPENS: Final = [f"--add-opens=java.base/{name}=ALL-UNNAMED" for name in ("java.nio", "sun.nio.ch", "jdk.internal.ref")]


class RealBloom(RealProgram):
    """The real classes that time stages."""

    def __init__(self, heap: str = "1g") -> None:
        """Start it with that much heap."""
        super().__init__("BloomStages", "filters", f"-Xmx{heap}", *_OPENS)

    def measure(
        self, workloads: Sequence[tuple[Workload, Sequence[bytes]]], warm_up: int, rounds: int
    ) -> list[tuple[int, int, list[list[int]]]]:
        """Time workloads on their records (`OurStages.records`); a round goes through all of them.

        Of each: pairs that match, pairs that layer 1 lets pass, and ns by stage of each round after the warm-up.
        """
        self._send(struct.pack(">iii", warm_up, rounds, len(workloads)))
        for workload, records in workloads:
            self._send(_job(workload, records))
        size = 16 + 8 * rounds * len(STAGES)
        measured = []
        for _ in workloads:
            matched, passed, *times = struct.unpack(f">{size // 8}q", self._receive(size))
            measured.append(
                (matched, passed, [times[at : at + len(STAGES)] for at in range(0, len(times), len(STAGES))])
            )
        return measured


def _job(workload: Workload, records: Sequence[bytes]) -> bytes:
    pairs = zip(workload.group_names(), workload.expressions(), strict=True)
    return b"".join(
        [
            struct.pack(">ii", workload.error_rate, workload.expected),
            _packed(TOPIC.encode()),
            struct.pack(">i", workload.groups),
            *(_packed(text.encode()) for pair in pairs for text in pair),
            struct.pack(">i", len(records)),
            *map(_packed, records),
        ]
    )


def _packed(data: bytes) -> bytes:
    return struct.pack(">i", len(data)) + data
