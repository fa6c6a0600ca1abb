"""Rows of the log that are judged together, and what is read of few of them only.

To read the keys, the unique id and the host of every record took as long as all the rest, and most are never asked for.
"""

from __future__ import annotations

from functools import cached_property
from typing import IO, TYPE_CHECKING, Final, NamedTuple

import numpy as np
import pyarrow as pa

from rmqlab_tools.spark.files.commit_log_files import STORE_HOST_BYTES, LogRange
from rmqlab_tools.spark.files.log_reader import LogReader

if TYPE_CHECKING:
    from numpy.typing import NDArray

OF_ROWS: Final = ("keys", "uniqKey", STORE_HOST_BYTES)
"""The columns of rows that travel one by one."""


class ReadAgain(NamedTuple):
    """A range of the log and its file, which is held: what a broker deletes meanwhile can still be read."""

    part: LogRange
    stream: IO[bytes]

    def between(self, first: int, last: int) -> pa.Table:
        """`physicalOffset` and `OF_ROWS` of the records from one commit log offset to another, in the log's order."""
        file = self.part.file
        assert file is not None  # noqa: S101 - for the type checker
        reader = LogReader(("physicalOffset", *OF_ROWS), check_crc=False)
        place = first - file.base
        batches = reader.read(LogRange(file, place, last + 1 - file.base, place), self.stream)
        return pa.Table.from_batches(batches, reader.schema()).combine_chunks()


class LogRows:
    """Rows of a batch, of which `again` reads `OF_ROWS` when the first are asked for; None: the batch has them."""

    def __init__(self, batch: pa.RecordBatch, again: ReadAgain | None) -> None:
        self._batch, self._again = batch, again

    @cached_property
    def _more(self) -> tuple[pa.Table, NDArray[np.int64]]:
        assert self._again is not None  # noqa: S101 - for the type checker
        offsets = self._batch["physicalOffset"]
        more = self._again.between(offsets[0].as_py(), offsets[-1].as_py())
        return more, more["physicalOffset"].to_numpy()

    def take(self, places: NDArray[np.int64]) -> tuple[pa.RecordBatch, pa.RecordBatch]:
        """The rows at some places, and `OF_ROWS` of them. What was cut off meanwhile is NULL."""
        picked = self._batch.take(pa.array(places))
        if self._again is None:
            return picked, picked.select(OF_ROWS)
        more, offsets = self._more
        wanted = picked["physicalOffset"].to_numpy()
        nearest = np.searchsorted(offsets, wanted)
        is_there = np.append(offsets, -1)[nearest] == wanted
        chosen = more.select(OF_ROWS).take(pa.array(nearest, mask=~is_there)).combine_chunks()
        return picked, pa.record_batch([column.combine_chunks() for column in chosen.columns], list(OF_ROWS))
