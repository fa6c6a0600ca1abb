"""Lines no wider than a terminal: broken between words, and between Chinese characters, which take two columns."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from rmqlab.language import columns

if TYPE_CHECKING:
    from collections.abc import Iterator

_WIDE: Final = "\u2e80-\u9fff\uac00-\ud7a3\uff00-\uffef"
# What a line can be broken between: blanks, a word, or one Chinese character with the marks that cling to it.
_PIECE: Final = re.compile(rf"\s+|[（《“‘「]*[{_WIDE}][，。；：、）》”’」！？]*|[^\s{_WIDE}]+[，。；：、）》”’」！？]*")


def broken(text: str, width: int | None, indent: int = 0) -> list[tuple[int, int]]:
    """Where the lines of a text begin and end so that each has at most `width` columns (None: it is one line).

    Every line but the first gives room to `indent` columns. A word that is longer than a line is broken, too; blanks
    at a break are left out.

    >>> broken("one two three", 7)
    [(0, 7), (8, 13)]
    """
    if width is None or columns(text) <= width:
        return [(0, len(text))]
    lines: list[tuple[int, int]] = []
    begin, end, used, room = 0, 0, 0, width
    for piece, first, last in _pieces(text, max(1, width - indent)):
        wide = columns(piece)
        if piece.isspace() and (begin < end or not lines):
            used += wide
        elif not piece.isspace() and used + wide <= room:
            begin, end, used = (begin, last, used + wide) if begin < end or not lines else (first, last, wide)
        elif not piece.isspace():
            lines.append((begin, end))
            begin, end, used, room = first, last, wide, width - indent
    return [line for line in [*lines, (begin, end)] if text[slice(*line)].strip()]


def wrapped(text: str, width: int, first: str = "", rest: str = "") -> list[str]:
    """Lines of at most `width` columns, the first after one indent, the others after another; no text: no line.

    >>> wrapped("one two three", 9, "- ", "  ")
    ['- one two', '  three']
    """
    places = broken(first + text, width, columns(rest)) if text else []
    whole = first + text
    return [(rest if number else "") + whole[slice(*place)].rstrip() for number, place in enumerate(places)]


def _pieces(text: str, longest: int) -> Iterator[tuple[str, int, int]]:
    """What may stand in a line of its own, with its place; a word of more columns than `longest` is cut up."""
    for match in _PIECE.finditer(text):
        if columns(match[0]) <= longest or match[0].isspace():
            yield match[0], *match.span()
        else:
            yield from ((text[at], at, at + 1) for at in range(*match.span()))
