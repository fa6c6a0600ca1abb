"""The words of a SQL92 filter, longest match first, read only as far as the parser asks (4.8.0's token manager)."""

from __future__ import annotations

import re
from enum import IntEnum
from typing import TYPE_CHECKING, Final, NamedTuple, get_args

from rmqlab.filter.sql92.errors import SyntaxFault, shown
from rmqlab.language import _
from rmqlab.message.java import utf16_units
from rmqlab.rules import Grammar

if TYPE_CHECKING:
    from collections.abc import Mapping

Version = Grammar
VERSIONS: Final[tuple[Version, ...]] = get_args(Grammar)


class Kind(IntEnum):
    """Kinds of token, in the order of the grammar (the numbers are 5.3.3's; 4.8.0 lacks three words)."""

    EOF = 0
    NOT = 8
    AND = 9
    OR = 10
    BETWEEN = 11
    IN = 12
    TRUE = 13
    FALSE = 14
    NULL = 15
    IS = 16
    CONTAINS = 17
    STARTSWITH = 18
    ENDSWITH = 19
    DECIMAL = 20
    FLOATING = 21
    STRING = 23
    ID = 24
    EQUAL = 25
    NOT_EQUAL = 26
    GREATER = 27
    GREATER_EQUAL = 28
    LESS = 29
    LESS_EQUAL = 30
    OPEN = 31
    COMMA = 32
    CLOSE = 33
    PLUS = 34
    MINUS = 35


SYMBOLS: Final[Mapping[str, Kind]] = {
    "=": Kind.EQUAL,
    "<>": Kind.NOT_EQUAL,
    ">": Kind.GREATER,
    ">=": Kind.GREATER_EQUAL,
    "<": Kind.LESS,
    "<=": Kind.LESS_EQUAL,
    "(": Kind.OPEN,
    ",": Kind.COMMA,
    ")": Kind.CLOSE,
    "+": Kind.PLUS,
    "-": Kind.MINUS,
}
_ADDED = (Kind.CONTAINS, Kind.STARTSWITH, Kind.ENDSWITH)
_OLD_WORDS = {kind.name: kind for kind in Kind if Kind.NOT <= kind <= Kind.IS}
_WORDS = _OLD_WORDS | {kind.name: kind for kind in _ADDED}
KEYWORDS: Final[Mapping[Version, Mapping[str, Kind]]] = {"4.8.0": _OLD_WORDS, "5.3.3": _WORDS, "5.5.0": _WORDS}
IMAGES: Final[Mapping[Kind, str]] = {
    Kind.EOF: "<EOF>",
    Kind.DECIMAL: "<DECIMAL_LITERAL>",
    Kind.FLOATING: "<FLOATING_POINT_LITERAL>",
    Kind.STRING: "<STRING_LITERAL>",
    Kind.ID: "<ID>",
    **{kind: f'"{kind.name}"' for kind in _WORDS.values()},
    **{kind: f'"{text}"' for text, kind in SYMBOLS.items()},
}


def tests_texts(version: Version) -> bool:
    """Whether a version has CONTAINS, STARTSWITH and ENDSWITH."""
    return all(kind.name in KEYWORDS[version] for kind in _ADDED)


# The same for people.
WORDING: Final[Mapping[Kind, str]] = {
    Kind.EOF: _("the end"),
    Kind.DECIMAL: _("a number"),
    Kind.FLOATING: _("a number"),
    Kind.STRING: _("a text in single quotes"),
    Kind.ID: _("a property"),
    **{kind: kind.name for kind in _WORDS.values()},
    **{kind: text for text, kind in SYMBOLS.items()},
}

_SKIPPED = re.compile(r"(?:[ \t\n\r\f]+|--[^\n\r]*(?:\r\n|\n|\r)|/\*[^*]*\*(?:\*|[^*/][^*]*\*)*/)*")
_SKIPPED_ON_THE_LAST_LINE = re.compile(r"(?:[ \t\n\r\f]+|/\*[^*]*\*(?:\*|[^*/][^*]*\*)*/)*")
_TOKEN = re.compile(
    r"(?P<ID>[A-Za-z_$][A-Za-z0-9_$]*)"
    r"|(?P<FLOATING>(?:[0-9]+\.[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|[0-9]+[eE][+-]?[0-9]+)"
    r"|(?P<DECIMAL>0|[1-9][0-9]*[lL]?)"
    r"|(?P<STRING>'(?:[^']|'')*')"
    r"|(?P<SYMBOL><>|>=|<=|[=<>(),+-])"
)
_ESCAPES = {"\b": "\\b", "\t": "\\t", "\n": "\\n", "\f": "\\f", "\r": "\\r", '"': '\\"', "'": "\\'", "\\": "\\\\"}
_TAB = 8


class Token(NamedTuple):
    """A word as written and where it begins and ends (UTF-16 units)."""

    kind: Kind
    image: str
    start: int
    end: int


class Tokens:
    """The tokens of one expression, made when first asked for."""

    __slots__ = ("_end", "_last_break", "_made", "_words", "text")

    def __init__(self, expression: str, version: Version) -> None:
        self.text = as_units(expression)
        self._words = KEYWORDS[version]
        self._made: list[Token] = []
        self._end = 0
        self._last_break = max(self.text.rfind("\n"), self.text.rfind("\r"))

    def __getitem__(self, index: int) -> Token:
        """A token; after the last one only `EOF` follows.

        Raises:
            TokenMgrError: what is no token.
        """
        while len(self._made) <= index:
            self._made.append(self._next())
        return self._made[index]

    def _next(self) -> Token:
        # two minus signs are a comment where a line break follows; on the last line nobody needs to look for one
        blanks = _SKIPPED if self._end <= self._last_break else _SKIPPED_ON_THE_LAST_LINE
        skipped = blanks.match(self.text, self._end)
        start = self._end if skipped is None else skipped.end()
        if start == len(self.text):
            return Token(Kind.EOF, "", start, start)
        match = _TOKEN.match(self.text, start)
        if match is None:
            raise _token_mgr_error(self.text, start)
        self._end = match.end()
        image, group = match[0], match.lastgroup
        if group == "ID":
            kind = self._words.get(image.upper(), Kind.ID)
        else:
            kind = SYMBOLS[image] if group == "SYMBOL" else Kind[group or ""]
        return Token(kind, image, start, self._end)


def position(text: str, offset: int) -> tuple[int, int]:
    """Line and column as 4.8.0 counts them: from 1, a tab up to the next multiple of 8.

    An offset at the end of the text counts as its last character; an empty text has line 0, column 0.
    """
    if not text:
        return 0, 0
    last = min(offset, len(text) - 1)
    # a "\r" whose "\n" is this very character ends no line yet
    before = last - 1 if text.startswith("\r\n", last - 1) and last else last
    lines = text.count("\n", 0, before) + text.count("\r", 0, before) - text.count("\r\n", 0, before)
    begin = max(text.rfind("\n", 0, before), text.rfind("\r", 0, before)) + 1
    column = 0
    for char in text[begin : last + 1] if "\t" in text[begin : last + 1] else "":
        column += 1
        if char == "\t":
            column += _TAB - 1 - (column - 1) % _TAB
    return lines + 1, column or last + 1 - begin


def escaped(text: str) -> str:
    """`text` as 4.8.0 shows it in messages: control characters and everything beyond ASCII escaped."""
    shown = []
    for char in text:
        if char in _ESCAPES:
            shown.append(_ESCAPES[char])
        elif char != "\0":
            shown.append(char if " " <= char <= "~" else f"\\u{ord(char):04x}")
    return "".join(shown)


def string_value(image: str) -> str:
    """The text a string literal stands for: without its quotes, doubled quotes halved."""
    text = image[1:-1].replace("''", "'")
    return text if text.isascii() else text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")


def as_units(expression: str) -> str:
    """The expression as Java sees it: a character beyond U+FFFF is two."""
    if not expression or max(expression) <= "\uffff":
        return expression
    return "".join(map(chr, utf16_units(expression)))


def _token_mgr_error(text: str, start: int) -> SyntaxFault:
    """The error for the character at `start`, which begins no token: an odd one, or a token that is not ended."""
    rest = text[start:]
    if rest[0] == "'" or rest.startswith("/*"):
        read = len(rest)
        what = _("a text without its closing quote") if rest[0] == "'" else _("a comment without its end")
        expected: tuple[str, ...] = ("'",) if rest[0] == "'" else ("*/",)
    else:
        read = 2 if rest[0] in "/." and len(rest) > 1 else 1
        # of a character beyond U+FFFF Java reads the first half alone
        what = shown(rest[: 2 if "\ud800" <= rest[0] < "\udc00" else 1])
        is_point = rest[0] == "." and not (start and text[start - 1].isalnum())
        expected = (_("a digit after the point") if is_point else _("a value, an operator or a bracket"),)
    line, column = position(text, start + read - 1)
    if start + read == len(text):
        line, column = (line + 1, 0) if text[-1] in "\r\n" else (line, column + 1)
        after, encountered = rest[:read] if read > 1 else "", "<EOF> "
    else:
        after, encountered = rest[: read - 1], f'"{escaped(rest[read - 1])}" ({ord(rest[read - 1])}), '
    message = f'Lexical error at line {line}, column {column}.  Encountered: {encountered}after : "{escaped(after)}"'
    return SyntaxFault("TokenMgrError", message, start, what, expected)
