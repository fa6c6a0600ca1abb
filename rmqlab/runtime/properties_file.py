"""Settings files such as broker.conf: the syntax of `java.util.Properties`."""

from __future__ import annotations

import logging
import re
from typing import TYPE_CHECKING

from rmqlab.errors import BadInput

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

logger = logging.getLogger(__name__)
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


def rewrite_properties(path: Path, text: str) -> None:
    """Put other settings into a file; what it held becomes its `.bak` (4.8.0 `MixAll.string2File`).

    4.8.0 says nothing to whoever changed a setting when its file cannot be written: the change holds, and is logged.
    """
    part = path.with_name(f"{path.name}.tmp")
    try:
        if path.is_file():
            path.with_name(f"{path.name}.bak").write_bytes(path.read_bytes())
        part.write_text(text, encoding="utf-8")
        part.replace(path)
    except OSError as error:
        logger.warning("%s: a changed setting is in force, but not in its file: %s", path, error.strerror)


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
