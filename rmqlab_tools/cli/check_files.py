"""`--sarif`, `--junit` and `--github`: what a verb's checks come to, for the machines that show it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from rmqlab.language import _
from rmqlab_tools.check_reports import github, write_reports
from rmqlab_tools.cli.output import check_target, write_result

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Sequence

    from rmqlab_tools.check_reports import Check


def add_check_files(parser: ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument(
        "--sarif", metavar="FILE", type=Path, help=_("write what is wrong as SARIF 2.1.0, for code scanning")
    )
    parser.add_argument(
        "--junit", metavar="FILE", type=Path, help=_("write each check as a test in JUnit's XML, for CI servers")
    )
    parser.add_argument(
        "--github", action="store_true", help=_("print annotations of GitHub Actions too, one for each place")
    )


def check_targets(args: Namespace) -> None:
    """Look, before long work, whether the files can be made.

    Raises:
        BadInput: a folder is not there.
    """
    check_target(args.sarif, "--sarif")
    check_target(args.junit, "--junit")


def give_checks(args: Namespace, checks: Sequence[Check], verb: str) -> None:
    """Write and print what the options ask for.

    Raises:
        BadInput: a file cannot be written.
    """
    write_reports(checks, verb, args.sarif, args.junit)
    if args.github and args.json != "-":
        write_result("".join(f"{line}\n" for line in github(checks)))
