"""The verb `conform`: run vector files against this implementation and say where it differs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from rmqlab.errors import BadInput
from rmqlab.language import _
from rmqlab_tools.cli.output import write_json
from rmqlab_tools.cli.printing import printer
from tests.proof.conform.conformance import FamilyResult, conform

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from rmqlab_tools.cli.printing import Printer

_WIDTH = 160


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the arguments of the verb."""
    parser.add_argument("dir", type=Path, metavar="DIR", help="folder with FAMILY.jsonl files (or one such file)")
    parser.add_argument("--show", type=int, default=3, metavar="N", help="differences to print for each family (3)")


def run(args: Namespace) -> int:
    """Print passed/total of each family and its first differences; return 0 if nothing differs, else 1.

    Raise `BadInput` for vectors that cannot be run, and for less than 0 differences.
    """
    if args.show < 0:
        raise BadInput(_("--show {show}: a number of differences is wanted, 0 or more", show=args.show))
    results = conform(args.dir)
    out = printer(args)
    for result in results.values():
        _print(result, args.show, out)
    write_json({family: result.as_json() for family, result in results.items()}, args.json)
    return 0 if all(result.passed == result.total for result in results.values()) else 1


def _print(result: FamilyResult, show: int, out: Printer) -> None:
    problem = f"  {result.problem}" if result.problem else ""
    out.say(f"{result.family:<16} {result.passed}/{result.total}{problem}")
    if result.problem:
        return
    for difference in result.differences[:show]:
        expected, got = _brief(difference.expected), _brief(difference.got)
        out.say(f"    {difference.case} {difference.field}: expected {expected}, got {got}")
    if len(result.differences) > show:
        out.say(f"    and {len(result.differences) - show} more differences in {len(result.failures)} cases")


def _brief(value: object) -> str:
    text = json.dumps(value, default=repr)
    return text if len(text) <= _WIDTH else f"{text[: _WIDTH - 3]}..."
