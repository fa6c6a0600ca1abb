"""The verb `bundle`: everything for a room without network, in one folder."""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING

from rmqlab.checkout import ROOT
from rmqlab.errors import BadInput, did_you_mean
from rmqlab.language import _, joined
from rmqlab_tools.cli.output import write_json
from rmqlab_tools.cli.printing import Printer, printer
from tests.proof.bundle import make

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

DEFAULT = "notebook,spark,java"


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the arguments of the verb."""
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="a new folder")
    parser.add_argument(
        "--extras", default=DEFAULT, metavar="NAMES", help=f"packages besides the core's ({DEFAULT}); '' for none"
    )
    parser.add_argument(
        "--site", type=Path, default=ROOT / "build" / "site", metavar="DIR", help="a built site (build/site)"
    )
    parser.epilog = (
        "The packages fit this kind of machine and this Python only. `./lab` in the folder installs from it alone."
    )


def run(args: Namespace) -> int:
    """Write the folder and say how large it is."""
    known = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    extras = {name.strip() for name in args.extras.split(",") if name.strip()}
    for name in extras:
        if name not in known:
            raise BadInput(
                _(
                    "--extras: {name} is none{near}; there are {known}",
                    name=f"{name!r}",
                    near=did_you_mean(name, known),
                    known=joined(", ", known),
                )
            )
    made = make(args.out, extras, args.site, Printer.on(sys.stderr).say)
    site = "with the site" if made["site"] else "without a site (./lab site builds it)"
    printer(args).say(f"{args.out}: {made['bytes'] / 1e6:.0f} MB, {made['wheels']} packages, {site}")
    write_json(made, args.json)
    return 0
