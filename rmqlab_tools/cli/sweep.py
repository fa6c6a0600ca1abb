"""The verb `sweep`: a sweep of the catalogue on Spark, kept row by row; and one of its rows once more."""

from __future__ import annotations

import json
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rmqlab.errors import BadInput, there_are
from rmqlab.language import _, joined
from rmqlab_tools.cli.output import Progress, check_target, write_json
from rmqlab_tools.cli.printing import printer

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Iterator, Mapping

    from pyspark.sql import SparkSession

    from rmqlab_tools.cli.printing import Printer
    from rmqlab_tools.spark.sweeps.sweep import Sweep

PLAIN = _("none")
LONGEST_FIGURE = 40  # characters of a figure that is shown


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the arguments of the verb."""
    parser.add_argument("name", nargs="?", metavar="NAME", help=_("which sweep; none: list them"))
    parser.add_argument("--out", type=Path, metavar="DIR", help=_("keep the rows there (sweep-NAME)"))
    parser.add_argument(
        "--seed", type=int, metavar="N", help=_("of which every row's own seed is made (the catalogue's)")
    )
    parser.add_argument("--runs", type=int, metavar="N", help=_("runs a row, where a row has several"))
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="AXIS=V,...",
        help=_("other values of an axis than the usual grid has; may be given several times"),
    )
    parser.add_argument(
        "--rows-a-task", type=int, metavar="N", help=_("rows that share a Spark task (the catalogue's)")
    )
    parser.add_argument("--table", type=Path, metavar="FILE", help=_("write all rows into one Parquet file, too"))
    parser.add_argument(
        "--spark",
        metavar="ADDRESS",
        help=_(
            "local[*], a master URL or sc://HOST:PORT (RMQLAB_SPARK, else local[*]); {plain}: in this process",
            plain=PLAIN,
        ),
    )
    parser.add_argument(
        "--row",
        metavar="ROW",
        help=_(
            "instead: run this row again (an id, or a number from 0), from --table, --out or the "
            "rows that come with rmqlab, and compare its figures; 1 if one differs"
        ),
    )


def run(args: Namespace) -> int:
    """Run the sweep; exit status 1 if a row failed, or with `--row` if a figure came out otherwise."""
    from rmqlab_tools.course.sweeps_12 import SWEEPS
    from rmqlab_tools.spark.sweeps.runner import run_sweep

    out = printer(args)
    if args.name is None:
        given = [name for name in ("set", "runs", "row", "out", "table") if getattr(args, name)]
        if given:
            raise BadInput(
                _(
                    "--{given} is for one sweep, and none is named; there are {catalogue}",
                    given=given[0],
                    catalogue=joined(", ", SWEEPS),
                )
            )
        width = max(map(len, SWEEPS))
        out.say(*(f"{name:<{width}}  {_(entry.about)}" for name, entry in SWEEPS.items()))
        write_json({name: entry.about for name, entry in SWEEPS.items()}, args.json)
        return 0
    if args.name not in SWEEPS:
        raise BadInput(_("there is no sweep {name}{near}", name=repr(args.name), near=there_are(args.name, SWEEPS)))
    if args.runs is not None and args.runs < 1:
        raise BadInput(_("--runs {runs}: at least one is needed", runs=args.runs))
    if args.rows_a_task is not None and args.rows_a_task < 1:
        raise BadInput(_("--rows-a-task {rows_a_task}: at least one is needed", rows_a_task=args.rows_a_task))
    if args.row is not None:
        return _again(args, out)
    named = SWEEPS[args.name]
    check_target(args.table, "--table")
    sweep = named.sweep(args.name, seed=args.seed, runs=args.runs, axes=_axes(args.set, named.rows(1)))
    folder = args.out or Path(f"sweep-{args.name}")
    with Progress(args.name, len(sweep.parameters), unit="rows") as progress, opened_session(args.spark) as session:
        result = run_sweep(
            sweep, folder, session=session, rows_a_task=args.rows_a_task or named.rows_a_task, progress=progress.rows
        )
    if args.table is not None:
        result.write(args.table)
    write_json({"sweep": args.name, "seed": sweep.seed, "rows": result.records}, args.json)
    out.say(f"{len(result.good)} rows in {folder}, {len(result.failed)} failed")
    for record in result.failed:
        out.say(f"  {record['row']}: {record['error']}")
    return 1 if result.failed else 0


@contextmanager
def opened_session(address: str | None) -> Iterator[SparkSession | None]:
    """A session at an address; None where it says that none is wanted. At the end it is stopped if it began here."""
    if address == PLAIN:
        yield None
        return
    from rmqlab_tools.spark.session import open_session, running_session

    others = running_session()  # of a program that called the verb
    session = open_session(address)
    try:
        yield session
    finally:
        if session is not others:
            session.stop()


def _axes(given: list[str], rows: list[dict[str, Any]]) -> dict[str, list[Any]]:
    """`AXIS=V,V` as values of the kind that the axis has."""
    axes: dict[str, list[Any]] = {}
    for text in given:
        axis, equals, values = text.partition("=")
        if not equals or not values:
            raise BadInput(_("--set {text}: write AXIS=VALUE,VALUE", text=text))
        kind = type(rows[0].get(axis))
        axes[axis] = [_value(value, kind, text) for value in values.split(",")]
    return axes


def _value(text: str, kind: type, given: str) -> Any:
    known = {"true": True, "false": False}
    try:
        if kind is bool:
            return known[text.lower()]
        return kind(text) if kind in (int, float) else text
    except (KeyError, ValueError) as error:
        what = {bool: _("true or false"), int: _("a whole number")}.get(kind, "a number")
        raise BadInput(
            _("--set {given}: this axis takes {what}, not {text}", given=given, what=what, text=f"{text!r}")
        ) from error


def _again(args: Namespace, out: Printer) -> int:
    from rmqlab_tools.course.sweeps_12 import SWEEPS, stored_sweep
    from rmqlab_tools.spark.sweeps.results import row_of, rows_in, table_rows

    if args.table is not None:
        rows = table_rows(args.table)
    else:
        rows = stored_sweep(args.name).records if args.out is None else rows_in(args.out, args.name)
    record = row_of(rows, args.row)
    return compare_row(SWEEPS[args.name].sweep(args.name), record, args, out)


def compare_row(sweep: Sweep, record: Mapping[str, Any], args: Namespace, out: Printer) -> int:
    """Run a kept row again and print its figures beside those kept; exit status 1 if one differs."""
    parameters = sweep.parameters_of(record)
    out.say(f"row {record['row']}, seed {record['seed']}: {', '.join(f'{k} {v}' for k, v in parameters.items())}")
    figures = sweep.rerun(record)
    width = max(len(figure.name) for figure in figures)
    for figure in figures:
        note = "" if figure.same else "  differs"
        out.say(f"  {figure.name:<{width}}  {_short(figure.kept):<{LONGEST_FIGURE}}  {_short(figure.now)}{note}")
    different = [figure.name for figure in figures if not figure.same]
    out.say(f"{len(figures) - len(different)} of {len(figures)} figures are as kept")
    values = {figure.name: {"kept": figure.kept, "now": figure.now} for figure in figures}
    write_json({"sweep": sweep.name, "row": record["row"], "differing": different, "figures": values}, args.json)
    return 1 if different else 0


def _short(value: object) -> str:
    text = value if isinstance(value, str) else json.dumps(value)
    return text if len(text) <= LONGEST_FIGURE else f"{text[: LONGEST_FIGURE - 4]} ..."
