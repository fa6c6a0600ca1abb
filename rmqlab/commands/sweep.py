"""The verb `sweep`: a sweep of the catalogue on Spark, kept row by row, going on where it stopped."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from rmqlab.commands.output import text_stream, write_json
from rmqlab.errors import BadInput

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

PLAIN = "none"


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the arguments of the verb."""
    parser.add_argument("name", nargs="?", metavar="NAME", help="which sweep; none: list them")
    parser.add_argument("--out", type=Path, metavar="DIR", help="keep the rows there (sweep-NAME)")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="of which every row's own seed is made (0)")
    parser.add_argument("--runs", type=int, metavar="N", help="runs a row, where a row has several")
    parser.add_argument("--rows-a-task", type=int, default=4, metavar="N", help="rows that share a Spark task (4)")
    parser.add_argument("--table", type=Path, metavar="FILE", help="write all rows into one Parquet file, too")
    parser.add_argument(
        "--spark",
        metavar="ADDRESS",
        help=f"local[*], a master URL or sc://HOST:PORT (RMQLAB_SPARK, else local[*]); {PLAIN}: in this process",
    )


def run(args: Namespace) -> int:
    """Run the sweep; exit status 1 if a row failed."""
    from rmqlab.spark.sweeps.catalogue import CATALOGUE
    from rmqlab.spark.sweeps.running import run_sweep

    out = text_stream(args)
    if args.name is None:
        width = max(map(len, CATALOGUE))
        print("\n".join(f"{name:<{width}}  {one.about}" for name, one in CATALOGUE.items()), file=out)
        return 0
    if args.name not in CATALOGUE:
        raise BadInput(f"sweep {args.name!r} is not known; there are {', '.join(CATALOGUE)}")
    if args.runs is not None and args.runs < 1:
        raise BadInput(f"--runs {args.runs}: at least one is needed")
    sweep = CATALOGUE[args.name].sweep(args.name, seed=args.seed, runs=args.runs)
    session = None
    if args.spark != PLAIN:
        from rmqlab.spark.session import open_session

        session = open_session(args.spark)
    folder = args.out or Path(f"sweep-{args.name}")
    try:
        result = run_sweep(sweep, folder, session=session, rows_a_task=args.rows_a_task)
    finally:
        if session is not None:
            session.stop()
    if args.table is not None:
        result.write(args.table)
    write_json({"sweep": args.name, "seed": args.seed, "rows": result.records}, args.json)
    print(f"{len(result.good)} rows in {folder}, {len(result.failed)} failed", file=out)
    for record in result.failed:
        print(f"  {record['row']}: {record['error']}", file=out)
    return 1 if result.failed else 0
