"""The name that the command line was called by: usage, examples and hints show what the reader can type again."""

from __future__ import annotations

import os
import sys
from pathlib import PurePath
from typing import Final

PROGRAM: Final = "rmqlab"
PROGRAM_SETTING: Final = "RMQLAB_PROGRAM"
"""By this variable `./lab` passes its own name on; a process that has read it takes it away from its children."""
_called = PROGRAM


def program() -> str:
    """How the command line was called: "./lab", "rmqlab" or "python -m rmqlab"; "rmqlab" where Python code asks.

    >>> program()
    'rmqlab'
    """
    return _called


def called() -> None:
    """Take the name from `./lab`, else from this process's arguments: for the start of a process, and no other call."""
    global _called  # noqa: PLW0603 - a process has one name
    _called = os.environ.pop(PROGRAM_SETTING, "") or _name_in(sys.argv[0])


def _name_in(path: str) -> str:
    """`__main__.py` is how a package runs; a script is called by its name."""
    name = PurePath(path).name
    return f"python -m {PROGRAM}" if name == "__main__.py" else name or PROGRAM
