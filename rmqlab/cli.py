"""The command line: finds the verb's module, reads its arguments, runs it.

Only the module of the verb that was asked for is imported. Exit status: what the verb returns (`endings` tells what it
means), 2 for bad input, 130 after Ctrl-C.
"""

from __future__ import annotations

import argparse
import os
import sys
from importlib import import_module

from rmqlab.commands import available, listing
from rmqlab.commands.endings import ending
from rmqlab.errors import BadInput, did_you_mean

PROGRAM = "rmqlab"


def main(arguments: list[str] | None = None) -> int:
    """Run `rmqlab VERB ARGUMENTS` (default: those of this process) and return the exit status."""
    arguments = sys.argv[1:] if arguments is None else arguments
    if not arguments or arguments[0] in {"-h", "--help"}:
        print(listing(PROGRAM), end="")
        return 0
    if arguments[0] == "--version":
        from rmqlab import __version__

        print(f"{PROGRAM} {__version__}")
        return 0
    verb, *rest = arguments
    if verb not in available():
        meant = did_you_mean(verb, available())
        print(f"{PROGRAM}: no verb {verb!r}{meant or '; there are: ' + ', '.join(available())}", file=sys.stderr)
        return 2
    try:
        status = _run(verb, rest)
        sys.stdout.flush()
        return status
    except BadInput as error:
        print(f"{PROGRAM} {verb}: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        # The reader of our output (head, less) has seen enough: the interpreter must not complain when it flushes.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0


def _run(verb: str, rest: list[str]) -> int:
    """Parse the verb's own arguments and call it; a verb with PASSES_ON gets those it does not know in `args.rest`."""
    from rmqlab.commands.output import only_json

    module = import_module(f"rmqlab.commands.{verb}")
    parser = argparse.ArgumentParser(
        prog=f"{PROGRAM} {verb}",
        description=available()[verb].help,
        allow_abbrev=False,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--json",
        metavar="FILE",
        help="write the result as JSON to FILE ('-': to standard output, all text goes to standard error then)",
    )
    module.add_arguments(parser)
    parser.epilog = ending(PROGRAM, verb, parser.epilog)
    args, unknown = parser.parse_known_args(rest)
    args.rest = unknown
    if unknown and not getattr(module, "PASSES_ON", False):
        parser.error(f"unknown arguments: {' '.join(unknown)}")
    with only_json(args.json):
        status: int = module.run(args)
    return status
