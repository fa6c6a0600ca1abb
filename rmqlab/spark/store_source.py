"""`spark.read.format("rocketmq")`: a broker's store directory as tables, also as a stream (`register` first).

Options: `path`, the store directory; `table`: `commitlog` (the default), `consumequeue`, `ext`, `index`, `offsets`,
`subscriptions`, `filters` or `topics`. For `index`: `hashSlotNum`. The files must be where the tasks run. A frame keeps
to the files that its first query found: load anew for those that a broker has made since.

For the commit log, `columns`: names with commas between (or a schema given to Spark); only what is asked for is
decoded, and Spark does not tell a Python source what a query needs. `topics` and `queues`, with commas between,
`since` and `until` (store times, epoch ms), `fromOffset` and `untilOffset` (commit log offsets), ends included: other
records are left out while decoding, damaged parts never. `splitBytes`, the size of a task's part; `minPartitions`;
`crc`, false to leave bodies unchecked; `batchRows`. With `pushFilters` true Spark hands over a query's own filters on
topic, queueId, storeTimestamp and physicalOffset. That is for a frame that one query uses once: Spark 4.3 keeps such
filters with the frame, and its next query would miss rows. For a stream, `startingOffset`: `earliest`, `latest` or a
commit log offset; `maxBytesPerTrigger`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
from pyspark.sql.datasource import (
    DataSource,
    DataSourceReader,
    DataSourceStreamReader,
    EqualTo,
    GreaterThan,
    GreaterThanOrEqual,
    In,
    InputPartition,
    LessThan,
    LessThanOrEqual,
)
from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_type

from rmqlab.errors import BadInput
from rmqlab.message.java import LONG_MAX, LONG_MIN
from rmqlab.spark.files.commit_log_files import LogRange, log_files, log_ranges, store_directory
from rmqlab.spark.files.log_reader import LogReader, log_end
from rmqlab.spark.files.record_columns import BATCH_ROWS, PROPERTY_PREFIX, TYPES, RecordFilter
from rmqlab.spark.files.store_tables import SCHEMAS, pieces, read_piece
from rmqlab.spark.tasks import freeze_loaded

try:
    from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadMaxBytes, SupportsTriggerAvailableNow
except ImportError:  # PySpark 4.1 has no limits of a read
    ReadAllAvailable = ReadMaxBytes = None  # type: ignore[assignment,misc]
    SupportsTriggerAvailableNow = object  # type: ignore[assignment,misc]

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from pyspark.sql import SparkSession
    from pyspark.sql.datasource import Filter
    from pyspark.sql.types import StructType

FORMAT: Final = "rocketmq"
COMMIT_LOG: Final = "commitlog"
TABLES: Final = (COMMIT_LOG, *SCHEMAS)
_PROPERTY_COLUMN: Final = re.compile(re.escape(PROPERTY_PREFIX) + "[^\x01\x02]+", re.DOTALL)
_LEAST_SPLIT: Final = 64 << 20
_PIECE: Final = 64 << 20
_MIN_PARTITIONS: Final = 4


class StoreOptionError(BadInput):
    """An option of the data source that cannot be used."""


def register(session: SparkSession) -> None:
    """Make the format known to `session`, classic or Connect, and let Spark hand filters to it."""
    session.conf.set("spark.sql.python.filterPushdown.enabled", "true")
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
        return PushingLogTable(options) if options.push_filters else LogTable(options)

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802 - Spark's name
        """Return a reader for a stream, of the commit log alone."""
        options = self._options.with_schema(schema)
        if options.table != COMMIT_LOG:
            raise StoreOptionError(f"table {options.table!r}: only {COMMIT_LOG!r} can be read as a stream")
        if (options.wanted.low, options.wanted.high) != (0, None):
            raise StoreOptionError("a stream begins at startingOffset, and has no fromOffset or untilOffset")
        return LogStream(options)


class Pushed:
    """The conjunction of the filters taken so far; what it lets pass is at least what they let pass."""

    def __init__(self) -> None:
        self._sets: dict[str, set[Any]] = {}
        self._bounds = {"physicalOffset": [0, LONG_MAX], "storeTimestamp": [LONG_MIN, LONG_MAX]}

    def take(self, one: Filter) -> None:
        """Take a filter over if it is one on topic, queue, store time or physical offset."""
        name, value = ".".join(getattr(one, "attribute", ())), getattr(one, "value", None)
        if isinstance(one, EqualTo | In) and name in {"topic", "queueId"}:
            values = {value} if isinstance(one, EqualTo) else set(value or ())
            self._sets[name] = self._sets.get(name, values) & values
        elif name in self._bounds and isinstance(value, int):
            bounds = self._bounds[name]
            if isinstance(one, EqualTo | GreaterThan | GreaterThanOrEqual):
                bounds[0] = max(bounds[0], value + isinstance(one, GreaterThan))
            if isinstance(one, EqualTo | LessThan | LessThanOrEqual):
                bounds[1] = min(bounds[1], value - isinstance(one, LessThan))

    @property
    def low(self) -> int:
        """The first commit log offset wanted."""
        return self._bounds["physicalOffset"][0]

    @property
    def high(self) -> int | None:
        """The offset behind the last one wanted; None for all."""
        end = self._bounds["physicalOffset"][1]
        return None if end == LONG_MAX else end + 1

    def records(self) -> RecordFilter:
        """Return the filter of the records."""
        topics, queues = self._sets.get("topic"), self._sets.get("queueId")
        since, until = self._bounds["storeTimestamp"]
        if topics == set() or queues == set():
            since, until = 1, 0
        return RecordFilter(tuple(sorted(topics or ())), tuple(sorted(queues or ())), since, until)


class Options:
    """The options of one read, checked."""

    def __init__(self, given: Mapping[str, str]) -> None:
        known = {name.lower(): value for name, value in given.items()}
        if "path" not in known:
            raise StoreOptionError("the store directory is missing: load(PATH)")
        self.root = store_directory(known["path"])
        self.table = known.get("table", COMMIT_LOG).lower()
        if self.table not in TABLES:
            raise StoreOptionError(f"no table {self.table!r}; there are {', '.join(TABLES)}")
        self.columns = _list(known, "columns") or tuple(
            TYPES if self.table == COMMIT_LOG else SCHEMAS[self.table].names
        )
        self.split_bytes = _number(known, "splitBytes")
        self.min_partitions = _number(known, "minPartitions") or _MIN_PARTITIONS
        self.batch_rows = _number(known, "batchRows") or BATCH_ROWS
        self.hash_slots = _number(known, "hashSlotNum")
        self.max_bytes = _number(known, "maxBytesPerTrigger")
        self.check_crc = known.get("crc", "true").lower() != "false"
        self.push_filters = known.get("pushfilters", "false").lower() == "true"
        self.wanted = _wanted(known)
        self.starting = known.get("startingoffset", "earliest").lower()
        if self.starting not in {"earliest", "latest"} and not self.starting.isdecimal():
            raise StoreOptionError(f"startingOffset {self.starting!r}: earliest, latest or a commit log offset")
        self._check(self.columns)

    def _check(self, columns: Sequence[str]) -> None:
        known = TYPES if self.table == COMMIT_LOG else SCHEMAS[self.table].names
        for name in columns:
            # No property has an empty name, or one with a separator in it.
            is_property = bool(_PROPERTY_COLUMN.fullmatch(name))
            if name not in known and not (self.table == COMMIT_LOG and is_property):
                hint = f", and {PROPERTY_PREFIX}NAME for a property" if self.table == COMMIT_LOG else ""
                raise StoreOptionError(f"{self.table} has no column {name!r}; there are {', '.join(known)}{hint}")

    def schema(self) -> pa.Schema:
        """Return the columns and their types."""
        if self.table != COMMIT_LOG:
            whole = SCHEMAS[self.table]
            return pa.schema([whole.field(name) for name in self.columns])
        return pa.schema([(name, TYPES.get(name, pa.string())) for name in self.columns])

    def with_schema(self, schema: StructType) -> Options:
        """Return these options for the columns of a schema that Spark was given; raise `StoreOptionError`."""
        self._check([one.name for one in schema])
        self.columns = tuple(one.name for one in schema)
        for one, ours in zip(schema, self.schema(), strict=True):
            if to_arrow_type(one.dataType) != ours.type:
                raise StoreOptionError(f"column {one.name!r} is {ours.type}, not {one.dataType.simpleString()}")
        return self

    def split_size(self, total: int) -> int:
        """Return about how many bytes a task should read of `total`."""
        return self.split_bytes or max(_LEAST_SPLIT, -(-total // self.min_partitions))

    def log_reader(self) -> LogReader:
        """Return what reads the commit log."""
        return LogReader(self.columns, self.wanted.records(), self.check_crc, self.batch_rows)


def _number(known: Mapping[str, str], name: str) -> int | None:
    text = known.get(name.lower())
    if text is None:
        return None
    if not (text.isdecimal() and int(text) > 0):
        raise StoreOptionError(f"{name} {text!r}: a number above 0 is needed")
    return int(text)


def _list(known: Mapping[str, str], name: str) -> tuple[str, ...]:
    return tuple(one.strip() for one in known.get(name, "").split(",") if one.strip())


def _wanted(known: Mapping[str, str]) -> Pushed:
    """Return the filters that the options ask for."""
    made = Pushed()
    if topics := _list(known, "topics"):
        made.take(In(("topic",), topics))
    if queues := _list(known, "queues"):
        if not all(one.isdecimal() for one in queues):
            raise StoreOptionError(f"queues {known['queues']!r}: numbers of queues with commas between are needed")
        made.take(In(("queueId",), tuple(int(one) for one in queues)))
    for name, column, kind in (
        ("since", "storeTimestamp", GreaterThanOrEqual),
        ("until", "storeTimestamp", LessThanOrEqual),
        ("fromOffset", "physicalOffset", GreaterThanOrEqual),
        ("untilOffset", "physicalOffset", LessThanOrEqual),
    ):
        text = known.get(name.lower())
        if text is not None:
            if not text.isdecimal():
                raise StoreOptionError(f"{name} {text!r}: a number from 0 on is needed")
            made.take(kind((column,), int(text)))
    return made


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
        return _pieces(log_ranges(files, split, self._options.wanted.low, self._options.wanted.high))

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Yield the rows of one range."""
        part = partition.part  # type: ignore[attr-defined]
        if part is not None:
            yield from self._options.log_reader().read(part)
        freeze_loaded()


class PushingLogTable(LogTable):
    """Reads the commit log and applies Spark's filters on topic, queue, store time and physical offset."""

    def pushFilters(self, filters: list[Filter]) -> Iterable[Filter]:  # noqa: N802
        """Take over what can be; Spark applies all of them once more, so rows about damage need no rule here."""
        for one in filters:
            self._options.wanted.take(one)
            yield one


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
