"""`spark.read.format("rocketmq")`: a broker's store directory as tables, also as a stream (`register` first).

Options: `path`, the store directory, or an address (s3://, hdfs://, gs://, abfs://); stores of several brokers
(`load([A, B])`) have a column `broker` before the others, and a slave's copy is left out. `table`: `commitlog` (the
default), `consumequeue`, `ext`, `index`, `offsets`, `subscriptions`, `filters` or `topics`. For `index`: `hashSlotNum`.
The files must be where the tasks run, or at an address that these reach. A frame keeps to the files that its first
query found: load anew for those that a broker has made since. The last four tables have a column `damage`, which is
not NULL where a file of `config/` was no use: the rows are those of its `.bak` then, or there is but one row, which
says so.

For the commit log, `columns`: names with commas between (or a schema given to Spark); only what is asked for is
decoded, and Spark does not tell a Python source what a query needs. `topics` and `queues`, with commas between,
`since` and `until` (store times, epoch ms), `fromOffset` and `untilOffset` (commit log offsets), ends included: other
records are left out while decoding, damaged parts never. A query's own filters are Spark's: Spark 4.3 would apply those
that a Python source takes to the frame's next query too. `splitBytes`, the size of a task's part; `crc`, false to leave
bodies unchecked. For a stream, `startingOffset`: `earliest`, `latest` or a commit log offset; `maxBytesPerTrigger`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceStreamReader, InputPartition
from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_type

from rmqlab.errors import BadInput, there_are
from rmqlab.files import json_value
from rmqlab.language import _
from rmqlab.message.java import LONG_MAX, LONG_MIN
from rmqlab_tools.spark.files.commit_log_files import (
    PROPERTY_PREFIX,
    TYPES,
    LogRange,
    RecordFilter,
    log_files,
    log_ranges,
    ranges_together,
    store_directory,
)
from rmqlab_tools.spark.files.store_tables import SCHEMAS, pieces, read_piece
from rmqlab_tools.spark.files.tasks import freeze_loaded

try:
    from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadMaxBytes, SupportsTriggerAvailableNow
except ImportError:  # PySpark 4.1 has no limits of a read
    ReadAllAvailable = ReadMaxBytes = None  # type: ignore[assignment,misc]
    SupportsTriggerAvailableNow = object  # type: ignore[assignment,misc]

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pyspark.sql import SparkSession
    from pyspark.sql.types import StructType

    from rmqlab_tools.spark.files.addresses import StorePath
    from rmqlab_tools.spark.files.commit_log_files import LogFile
    from rmqlab_tools.spark.files.log_reader import LogReader

SOURCE_FORMAT: Final = "rocketmq"
COMMIT_LOG: Final = "commitlog"
BROKER: Final = "broker"
"""The column of the broker's name, where there are stores of several."""
SOURCE_TABLES: Final = (COMMIT_LOG, *SCHEMAS)
_PROPERTY_COLUMN: Final = re.compile(re.escape(PROPERTY_PREFIX) + "[^\x01\x02]+", re.DOTALL)
_MIN_SPLIT: Final = 64 << 20
_MIN_PARTITIONS: Final = 4
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
        """The name of the format."""
        return SOURCE_FORMAT

    def schema(self) -> StructType:
        """The columns asked for, else all of the table's."""
        return from_arrow_schema(self._options.schema())

    def reader(self, schema: StructType) -> DataSourceReader:
        """A reader for a batch query."""
        options = self._options.with_schema(schema)
        if options.table != COMMIT_LOG:
            return PlainTable(options)
        return LogTable(options)

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802 - Spark's name
        """A reader for a stream, of the commit log alone."""
        options = self._options.with_schema(schema)
        if options.table != COMMIT_LOG:
            raise BadInput(
                _(
                    "table {table}: only {commit_log} can be read as a stream",
                    table=f"{options.table!r}",
                    commit_log=f"{COMMIT_LOG!r}",
                )
            )
        if len(options.roots) > 1:
            raise BadInput(_("a stream reads the log of one broker: make one of each store, and a union of them"))
        if (options.low, options.high) != (0, None):
            raise BadInput(_("a stream begins at startingOffset, and has no fromOffset or untilOffset"))
        return LogStream(options)


def _partitions(parts: Sequence[tuple[Any, ...]]) -> list[InputPartition]:
    """One for each part: ranges of the commit log, or files of another table."""
    # Without any, Spark would call `read` with a partition of its own.
    return [InputPartition(part) for part in parts] or [InputPartition(None)]


def _rows(options: Options, partition: InputPartition) -> Iterator[pa.RecordBatch]:
    number, parts = partition.value or (0, ())
    for part in parts:
        for batch in options.log_reader().read(part):
            yield options.with_broker(batch, number)
    freeze_loaded()


class LogTable(DataSourceReader):
    """Reads the commit log. What is not wanted is left out while decoding."""

    def __init__(self, options: Options) -> None:
        self._options = options

    def partitions(self) -> Sequence[InputPartition]:
        """The ranges to read."""
        parts: list[tuple[int, Any]] = []
        for number, root in enumerate(self._options.roots):
            files = log_files(root)
            total = sum(file.size for file in files)
            split = self._options.split_bytes or max(_MIN_SPLIT, -(-total // _MIN_PARTITIONS))
            ranges = log_ranges(files, split, self._options.low, self._options.high)
            parts += ((number, some) for some in ranges_together(ranges, split))
        return _partitions(parts)

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The rows of one task's ranges."""
        yield from _rows(self._options, partition)


class PlainTable(DataSourceReader):
    """Reads a table that is not the commit log."""

    def __init__(self, options: Options) -> None:
        self._options = options

    def partitions(self) -> Sequence[InputPartition]:
        """Groups of files."""
        options = self._options
        each = [(number, pieces(root, options.table, _PIECE)) for number, root in enumerate(options.roots)]
        return _partitions([(number, piece) for number, of_store in each for piece in of_store])

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The rows of one group of files."""
        options = self._options
        if partition.value is None:
            return
        number, paths = partition.value
        for batch in read_piece(options.roots[number], options.table, paths, options.hash_slots):
            yield options.with_broker(batch, number)


def _log_end(files: Sequence[LogFile], begin: int, until: int | None = None) -> int:
    from rmqlab_tools.spark.files.log_reader import log_end

    return log_end(files, begin, until)


class LogStream(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Reads the commit log of a running broker as it grows; offsets are places where a record begins."""

    def __init__(self, options: Options) -> None:
        self._options = options
        self._reached: int | None = None
        self._target: int | None = None

    def initialOffset(self) -> dict[str, int]:  # noqa: N802
        """Where a new query begins."""
        files = log_files(self._options.root)
        first = files[0].base if files else 0
        if self._options.starting == "earliest":
            return {"offset": first}
        end = _log_end(files, first, None if self._options.starting == "latest" else int(self._options.starting))
        return {"offset": end}

    def getDefaultReadLimit(self) -> Any:  # noqa: N802
        """The limit of one batch."""
        return ReadMaxBytes(self._options.max_bytes) if self._options.max_bytes else ReadAllAvailable()

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        """Note the end as it is now."""
        self._target = _log_end(log_files(self._options.root), self.initialOffset()["offset"])

    def latestOffset(self, start: dict[str, int] | None = None, limit: Any = None) -> dict[str, int]:  # noqa: N802
        """The end of what has been written whole. A record that is still being written is left for later."""
        if start is None:
            start = {"offset": self._reached} if self._reached is not None else self.initialOffset()
        begin = start["offset"]
        most = self._options.max_bytes if limit is None else getattr(limit, "max_bytes", None)
        until = min(
            (bound for bound in (self._target, begin + most if most else None) if bound is not None), default=None
        )
        self._reached = max(begin, _log_end(log_files(self._options.root), begin, until))
        return {"offset": self._reached}

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> Sequence[InputPartition]:
        """The ranges between two offsets. One that begins within a file begins at a record.

        Files that the broker deleted before they were read are reported as missing.
        """
        files = log_files(self._options.root)
        begin, until = start["offset"], end["offset"]
        first = min(files[0].base if files else until, until)
        gone = [LogRange(None, begin, first)] if begin < first else []
        ranges = gone + log_ranges(files, 1 << 62, begin, until)
        return _partitions([(0, (part._replace(begin=part.low) if part.file else part,)) for part in ranges])

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The rows of one task's ranges."""
        yield from _rows(self._options, partition)


class Options:
    """The options of one read, checked."""

    def __init__(self, given: Mapping[str, str]) -> None:
        known = {name.lower(): value for name, value in given.items()}
        self.roots, self.brokers = _stores(known)
        self.table = known.get("table", COMMIT_LOG).lower()
        if self.table not in SOURCE_TABLES:
            raise BadInput(
                _("no table {table}{near}", table=f"{self.table!r}", near=there_are(self.table, SOURCE_TABLES))
            )
        self._types = TYPES if self.table == COMMIT_LOG else {field.name: field.type for field in SCHEMAS[self.table]}
        if self.brokers:
            self._types = {BROKER: pa.string(), **self._types}
        self.columns = _list(known, "columns") or tuple(self._types)
        self.split_bytes = _number(known, "splitBytes")
        self.hash_slots = _number(known, "hashSlotNum")
        self.max_bytes = _number(known, "maxBytesPerTrigger")
        self.check_crc = known.get("crc", "true").lower() != "false"
        self.wanted = _wanted(known)
        self.low = _number(known, "fromOffset", 0) or 0
        last = _number(known, "untilOffset", 0)
        self.high = None if last is None else last + 1
        self.starting = known.get("startingoffset", "earliest").lower()
        if self.starting not in {"earliest", "latest"} and not self.starting.isdecimal():
            raise BadInput(
                _("startingOffset {starting}: earliest, latest or a commit log offset", starting=f"{self.starting!r}")
            )
        self._check(self.columns)

    @property
    def root(self) -> StorePath:
        """The store, where there is one."""
        return self.roots[0]

    @property
    def own_columns(self) -> tuple[str, ...]:
        """The columns that the log has; where only brokers are asked for, one that says how many rows there are."""
        names = tuple(name for name in self.columns if not (self.brokers and name == BROKER))
        return names or (("physicalOffset",) if self.columns else ())

    def with_broker(self, batch: pa.RecordBatch, number: int) -> pa.RecordBatch:
        """The columns that are asked for of a batch of one store, that of brokers among them."""
        if not self.brokers or BROKER not in self.columns:
            return batch.select(list(self.columns))
        names = pa.repeat(pa.scalar(self.brokers[number]), len(batch))
        return pa.record_batch(
            [names if name == BROKER else batch[name] for name in self.columns], names=list(self.columns)
        )

    def _check(self, columns: Sequence[str]) -> None:
        known = self._types
        for name in columns:
            # No property has an empty name, or one with a separator in it.
            is_property = bool(_PROPERTY_COLUMN.fullmatch(name))
            if name not in known and not (self.table == COMMIT_LOG and is_property):
                hint = (
                    _(", and {property_prefix}NAME for a property", property_prefix=PROPERTY_PREFIX)
                    if self.table == COMMIT_LOG
                    else ""
                )
                raise BadInput(
                    _(
                        "{table} has no column {name}{near}{hint}",
                        table=self.table,
                        name=f"{name!r}",
                        near=there_are(name, known),
                        hint=hint,
                    )
                )

    def schema(self) -> pa.Schema:
        """The columns and their types."""
        return pa.schema([(name, self._types.get(name, pa.string())) for name in self.columns])

    def with_schema(self, schema: StructType) -> Options:
        """These options for the columns of a schema that Spark was given.

        Raises:
            BadInput: it cannot be used; the text says what and why.
        """
        self._check([field.name for field in schema])
        self.columns = tuple(field.name for field in schema)
        for field, ours in zip(schema, self.schema(), strict=True):
            if to_arrow_type(field.dataType) != ours.type:
                raise BadInput(
                    _(
                        "column {name} is {type}, not {simpleString}",
                        name=f"{field.name!r}",
                        type=ours.type,
                        simpleString=field.dataType.simpleString(),
                    )
                )
        return self

    def log_reader(self) -> LogReader:
        """What reads the commit log.

        Only the tasks need it, and what it loads: Spark asks for a schema and for partitions in processes of their own.
        """
        from rmqlab_tools.spark.files.log_reader import LogReader

        return LogReader(self.own_columns, self.wanted, self.check_crc)


def _stores(known: Mapping[str, str]) -> tuple[list[StorePath], list[str]]:
    """The folders of the stores that count, and their brokers; no brokers where there is one store."""
    from rmqlab_tools.spark.files.broker_stores import broker_stores, given_stores

    if "path" not in known and "paths" not in known:
        raise BadInput(_("the store directory is missing: load(PATH)"))
    named = [known["path"]] if "path" in known else list(json_value(known["paths"]))
    given = given_stores(named)
    if len(given) == 1:
        return [store_directory(given[0].path)], []
    counted = broker_stores(given).counted
    return [store.root for store in counted], [store.label for store in counted] if len(counted) > 1 else []


def _number(known: Mapping[str, str], name: str, least: int = 1) -> int | None:
    text = known.get(name.lower())
    if text is not None and not (text.isdecimal() and int(text) >= least):
        raise BadInput(
            _("{name} {text}: a number from 0 on is needed", name=name, text=f"{text!r}")
            if least == 0
            else _("{name} {text}: a number above 0 is needed", name=name, text=f"{text!r}")
        )
    return None if text is None else int(text)


def _list(known: Mapping[str, str], name: str) -> tuple[str, ...]:
    return tuple(item.strip() for item in known.get(name, "").split(",") if item.strip())


def _wanted(known: Mapping[str, str]) -> RecordFilter:
    """The records that the options ask for."""
    queues = _list(known, "queues")
    if not all(queue.isdecimal() for queue in queues):
        raise BadInput(
            _("queues {queues}: numbers of queues with commas between are needed", queues=f"{known['queues']!r}")
        )
    since, until = _number(known, "since", 0), _number(known, "until", 0)
    return RecordFilter(
        _list(known, "topics"),
        tuple(map(int, queues)),
        LONG_MIN if since is None else since,
        LONG_MAX if until is None else until,
    )
