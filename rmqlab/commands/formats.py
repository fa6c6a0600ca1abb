"""`--example` of a verb that reads a file: the page of its format, with a complete example that can be run."""

from __future__ import annotations

import argparse
import re
import sys
from typing import TYPE_CHECKING, Any

from rmqlab.checkout import carried

if TYPE_CHECKING:
    from argparse import ArgumentParser

FORMATS = {
    "simulate": "scenario",
    "explore": "scenario",
    "lint": "members",
    "audit": "subscriptions",
}
"""Verb to the format of its file."""
_FENCE = re.compile(r"^```json\n(.*?)^```\n", re.DOTALL | re.MULTILINE)


def page(name: str) -> str:
    """The page of a format, in Markdown."""
    return (carried("formats") / f"{name}.md").read_text(encoding="utf-8")


def example(name: str) -> str:
    """The example of a format: what a file of it holds."""
    return _parts(name)[1]


def _parts(name: str) -> tuple[str, str, str]:
    """What stands before the example, the example, and what follows."""
    found = _FENCE.search(page(name))
    if found is None:
        raise ValueError(f"no example in the page of {name}")
    return found.string[: found.start()], found[1], found.string[found.end() :]


class PrintExample(argparse.Action):
    """Print the example on standard output, what its fields mean on standard error, and end."""

    def __call__(self, parser: ArgumentParser, *_: Any) -> None:
        """Print and end."""
        name = str(self.const)
        about, lines, fields = _parts(name)
        print(about.rstrip() + "\n" + fields.rstrip(), file=sys.stderr, flush=True)
        sys.stdout.write(lines)
        parser.exit(0)


def add_example(parser: ArgumentParser, verb: str) -> None:
    """Declare `--example` for a verb that reads a file."""
    parser.add_argument(
        "--example",
        action=PrintExample,
        nargs=0,
        const=FORMATS[verb],
        help=f"print a complete file of its format, {FORMATS[verb]}, and what the fields mean",
    )
