"""Results of sweeps on disk: the folder of one that runs (`sweep.json`, Parquet files of finished rows), whole tables.

A kept row is run again from its seed and parameters alone.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from rmqlab.errors import BadInput
from rmqlab.files import atomic_write, is_file, json_value, open_regular, read_bytes
from rmqlab.language import _
from rmqlab_tools.spark.sweeps.sweep import ERROR_COLUMN, ROW_COLUMN

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from rmqlab_tools.spark.sweeps.sweep import RerunFigure, RowOutcome, Sweep

    Record = Mapping[str, Any]

ABOUT_FILE: Final = "sweep.json"


def open_folder(folder: Path, sweep: Sweep) -> None:
    """Open or make the folder of one sweep, in which files appear whole or not at all.

    Raises:
        BadInput: it holds another sweep, or is no folder that can be written.
    """
    about = {"name": sweep.name, "version": sweep.version, "seed": sweep.seed}
    path = folder / ABOUT_FILE
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if is_file(path):
            there = json_value(read_bytes(path))
            kept = {name: there.get(name) for name in about} if isinstance(there, dict) else there
            if kept != about:
                raise BadInput(
                    _(
                        "{folder} holds another sweep, {found}; this one is {about}: give it a folder of its own",
                        folder=folder,
                        found=kept,
                        about=about,
                    )
                )
        run = f"{sweep.run.__module__}.{sweep.run.__qualname__}" if hasattr(sweep.run, "__qualname__") else "?"
        text = json.dumps({**about, "run": run, "rows": len(sweep.parameters)}, indent=1) + "\n"
        with atomic_write(path) as part:
            part.write_text(text, encoding="utf-8")
    except (OSError, json.JSONDecodeError) as error:
        raise BadInput(
            _(
                "{folder} cannot hold the results of sweep {name}: {error}",
                folder=folder,
                name=f"{sweep.name!r}",
                error=error,
            )
        ) from error


def add_rows(folder: Path, outcomes: Sequence[RowOutcome]) -> None:
    """Keep finished rows, in a new file after the others."""
    last = max((int(path.stem.partition("-")[2]) for path in _parts(folder)), default=0)
    _write(_square([outcome.record() for outcome in outcomes]), folder / f"part-{last + 1:06d}.parquet")


def read_folder(folder: Path) -> dict[str, dict[str, Any]]:
    """The kept rows by id; of a row that was run again the last outcome.

    Raises:
        BadInput: a file is damaged.
    """
    rows: dict[str, dict[str, Any]] = {}
    for path in _parts(folder):
        try:
            records = _rows_of(path)
        except (OSError, pa.ArrowException) as error:
            raise BadInput(
                _("{path} is damaged ({error}): delete it, and its rows are run again", path=path, error=error)
            ) from error
        rows.update((record[ROW_COLUMN], record) for record in records)
    return rows


def _rows_of(path: Path) -> list[dict[str, Any]]:
    with open_regular(path) as stream:
        rows: list[dict[str, Any]] = pq.read_table(stream).to_pylist()
    return rows


def _parts(folder: Path) -> list[Path]:
    return sorted(folder.glob("part-*.parquet"))


class SweepResult:
    """The rows of a sweep that are there, in the sweep's order: `records`, a dict a row."""

    def __init__(self, records: Iterable[dict[str, Any]], sweep: Sweep) -> None:
        """`records` as `RowOutcome.record` makes them."""
        self.records = _square(list(records))
        self.sweep = sweep

    @property
    def good(self) -> list[dict[str, Any]]:
        """The rows that went well."""
        return [record for record in self.records if record[ERROR_COLUMN] is None]

    @property
    def failed(self) -> list[dict[str, Any]]:
        """The rows that did not; the column `error` says why."""
        return [record for record in self.records if record[ERROR_COLUMN] is not None]

    def rerun(self, row: str | int) -> list[RerunFigure]:
        """Run a row again, by its id or its number from 0 on; every figure beside the one kept.

        Raises:
            BadInput: there is no such row, or it fails now.
        """
        return self.sweep.rerun(row_of(self.records, str(row)))

    def write(self, path: Path | str) -> None:
        """Write all rows into one Parquet file."""
        _write(self.records, Path(path), "zstd")


def _square(records: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Give every record the same columns: Arrow takes them from the first; a failed row has no figures."""
    names = dict.fromkeys(name for record in records for name in record)
    names.pop(ERROR_COLUMN, None)
    return [{name: record.get(name) for name in (*names, ERROR_COLUMN)} for record in records]


def _write(records: list[dict[str, Any]], path: Path, compression: str = "snappy") -> None:
    columns = {name: [record[name] for record in records] for name in (records[0] if records else ())}
    table = pa.table({name: _column(values) for name, values in columns.items()})
    with atomic_write(path) as part:
        pq.write_table(table, part, compression=compression)


def _column(values: list[Any]) -> pa.Array:
    """As numbers, texts, ...; values of several kinds become texts, since nothing that was found may be lost."""
    try:
        return pa.array(values)
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        return pa.array([value if isinstance(value, str | None) else json.dumps(value) for value in values])


def rows_in(folder: Path, name: str) -> list[dict[str, Any]]:
    """The kept rows in the folder of the sweep `name`.

    Raises:
        BadInput: they cannot be read, or are rows of another sweep.
    """
    try:
        about = json_value(read_bytes(folder / ABOUT_FILE))
    except (OSError, ValueError) as error:
        raise BadInput(
            _(
                "{folder} holds no sweep ({error}); give the folder that sweep --out has filled",
                folder=folder,
                error=error,
            )
        ) from error
    if about.get("name") != name:
        raise BadInput(
            _(
                "{folder} holds sweep {held}, and this is {name}",
                folder=folder,
                held=f"{about.get('name')!r}",
                name=f"{name!r}",
            )
        )
    return list(read_folder(folder).values())


def table_rows(path: Path, right: str = "give a file that sweep --table has written") -> list[dict[str, Any]]:
    """The rows of a Parquet file; `right` says how to have one.

    Raises:
        BadInput: it cannot be read.
    """
    try:
        return _rows_of(path)
    except (OSError, pa.ArrowException) as error:
        raise BadInput(_("{path} cannot be read ({error}); {right}", path=path, error=error, right=right)) from error


def row_of(records: Sequence[Record], wanted: str) -> Record:
    """The row with this id, or with this number in the order kept (from 0 on).

    Raises:
        BadInput: there is none.
    """
    for number, record in enumerate(records):
        if wanted in (record[ROW_COLUMN], str(number)):
            return record
    raise BadInput(
        _(
            "row {wanted}: none of the {count} rows has this id, and they are numbered from 0",
            wanted=wanted,
            count=len(records),
        )
    )
