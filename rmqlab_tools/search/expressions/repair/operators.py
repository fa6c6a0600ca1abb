"""Operators of other languages, NOT and NULL as they are spoken, lists, and operands that are left out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rmqlab.language import _
from rmqlab_tools.search.expressions.repair.lexemes import (
    COMPARISONS,
    CONNECTIVES,
    NUMBER,
    ORDERED,
    TEXT,
    WORD,
    Draft,
    Lexeme,
    quoted,
    sign,
    word,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

_SIGNS: Final = {
    "==": "=", "===": "=", "<=>": "=", "!=": "<>", "!==": "<>", "^=": "<>", "><": "<>", "=>": ">=", "=<": "<=",
    "!>": "<=", "!<": ">=",
}  # fmt: skip
_WORDS: Final = {
    "EQ": "=", "NE": "<>", "NEQ": "<>", "GT": ">", "GE": ">=", "GTE": ">=", "LT": "<", "LE": "<=", "LTE": "<=",
    "等于": "=", "不等于": "<>", "大于": ">", "小于": "<", "大于等于": ">=", "小于等于": "<=",
}  # fmt: skip
_JOINS: Final = {"且": "AND", "并且": "AND", "和": "AND", "与": "AND", "或": "OR", "或者": "OR"}
_TURNED: Final = {">": "<", ">=": "<=", "<": ">", "<=": ">=", "=": "=", "<>": "<>"}
_OPENS, _CLOSES = ("(", "[", "{"), (")", "]", "}")


def signs(draft: Draft) -> Iterator[str]:
    """Signs and words of other languages."""
    for at, token in enumerate(draft.lexemes):
        right = _SIGNS.get(token.image) if token.sign(*_SIGNS) else _WORDS.get(token.word)
        if right is not None and draft[at - 1].is_operand and (token.sign(*_SIGNS) or draft[at + 1].is_operand):
            draft.put(at, at + 1, sign(right))
            if right == "=":
                yield _("equality is written with a single =")
            elif right == "<>":
                yield _("not equal is written <>")
            else:
                yield _("{sign} is written {right}", sign=token.image, right=right)
        elif token.sign("&&", "&", "||", "|") or (token.word in _JOINS and draft[at - 1].image and draft[at + 1].image):
            draft.lexemes[at] = word(_JOINS.get(token.word) or ("AND" if "&" in token.image else "OR"))
            _part(draft, at + 1)
            yield _("write AND and OR")
        elif token.sign("!") or token.word in {"非", "不"}:
            draft.lexemes[at] = word("NOT", token.lead)
            _part(draft, at + 1)
            yield _("write NOT")


def _part(draft: Draft, at: int) -> None:
    """Put a blank before a lexeme that has none."""
    if at < len(draft.lexemes) and not draft[at].lead:
        draft.lexemes[at] = draft[at]._replace(lead=" ")


def negations(draft: Draft) -> Iterator[str]:
    """NOT before a comparison: it binds tighter, and so only what stands next to it is negated."""
    for at in reversed(list(draft.find(["NOT", lambda token: token.kind == WORD and token.is_operand]))):
        name, after = draft[at + 1], draft[at + 2]
        if after.word in {"IN", "BETWEEN", "LIKE"}:
            draft.put(at, at + 2, name, word("NOT"))
            yield _("write {name} NOT {operator}", name=name.image, operator=after.word)
        elif after.word == "IS" and draft[at + 3].word == "NULL":
            draft.put(at, at + 3, name, word("IS"), word("NOT"))
            yield _("write {name} IS NOT NULL", name=name.image)
        elif after.sign(*COMPARISONS):
            end = at + 4 + draft[at + 3].sign("-", "+")
            draft.put(at + 1, end, sign("("), name._replace(lead=""), *draft.lexemes[at + 2 : end], sign(")", ""))
            yield _("NOT binds tighter than the comparison: write NOT (...) around the whole comparison")


def null(draft: Draft) -> Iterator[str]:
    """Comparisons with NULL, and IS with anything else."""
    for at in reversed(list(draft.find([lambda token: token.sign("=", "<>"), "NULL"]))):
        no = [word("NOT")] if draft[at].sign("<>") else []
        draft.put(at, at + 2, word("IS"), *no, word("NULL"))
        yield _("write IS NULL or IS NOT NULL")
    for at in reversed(list(draft.find(["NULL", lambda token: token.sign("=", "<>"), lambda token: token.is_name]))):
        no = [word("NOT")] if draft[at + 1].sign("<>") else []
        draft.put(at, at + 3, draft[at + 2], word("IS"), *no, word("NULL"))
        yield _("write IS NULL or IS NOT NULL")
    for at in reversed(list(draft.find(["NOT", "IS", "NULL"]))):
        draft.put(at, at + 3, word("IS"), word("NOT"), word("NULL"))
        yield _("write IS NOT NULL")
    for at in reversed(list(draft.find(["IS"]))):
        negated = draft[at + 1].word == "NOT"
        operand = draft[at + 1 + negated]
        if operand.word == "NULL":
            continue
        if operand.word in {"EMPTY", "BLANK", "ABSENT", "MISSING"}:
            draft.put(at + 1 + negated, at + 2 + negated, word("NULL"))
            yield _("no message has an empty value: write IS NULL or IS NOT NULL")
        elif operand.word in {"IN", "BETWEEN"}:
            draft.put(at, at + 1)
            yield _("leave IS out")
        elif operand.is_value:
            right = "<>" if negated else "="
            draft.put(at, at + 1 + negated, sign(right))
            condition = f"{draft[at - 1].image} {right} {operand.image}"
            yield _("IS asks for NULL only: write {right}", right=condition)


def lists(draft: Draft) -> Iterator[str]:
    """What IN looks a property up in: texts in round brackets with commas between."""
    for at in reversed(list(draft.find(["IN"]))):
        opened = draft[at + 1].sign(*_OPENS)
        start = at + 1 + opened
        end, elements, null_too = start, [], False
        while draft[end].is_operand or draft[end].sign(",", "-"):
            token = draft[end]
            if token.word == "NULL":
                null_too = True
            elif token.is_operand:
                minus = "-" if draft[end - 1].sign("-") else ""
                elements.append(minus + _element(token))
            end += 1
        closed = draft[end].sign(*_CLOSES)
        written = draft.lexemes[at + 1 : end + closed]
        if any(token.word == "SELECT" for token in written):
            continue
        if not elements or opened != closed or (not opened and len(elements) == 1 and draft[start].kind != TEXT):
            continue
        new = [sign("("), quoted(elements[0], "")]
        for element in elements[1:]:
            new += [sign(",", ""), quoted(element)]
        new.append(sign(")", ""))
        if [token.image for token in new] == [token.image for token in written] or (
            null_too and draft[at - 1].word == "NOT"
        ):
            continue
        name = draft[at - 1]
        draft.put(at + 1, end + closed, *new)
        if null_too and name.is_name:
            tail = at + 1 + len(new)
            draft.put(tail, tail, word("OR"), name._replace(lead=" "), word("IS"), word("NULL"), sign(")", ""))
            draft.put(at - 1, at, sign("("), name._replace(lead=""))
        yield _("IN takes texts: write IN {list}", list=f"({', '.join(map(repr, elements))})")


def _element(lexeme: Lexeme) -> str:
    """A value as the text of a property that has it."""
    if lexeme.kind == TEXT:
        return lexeme.content
    return lexeme.image.lower() if lexeme.is_value else lexeme.image


def ranges(draft: Draft) -> Iterator[str]:
    """Bounds of BETWEEN; a value between two comparisons; a list after an equality."""
    for at in reversed(list(draft.find(["BETWEEN"]))):
        opened = draft[at + 1].sign("(", "[")
        first = at + 1 + opened
        if draft[first].is_operand and (draft[first + 1].sign(",", "~") or draft[first + 1].word == "TO" or opened):
            closed = opened and draft[first + 3].sign(")", "]")
            if draft[first + 2].is_operand and opened == closed:
                both = draft[first]._replace(lead=" "), word("AND"), draft[first + 2]._replace(lead=" ")
                draft.put(at + 1, first + 3 + closed, *both)
                yield _("write BETWEEN {low} AND {high}", low=both[0].image, high=both[2].image)
    bound = lambda token: token.kind in {NUMBER, WORD} and token.is_operand  # noqa: E731 - one of the kinds below
    for at in reversed(list(draft.find([bound, lambda o: o.sign(*ORDERED), bound, lambda o: o.sign(*ORDERED), bound]))):
        low, turned, name = draft[at], _TURNED[draft[at + 1].image], draft[at + 2]
        if name.is_name:
            draft.put(at, at + 3, name, sign(turned), low._replace(lead=" "), word("AND"), name._replace(lead=" "))
            yield _("compare twice: {name} {sign} {low} AND ...", name=name.image, sign=turned, low=low.image)
    for at in reversed(list(draft.find([lambda token: token.is_name, "="]))):
        opened = draft[at + 2].sign("(")
        end = at + 2 + opened
        while draft[end].kind == TEXT and draft[end + 1].sign(",") and draft[end + 2].kind == TEXT:
            end += 2
        if end > at + 2 + opened:
            draft.put(at + 1, at + 2, word("IN"))
            if not opened:
                draft.put(end + 1, end + 1, sign(")", ""))
                draft.put(at + 2, at + 3, sign("("), draft[at + 2]._replace(lead=""))
            yield _("several values are asked for by IN")


def left_out(draft: Draft) -> Iterator[str]:
    """A property, or a property and its sign, that is written once for several comparisons."""
    for at in reversed(list(draft.find([lambda token: token.word in CONNECTIVES]))):
        name, compared = _comparison_before(draft, at)
        if name is None or compared is None:
            continue
        value, after = draft[at + 1], draft[at + 2]
        if value.sign(*COMPARISONS):
            draft.put(at + 1, at + 1, name._replace(lead=" "))
        elif value.kind in {TEXT, NUMBER} and (after.word in CONNECTIVES or after.image in {"", ")"}):
            draft.put(at + 1, at + 1, name._replace(lead=" "), compared._replace(lead=" "))
        else:
            continue
        yield _("each comparison names its property: write {name} again", name=name.image)


def _comparison_before(draft: Draft, at: int) -> tuple[Lexeme | None, Lexeme | None]:
    """Property and sign of the comparison that ends before `at`, over values that stand alone."""
    place = at - 1
    while draft[place].is_value and draft[place - 1].word in CONNECTIVES:
        place -= 2
    if draft[place].is_value and draft[place - 1].sign(*COMPARISONS) and draft[place - 2].is_name:
        return draft[place - 2], draft[place - 1]
    return None, None


def order_of_texts(draft: Draft) -> Iterator[str]:
    """A number in quotes, where order is asked for."""
    for at, token in enumerate(draft.lexemes):
        by_sign = draft[at - 1].sign(*ORDERED) or draft[at + 1].sign(*ORDERED)
        by_word = draft[at - 1].word == "BETWEEN" or (draft[at - 1].word == "AND" and draft[at - 3].word == "BETWEEN")
        if token.kind == TEXT and (by_sign or by_word) and _is_number(token.content):
            draft.put(at, at + 1, Lexeme(NUMBER, token.content))
            yield _("the order of texts cannot be asked; a number is written without quotes")


def _is_number(text: str) -> bool:
    whole, _point, part = text.partition(".")
    return (
        whole.isascii() and whole.isdecimal() and (not part or part.isdecimal()) and (whole == "0" or whole[0] != "0")
    )
