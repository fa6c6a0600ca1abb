"""The root of every error that a user can mend by changing the input."""

from __future__ import annotations


class BadInput(Exception):
    """Input that a verb cannot work with; the text names what, where, and what would be right.

    Rooms derive their own classes from it. The command line prints the text to standard error and exits with 2.
    """
