"""The messages of an archive that a subscription gets, or all of them with a column that says which, as a frame.

A batch gives Spark's workers names of files and parts of them. A stream gives them what `archive.json` has named since
the last time, so a file counts there from the same moment on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
from pyspark.sql import functions as F  # noqa: N812 - as everywhere in PySpark's own texts
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.pandas.types import from_arrow_schema

from rmqlab.errors import BadInput, there_are
from rmqlab.files import json_value
from rmqlab.language import _
from rmqlab_tools.spark.archived.manifest import Place, chosen, read_contents
from rmqlab_tools.spark.archived.matching import Part, Span, Wanted, parts_of, read_parts, tasks_of, tasks_wanted
from rmqlab_tools.spark.archived.pivoted_files import PivotedFile
from rmqlab_tools.spark.archived.property_columns import OURS
from rmqlab_tools.spark.archived.queue_hours import STORED
from rmqlab_tools.spark.files.tasks import freeze_loaded

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

    from rmqlab_tools.spark.archived.manifest import ArchivedFile

FORMAT: Final = "rocketmq-archive"
COLUMNS: Final = {
    "topic": pa.string(), "queueId": pa.int32(), "queueOffset": pa.int64(), "storeTimestamp": pa.int64(),
    "physicalOffset": pa.int64(), "broker": pa.string(),
}  # fmt: skip
"""What is known of a message, beside its properties."""
_OF_FILE: Final = ("topic", "broker")
DECIDED: Final = "wanted"
"""The column that says whether the consumer gets the message, where all messages are asked for."""
_TOGETHER: Final = 8192
_PLACE: Final = "place"


class Question(NamedTuple):
    """Which messages of an archive are asked for, and what of them."""

    archive: str
    wanted: Wanted
    columns: tuple[str, ...] = tuple(COLUMNS)
    everything: bool = False
    topics: tuple[str, ...] = ()
    since: int | None = None
    until: int | None = None

    def checked(self) -> Question:
        """This, if it can be answered.

        Raises:
            BadInput: no such column, another kind than TAG and SQL92.
            MQFilterException: the broker refuses the condition.
        """
        if not self.columns and not self.everything:
            raise BadInput(_("columns: at least one is needed"))
        for name in self.columns:
            if name not in COLUMNS:
                raise BadInput(_("no column {name}{known}", name=f"{name!r}", known=there_are(name, COLUMNS)))
        self.wanted.filter()
        return self

    def schema(self) -> pa.Schema:
        """The columns of the answer."""
        fields = [(name, COLUMNS[name]) for name in self.columns]
        return pa.schema([*fields, *([(DECIDED, pa.bool_())] if self.everything else [])])

    def lists(self) -> pa.Schema:
        """The columns of rows that have many messages each: lists, but of what all messages of a file share."""
        lists = [field if field.name in _OF_FILE else _list_of(field) for field in self.schema()]
        return pa.schema([*lists, *([] if self.everything else [_list_of(pa.field(DECIDED, pa.bool_()))])])

    def parts(self, place: Place, files: Sequence[ArchivedFile], tasks: int, brokers: Mapping[str, str]) -> list[Part]:
        """The work on some files; `brokers`: whose they are, by the store's key."""
        return parts_of(place, files, tasks, Span(self.since, self.until), brokers)

    def answer(self, parts: Iterator[Part]) -> Iterator[pa.RecordBatch]:
        """Read parts of files; rows in the order of the files."""
        schema = self.schema()
        for part, table in self._tables(parts):
            shared = self._shared(part, table.num_rows)
            columns = [shared[name] if name in shared else table[name] for name in schema.names]
            yield from pa.table(columns, schema=schema).to_batches()

    def answer_in_lists(self, parts: Iterator[Part]) -> Iterator[pa.RecordBatch]:
        """Read as `answer`; each row has lists of the columns of many messages."""
        schema = self.lists()
        for part, table in self._tables(parts):
            ends = np.arange(0, table.num_rows + _TOGETHER, _TOGETHER, dtype=np.int32).clip(max=table.num_rows)
            offsets = pa.array(ends)
            shared = self._shared(part, len(ends) - 1)
            yield pa.RecordBatch.from_arrays(
                [
                    shared[field.name] if field.name in shared
                    else pa.ListArray.from_arrays(offsets, table[field.name].combine_chunks(), field.type)
                    for field in schema
                ],
                schema=schema,
            )  # fmt: skip

    def _shared(self, part: Part, rows: int) -> dict[str, pa.Array]:
        """The columns that all messages of a file share, for so many rows."""
        return {name: pa.repeat(getattr(part, name), rows) for name in _OF_FILE if name in self.columns}

    def _tables(self, parts: Iterator[Part]) -> Iterator[tuple[Part, pa.Table]]:
        """The messages that are asked for, by part: own columns, and `DECIDED`."""
        decided = self.wanted.filter()
        names = [OURS + name for name in self.columns if name not in _OF_FILE]
        for part in parts:
            file = PivotedFile(part.path, decided.value_names, decided.presence_names)
            for table in file.read(part.part, part.parts, [*names, *([] if part.span is None else [STORED])]):
                flags = decided.matches(table)
                rows = pa.table({name.removeprefix(OURS): table[name] for name in names} | {DECIDED: pa.array(flags)})
                kept = None if part.span is None else part.span.covers(table)
                if not self.everything:
                    kept = flags if kept is None else flags & kept
                yield part, rows if kept is None else rows.filter(pa.array(kept))


def _list_of(field: pa.Field) -> pa.Field:
    return pa.field(field.name, pa.list_(pa.field("item", field.type, nullable=False)), nullable=False)


def rows_of(session: SparkSession, question: Question) -> DataFrame:
    """The answer of a batch, from what the archive has now.

    Raises:
        BadInput: no archive, a topic that it does not have.
    """
    place = Place.of(question.archive)
    contents = read_contents(place, question.archive)
    files = chosen(contents, question.topics, question.since, question.until)
    work = question.parts(place, files, tasks_of(session), contents.labels())

    def select(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return question.answer_in_lists(read_parts(batches, work))

    numbers = session.range(0, len(work), 1, tasks_wanted(session, work))
    lists = numbers.mapInArrow(select, from_arrow_schema(question.lists()))
    return _of_lists(lists, question.schema().names)


def _of_lists(lists: DataFrame, names: Sequence[str]) -> DataFrame:
    """A row for each message. What Spark takes apart costs it half of what a row costs that comes from Python."""
    if [*names] == [DECIDED]:
        return lists.select(F.explode(DECIDED).alias(DECIDED))
    own = [name for name in names if name != DECIDED]
    taken = lists.select(*own, F.posexplode(DECIDED).alias(_PLACE, DECIDED))
    return taken.select(
        *(F.col(name) if name in (*_OF_FILE, DECIDED) else F.get(name, _PLACE).alias(name) for name in names)
    )


def stream_of(session: SparkSession, question: Question) -> DataFrame:
    """The answer as a stream: what the archive has, then what runs of `rmqlab.archive` add.

    Raises:
        BadInput: no archive.
    """
    read_contents(Place.of(question.archive), question.archive)
    session.dataSource.register(ArchiveSource)
    options = {"question": _packed(question), "tasks": str(tasks_of(session))}
    return session.readStream.format(FORMAT).options(**options).load()


def _packed(question: Question) -> str:
    import msgspec

    return msgspec.json.encode(question._asdict()).decode()


class ArchiveSource(DataSource):
    """The format `rocketmq-archive`: the stream of `rmqlab.spark.matching`, which sets its options."""

    def __init__(self, options: Mapping[str, str]) -> None:
        super().__init__(dict(options))
        question: dict[str, Any] = json_value(options["question"].encode())
        question |= {name: tuple(question[name]) for name in ("columns", "topics")} | {
            "wanted": Wanted(*question["wanted"])
        }
        self._question, self._tasks = Question(**question), int(options["tasks"])

    @classmethod
    def name(cls) -> str:
        """The name of the format."""
        return FORMAT

    def schema(self) -> StructType:
        """The columns of the answer."""
        return from_arrow_schema(self._question.schema())

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802 - Spark's names
        """What reads a stream."""
        return ArchiveStream(self._question, self._tasks)


class ArchiveStream(DataSourceStreamReader):
    """Reads what an archive has, then what is added. An offset has, by store, the commit log offset that is reached."""

    def __init__(self, question: Question, tasks: int) -> None:
        self._question, self._tasks = question, tasks

    def initialOffset(self) -> dict[str, int]:  # noqa: N802
        """Where a new query begins: at the beginning."""
        return {}

    def latestOffset(self, start: dict[str, int] | None = None, limit: Any = None) -> dict[str, int]:  # noqa: N802
        """What the archive has now."""
        where = self._question.archive
        return {key: store.reached for key, store in read_contents(Place.of(where), where).stores.items()}

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> Sequence[InputPartition]:
        """The files between two offsets, a partition for each task."""
        question = self._question
        place = Place.of(question.archive)
        contents = read_contents(place, question.archive)
        contents.files = [
            file for file in contents.files if start.get(file.store, 0) <= file.low < end.get(file.store, 0)
        ]
        known = {file.topic for file in contents.files}
        topics = tuple(topic for topic in question.topics if topic in known)
        no_topic = question.topics and not topics
        files = [] if no_topic else chosen(contents, topics, question.since, question.until)
        work = question.parts(place, files, self._tasks, contents.labels())
        count = max(1, min(self._tasks, len(work)))
        return [InputPartition(work[number::count]) for number in range(count)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The rows of one partition."""
        yield from self._question.answer(iter(partition.value))
        freeze_loaded()
