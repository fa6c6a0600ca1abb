"""Make the table of what was recorded anew.

python -m tests.proof.matrix FOLDER...      # folders of recorded sets: broker-VERSION/SET
"""

from __future__ import annotations

import argparse
import sys
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING

from rmqlab_tools.spark.matrix.recorded import RECORDED, recorded_text
from tests.proof.matrix.recorded import lost_by_cell

if TYPE_CHECKING:
    from rmqlab_tools.spark.matrix.cells import Cell


def main() -> None:
    """Count, and write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", type=Path)
    counted: dict[Cell, dict[str, list[int]]] = defaultdict(dict)
    for folder in parser.parse_args().folders:
        version = folder.resolve().parent.name.removeprefix("broker-")
        for cell, lost in lost_by_cell(folder, version).items():
            counted[cell][folder.resolve().name] = lost
    RECORDED.write_text(recorded_text(counted), encoding="utf-8")
    runs = sum(len(lost) for sets in counted.values() for lost in sets.values())
    sys.stdout.write(f"{RECORDED.name}: {len(counted)} cells, {runs} runs\n")


if __name__ == "__main__":
    main()
