"""Values that arguments of several verbs have, as `type=` of argparse: it names the option and exits with 2."""

from __future__ import annotations

from argparse import ArgumentTypeError
from math import inf


def seconds(text: str) -> float:
    """Read a time to wait, in seconds.

    >>> seconds("0.5")
    0.5

    Raises:
        ArgumentTypeError: it is no number above 0.
    """
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 < value < inf:
        raise ArgumentTypeError(f"{text!r}: a number of seconds above 0 is wanted")
    return value
