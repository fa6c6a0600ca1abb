"""What a subscription gets of an archive, decided by the core's evaluator once for each distinct value of a column.

Spark's workers get names of files and parts of them, so no message goes through the JVM.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

import numpy as np
import pyarrow as pa

from rmqlab.errors import BadInput
from rmqlab.filter.filter import match_in_two_layers
from rmqlab.language import _
from rmqlab.message.properties import PROPERTY_TAGS
from rmqlab.protocol.subscription_data import SQL92, TAG, build_subscription
from rmqlab.rules import DEFAULT_VERSION, rules_of
from rmqlab_tools.processors import processors
from rmqlab_tools.spark.archived.pivoted_files import PivotedFile
from rmqlab_tools.spark.archived.queue_hours import HOUR_MS, QUEUE, STORED, Runs, runs_of
from rmqlab_tools.spark.files.addresses import shown_place
from rmqlab_tools.spark.files.filesystem_failures import reason_at
from rmqlab_tools.spark.files.filesystems import errors_at
from rmqlab_tools.spark.files.tasks import freeze_loaded
from rmqlab_tools.spark.filters.sql92_dictionary import DictionaryFilter, column_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray
    from pyspark.sql import SparkSession

    from rmqlab_tools.spark.archived.manifest import ArchivedFile, Place

    Flags = NDArray[np.bool_]
    Batches = Iterator[pa.RecordBatch]

_PLACES: Final = ("topic", "broker", "queueId", "hour")
_FIGURES: Final = ("messages", "matched", "lost", "gained")
_COUNT_SCHEMA: Final = pa.schema(
    [("topic", pa.string()), ("broker", pa.string()), ("queueId", pa.int32()), ("hour", pa.int64())]
    + [(name, pa.int64()) for name in _FIGURES]
    + [("error", pa.string())]
)
TASK_MESSAGES: Final = 4_000_000
"""A task of Spark takes so many messages, if there are so many: a second one starts for as long as it counts them."""


class Wanted(NamedTuple):
    """A subscription as a worker is given it."""

    expression: str
    kind: str = TAG
    version: str = DEFAULT_VERSION

    def filter(self) -> ColumnFilter:
        """What decides it on columns.

        Raises:
            BadInput: another kind than TAG and SQL92.
            MQFilterException: the broker refuses the condition.
        """
        if self.kind == SQL92:
            return DictionaryFilter(self.expression, rules_of(self.version).sql92)
        if self.kind == TAG:
            return TagFilter(self)
        raise BadInput(_("type {kind} is neither {tag} nor {sql92}", kind=f"{self.kind!r}", tag=TAG, sql92=SQL92))


class ColumnFilter(Protocol):
    """Decides on tables with a column a property; `value_names` and `presence_names` say which it reads."""

    value_names: list[str]
    presence_names: list[str]

    def matches(self, table: pa.Table) -> Flags:
        """For each row whether the consumer gets the message."""


class TagFilter:
    """Both steps of a TAG subscription: the broker's on the hash code, the client's on the text."""

    def __init__(self, wanted: Wanted) -> None:
        self._data = build_subscription("", wanted.expression, TAG)
        self._rules = rules_of(wanted.version)
        self.value_names: list[str] = [PROPERTY_TAGS]
        self.presence_names: list[str] = []
        self._known: dict[str | None, bool] = {}

    def matches(self, table: pa.Table) -> Flags:
        """For each row whether the consumer gets the message."""
        tags = column_of(table, PROPERTY_TAGS)
        codes = np.array([self._delivered(tag) for tag in (*tags.values, None)], np.uint8)
        return tags.choose(codes).view(np.bool_)

    def _delivered(self, tag: str | None) -> bool:
        if tag not in self._known:
            self._known[tag] = match_in_two_layers(self._data, tag, self._rules).delivered
        return self._known[tag]


class Part(NamedTuple):
    """A part of a file that one task looks at: every `parts`-th row group from the `part`-th on.

    `span`: the store times that count, None if all of the file's do. `messages`: about how many they are. `broker`:
    whose queues they are in.
    """

    path: str
    topic: str
    part: int
    parts: int
    span: Span | None = None
    messages: int = TASK_MESSAGES
    broker: str = ""


class Span(NamedTuple):
    """Store times, epoch ms, both ends included; None: no end."""

    since: int | None = None
    until: int | None = None

    def has(self, file: ArchivedFile) -> bool:
        """Whether all messages of a file are in it."""
        return (self.since is None or file.first_ms >= self.since) and (
            self.until is None or file.last_ms <= self.until
        )

    def covers(self, table: pa.Table) -> Flags:
        """The rows whose time is in it."""
        times = table[STORED].to_numpy()
        low, high = self.since, self.until
        return np.asarray((times >= (times if low is None else low)) & (times <= (times if high is None else high)))


def parts_of(
    place: Place, files: Iterable[ArchivedFile], tasks: int, span: Span, brokers: Mapping[str, str]
) -> list[Part]:
    """The work: each file, or so many parts of it that every task has something to do.

    `brokers`: whose the files are, by the store's key.
    """
    listed = list(files)
    parts = max(1, -(-tasks // max(len(listed), 1)))
    return [
        Part(
            place.address(file.path),
            file.topic,
            number,
            parts,
            None if span.has(file) else span,
            file.messages // parts,
            brokers.get(file.store, ""),
        )
        for file in listed
        for number in range(parts)
    ]


def counted(
    work: Sequence[Part], wanted: Wanted, changed: Wanted | None = None, session: SparkSession | None = None
) -> pa.Table:
    """By topic, broker, queue and hour: messages, those that match, and with `changed` those that it loses and gains.

    Without a session threads of this process do it: a job of Spark costs more than to look at some million messages.

    Raises:
        BadInput: another kind; a file of the archive is gone or damaged.
        MQFilterException: the broker refuses a condition.
    """
    filters = filters_of(wanted, changed)

    def count(batches: Batches) -> Batches:
        there = filters_of(wanted, changed)  # made where it works: what is compiled is not sent
        for part in read_parts(batches, work):
            yield _count(part, there)

    if session is None:
        with ThreadPoolExecutor(processors()) as threads:
            counts = pa.Table.from_batches(threads.map(lambda part: _count(part, filters), work), _COUNT_SCHEMA)
    else:
        from pyspark.sql.pandas.types import from_arrow_schema

        numbers = session.range(0, len(work), 1, tasks_wanted(session, work))
        counts = numbers.mapInArrow(count, from_arrow_schema(_COUNT_SCHEMA)).toArrow()
    wrong = counts["error"].drop_null()
    if len(wrong):
        raise BadInput(wrong[0].as_py())
    table = counts.group_by([*_PLACES]).aggregate([(name, "sum") for name in _FIGURES])
    table = table.rename_columns([name.removesuffix("_sum") for name in table.column_names])
    return table.sort_by([(name, "ascending") for name in _PLACES])


def filters_of(wanted: Wanted, changed: Wanted | None = None) -> list[ColumnFilter]:
    """What decides one subscription, or two.

    Raises:
        BadInput: another kind than TAG and SQL92.
        MQFilterException: the broker refuses a condition.
    """
    return [wanted.filter(), *([] if changed is None else [changed.filter()])]


def names_of(filters: Sequence[ColumnFilter]) -> tuple[list[str], list[str]]:
    """The properties whose texts matter to one of the filters, and those that all of them only look for."""
    values = list(dict.fromkeys(name for each in filters for name in each.value_names))
    presence = list(dict.fromkeys(name for each in filters for name in each.presence_names if name not in values))
    return values, presence


def _count(part: Part, filters: Sequence[ColumnFilter]) -> pa.RecordBatch:
    """The counts of a part by queue and hour; a file that cannot be read gives one row, which says so."""
    rows: dict[tuple[int, int], NDArray[np.int64]] = {}
    try:
        with errors_at(part.path):
            for place, counts in _counts(part, filters):
                rows[place] = rows[place] + counts if place in rows else counts
    except OSError as error:
        says = _(
            "{path}: a file of the archive cannot be read ({error}); archive the store again into a new folder",
            path=shown_place(part.path),
            error=reason_at(error),
        )
        return pa.RecordBatch.from_pylist([{"topic": part.topic, "error": str(says)}], schema=_COUNT_SCHEMA)
    figures = np.zeros((len(rows), len(_FIGURES)), np.int64)
    for number, counts in enumerate(rows.values()):
        figures[number, : len(counts)] = counts
    columns = [
        [part.topic] * len(rows),
        [part.broker] * len(rows),
        [queue for queue, _hour in rows],
        [hour * HOUR_MS for _queue, hour in rows],
        *figures.T,
        [None] * len(rows),
    ]
    return pa.RecordBatch.from_arrays(
        [pa.array(column, field.type) for column, field in zip(columns, _COUNT_SCHEMA, strict=True)],
        schema=_COUNT_SCHEMA,
    )


def _counts(part: Part, filters: Sequence[ColumnFilter]) -> Iterator[tuple[tuple[int, int], NDArray[np.int64]]]:
    """By run of a part's rows: queue and hour, and how many messages, matched, lost and gained it has."""
    file = PivotedFile(part.path, *names_of(filters))
    runs = runs_of(file.metadata)
    places = [] if runs is not None and part.span is None else [QUEUE, STORED]
    for first, table in file.read_with_row(part.part, part.parts, places):
        flags = [each.matches(table) for each in filters]
        if part.span is not None:
            covered = part.span.covers(table)
            flags = [kind[covered] for kind in flags]
            here = Runs.of(table.select(places).filter(pa.array(covered)))
        else:
            here = Runs.of(table) if runs is None else runs.part(first, table.num_rows)
        if len(flags) > 1:
            flags = [flags[0], flags[0] & ~flags[1], flags[1] & ~flags[0]]
        yield from here.counts(flags, len(flags[0]))


def read_parts(batches: Iterable[pa.RecordBatch], work: Sequence[Part]) -> Iterator[Part]:
    """In a task of Spark: the parts whose numbers it is given."""
    pa.set_cpu_count(1)  # a core has a task of its own
    for batch in batches:
        for index in batch.column(0).to_pylist():
            yield work[index]
    freeze_loaded()


def tasks_of(session: SparkSession | None) -> int:
    """How many parts are looked at at once, as far as a session says; None: by this process."""
    if session is None:
        return processors()
    return int(session.conf.get("spark.sql.shuffle.partitions") or 2)


def tasks_wanted(session: SparkSession, work: Sequence[Part]) -> int:
    """How many tasks the work is given to: as few as have enough to do."""
    enough = -(-sum(part.messages for part in work) // TASK_MESSAGES)
    return max(1, min(tasks_of(session), len(work), enough))
