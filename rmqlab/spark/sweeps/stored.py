"""Sweeps whose results are kept in data/sweeps/, so that a reader sees them without running them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rmqlab.checkout import folder
from rmqlab.errors import BadInput
from rmqlab.spark.sweeps.catalogue import CATALOGUE

if TYPE_CHECKING:
    from pathlib import Path

    from rmqlab.spark.sweeps.files import SweepResult


def stored_path(name: str) -> Path:
    """Where the rows of a sweep are kept; ``./lab sweep NAME --table`` with this path makes them anew."""
    return folder("data") / "sweeps" / f"{name}.parquet"


def stored_sweep(name: str) -> SweepResult:
    """The kept rows of a sweep of the catalogue.

    Raises:
        BadInput: no such sweep, or none kept; the text says how to make it.
    """
    from rmqlab.spark.sweeps.files import SweepResult

    if name not in CATALOGUE:
        raise BadInput(f"sweep {name!r} is not known; there are {', '.join(CATALOGUE)}")
    path = stored_path(name)
    return SweepResult(_records(path, f"./lab sweep {name} --table {path} makes it"))


def kept_rows(name: str, *, table: Path | None = None, folder: Path | None = None) -> list[dict[str, Any]]:
    """Rows that somebody has kept: in a Parquet file, in the folder of a sweep, else those of `stored_sweep`.

    Raises:
        BadInput: they cannot be read, or are rows of another sweep.
    """
    from rmqlab.spark.sweeps.files import kept_in

    if table is not None:
        return _records(table, "give a file that sweep --table has written")
    return stored_sweep(name).records if folder is None else kept_in(folder, name)


def _records(path: Path, right: str) -> list[dict[str, Any]]:
    """The rows of a Parquet file; `right` says how to have one."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        records: list[dict[str, Any]] = pq.read_table(path).to_pylist()
    except (OSError, pa.ArrowException) as error:
        raise BadInput(f"{path} cannot be read ({error}); {right}") from error
    return records
