"""Events as Parquet tables: what a scenario did, simulated or recorded, one file a table.

`rmqlab.run.records` says what one record of each table is; here each has the scenario's name in a column `id` before
the others. `rmqlab_tools.spark.events` looks at these tables.
"""

from __future__ import annotations

from contextlib import suppress
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, get_type_hints

import pyarrow as pa
import pyarrow.parquet as pq

from rmqlab.errors import BadInput
from rmqlab.files import reason_of
from rmqlab.language import _, joined
from rmqlab.run import records
from rmqlab_tools.program import program

if TYPE_CHECKING:
    from collections.abc import Iterable

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


def write_events(accounts: Iterable[Run], folder: Path) -> dict[str, int]:
    """Write all tables into `folder` as NAME.parquet, and return the number of rows of each.

    Each scenario is written as it comes, so memory holds one. A file appears when it is complete.

    Raises:
        BadInput: the folder cannot be written.
    """
    counts = dict.fromkeys(EVENT_TABLES, 0)
    partial = {name: folder / f".{name}.parquet.part" for name in EVENT_TABLES}
    writers: dict[str, pq.ParquetWriter] = {}
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, schema in EVENT_TABLES.items():
            writers[name] = pq.ParquetWriter(partial[name], schema, compression="zstd")
        for account in accounts:
            for name, (_record, read) in records.TABLES.items():
                columns = EVENT_TABLES[name].names
                rows = [dict(zip(columns, (account.scenario.id, *row), strict=True)) for row in read(account)]
                counts[name] += len(rows)
                writers[name].write_table(pa.Table.from_pylist(rows, EVENT_TABLES[name]))
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
    return counts


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
