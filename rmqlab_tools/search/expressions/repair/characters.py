"""Characters that are no characters of an expression: full-width signs, typographic quotes, odd and invisible blanks.

4.8.0's grammar (`SelectorParser.jj`) knows ASCII alone outside texts; as blanks it skips space, tab, line ends and form
feeds.
"""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING, Final

from rmqlab.filter.sql92.errors import shown
from rmqlab.language import _, joined

if TYPE_CHECKING:
    from collections.abc import Iterator

_SIGNS: Final = {chr(code): chr(code - 0xFEE0) for code in range(0xFF01, 0xFF5F)} | {
    "≥": ">=", "≧": ">=", "≤": "<=", "≦": "<=", "≠": "<>", "、": ",", "。": "", "−": "-", "–": "-", "—": "-",
    "《": "<", "》": ">", "〈": "<", "〉": ">", "【": "(", "】": ")", "｟": "(", "｠": ")",
}  # fmt: skip
_SINGLE: Final = "‘’‚‛′´`｀＇"
_DOUBLE: Final = '"“”„‟″＂«»「」『』'
_ASCII_BLANKS: Final = " \t\n\r\f"
_HIDDEN: Final = re.compile("[\u00ad\u200b-\u200f\u2028-\u202e\u2060-\u2064\ufeff]")


def is_odd_blank(character: str) -> bool:
    """Whether it looks like a blank, or like nothing, and the broker reads neither."""
    if character in _ASCII_BLANKS or character.isprintable():
        return False
    return character.isspace() or unicodedata.category(character) in {"Cf", "Cc", "Zs"}


def hidden_in(text: str) -> str:
    """The characters of a text that a reader does not see at all, and odd blanks: each once, in their order."""
    return "".join(dict.fromkeys(character for character in text if is_odd_blank(character)))


def plain(text: str) -> tuple[str, list[str]]:
    """An expression with ASCII where the grammar wants it, and what was changed; texts in ASCII quotes stay."""
    written: list[str] = []
    signs: dict[str, str] = {}
    blanks: dict[str, None] = {}
    quotes: dict[str, None] = {}
    place = 0
    while place < len(text):
        char = text[place]
        end = _end_of_text(text, place)
        if end is not None:
            if char != "'" or text[end - 1] != "'":
                quotes |= dict.fromkeys(quote for quote in (char, text[end - 1]) if quote != "'")
                inner = text[place + 1 : end - 1]
                written.append("'" + inner.replace("'", "''") + "'")
            else:
                written.append(text[place:end])
            place = end
            continue
        if char in _SIGNS:
            signs[char] = _SIGNS[char]
            written.append(_SIGNS[char])
        elif is_odd_blank(char):
            blanks[char] = None
            written.append("" if _HIDDEN.match(char) else " ")
        else:
            written.append(char)
        place += 1
    return "".join(written), list(_told(signs, blanks, quotes))


def _end_of_text(text: str, start: int) -> int | None:
    """Where the text that begins at `start` ends, whatever its quotes are; None if none begins, or it has no end."""
    char = text[start]
    if char == "'":
        match = re.compile(r"'(?:[^']|'')*'").match(text, start) or re.compile(f"'[^'{_SINGLE}]*[{_SINGLE}]").match(
            text, start
        )
    elif char in _SINGLE:
        match = re.compile(f"[{_SINGLE}][^'{_SINGLE}]*['{_SINGLE}]").match(text, start)
    elif char in _DOUBLE:
        match = re.compile(f"[{_DOUBLE}][^{_DOUBLE}]*[{_DOUBLE}]").match(text, start)
    else:
        return None
    return None if match is None else match.end()


def _told(signs: dict[str, str], blanks: dict[str, None], quotes: dict[str, None]) -> Iterator[str]:
    wide = {character: right for character, right in signs.items() if right}
    if wide:
        pairs = joined(", ", (_("{sign} as {right}", sign=character, right=right) for character, right in wide.items()))
        yield _("outside texts only ASCII is read: write {pairs}", pairs=pairs)
    for character, right in signs.items():
        if not right:
            yield _("leave {sign} out", sign=character)
    if quotes:
        yield _("texts stand in single quotes, 'TagA': the quotes here are {quotes}", quotes=" ".join(quotes))
    if blanks:
        names = ", ".join(shown(character) for character in blanks)
        yield _(
            "there are blanks or invisible characters that the broker does not read ({names}): retype them", names=names
        )
