"""What real clients lost in the cells of the matrix: runs of the real 4.8.0, 5.3.3 and 5.5.0, counted by set.

`recorded.json` is counted from the events of the recorded sets.
"""

from __future__ import annotations

import json
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from rmqlab_tools.spark.matrix.cells import Cell

if TYPE_CHECKING:
    from collections.abc import Mapping

RECORDED = Path(__file__).with_name("recorded.json")


@lru_cache(maxsize=1)
def recorded() -> dict[Cell, dict[str, list[int]]]:
    """Messages lost of eight, run by run, by cell and by set.

    >>> recorded()[Cell("grpc", "slow_blocks")]["slow"]
    [6, 6, 6, 6, 6, 6]
    """
    rows = json.loads(RECORDED.read_text(encoding="utf-8"))
    return {Cell(*row["cell"]): row["lost"] for row in rows}


def recorded_text(counted: Mapping[Cell, Mapping[str, list[int]]]) -> str:
    """The table as it is shipped: a cell a line, in order."""
    rows = [json.dumps({"cell": list(cell), "lost": counted[cell]}) for cell in sorted(counted)]
    return "[\n" + ",\n".join(rows) + "\n]\n"
