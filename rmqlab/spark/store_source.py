"""`spark.read.format("rocketmq")`: a broker's store directory as tables, also as a stream (`register` first).

Options: `path`, the store directory; `table`: `commitlog` (the default), `consumequeue`, `ext`, `index`, `offsets`,
`subscriptions`, `filters` or `topics`. For `index`: `hashSlotNum`. The files must be where the tasks run. A frame keeps
to the files that its first query found: load anew for those that a broker has made since.

For the commit log, `columns`: names with commas between (or a schema given to Spark); only what is asked for is
decoded, and Spark does not tell a Python source what a query needs. `topics` and `queues`, with commas between,
`since` and `until` (store times, epoch ms), `fromOffset` and `untilOffset` (commit log offsets), ends included: other
records are left out while decoding, damaged parts never. A query's own filters are Spark's: Spark 4.3 would apply those
that a Python source takes to the frame's next query too. `splitBytes`, the size of a task's part; `crc`, false to leave
bodies unchecked. For a stream, `startingOffset`: `earliest`, `latest` or a commit log offset; `maxBytesPerTrigger`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from pyspark.sql.datasource import (
    DataSource,
    DataSourceReader,
    DataSourceStreamReader,
    InputPartition,
)
from pyspark.sql.pandas.types import from_arrow_schema

from rmqlab.errors import BadInput
from rmqlab.spark.files.commit_log_files import LogRange, log_end, log_files, log_ranges
from rmqlab.spark.files.store_tables import pieces, read_piece
from rmqlab.spark.store_options import COMMIT_LOG, Options
from rmqlab.spark.tasks import freeze_loaded

try:
    from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadMaxBytes, SupportsTriggerAvailableNow
except ImportError:  # PySpark 4.1 has no limits of a read
    ReadAllAvailable = ReadMaxBytes = None  # type: ignore[assignment,misc]
    SupportsTriggerAvailableNow = object  # type: ignore[assignment,misc]

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import pyarrow as pa
    from pyspark.sql import SparkSession
    from pyspark.sql.types import StructType

FORMAT: Final = "rocketmq"
_PIECE: Final = 64 << 20


def register(session: SparkSession) -> None:
    """Make the format known to `session`, classic or Connect."""
    session.dataSource.register(RocketMQStore)


class RocketMQStore(DataSource):
    """The format `rocketmq`."""

    def __init__(self, options: Mapping[str, str]) -> None:
        super().__init__(dict(options))
        self._options = Options(options)

    @classmethod
    def name(cls) -> str:
        """Return the name of the format."""
        return FORMAT

    def schema(self) -> StructType:
        """Return the columns asked for, else all of the table's."""
        return from_arrow_schema(self._options.schema())

    def reader(self, schema: StructType) -> DataSourceReader:
        """Return a reader for a batch query."""
        options = self._options.with_schema(schema)
        if options.table != COMMIT_LOG:
            return PlainTable(options)
        return LogTable(options)

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802 - Spark's name
        """Return a reader for a stream, of the commit log alone."""
        options = self._options.with_schema(schema)
        if options.table != COMMIT_LOG:
            raise BadInput(f"table {options.table!r}: only {COMMIT_LOG!r} can be read as a stream")
        if (options.low, options.high) != (0, None):
            raise BadInput("a stream begins at startingOffset, and has no fromOffset or untilOffset")
        return LogStream(options)


class Piece(InputPartition):
    """The part of one task: a range of the commit log (None: nothing of it), or files of another table."""

    def __init__(self, part: LogRange | tuple[str, ...] | None) -> None:
        super().__init__(None)
        self.part = part


def _pieces(ranges: Sequence[LogRange]) -> list[Piece]:
    # Without any, Spark would call `read` with a partition of its own.
    return [Piece(part) for part in ranges] or [Piece(None)]


class LogTable(DataSourceReader):
    """Reads the commit log. What is not wanted is left out while decoding."""

    def __init__(self, options: Options) -> None:
        self._options = options

    def partitions(self) -> Sequence[Piece]:
        """Return the ranges to read."""
        files = log_files(self._options.root)
        split = self._options.split_size(sum(file.size for file in files))
        return _pieces(log_ranges(files, split, self._options.low, self._options.high))

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Yield the rows of one range."""
        part = partition.part  # type: ignore[attr-defined]
        if part is not None:
            yield from self._options.log_reader().read(part)
        freeze_loaded()


class PlainTable(DataSourceReader):
    """Reads a table that is not the commit log."""

    def __init__(self, options: Options) -> None:
        self._options = options

    def partitions(self) -> Sequence[Piece]:
        """Return groups of files."""
        return [Piece(one) for one in pieces(self._options.root, self._options.table, _PIECE)] or [Piece(())]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Yield the rows of one group of files."""
        options = self._options
        for batch in read_piece(options.root, options.table, partition.part, options.hash_slots):  # type: ignore[attr-defined]
            yield batch.select(list(options.columns))


class LogStream(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Reads the commit log of a running broker as it grows; offsets are places where a record begins."""

    def __init__(self, options: Options) -> None:
        self._options = options
        self._reached: int | None = None
        self._target: int | None = None

    def initialOffset(self) -> dict[str, int]:  # noqa: N802
        """Return where a new query begins."""
        files = log_files(self._options.root)
        first = files[0].base if files else 0
        if self._options.starting == "earliest":
            return {"offset": first}
        end = log_end(files, first, None if self._options.starting == "latest" else int(self._options.starting))
        return {"offset": end}

    def getDefaultReadLimit(self) -> Any:  # noqa: N802
        """Return the limit of one batch."""
        return ReadMaxBytes(self._options.max_bytes) if self._options.max_bytes else ReadAllAvailable()

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        """Note the end as it is now."""
        self._target = log_end(log_files(self._options.root), self.initialOffset()["offset"])

    def latestOffset(self, start: dict[str, int] | None = None, limit: Any = None) -> dict[str, int]:  # noqa: N802
        """Return the end of what has been written whole. A record that is still being written is left for later."""
        if start is None:
            start = {"offset": self._reached} if self._reached is not None else self.initialOffset()
        begin = start["offset"]
        most = self._options.max_bytes if limit is None else getattr(limit, "max_bytes", None)
        until = min((one for one in (self._target, begin + most if most else None) if one is not None), default=None)
        self._reached = max(begin, log_end(log_files(self._options.root), begin, until))
        return {"offset": self._reached}

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> Sequence[Piece]:
        """Return the ranges between two offsets. One that begins within a file begins at a record.

        Files that the broker deleted before they were read are told as missing.
        """
        files = log_files(self._options.root)
        begin, until = start["offset"], end["offset"]
        first = min(files[0].base if files else until, until)
        gone = [LogRange(None, begin, first)] if begin < first else []
        found = gone + log_ranges(files, 1 << 62, begin, until)
        return _pieces([part._replace(begin=part.low) if part.file else part for part in found])

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Yield the rows of one range."""
        part = partition.part  # type: ignore[attr-defined]
        if part is not None:
            yield from self._options.log_reader().read(part)
        freeze_loaded()
