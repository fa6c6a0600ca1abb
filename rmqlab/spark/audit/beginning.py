"""Where a group begins that is new to a topic: with the first message of its queues, or at some later place."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rmqlab.spark.files.commit_log_files import LogFile

MEMORY: Final = 1 << 30
"""Bytes that a broker's machine has at least."""
PERCENT: Final = 40
"""How much of it messages may take (`accessMessageInMemoryMaxRatio`)."""
_CHUNK: Final = 4 << 20


def begins_at_first(files: Sequence[LogFile], percent: int = PERCENT) -> bool:
    """Tell whether a group without offsets began with a queue's first message, whatever its consumers set.

    A broker answers a group that asks for an offset it never committed with 0, as long as no message of the queue was
    deleted and the first is still in memory; only otherwise `consumeFromWhere` counts, and the default is the queue's
    end (4.8.0 `ConsumerManageProcessor.queryConsumerOffset`, `RebalancePushImpl.computePullFromWhere`).
    """
    if not files or files[0].base:
        return False
    rest = MEMORY * percent // 100 - sum(file.size for file in files if not file.last)
    last = next(file for file in files if file.last)
    return rest >= 0 and (last.size <= rest or _written(last) <= rest)


def _written(file: LogFile) -> int:
    """Return how many bytes come before the zeros at the end: a broker makes its files in full size."""
    end = file.size
    with Path(file.path).open("rb") as stream:
        while end > 0:
            begin = max(end - _CHUNK, 0)
            stream.seek(begin)
            if used := len(stream.read(end - begin).rstrip(b"\0")):
                return begin + used
            end = begin
    return 0
