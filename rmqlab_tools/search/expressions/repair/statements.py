"""What stands around a condition: other languages' quotes, whole statements, comments, brackets that do not fit."""

from __future__ import annotations

import html
import re
from typing import TYPE_CHECKING, Final

from rmqlab.language import _
from rmqlab_tools.search.expressions.repair.lexemes import (
    CONNECTIVES,
    NUMBER,
    OPEN_TEXT,
    TEXT,
    WORD,
    Draft,
    quoted,
    sign,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_CODE: Final = re.compile(
    r"\s*(?:\w+\s*[.=]\s*)*(?:MessageSelector\s*\.\s*)?bySql\s*\(\s*([\"'])(.*)\1\s*\)\s*;?\s*", re.DOTALL
)
_CDATA: Final = re.compile(r"\s*<!\[CDATA\[(.*)\]\]>\s*", re.DOTALL)
_ENTITY: Final = re.compile(r"&(?:lt|gt|amp|quot|apos|#\d+|#x[0-9A-Fa-f]+);")
_PREFIX: Final = re.compile(r"\s*(?:SQL92|SQL)\s*:\s*", re.IGNORECASE)
_COMMENT: Final = re.compile(r"(?:(?<=\s)|^)(?://|#(?!\{))[^\r\n]*")
_CLAUSES: Final = {"ORDER", "GROUP", "LIMIT", "HAVING", "OFFSET"}
_BRACKETS: Final = {"[": "(", "{": "(", "]": ")", "}": ")"}


def unwrapped(text: str) -> tuple[str, list[str]]:
    """The expression without what a programming language or a file of XML puts around it."""
    said: list[str] = []
    if match := _CODE.fullmatch(text):
        text = match[2].replace('\\"', '"')
        said.append(_("only the text between the quotes of bySql is the expression"))
    if match := _CDATA.fullmatch(text):
        text = match[1].strip()
        said.append(_("only what stands within CDATA is the expression"))
    if _ENTITY.search(text):
        text = html.unescape(text)
        said.append(_("an XML file needs &lt; and &gt;, the broker needs the signs themselves"))
    if match := _PREFIX.match(text):
        text = text[match.end() :]
        said.append(_("leave the type out: the expression is what stands behind it"))
    return text, said


def without_comments(text: str) -> tuple[str, list[str]]:
    """The expression without comments of other languages; quotes in them count as in 4.8.0, so texts stay."""
    if "'" not in text and _COMMENT.search(text):
        return _COMMENT.sub("", text).rstrip(), [_("a comment is /* such a one */")]
    return text, []


def select(draft: Draft) -> Iterator[str]:
    """A statement of a data base has its condition after WHERE."""
    place = next(draft.find(["WHERE"]), None)
    first = draft[0].word
    if place is not None and (place == 0 or first in {"SELECT", "DELETE", "UPDATE", "FROM"}):
        draft.put(0, place + 1)
        yield _("an expression is the condition alone: what stands behind WHERE")
    elif first == "SELECT" and next(draft.find(["FROM"]), None) is not None:
        draft.read("TRUE")
        yield _("an expression is a condition alone; every message is TRUE")
    clause = next((at for at in range(1, len(draft.lexemes)) if _is_clause(draft, at)), None)
    if clause is not None:
        name = draft[clause].image
        draft.put(clause, len(draft.lexemes))
        yield _("there is no {clause}: each message is judged alone", clause=name)


def _is_clause(draft: Draft, at: int) -> bool:
    by = draft[at].word in {"ORDER", "GROUP"} and draft[at + 1].word == "BY"
    return by or (draft[at].word in _CLAUSES - {"ORDER", "GROUP"} and draft[at + 1].kind in {NUMBER, WORD})


def edges(draft: Draft) -> Iterator[str]:
    """A semicolon at the end; a connective that joins nothing."""
    while draft.lexemes and draft[len(draft.lexemes) - 1].sign(";"):
        draft.put(len(draft.lexemes) - 1, len(draft.lexemes))
        yield _("leave the semicolon out")
    last = len(draft.lexemes) - 1
    for place in (0, last):
        if last > 0 and draft[place].word in CONNECTIVES:
            name = draft[place].word
            draft.put(place, place + 1)
            yield _("{name} joins two conditions: one is missing here", name=name)


def texts(draft: Draft) -> Iterator[str]:
    """A text without its end, and one with a quote in it."""
    last = len(draft.lexemes) - 1
    if not draft.lexemes or draft[last].kind != OPEN_TEXT:
        return
    broken = next((at for at in range(last - 1, -1, -1) if draft[at].kind == TEXT and not draft[at + 1].lead), None)
    rest = draft[last].image[1:].strip()
    if broken is not None and not rest:
        inner = "".join(f"{token.lead}{token.image}" for token in draft.lexemes[broken + 1 : last]) + draft[last].lead
        draft.put(broken, last + 1, quoted(f"{draft[broken].content.removesuffix(chr(92))}'{inner}"))
        yield _("a single quote within a text is written twice")
    else:
        draft.put(last, last + 1, quoted(rest.replace("''", "'")))
        yield _("a text ends with a single quote: one is missing")


def whole_in_quotes(draft: Draft, is_condition: Callable[[str], bool]) -> Iterator[str]:
    """The whole expression in quotes, as it stands in a program."""
    if len(draft.lexemes) == 1 and draft[0].kind == TEXT and is_condition(draft[0].content):
        draft.read(draft[0].content)
        yield _("the expression stands without quotes around it")


def brackets(draft: Draft) -> Iterator[str]:
    """Brackets of other kinds; one too many at the end; one that is missing there."""
    others = [at for at in range(len(draft.lexemes)) if draft[at].sign(*_BRACKETS)]
    if others and not any(
        draft[at - 1].image in {"$", "#"} or draft[at - 1].is_name for at in others if draft[at].sign("{", "[")
    ):
        for at in others:
            draft.put(at, at + 1, sign(_BRACKETS[draft[at].image]))
        yield _("brackets are ( and )")
    depth = 0
    for token in draft.lexemes:
        depth += token.sign("(") - token.sign(")")
        if depth < 0:
            break
    last = len(draft.lexemes) - 1
    if depth < 0 and draft[last].sign(")"):
        draft.put(last, last + 1)
        yield _("a closing bracket has no opening one")
    elif depth > 0:
        draft.lexemes.extend([sign(")", "")] * depth)
        yield _("a closing bracket is missing")
