"""Lines with parts that stand out: a `str` that also knows how its parts look, for whoever can show colours."""

from __future__ import annotations

from typing import Final, Self

GOOD: Final = "green"
BAD: Final = "bold red"
WARN: Final = "yellow"
HEAD: Final = "bold"
SOFT: Final = "dim"
"""Names of styles as `rich` has them. A style says nothing that the words do not say, too."""
Part = tuple[str, str]
"""A text and its style, "" for a plain one."""


class Line(str):
    """A line made of parts, each a text or a text with its style; as a `str` it is the plain text, as it is shown.

    >>> line = Line("a group: ", ("inconsistent", BAD))
    >>> line, line.parts[1]
    ('a group: inconsistent', ('inconsistent', 'bold red'))
    """

    __slots__ = ("parts",)
    parts: tuple[Part, ...]

    def __new__(cls, *parts: str | Part) -> Self:
        """Join the parts."""
        pieces = tuple((str(part), "") if isinstance(part, str) else (str(part[0]), part[1]) for part in parts)
        line = super().__new__(cls, "".join(text for text, _ in pieces))
        line.parts = pieces
        return line


def parts_of(line: str) -> tuple[Part, ...]:
    """The parts of a line; one that is an ordinary text is one plain part."""
    return line.parts if isinstance(line, Line) else ((line, ""),)
