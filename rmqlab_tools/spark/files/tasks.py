"""Work on the commit log in Spark tasks, what a worker keeps loaded between them, and how far they are."""

from __future__ import annotations

import gc
from contextlib import contextmanager
from threading import Event, Thread
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

    from rmqlab_tools.spark.files.commit_log_files import LogRange

PROGRESS_S: Final = 0.5
TASK_BYTES: Final = 16 << 20
"""Ranges that have no more in all are one task: a second worker starts for longer than they take."""
_frozen = False


def over_ranges(
    session: SparkSession,
    ranges: Sequence[LogRange],
    work: Callable[[Sequence[LogRange]], Iterator[pa.RecordBatch]],
    schema: pa.Schema,
) -> DataFrame:
    """Run `work` on the ranges of every task: on each in a task of its own, on small ones that follow in one task."""
    from pyspark.sql.pandas.types import from_arrow_schema

    from rmqlab_tools.spark.files.commit_log_files import ranges_together

    parts = ranges_together(ranges, TASK_BYTES)

    def each(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for number in batch.column(0).to_pylist():
                yield from work(parts[number])
        freeze_loaded()

    numbers = session.range(0, len(parts), 1, max(1, len(parts)))
    return numbers.mapInArrow(each, from_arrow_schema(schema))


def freeze_loaded() -> None:
    """Tell the collector of this process, once, that what is loaded by now stays; called at the end of a task.

    A worker collects garbage after each task (PySpark's `daemon`), and walks every object of numba and pyarrow for it:
    that took more time than decoding a gigabyte of records.
    """
    global _frozen  # noqa: PLW0603 - once in a process
    if not _frozen:
        gc.freeze()
        _frozen = True


@contextmanager
def reporting_tasks(session: SparkSession, report: Callable[[int, int], None]) -> Iterator[None]:
    """While the block runs, report every half second how many tasks of the stages under way are done, and of how many.

    Nothing is reported over Connect, which does not say.
    """
    try:
        tracker = session.sparkContext.statusTracker()
    except Exception:  # noqa: BLE001 - Connect has no context; the kind of error differs between its versions
        yield
        return
    over = Event()

    def look() -> None:
        while not over.wait(PROGRESS_S):
            try:
                stages = [tracker.getStageInfo(stage) for stage in tracker.getActiveStageIds()]
            except Exception:  # noqa: BLE001 - the session has ended meanwhile
                return
            known = [stage for stage in stages if stage is not None]
            if known:
                report(sum(stage.numCompletedTasks for stage in known), sum(stage.numTasks for stage in known))

    thread = Thread(target=look, name="reporting_tasks", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
