"""A SQL92 filter over pivoted Parquet files on Spark: workers get file names, not rows, and send back what passed.

Moving a message's properties from the JVM to Python costs more than the filter; so each worker opens its files itself.
The files must be readable by their name from every worker.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from rmqlab.spark.filters.pivoted_files import PivotedFile
from rmqlab.spark.filters.sql92_dictionary import DictionaryFilter

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from pyspark.sql import DataFrame, SparkSession

    from rmqlab.filter.sql92.tokens import Version

    Batches = Iterator[pa.RecordBatch]

_COUNTS = "path string, messages bigint, matched bigint"


def count_matches(
    session: SparkSession,
    paths: Sequence[str],
    expression: str,
    *,
    version: Version = "4.8.0",
    tasks: int | None = None,
) -> tuple[int, int]:
    """Count all messages in the files and those that pass; `tasks` is the number of Spark tasks (default: the cores).

    A path that is named twice counts twice. Raises `MQFilterException` for a text that the broker refuses.
    """
    DictionaryFilter(expression, version)
    tasks = tasks or _default_tasks(session)
    work = _work(paths, tasks)

    def count(batches: Batches) -> Batches:
        wanted = DictionaryFilter(expression, version)
        for path, part, parts in _items(batches, work):
            messages = matched = 0
            for table in PivotedFile(path, wanted.value_names, wanted.presence_names).read(part, parts):
                messages += table.num_rows
                matched += wanted.count(table)
            yield pa.record_batch([[path], [messages], [matched]], ["path", "messages", "matched"])

    rows = session.range(0, len(work), 1, tasks).mapInArrow(count, _COUNTS).toArrow()
    return sum(rows["messages"].to_pylist()), sum(rows["matched"].to_pylist())


def select_matches(
    session: SparkSession,
    paths: Sequence[str],
    expression: str,
    columns: Sequence[str],
    schema: str,
    *,
    version: Version = "4.8.0",
    tasks: int | None = None,
) -> DataFrame:
    """Give the rows that pass, with `columns` of the files under the Spark `schema` (DDL, same order).

    Raises `MQFilterException` for a text that the broker refuses.
    """
    DictionaryFilter(expression, version)
    tasks = tasks or _default_tasks(session)
    work = _work(paths, tasks)
    names = list(columns)

    def select(batches: Batches) -> Batches:
        wanted = DictionaryFilter(expression, version)
        for path, part, parts in _items(batches, work):
            for table in PivotedFile(path, wanted.value_names, wanted.presence_names).read(part, parts, names):
                chosen = table.select(names).filter(pa.array(wanted.matches(table)))
                plain = [
                    column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column
                    for column in chosen.columns
                ]
                yield from pa.table(plain, names).to_batches()

    return session.range(0, len(work), 1, tasks).mapInArrow(select, schema)


def _work(paths: Sequence[str], tasks: int) -> list[tuple[str, int, int]]:
    """One item for each file, or for each part of a file where there are fewer files than tasks."""
    parts = max(1, -(-tasks // max(len(paths), 1)))
    return [(path, part, parts) for path in paths for part in range(parts)]


def _items(batches: Iterable[pa.RecordBatch], work: Sequence[tuple[str, int, int]]) -> Iterator[tuple[str, int, int]]:
    pa.set_cpu_count(1)
    for batch in batches:
        for index in batch.column(0).to_pylist():
            yield work[index]


def _default_tasks(session: SparkSession) -> int:
    return int(session.conf.get("spark.sql.shuffle.partitions") or 2)
