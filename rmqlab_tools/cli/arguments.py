"""Arguments of several verbs: a time in seconds, and `--example`, which prints a complete file of a verb's format."""

from __future__ import annotations

import argparse
import re
import sys
from typing import TYPE_CHECKING, Any

from rmqlab.checkout import carried
from rmqlab.language import _, joined
from rmqlab.rules import DEFAULT_VERSION, RULES
from rmqlab_tools.cli.printing import Printer

if TYPE_CHECKING:
    from argparse import ArgumentParser

FORMATS = {
    "simulate": "scenario",
    "explore": "scenario",
    "lint": "members",
    "audit": _("subscriptions"),
}
"""Verb to the format of its file."""
MAX_SECONDS = 10**9
_FENCE = re.compile(r"^```json\n(.*?)^```\n", re.DOTALL | re.MULTILINE)


def seconds(text: str) -> float:
    """Read a time to wait, in seconds.

    >>> seconds("0.5")
    0.5

    Raises:
        ArgumentTypeError: it is no number above 0, or so large that no clock can wait for it.
    """
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 < value <= MAX_SECONDS:
        raise argparse.ArgumentTypeError(
            _(
                "{text}: a number of seconds above 0 is wanted, at most {max_seconds}",
                text=f"{text!r}",
                max_seconds=MAX_SECONDS,
            )
        )
    return value


def parts(name: str) -> tuple[str, str, str]:
    """What stands before the example in the page of a format, the example, and what follows."""
    text = (carried("formats") / f"{name}.md").read_text(encoding="utf-8")
    about, example, fields = _FENCE.split(text, maxsplit=1)
    return about, example, fields


class PrintExample(argparse.Action):
    """Print the example on standard output, what its fields mean on standard error, and end."""

    def __call__(self, parser: ArgumentParser, *_: Any) -> None:
        """Print and end."""
        name = str(self.const)
        about, lines, fields = parts(name)
        Printer.on(sys.stderr).say(f"{about.rstrip()}\n{fields.rstrip()}")
        sys.stdout.write(lines)
        parser.exit(0)


def add_version(parser: ArgumentParser) -> None:
    """Declare `--version`, of broker and clients; the program's own stands before the verb. `rules_of` reads it."""
    parser.add_argument(
        "--version",
        metavar="VERSION",
        help=_(
            "the RocketMQ that broker and clients are: {versions} ({usual})",
            versions=joined(", ", RULES),
            usual=DEFAULT_VERSION,
        ),
    )


def add_example(parser: ArgumentParser, verb: str) -> None:
    """Declare `--example` for a verb that reads a file."""
    parser.add_argument(
        "--example",
        action=PrintExample,
        nargs=0,
        const=FORMATS[verb],
        help=_("print a complete file of its format, {formats}, and what the fields mean", formats=FORMATS[verb]),
    )
