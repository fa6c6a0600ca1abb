"""The cells of the matrix as they were measured for readers: rows that come with rmqlab, 20 runs each.

`measured.json` has a cell a line. A row is made again by `matrix_cell` with its names and runs, to the same figures.
"""

from __future__ import annotations

import json
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rmqlab_tools.spark.matrix.cells import Cell
from rmqlab_tools.spark.matrix.measure import FIGURES

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

MEASURED = Path(__file__).with_name("measured.json")
_COLUMNS = ("runs", *FIGURES, "by")


@lru_cache(maxsize=1)
def measured() -> dict[Cell, dict[str, Any]]:
    """The stored figures of every cell, in the order of the axes.

    >>> measured()[Cell("push", "burst_turn", version="4.8.0")]["mean"]
    6.0
    """
    rows = json.loads(MEASURED.read_text(encoding="utf-8"))
    return {Cell(*cell): dict(zip(_COLUMNS, figures, strict=True)) for cell, figures in rows}


def measured_text(rows: Iterable[Mapping[str, Any]]) -> str:
    """Rows of a sweep of `matrix_cell` as they are shipped."""
    lines = [
        json.dumps([[row[name] for name in Cell._fields], [row[name] for name in _COLUMNS]], separators=(",", ":"))
        for row in rows
    ]
    return "[\n" + ",\n".join(lines) + "\n]\n"
