"""The verb `reproduce`: run the articles' experiments; a summary, or each article figure beside the one made here."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from rmqlab.checkout import checkout_path, part
from rmqlab.language import _
from rmqlab_tools.cli.output import write_json
from rmqlab_tools.cli.printing import Printer, printer
from rmqlab_tools.course.articles.experiments import chosen, read_manifest, reproduced
from rmqlab_tools.course.articles.report_text import SCREEN, all_lines, short_lines, summary, verdict
from rmqlab_tools.styled import BAD, GOOD, Line

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the arguments of the verb."""
    parser.add_argument("--only", nargs="+", metavar="ID", help=_("only these (E2 stands for all that begin with it)"))
    parser.add_argument("-v", "--verbose", action="store_true", help=_("every figure, and where it comes from"))
    parser.add_argument(
        "--report", type=Path, metavar="DIR", help=_("write an HTML report with the executed notebooks (minutes)")
    )
    parser.epilog = _("With -v, = marks a figure that an article printed; data/articles/README.md explains the rest.")


def run(args: Namespace) -> int:
    """Print what came out; return 0 when no figure differs, else 1.

    Raises:
        BadInput: an unknown experiment.
    """
    experiments = chosen(args.only, read_manifest())
    if args.report is not None:
        from rmqlab_tools.extras import require  # it looks into what is installed, which takes a while

        checkout_path("notebooks")
        require("notebook", "spark")
    out = printer(args, translated=True)
    results = []
    for result in reproduced(experiments):
        results.append(result)
        out.say(*(all_lines if args.verbose else short_lines)(result, out.width or SCREEN))
    agree = all(result.agrees for result in results)
    out.say(Line((verdict(results, verbose=args.verbose), GOOD if agree else BAD)))
    out.say(*(f"  {line}" for line in summary(results)))
    write_json([result.as_json() for result in results], args.json)
    if args.report is not None:
        # as a verb of the checkout: the report runs its lessons, and `folder` has said that it is there
        report = part("report")
        index = report.write_report(args.report, results, summary(results), Printer.on(sys.stderr).say)
        out.say(_("report: {index}", index=index))
    return 0 if agree else 1
