"""Work on the commit log in Spark: each range of it in a task of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rmqlab.spark.loaded import settle

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

    from rmqlab.spark.files.commit_log_files import LogRange


def over_ranges(
    session: SparkSession,
    ranges: Sequence[LogRange],
    work: Callable[[LogRange], Iterator[pa.RecordBatch]],
    schema: pa.Schema,
) -> DataFrame:
    """Run `work` on every range, each in a task of its own."""
    from pyspark.sql.pandas.types import from_arrow_schema

    parts = list(ranges)

    def each(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for number in batch.column(0).to_pylist():
                yield from work(parts[number])
        settle()

    numbers = session.range(0, len(parts), 1, max(1, len(parts)))
    return numbers.mapInArrow(each, from_arrow_schema(schema))
