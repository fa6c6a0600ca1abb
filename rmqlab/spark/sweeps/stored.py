"""Sweeps whose results are kept in data/sweeps/, so that a reader sees them without running them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rmqlab.checkout import folder
from rmqlab.errors import BadInput
from rmqlab.spark.sweeps.catalogue import CATALOGUE

if TYPE_CHECKING:
    from pathlib import Path

    from rmqlab.spark.sweeps.files import SweepResult

SEED = 0


def stored_path(name: str) -> Path:
    """Where the rows of a sweep are kept; ``./lab sweep NAME --table`` with this path makes them anew."""
    return folder("data") / "sweeps" / f"{name}.parquet"


def stored_sweep(name: str) -> SweepResult:
    """The kept rows of a sweep of the catalogue.

    Raises:
        BadInput: no such sweep, or none kept; the text says how to make it.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    from rmqlab.spark.sweeps.files import SweepResult

    if name not in CATALOGUE:
        raise BadInput(f"sweep {name!r} is not known; there are {', '.join(CATALOGUE)}")
    path = stored_path(name)
    try:
        return SweepResult(pq.read_table(path).to_pylist())
    except (OSError, pa.ArrowException) as error:
        raise BadInput(f"{path} cannot be read ({error}); ./lab sweep {name} --table {path} makes it") from error


def run_again(name: str, **parameters: float | str) -> dict[str, float | int]:
    """Runs one row of a kept sweep here, with the seed it had; the figures are those that were kept."""
    one = CATALOGUE[name]
    row = one.sweep(name, seed=SEED).run_row(parameters)
    if row.error is not None:
        raise BadInput(f"sweep {name!r}: {row.error}")
    return row.figures
