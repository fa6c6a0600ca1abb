"""Settings files such as broker.conf: the syntax of `java.util.Properties`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from rmqlab.errors import BadInput

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_PAIR = re.compile(r"((?:\\.|[^\s:=\\])*)\s*[:=]?\s*(.*)", re.DOTALL)
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|.|$)", re.DOTALL)
_CONTROL = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}


class PropertiesFileError(BadInput):
    """A settings file that cannot be read."""


def read_properties(path: Path) -> dict[str, str]:
    """Return names and values of a settings file; of a name that comes twice the last value.

    Raises PropertiesFileError.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeError) as error:
        raise PropertiesFileError(f"{path}: {error}; a text file of `name=value` lines is wanted") from error
    return parse_properties(text)


def parse_properties(text: str) -> dict[str, str]:
    """Return names and values of a text; lines that begin with # or ! say nothing."""
    found = {}
    for line in _logical_lines(text):
        match = _PAIR.match(line)
        if match:
            found[_unescape(match[1])] = _unescape(match[2])
    return found


def _logical_lines(text: str) -> Iterator[str]:
    """Yield lines without leading blanks; a backslash at the end joins the next one."""
    pending = ""
    for raw in re.split(r"\r\n|\r|\n", text):
        line = raw.lstrip(" \t\f")
        if not pending and (not line or line[0] in "#!"):
            continue
        pending += line
        backslashes = len(pending) - len(pending.rstrip("\\"))
        if backslashes % 2:
            pending = pending[:-1]
            continue
        yield pending
        pending = ""
    if pending:
        yield pending


def _unescape(text: str) -> str:
    def replace(match: re.Match[str]) -> str:
        code = match[1]
        if len(code) == 5:
            return chr(int(code[1:], 16))
        return _CONTROL.get(code, code)

    return _ESCAPE.sub(replace, text)
