"""An expression as a person reads it: words, numbers, texts and signs, the broker's or not, with what stands between.

The broker's own reading is in `tokens`; it ends at the first sign that it does not know, and this one does not.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

from rmqlab.filter.sql92.tokens import KEYWORDS
from rmqlab.rules import DEFAULT_RULES

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rmqlab.filter.sql92.tokens import Version

WORD, NUMBER, TEXT, OPEN_TEXT, SIGN = "word", "number", "text", "text without its end", "sign"
RESERVED: Final = frozenset(KEYWORDS[DEFAULT_RULES.sql92])
NAME: Final = re.compile(r"[A-Za-z_$][A-Za-z0-9_$]*")
COMPARISONS: Final = frozenset({"=", "<>", ">", ">=", "<", "<="})
ORDERED: Final = frozenset({">", ">=", "<", "<="})
CONNECTIVES: Final = frozenset({"AND", "OR"})

_LEXEME = re.compile(
    r"(?P<lead>(?:\s|/\*.*?\*/|--[^\r\n]*(?:[\r\n]+|$))*)"
    r"(?:(?P<text>'(?:[^']|'')*')|(?P<open>'(?:[^']|'')*$)"
    r"|(?P<word>[^\W\d][\w$]*|\$[\w$]*)"
    r"|(?P<number>0[xX][0-9A-Fa-f]+|(?:[0-9][0-9_]*(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?\w*)"
    r"|(?P<sign><=>|!==|===|<>|><|>=|<=|=>|=<|!=|\^=|==|=~|!~|&&|\|\||::|->|!>|!<|\S))",
    re.DOTALL,
)
_KINDS = {"text": TEXT, "open": OPEN_TEXT, "word": WORD, "number": NUMBER, "sign": SIGN}


class Lexeme(NamedTuple):
    """One of them, as written; `lead` is what stands before it: blanks and comments."""

    kind: str
    image: str
    lead: str = " "

    @property
    def word(self) -> str:
        """A word in capitals; empty for anything else."""
        return self.image.upper() if self.kind == WORD else ""

    @property
    def is_name(self) -> bool:
        """Whether it may stand for a property."""
        return self.kind == WORD and self.word not in RESERVED and NAME.fullmatch(self.image) is not None

    @property
    def is_value(self) -> bool:
        """Whether it is a literal."""
        return self.kind in {TEXT, NUMBER} or self.word in {"TRUE", "FALSE", "NULL"}

    @property
    def is_operand(self) -> bool:
        """Whether it may stand at a side of a comparison."""
        return self.is_value or (self.kind == WORD and self.word not in RESERVED)

    @property
    def content(self) -> str:
        """What a text stands for, without its quotes."""
        return self.image[1:-1].replace("''", "'")

    def sign(self, *images: str) -> bool:
        """Whether it is one of these signs."""
        return self.kind == SIGN and self.image in images


END: Final = Lexeme(SIGN, "", "")


class Draft:
    """An expression that is being rewritten: its lexemes, and what stands after the last of them."""

    def __init__(self, text: str, version: Version) -> None:
        """Read a text; nothing in it is too odd."""
        self.version = version
        self.read(text)

    def read(self, text: str) -> None:
        """Take another text."""
        self.lexemes: list[Lexeme] = []
        place = 0
        while match := _LEXEME.match(text, place):
            group = match.lastgroup or ""
            self.lexemes.append(Lexeme(_KINDS[group], match[group], match["lead"]))
            place = match.end()
        self.tail = text[place:]

    def __getitem__(self, index: int) -> Lexeme:
        """A lexeme; before the first and after the last there is `END`."""
        return self.lexemes[index] if 0 <= index < len(self.lexemes) else END

    def __str__(self) -> str:
        """The text, as it stands now."""
        return "".join(f"{lexeme.lead}{lexeme.image}" for lexeme in self.lexemes) + self.tail

    def put(self, start: int, end: int, *lexemes: Lexeme) -> None:
        """Put `lexemes` in the place of others; the first one keeps the lead of what it replaces."""
        lead = self[start].lead
        first = [lexeme._replace(lead=lead) if end > start else lexeme for lexeme in lexemes[:1]]
        if not lexemes and end < len(self.lexemes):
            self.lexemes[end] = self[end]._replace(lead=lead)
        self.lexemes[start:end] = [*first, *lexemes[1:]]

    def find(self, kinds: Sequence[object], start: int = 0) -> Iterator[int]:
        """The places from which on the lexemes are as `kinds` says: a word in capitals, a sign, or a test."""
        for index in range(start, len(self.lexemes) - len(kinds) + 1):
            if all(_is(self[index + at], kind) for at, kind in enumerate(kinds)):
                yield index

    def closing(self, index: int) -> int | None:
        """The place of the bracket that closes the one at `index`; None if none does."""
        depth = 0
        for at in range(index, len(self.lexemes)):
            depth += self[at].sign("(") - self[at].sign(")")
            if not depth:
                return at
        return None


def _is(lexeme: Lexeme, kind: object) -> bool:
    if callable(kind):
        return bool(kind(lexeme))
    return kind in {lexeme.word, lexeme.image if lexeme.kind == SIGN else ""}


def word(image: str, lead: str = " ") -> Lexeme:
    """A word that is put in."""
    return Lexeme(WORD, image, lead)


def sign(image: str, lead: str = " ") -> Lexeme:
    """A sign that is put in."""
    return Lexeme(SIGN, image, lead)


def quoted(content: str, lead: str = " ") -> Lexeme:
    """A text that is put in."""
    return Lexeme(TEXT, "'" + content.replace("'", "''") + "'", lead)
