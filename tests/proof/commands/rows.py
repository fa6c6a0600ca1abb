"""The verb `rows`: every mission row and what shows it."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

from rmqlab.checkout import ROOT, checkout_path
from rmqlab_tools.cli.output import write_json
from rmqlab_tools.cli.printing import printer
from tests.proof.rows import REQUIRED, collect, read_rows, select

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the arguments of the verb."""
    parser.add_argument(
        "--only",
        metavar="ROWS",
        help=f"chapters, ids, ranges: S,H-01..H-24,F-03 (shown: all; missing ones count in: {REQUIRED})",
    )
    parser.add_argument("--missing", action="store_true", help="print only the rows that nothing shows")


def run(args: Namespace) -> int:
    """Print the matrix; return 1 if a row that counts is shown by nothing, else 0.

    With `--only` the chosen rows count, else those required by now.
    """
    rows = read_rows(checkout_path("data") / "mission" / "rows.tsv")
    shown = collect(ROOT, rows)
    counted = select(rows, args.only or REQUIRED)
    printed = counted if args.only else list(rows)
    missing = [row for row in counted if not shown[row]]
    out = printer(args)
    width = shutil.get_terminal_size((120, 24)).columns
    for row in printed:
        if args.missing and shown[row]:
            continue
        out.say(_clip(f"{row:<6}{'+' if shown[row] else '-'} {rows[row]}", width))
        for place in shown[row]:
            out.say(f"        {place}")
    out.say(f"{len(counted) - len(missing)} of {len(counted)} rows of {args.only or REQUIRED} are shown")
    table = [{"row": row, "text": rows[row], "shown_by": shown[row]} for row in printed]
    write_json({"rows": table, "counted": len(counted), "missing": missing}, args.json)
    return 1 if missing else 0


def _clip(text: str, width: int) -> str:
    return text if len(text) <= width else f"{text[: width - 3]}..."
