"""The verb `site`: the pages of docs/ and the lessons as they ran, as a site in two languages."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from rmqlab.checkout import ROOT
from rmqlab_tools.cli.output import write_json
from rmqlab_tools.cli.printing import Printer, printer
from tests.proof.site.build import LANGUAGES, SiteError, build
from tests.proof.site.links import faults

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the arguments of the verb."""
    parser.add_argument(
        "--out", default=str(ROOT / "build" / "site"), metavar="DIR", help="where the site goes (build/site)"
    )
    parser.add_argument(
        "--language", choices=LANGUAGES, action="append", help="build this language alone (both; may be given twice)"
    )
    parser.add_argument("--no-lab", action="store_true", help="leave out the playgrounds, which need npm and a network")


def run(args: Namespace) -> int:
    """Build the site; return 1 if a page has a fault or a link leads nowhere."""
    out, languages = Path(args.out), args.language or LANGUAGES
    errors = Printer.on(sys.stderr)
    try:
        build(out, languages, errors.say, lab=not args.no_lab)
    except SiteError as error:
        errors.say(str(error))
        write_json({"out": str(out), "faults": str(error).splitlines()}, args.json)
        return 1
    wrong = faults(out, languages)
    for fault in wrong:
        errors.say(str(fault))
    pages = sum(1 for _ in out.rglob("*.html"))
    printer(args).say(f"{pages} pages in {out}, first page {out / 'index.html'}")
    write_json({"out": str(out), "pages": pages, "faults": wrong}, args.json)
    return 1 if wrong else 0
