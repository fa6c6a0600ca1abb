"""What does the work of an audit: threads of this process with DuckDB, or Spark. The same SQL decides in both.

For one machine and its own files no Spark is needed: a gigabyte is judged in less time than a JVM takes to start. Rows
that must be kept lie in DuckDB, which puts on disk what is more than `MEMORY`. Spark is for a cluster, and for whoever
gives a session. Queries are of the SQL that both have: a reserved name such as `group` follows its table's (`r.group`),
and tables are named in braces.
"""

from __future__ import annotations

import tempfile
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cached_property
from itertools import count
from threading import Event
from typing import TYPE_CHECKING, Any, Final, Protocol, cast
from uuid import uuid4

import pyarrow as pa

from rmqlab_tools.processors import processors
from rmqlab_tools.spark.audit.kept_frames import has_ended, release
from rmqlab_tools.spark.files.commit_log_files import ranges_together
from rmqlab_tools.spark.files.tasks import TASK_BYTES, over_ranges, reporting_tasks

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from contextlib import AbstractContextManager

    import duckdb
    from pyspark.sql import DataFrame, SparkSession

    from rmqlab_tools.spark.files.commit_log_files import LogRange

    Work = Callable[[Sequence[LogRange]], Iterator[pa.RecordBatch]]

Rows = Any
"""Rows of an engine: a frame of Spark, or the name of a table or view of DuckDB."""
MEMORY: Final = 1 << 30
"""Bytes of rows that DuckDB has in memory at most."""
_TASKS_OF_SPARK: Final = 8


class Engine(Protocol):
    """Reads ranges of the log by many workers, and answers queries over what they found."""

    @property
    def tasks(self) -> int:
        """Into how many tasks a log should be cut at least."""

    def read(self, ranges: Sequence[LogRange], work: Work, schema: pa.Schema) -> Rows:
        """The rows that `work` makes of the ranges."""

    def given(self, table: pa.Table) -> Rows:
        """The rows of a table, which has some."""

    def query(self, sql: str, **rows: Rows) -> Rows:
        """The rows that a query selects; `{name}` in it stands for the rows given under that name."""

    def kept(self, rows: Rows) -> Rows:
        """The same rows, made once and kept until `release`."""

    def release(self, rows: Rows) -> None:
        """Let go of rows that were kept."""

    def table(self, rows: Rows) -> pa.Table:
        """Rows as a table in memory."""

    def frame(self, rows: Rows) -> DataFrame:
        """Rows as a frame of Spark."""

    def reporting(self, report: Callable[[int, int], None]) -> AbstractContextManager[None]:
        """While the block runs, `report` is called with how many tasks are done, and of how many."""

    @property
    def session(self) -> SparkSession:
        """The Spark session, opened when it is asked for first."""

    def close(self) -> None:
        """Let go of everything."""


class SparkEngine:
    """Spark does it, on whatever machines it has. Rows are frames."""

    tasks = _TASKS_OF_SPARK

    def __init__(self, opens: Callable[[], SparkSession]) -> None:
        """`opens` is asked for a session when one is needed first."""
        self._opens = opens
        self._views: dict[int, tuple[str, DataFrame]] = {}

    @cached_property
    def session(self) -> SparkSession:
        """The session."""
        return self._opens()

    def read(self, ranges: Sequence[LogRange], work: Work, schema: pa.Schema) -> DataFrame:
        """A frame that is computed when it is needed."""
        return over_ranges(self.session, ranges, work, schema)

    def given(self, table: pa.Table) -> DataFrame:
        """A frame of a table; Connect makes none of one without rows."""
        return self.session.createDataFrame(table)

    def query(self, sql: str, **rows: Any) -> DataFrame:
        """A frame that is computed when it is needed."""
        return self.session.sql(sql.format(**{name: self._view(frame) for name, frame in rows.items()}))

    def _view(self, frame: DataFrame) -> str:
        # Given to `sql` itself a frame is a view for that one query, and what it kept goes when Spark drops that.
        if id(frame) not in self._views:
            self._views[id(frame)] = f"rmqlab_{uuid4().hex}", frame
            frame.createOrReplaceTempView(self._views[id(frame)][0])
        return self._views[id(frame)][0]

    def kept(self, rows: DataFrame) -> DataFrame:
        """The frame, which keeps its rows on disk once they are computed."""
        from pyspark import StorageLevel

        return rows.persist(StorageLevel.DISK_ONLY)

    def release(self, rows: DataFrame) -> None:
        """Let go of what Spark has on disk, if it still runs."""
        release(rows)

    def table(self, rows: DataFrame) -> pa.Table:
        """Compute the rows."""
        return rows.toArrow()

    def frame(self, rows: DataFrame) -> DataFrame:
        """The frame itself."""
        return rows

    def reporting(self, report: Callable[[int, int], None]) -> AbstractContextManager[None]:
        """Twice a second, of the stages under way."""
        return reporting_tasks(self.session, report)

    def close(self) -> None:
        """Drop the views."""
        for name, frame in self._views.values():
            if not has_ended(frame.sparkSession):
                frame.sparkSession.catalog.dropTempView(name)
        self._views.clear()


class LocalEngine:
    """Threads of this process do it, as many as it has cores. Rows are names of DuckDB's tables and views."""

    def __init__(self, opens: Callable[[], SparkSession]) -> None:
        """`opens` gives a session to whoever wants frames."""
        self._opens = opens
        self._report: Callable[[int, int], None] = lambda _done, _tasks: None
        self._numbers = count()
        self.tasks = processors()
        self._views: set[str] = set()

    @cached_property
    def session(self) -> SparkSession:
        """A session, for frames alone."""
        return self._opens()

    @cached_property
    def _folder(self) -> tempfile.TemporaryDirectory[str]:
        return tempfile.TemporaryDirectory(prefix="rmqlab-audit-")

    @cached_property
    def _database(self) -> duckdb.DuckDBPyConnection:
        import duckdb

        return duckdb.connect(
            config={
                "temp_directory": self._folder.name,
                "memory_limit": f"{MEMORY}B",
                "threads": self.tasks,
                "autoload_known_extensions": False,
                "autoinstall_known_extensions": False,
            }
        )

    def _name(self) -> str:
        return f"rows_{next(self._numbers)}"

    def read(self, ranges: Sequence[LogRange], work: Work, schema: pa.Schema) -> str:
        """A table, filled by the time this returns: each batch goes there as it comes."""
        name, stop = self.given(schema.empty_table()), Event()
        parts = ranges_together(ranges, TASK_BYTES)

        def each(part: Sequence[LogRange]) -> None:
            with self._database.cursor() as cursor:
                for batch in work(part):
                    if stop.is_set():
                        return
                    cursor.from_arrow(pa.Table.from_batches([batch])).insert_into(name)

        with ThreadPoolExecutor(self.tasks) as pool:
            try:
                for done, _ in enumerate(pool.map(each, parts), 1):
                    self._report(done, len(parts))
            except BaseException:
                stop.set()
                pool.shutdown(cancel_futures=True)
                raise
        return name

    def given(self, table: pa.Table) -> str:
        """A table of the same rows."""
        name = self._name()
        self._database.from_arrow(table).create(name)
        return name

    def query(self, sql: str, **rows: str) -> str:
        """A view."""
        name = self._name()
        self._database.execute(f"CREATE VIEW {name} AS {sql.format(**rows)}")
        self._views.add(name)
        return name

    def kept(self, rows: str) -> str:
        """A table of what a view selects; a table is kept as it is."""
        if rows not in self._views:
            return rows
        name = self._name()
        self._database.execute(f"CREATE TABLE {name} AS SELECT * FROM {rows}")  # noqa: S608 - names made here
        return name

    def release(self, rows: str) -> None:
        """Drop the table."""
        self._database.execute(f"DROP TABLE {rows}")

    def table(self, rows: str) -> pa.Table:
        """Compute the rows."""
        return self._database.sql(f"SELECT * FROM {rows}").to_arrow_table()  # noqa: S608 - a name made here

    def frame(self, rows: str) -> DataFrame:
        """A frame of Spark over files that hold the rows until `close`."""
        path = f"{self._folder.name}/{self._name()}.parquet"
        self._database.execute(f"COPY (SELECT * FROM {rows}) TO '{path}' (FORMAT parquet)")  # noqa: S608 - made here
        return self.session.read.parquet(path)

    @contextmanager
    def reporting(self, report: Callable[[int, int], None]) -> Iterator[None]:
        """After each task."""
        before, self._report = self._report, report
        try:
            yield
        finally:
            self._report = before

    def close(self) -> None:
        """Let go of all tables, and of what is on disk."""
        if "_database" in self.__dict__:
            self.__dict__.pop("_database").close()
        if "_folder" in self.__dict__:
            self.__dict__.pop("_folder").cleanup()


def engine_of(session: Engine | SparkSession | Callable[[], SparkSession] | None) -> Engine:
    """The engine for a session, or for what opens one when it is needed; for None this process, without frames."""
    if session is None:
        return LocalEngine(_no_session)
    if isinstance(session, LocalEngine | SparkEngine):
        return session
    return SparkEngine(cast("Callable[[], SparkSession]", session if callable(session) else lambda: session))


def _no_session() -> SparkSession:
    raise RuntimeError("frames need a session, and none was given")
