"""Events as Parquet tables: what a scenario did, simulated or recorded, one file a table.

`rmqlab.run.records` says what one record of each table is; here each has the scenario's name in a column `id` before
the others. Of several sources (the taps of a cluster's brokers) each table has the rows of all, in the order of time.
"""

from __future__ import annotations

from contextlib import contextmanager, suppress
from importlib.resources import files
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final, get_type_hints

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from rmqlab.errors import BadInput
from rmqlab.files import reason_of
from rmqlab.language import _, joined
from rmqlab.run import records
from rmqlab_tools.program import program

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from pyspark.sql import DataFrame, SparkSession

    from rmqlab.run.run import Run

_ARROW: Final = {str: pa.string(), int: pa.int64(), float: pa.float64(), bool: pa.bool_()}


def _schema(record: type[tuple[Any, ...]]) -> pa.Schema:
    hints = get_type_hints(record)
    fields = [("id", pa.string())]
    for attribute, column in zip(hints, records.columns_of(record), strict=True):
        plain = next(kind for kind in _ARROW if hints[attribute] in (kind, kind | None))
        fields.append((column, pa.int32() if column == "queue" else _ARROW[plain]))
    return pa.schema(fields)


EVENT_TABLES: Final = {name: _schema(record) for name, (record, _) in records.TABLES.items()}
MERGED_TABLES: Final = {
    name: pa.schema([("source", pa.string()), ("at", pa.float64()), *schema]) for name, schema in EVENT_TABLES.items()
}


def write_events(accounts: Iterable[Run], folder: Path) -> dict[str, int]:
    """Write all tables into `folder` as NAME.parquet, and return the number of rows of each.

    Each scenario is written as it comes, so memory holds one. A file appears when it is complete.

    Raises:
        BadInput: the folder cannot be written.
    """
    counts = dict.fromkeys(EVENT_TABLES, 0)
    with _writers(folder, EVENT_TABLES) as writers:
        for account in accounts:
            for name, (_record, read) in records.TABLES.items():
                columns = EVENT_TABLES[name].names
                rows = [dict(zip(columns, (account.scenario.id, *row), strict=True)) for row in read(account)]
                counts[name] += len(rows)
                writers[name].write_table(pa.Table.from_pylist(rows, EVENT_TABLES[name]))
    return counts


def write_merged(sources: Mapping[str, Iterable[Run]], folder: Path) -> dict[str, int]:
    """Write the tables of several sources, by their names, into `folder`; return the number of rows of each table.

    Each table has two more columns: `source`, and `at`, epoch ms, by which the rows are sorted; it is NULL, and the row
    stands at the end, where nothing says when time 0 was. `id` is SOURCE/ID, so no view mixes two sources. Memory holds
    one table of all sources.

    Raises:
        BadInput: the folder cannot be written.
    """
    counts = {}
    with TemporaryDirectory(prefix="rmqlab-events-") as temporary, _writers(folder, MERGED_TABLES) as writers:
        began: dict[str, dict[str, int | None]] = {}
        for number, (source, accounts) in enumerate(sources.items()):
            write_events(_noting(accounts, began.setdefault(source, {})), Path(temporary) / str(number))
        for name, schema in MERGED_TABLES.items():
            tables = []
            for number, source in enumerate(sources):
                table = pq.read_table(Path(temporary) / str(number) / f"{name}.parquet")
                ids = table["id"].to_pylist()
                zeros = pa.array([began[source][scenario] for scenario in ids], pa.float64())
                columns = {
                    "source": pa.repeat(source, len(ids)),
                    "at": pc.add(table["t"].cast(pa.float64()), zeros),
                } | {column: table[column] for column in table.column_names}
                columns["id"] = pa.array([f"{source}/{scenario}" for scenario in ids], pa.string())
                tables.append(pa.table(columns).cast(schema))
            merged = pa.concat_tables(tables)
            merged = merged.take(pc.sort_indices(merged, [("at", "ascending")]))
            writers[name].write_table(merged)
            counts[name] = merged.num_rows
    return counts


def _noting(accounts: Iterable[Run], began: dict[str, int | None]) -> Iterator[Run]:
    """The runs as they come; by their ids, when they began."""
    for account in accounts:
        began[account.scenario.id] = account.began_ms
        yield account


@contextmanager
def _writers(folder: Path, schemas: Mapping[str, pa.Schema]) -> Iterator[dict[str, pq.ParquetWriter]]:
    """What writes the tables of a folder; they appear at the end, when all are whole.

    Raises:
        BadInput: the folder cannot be written.
    """
    partial = {name: folder / f".{name}.parquet.part" for name in schemas}
    writers: dict[str, pq.ParquetWriter] = {}
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, schema in schemas.items():
            writers[name] = pq.ParquetWriter(partial[name], schema, compression="zstd")
        yield writers
        for name, writer in writers.items():
            writer.close()
            partial[name].replace(folder / f"{name}.parquet")
    except OSError as error:
        raise BadInput(
            _("{folder}: {reason}; name a folder that can be written", folder=folder, reason=reason_of(error))
        ) from error
    finally:
        for writer in writers.values():
            with suppress(OSError):  # on a full disk it writes its end again
                writer.close()
        for path in partial.values():
            path.unlink(missing_ok=True)


EVENT_VIEWS: Final = ("funnel", "losses", "rebalances", "heartbeats")


def view_sql(name: str) -> str:
    """The text of a view.

    Raises:
        BadInput: there is no such view.
    """
    if name not in EVENT_VIEWS:
        raise BadInput(
            _("view {name} is not known; there are {views}", name=f"{name!r}", views=joined(", ", EVENT_VIEWS))
        )
    return files("rmqlab_tools.spark").joinpath("sql", f"{name}.sql").read_text(encoding="utf-8")


def views(spark: SparkSession, folder: str | Path) -> dict[str, DataFrame]:
    """Register the tables in `folder` and the views as temporary views; return the views by name.

    Raises:
        BadInput: a table is not there; the text says how the folder is made.
    """
    folder = Path(folder)
    for name in EVENT_TABLES:
        path = folder / f"{name}.parquet"
        if not path.is_file():
            raise BadInput(
                _(
                    "{path} is not there; {program} events SOURCE --out {folder} makes it",
                    path=path,
                    program=program(),
                    folder=folder,
                )
            )
        spark.read.parquet(str(path)).createOrReplaceTempView(name)
    frames = {}
    for name in EVENT_VIEWS:
        frame = spark.sql(view_sql(name))
        frame.createOrReplaceTempView(name)
        frames[name] = frame
    return frames
