"""The names of RocketMQ's versions by their number in a command (4.8.0 `MQVersion`)."""

from __future__ import annotations

from typing import Final

_FIRST = (
    "SNAPSHOT", "ALPHA1", "BETA1", "BETA2", "BETA3", "BETA4", "BETA5", "BETA6_SNAPSHOT", "BETA6", "BETA7_SNAPSHOT",
    "BETA7", "BETA8_SNAPSHOT", "BETA8", "BETA9_SNAPSHOT", "BETA9", "FINAL",
)  # fmt: skip


def _names() -> list[str]:
    names = [f"V3_0_0_{name}" for name in _FIRST]
    for major in (3, 4, 5):
        for minor in range(10):
            last = 15 if (major, minor) == (3, 0) else 9
            first = 1 if major == 3 and minor not in {1, 2} else 0  # 3.3.0 to 3.9.0 have no number
            for patch in range(first, last + 1):
                names += [f"V{major}_{minor}_{patch}_SNAPSHOT", f"V{major}_{minor}_{patch}"]
    return [*names, "HIGHER_VERSION"]


VERSIONS: Final = tuple(_names())
V3_0_7_SNAPSHOT: Final = VERSIONS.index("V3_0_7_SNAPSHOT")
V3_1_8_SNAPSHOT: Final = VERSIONS.index("V3_1_8_SNAPSHOT")


def version_desc(number: int) -> str:
    """Return the name of a version; numbers beyond the list are "HIGHER_VERSION"."""
    return VERSIONS[min(number, len(VERSIONS) - 1)]
