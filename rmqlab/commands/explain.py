"""The verb `explain`: what a code, a remark, a line of a log or a whole log of RocketMQ means."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from rmqlab.commands.output import write_json
from rmqlab.commands.printing import printer
from rmqlab.diagnosis.explained import explain, explain_stream

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the arguments of the verb."""
    parser.add_argument(
        "what",
        metavar="CODE|TEXT|LOGFILE",
        help="a code (24, SUBSCRIPTION_NOT_EXIST), the text of a line in quotes, or a log, also .gz; - reads a pipe",
    )


def run(args: Namespace) -> int:
    """Print what is known, the worst first; return 3 if a line tells of a loss, 4 if nothing is known of any line.

    Raise `BadInput` for a code that there is not, and a file that cannot be read.
    """
    found = explain_stream(sys.stdin.buffer, "-") if args.what == "-" else explain(args.what)
    printer(args, told=True).say(str(found))
    write_json(found.as_json(), args.json)
    if not found.found:
        return 4
    return 3 if found.lines and found.worst == "loss" else 0
