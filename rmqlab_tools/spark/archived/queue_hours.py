"""Queues and hours of a file's messages as runs: the rows are sorted by queue and store time, so each pair is one run.

The file's metadata has the runs, so to count by queue and hour reads no column for it.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from rmqlab_tools.spark.archived.property_columns import OURS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import pyarrow as pa
    from numpy.typing import NDArray

    Numbers = NDArray[np.int64]

HOUR_MS: Final = 3_600_000
QUEUE, STORED = OURS + "queueId", OURS + "storeTimestamp"
_KEY: Final = b"rmqlab.runs"


class Runs(NamedTuple):
    """Rows that follow each other and have one queue and hour: both by run, and the row where each run begins."""

    queues: Numbers
    hours: Numbers
    starts: Numbers

    @classmethod
    def of(cls, table: pa.Table) -> Runs:
        """The runs of a table, as its rows stand.

        >>> table = pa.table({"#queueId": [0, 0, 1], "#storeTimestamp": [0, 5, 3_600_000]})
        >>> [numbers.tolist() for numbers in Runs.of(table)]
        [[0, 1], [0, 1], [0, 2]]
        """
        queues = table[QUEUE].to_numpy().astype(np.int64)
        hours = table[STORED].to_numpy() // HOUR_MS
        changes = (queues[1:] != queues[:-1]) | (hours[1:] != hours[:-1])
        starts = np.concatenate([[0], np.flatnonzero(changes) + 1])[: len(queues)].astype(np.int64)
        return cls(queues[starts], hours[starts], starts)

    def part(self, first: int, rows: int) -> Runs:
        """The runs of `rows` rows from `first` on, with their starts counted from there."""
        begin = max(int(np.searchsorted(self.starts, first, "right")) - 1, 0)
        end = int(np.searchsorted(self.starts, first + rows, "left"))
        return Runs(self.queues[begin:end], self.hours[begin:end], np.maximum(self.starts[begin:end] - first, 0))

    def counts(self, kinds: list[NDArray[np.bool_]], rows: int) -> Iterator[tuple[tuple[int, int], Numbers]]:
        """For each run its queue and hour, and how many of its rows there are and of each kind."""
        if not rows:
            return
        lengths = np.diff(self.starts, append=rows)
        sums = [np.add.reduceat(kind.view(np.uint8), self.starts, dtype=np.int64) for kind in kinds]
        for queue, hour, *counted in zip(self.queues.tolist(), self.hours.tolist(), lengths, *sums, strict=True):
            yield (queue, hour), np.array(counted, np.int64)


def by_queue_and_time(table: pa.Table) -> pa.Table:
    """Sort a table by queue and store time, and note its runs in its metadata."""
    ordered = table.sort_by([(QUEUE, "ascending"), (STORED, "ascending")])
    runs = json.dumps([numbers.tolist() for numbers in Runs.of(ordered)])
    return ordered.replace_schema_metadata({_KEY: runs})


def runs_of(metadata: Mapping[bytes, bytes] | None) -> Runs | None:
    """The runs that a file's metadata has; None without."""
    text = (metadata or {}).get(_KEY)
    return None if text is None else Runs(*(np.array(numbers, np.int64) for numbers in json.loads(text)))
