"""The verb `matrix`: what two members that differ lose, by receiver, order, filter, version; or one row once more."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from rmqlab.errors import BadInput
from rmqlab.language import _
from rmqlab.rules import RULES
from rmqlab_tools.cli.output import check_target, replace_file, write_json
from rmqlab_tools.cli.printing import printer
from rmqlab_tools.cli.sweep import PLAIN, compare_row, opened_session
from rmqlab_tools.spark.matrix.cells import FILTERS, NEWEST, ORDERS, RECEIVERS
from rmqlab_tools.spark.matrix.matrix import kept_row, matrix
from rmqlab_tools.spark.matrix.measure import BUDGET, RUNS

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

NO, YES, BOTH = "no", "yes", "both"
CHOICES: Final = {NO: (False,), YES: (True,), BOTH: (False, True)}


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the arguments of the verb."""
    for option, known, usual in (
        ("--receivers", RECEIVERS, _("all")),
        ("--orders", ORDERS, _("all")),
        ("--filters", FILTERS, "TAG"),
        ("--versions", RULES, NEWEST),
    ):
        parser.add_argument(
            option,
            metavar="NAMES",
            help=_("with commas: {known} ({usual})", known=", ".join(known), usual=usual),
        )
    for option, help_text in (
        ("--settled", _("whether the group has settled when the first message comes")),
        ("--failed", _("whether a listener refuses each message once")),
        ("--same", _("whether both members ask for both tags, the control")),
    ):
        parser.add_argument(option, choices=CHOICES, default=NO, help=help_text)
    parser.add_argument(
        "--runs", type=int, default=RUNS, metavar="N", help=_("runs drawn by chance a cell ({runs})", runs=RUNS)
    )
    parser.add_argument(
        "--budget",
        type=int,
        default=BUDGET,
        metavar="N",
        help=_("search every order of a cell as well, with at most about N runs a search (none)"),
    )
    parser.add_argument("--out", type=Path, metavar="DIR", help=_("keep the rows there, and go on where they end"))
    parser.add_argument(
        "--spark",
        metavar="ADDRESS",
        default=PLAIN,
        help=_(
            "measure in Spark tasks: local[*], a master URL or sc://HOST:PORT ({plain}: in this process)", plain=PLAIN
        ),
    )
    parser.add_argument(
        "--row",
        metavar="ROW",
        help=_("instead: measure this row of --out again (an id, or a number from 0); 1 if one differs"),
    )
    parser.add_argument("--stored", action="store_true", help=_("print the rows that come with rmqlab"))
    parser.add_argument("--markdown", action="store_true", help=_("print the tables as Markdown"))
    parser.add_argument("--picture", type=Path, metavar="FILE.svg", help=_("draw the matrix"))
    parser.add_argument("-v", "--verbose", action="store_true", help=_("print a line for each cell"))


def run(args: Namespace) -> int:
    """Measure the cells and print them; exit status 1 with `--row` if a figure came out otherwise.

    Raises:
        BadInput: an unknown name, or no cell is left.
    """
    out = printer(args)
    if args.row is not None:
        if args.out is None:
            raise BadInput(_("--row {row}: give the folder of the rows with --out", row=args.row))
        return compare_row(*kept_row(args.out, args.row), args, out)
    if args.picture is not None and args.picture.suffix != ".svg":
        raise BadInput(_("--picture {picture}: the name of a picture ends in .svg", picture=args.picture))
    check_target(args.picture, "--picture")
    axes: dict[str, Any] = {
        "receivers": _names(args.receivers),
        "orders": _names(args.orders),
        "filters": _names(args.filters) or ("TAG",),
        "versions": _names(args.versions) or (NEWEST,),
        "settled": CHOICES[args.settled],
        "failed": CHOICES[args.failed],
        "same": CHOICES[args.same],
    }
    with opened_session(args.spark) as session:
        rows = matrix(**axes, runs=args.runs, budget=args.budget, stored=args.stored, folder=args.out, session=session)
    if args.picture is not None:
        replace_file(args.picture, rows.picture().svg)
    write_json(rows.as_json(), args.json)
    grids = rows.grids()
    out.say("\n\n".join(grid.markdown() if args.markdown else grid.text() for grid in grids))
    if args.verbose:
        out.say("", *repr(rows).splitlines())
    return 0


def _names(text: str | None) -> list[str] | None:
    return None if text is None else [name.strip() for name in text.split(",")]
