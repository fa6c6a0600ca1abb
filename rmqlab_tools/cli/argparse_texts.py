"""What `argparse` says itself, in the reader's language: its texts are looked up in our catalogue."""

from __future__ import annotations

import argparse
from typing import Final

from rmqlab.language import N_, _, ngettext

TEXTS: Final = (
    N_("usage: "), N_("positional arguments"), N_("options"), N_("show this help message and exit"),
    N_("%(prog)s: error: %(message)s\n"), N_("argument %(argument_name)s: %(message)s"),
    N_("the following arguments are required: %s"), N_("one of the arguments %s is required"),
    N_("not allowed with argument %s"), N_("ignored explicit argument %r"), N_("unrecognized arguments: %s"),
    N_("expected one argument"), N_("expected at most one argument"), N_("expected at least one argument"),
    N_("invalid %(type)s value: %(value)r"), N_("invalid choice: %(value)r (choose from %(choices)s)"),
)  # fmt: skip
"""The texts of Python 3.11 to 3.14 that our parsers can come to say; one of another version stays English."""


def _plural(singular: str, plural: str, number: int) -> str:
    return str(ngettext(singular, plural, number))


def translate_argparse() -> None:
    """Let parsers that are made from now on speak the reader's language: `argparse` takes texts from these two names.

    Its own way, a compiled catalogue found by the locale, knows neither our setting nor our files.
    """
    argparse._ = lambda text: str(_(text))  # type: ignore[attr-defined]
    argparse.ngettext = _plural  # type: ignore[attr-defined]


ONE_OR_MORE: Final = ngettext("expected %s argument", "expected %s arguments", 2)
"""The one text of `argparse` that counts."""
