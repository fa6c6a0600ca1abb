"""The verb `replay`: feed a recording of a real broker to this one and compare every answer."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from rmqlab.errors import BadInput
from rmqlab.language import _
from rmqlab_tools.cli.output import Progress, write_json
from rmqlab_tools.cli.printing import printer

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the arguments of the verb."""
    parser.add_argument("dir", type=Path, metavar="DIR", help=_("a recorded set: broker.conf and frames.jsonl[.gz]"))
    parser.add_argument("--show", type=int, default=10, metavar="N", help=_("differences to print (10)"))


def run(args: Namespace) -> int:
    """Print the result; return 0 if nothing differs, else 1.

    Raise `BadInput` for a set that cannot be read or holds no request to a broker, and for less than 0 differences.
    """
    from tests.proof.replay.replay import replay, replay_lines

    if args.show < 0:
        raise BadInput(_("--show {show}: a number of differences is wanted, 0 or more", show=args.show))
    with Progress("replay") as progress:
        result = replay(args.dir, progress.now)
    printer(args).say(*replay_lines(result, args.show))
    write_json(result.as_json(), args.json)
    return 1 if result.differing else 0
