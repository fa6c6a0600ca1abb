"""What a subscription gets of an archive, decided by the core's evaluator once for each distinct value of a column.

Spark's workers get names of files and parts of them, so no message goes through the JVM.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol

import numpy as np
import pyarrow as pa

from rmqlab.errors import BadInput
from rmqlab.filter.filter import match_in_two_layers
from rmqlab.language import _
from rmqlab.message.properties import PROPERTY_TAGS
from rmqlab.protocol.subscription_data import SQL92, TAG, build_subscription
from rmqlab.rules import DEFAULT_VERSION, rules_of
from rmqlab_tools.spark.archived.pivoted_files import PivotedFile
from rmqlab_tools.spark.archived.property_columns import OURS
from rmqlab_tools.spark.filters.sql92_dictionary import DictionaryFilter, column_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import NDArray
    from pyspark.sql import DataFrame, SparkSession

    from rmqlab_tools.spark.archived.manifest import ArchivedFile, Place

    Flags = NDArray[np.bool_]
    Batches = Iterator[pa.RecordBatch]

HOUR_MS: Final = 3_600_000
_COUNTS: Final = "topic string, queueId int, hour bigint, messages bigint, matched bigint, lost bigint, gained bigint"
_COUNT_NAMES: Final = tuple(column.split()[0] for column in _COUNTS.split(", "))
MATCHES: Final = "topic string, queueId int, queueOffset bigint, storeTimestamp bigint, physicalOffset bigint"


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
        return tags.choose(codes).astype(np.bool_)

    def _delivered(self, tag: str | None) -> bool:
        if tag not in self._known:
            self._known[tag] = match_in_two_layers(self._data, tag, self._rules).delivered
        return self._known[tag]


class Part(NamedTuple):
    """A part of a file that one task looks at: every `parts`-th row group from the `part`-th on."""

    path: str
    topic: str
    part: int
    parts: int


class Span(NamedTuple):
    """Store times, epoch ms, both ends included; None: no end."""

    since: int | None = None
    until: int | None = None

    def covers(self, table: pa.Table) -> Flags | None:
        """The rows whose time is in it; None for all of them."""
        if self == (None, None):
            return None
        times = table[OURS + "storeTimestamp"].to_numpy()
        low, high = self.since, self.until
        return np.asarray((times >= (times if low is None else low)) & (times <= (times if high is None else high)))


def parts_of(place: Place, files: Iterable[ArchivedFile], tasks: int) -> list[Part]:
    """The work on files of an archive: see `parts_of_paths`."""
    return parts_of_paths([(place.address(file.path), file.topic) for file in files], tasks)


def parts_of_paths(files: Sequence[tuple[str, str]], tasks: int) -> list[Part]:
    """The work on files, each with its topic: each file, or so many parts of it that every task has something to do."""
    parts = max(1, -(-tasks // max(len(files), 1)))
    return [Part(path, topic, number, parts) for path, topic in files for number in range(parts)]


def counted(
    session: SparkSession, work: Sequence[Part], wanted: Wanted, changed: Wanted | None, span: Span
) -> pa.Table:
    """By topic, queue and hour: messages, those that match, and with `changed` those that it loses and gains."""
    wanted.filter()
    if changed is not None:
        changed.filter()

    def count(batches: Batches) -> Batches:
        filters = [wanted.filter(), *([] if changed is None else [changed.filter()])]
        names = [list(dict.fromkeys(name for each in filters for name in of(each))) for of in (_values, _presence)]
        for part in _items(batches, work):
            rows: dict[tuple[int, int], NDArray[np.int64]] = {}
            file = PivotedFile(part.path, names[0], [name for name in names[1] if name not in names[0]])
            for table in file.read(part.part, part.parts, [OURS + "queueId", OURS + "storeTimestamp"]):
                _add(rows, table, filters, span)
            yield _count_batch(part.topic, rows)

    frame = session.range(0, len(work), 1, _tasks(session, work)).mapInArrow(count, _COUNTS)
    keys = list(_COUNT_NAMES[:3])
    sums = [(name, "sum") for name in _COUNT_NAMES[3:]]
    table = frame.toArrow().group_by(keys).aggregate(sums)
    return table.rename_columns([name.removesuffix("_sum") for name in table.column_names]).sort_by(
        [(name, "ascending") for name in keys]
    )


def matching_rows(session: SparkSession, work: Sequence[Part], wanted: Wanted, span: Span) -> DataFrame:
    """The messages that match, by topic, queue and offset, as a frame of Spark."""
    wanted.filter()
    names = [OURS + column.split()[0] for column in MATCHES.split(", ")[1:]]

    def select(batches: Batches) -> Batches:
        decided = wanted.filter()
        for part in _items(batches, work):
            file = PivotedFile(part.path, decided.value_names, decided.presence_names)
            for table in file.read(part.part, part.parts, names):
                flags, covered = decided.matches(table), span.covers(table)
                chosen = table.select(names).filter(pa.array(flags if covered is None else flags & covered))
                topic = pa.array([part.topic] * chosen.num_rows, pa.string())
                columns = [topic, *chosen.columns]
                yield from pa.table(columns, ["topic", *(name.removeprefix(OURS) for name in names)]).to_batches()

    return session.range(0, len(work), 1, _tasks(session, work)).mapInArrow(select, MATCHES)


def _values(decided: ColumnFilter) -> list[str]:
    return decided.value_names


def _presence(decided: ColumnFilter) -> list[str]:
    return decided.presence_names


def _add(rows: dict[tuple[int, int], Any], table: pa.Table, filters: Sequence[ColumnFilter], span: Span) -> None:
    """Count the rows of a table into those of its queue and hour."""
    if not table.num_rows:
        return
    before = filters[0].matches(table)
    after = filters[1].matches(table) if len(filters) > 1 else before
    kinds = [np.ones(len(before), np.bool_), before, before & ~after, after & ~before]
    covered = span.covers(table)
    if covered is not None:
        kinds = [kind & covered for kind in kinds]
    hours = table[OURS + "storeTimestamp"].to_numpy() // HOUR_MS
    first_hour = int(hours.min())
    width = int(hours.max()) - first_hour + 1
    # A file has the hours of a day: a queue and an hour make a small number, and small numbers need no sorting.
    places = table[OURS + "queueId"].to_numpy().astype(np.int64) * width + (hours - first_hour)
    sums = np.array([np.bincount(places[kind], minlength=int(places.max()) + 1) for kind in kinds])
    for place in np.flatnonzero(sums[0]).tolist():
        queue, hour = divmod(place, width)
        key = queue, first_hour + hour
        rows[key] = rows.get(key, 0) + sums[:, place]


def _count_batch(topic: str, rows: dict[tuple[int, int], Any]) -> pa.RecordBatch:
    queues, hours = [key[0] for key in rows], [key[1] * HOUR_MS for key in rows]
    counts = np.array([*rows.values()], np.int64).reshape(-1, 4).T
    return pa.record_batch(
        [pa.array([topic] * len(rows), pa.string()), pa.array(queues, pa.int32()), pa.array(hours, pa.int64()),
         *(pa.array(column) for column in counts)],
        list(_COUNT_NAMES),
    )  # fmt: skip


def _items(batches: Iterable[pa.RecordBatch], work: Sequence[Part]) -> Iterator[Part]:
    pa.set_cpu_count(1)  # a core has a task of its own
    for batch in batches:
        for index in batch.column(0).to_pylist():
            yield work[index]


def tasks_of(session: SparkSession) -> int:
    """How many tasks a session works on at once, as far as it says."""
    return int(session.conf.get("spark.sql.shuffle.partitions") or 2)


def _tasks(session: SparkSession, work: Sequence[Part]) -> int:
    return max(1, min(tasks_of(session), len(work)))
