r"""Lines of `name=value` as `java.util.Properties` reads them: broker.conf, and the settings that mqadmin sends.

Java loads them from bytes (`BrokerStartup.createBrokerController`, `MixAll.string2Properties`), so each byte is one
character of ISO 8859-1, and other characters are written as \uXXXX. The cases that OpenJDK 17 itself answered are in
data/java/properties_load.jsonl.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from rmqlab.errors import BadInput

if TYPE_CHECKING:
    from collections.abc import Iterator

_BLANKS: Final = " \t\f"
_LINE: Final = re.compile(r"([^\r\n]*)(\r\n|\r|\n|\Z)")
_PAIR: Final = re.compile(r"((?:\\.|[^ \t\f:=\\])*)[ \t\f]*[:=]?[ \t\f]*(.*)", re.DOTALL)
_ESCAPE: Final = re.compile(r"\\(u[0-9a-fA-F]{4}|.)", re.DOTALL)
_CONTROL: Final = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}


class MalformedEscapeError(BadInput):
    """A backslash and u without four hexadecimal digits: Java throws IllegalArgumentException, and a broker stops."""


def load_properties(data: bytes | str) -> dict[str, str]:
    r"""Names and values; of a name that comes twice the last value (`Properties.load`, of a stream or a reader).

    A backslash at the end of a line joins the next one, without its blanks; `=`, `:` or blanks end a name, unless a
    backslash stands before them. Example::

        load_properties(b"a : 1\nb=x\\\n  y\n")  # {"a": "1", "b": "xy"}

    Raises:
        MalformedEscapeError: an escape without four hexadecimal digits.
    """
    properties: dict[str, str] = {}
    for line in _logical_lines(data if isinstance(data, str) else data.decode("latin-1")):
        match = _PAIR.match(line)
        if match:  # always: each part of it may be empty
            properties[_unescaped(match[1], line)] = _unescaped(match[2], line)
    return properties


def shown_properties(body: bytes) -> dict[str, str]:
    r"""Names and values of GET_BROKER_CONFIG's answer, in which nothing is escaped (`MixAll.properties2String`).

    Example::

        shown_properties(b"rocketmqHome=C:\\users\n")  # the home is C:\users, and no escape is wrong
    """
    lines = body.decode("utf-8", "replace").split("\n")
    return dict(line.partition("=")[::2] for line in lines if line)


def properties_line(name: str, value: str) -> str:
    r"""A line, with its end, that `load_properties` reads as this name and value (`Properties.store`)."""
    blanks = len(value) - len(value.lstrip(" "))
    text = "\\ " * blanks + _escaped(value[blanks:])
    return re.sub(r"([ :=#!])", r"\\\1", _escaped(name)) + f"={text}\n"


def _logical_lines(text: str) -> Iterator[str]:
    """What belongs together, without the blanks at the beginning of each line, comments and empty lines."""
    pending = ""
    for match in _LINE.finditer(text):
        line, end = match[1].lstrip(_BLANKS), match[2]
        if not pending and line[:1] in {"", "#", "!"}:
            continue
        pending += line
        if (len(line) - len(line.rstrip("\\"))) % 2:
            pending = pending[:-1]
            # OpenJDK: what a backslash at the very end leaves is a line, be it empty
            if match.end() < len(text) or end == "\r\n":
                continue
        yield pending
        pending = ""


def _unescaped(text: str, line: str) -> str:
    def replace(match: re.Match[str]) -> str:
        code = match[1]
        if len(code) == 5:
            return chr(int(code[1:], 16))
        if code == "u":
            raise MalformedEscapeError(f"{line!r}: \\u needs four hexadecimal digits; a backslash is written \\\\")
        return _CONTROL.get(code, code)

    if "\\" not in text:
        return text
    # two escapes may be the halves of one character
    return _ESCAPE.sub(replace, text).encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")


def _escaped(text: str) -> str:
    text = text.replace("\\", "\\\\")
    for letter, control in _CONTROL.items():
        text = text.replace(control, f"\\{letter}")
    units = text.encode("utf-16-be", "surrogatepass")
    pairs = (int.from_bytes(units[at : at + 2]) for at in range(0, len(units), 2))
    return "".join(chr(unit) if 0x20 <= unit < 0x7F else f"\\u{unit:04X}" for unit in pairs)
