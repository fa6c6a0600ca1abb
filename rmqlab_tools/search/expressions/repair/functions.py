"""What the filter has not: functions, casts, patterns, arithmetic, parameters, and names of other kinds."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from rmqlab.filter.sql92.errors import shown
from rmqlab.filter.sql92.tokens import tests_texts
from rmqlab.language import _
from rmqlab_tools.search.expressions.repair.lexemes import (
    COMPARISONS,
    NAME,
    NUMBER,
    RESERVED,
    SIGN,
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

_WHOLE: Final = {"INT", "INTEGER", "BIGINT", "SMALLINT", "TINYINT", "LONG", "SIGNED", "UNSIGNED", "INT4", "INT8"}
_FRACTION: Final = {"DOUBLE", "FLOAT", "REAL", "DECIMAL", "NUMERIC", "NUMBER"}
_TEXTS: Final = {"VARCHAR", "CHAR", "TEXT", "STRING", "NVARCHAR"}
_TO_NUMBER: Final = {"INT", "INTEGER", "LONG", "TO_NUMBER", "TONUMBER", "PARSEINT", "TOINT"}
_TIMES: Final = {
    "NOW", "CURDATE", "CURTIME", "SYSDATE", "GETDATE", "CURRENT_TIMESTAMP", "CURRENT_DATE", "CURRENT_TIME", "LOCALTIME",
    "UNIX_TIMESTAMP", "DATE_SUB", "DATE_ADD", "DATEDIFF", "TO_DATE", "STR_TO_DATE", "DATE_FORMAT", "DATE", "TIMESTAMP",
    "TO_TIMESTAMP", "FROM_UNIXTIME", "HOUR", "DAY", "MONTH", "YEAR",
}  # fmt: skip
_BARE_TIMES: Final = {"CURRENT_TIMESTAMP", "CURRENT_DATE", "CURRENT_TIME", "SYSDATE"}
_WITHIN: Final = {
    "SUBSTR", "SUBSTRING", "LEFT", "RIGHT", "INSTR", "LOCATE", "POSITION", "CHARINDEX", "CONCAT", "REGEXP_LIKE",
    "CONTAINS", "STARTSWITH", "ENDSWITH", "FIND_IN_SET", "REPLACE", "SPLIT", "MATCHES",
}  # fmt: skip
_CASES: Final = {"UPPER", "LOWER", "UCASE", "LCASE"}
_ABSENT: Final = {"IFNULL", "COALESCE", "NVL", "ISNULL"}
_SUMS: Final = {"COUNT", "SUM", "MAX", "MIN", "AVG"}
_PATTERNS: Final = {"LIKE", "ILIKE", "RLIKE", "REGEXP", "SIMILAR", "GLOB"}
_LATER: Final = {"CONTAINS", "STARTSWITH", "ENDSWITH"}
_NO_CALLS: Final = RESERVED | _PATTERNS | {"WHERE", "SELECT", "FROM"}
_SIGNS: Final = COMPARISONS | {"(", ")", ",", "+", "-", "*", "/", "%"}
_LETTERED: Final = re.compile(r"(?:0[xX]([0-9A-Fa-f]+)|([0-9_]+(?:\.[0-9]*)?)([dDfF]?))")


def casts(draft: Draft) -> Iterator[str]:
    """A cast is not needed: what a property is compared with says how it is read."""
    for at in reversed(list(draft.find([lambda token: token.word in {"CAST", "CONVERT", *_TO_NUMBER}, "("]))):
        end, name = draft.closing(at + 1), draft[at + 2]
        if end is None or not name.is_name:
            continue
        kind = draft[at + 4].word if draft[at + 3].word == "AS" or draft[at + 3].sign(",") else ""
        if draft[at].word in _TO_NUMBER and end == at + 3:
            kind = "INT"
        if kind in _WHOLE | _FRACTION | _TEXTS:
            draft.put(at, end + 1, name)
            yield from _cast(draft, at, kind)
    for at in reversed(list(draft.find([lambda token: token.is_name, "::", lambda token: token.kind == WORD]))):
        kind = draft[at + 2].word
        del draft.lexemes[at + 1 : at + 3]
        yield from _cast(draft, at, kind)


def _cast(draft: Draft, at: int, kind: str) -> Iterator[str]:
    name, against = draft[at].image, draft[at + 2]
    if kind in _TEXTS:
        yield _("there are no casts: {name} is a text as it is", name=name)
        return
    if kind in _FRACTION and against.kind == NUMBER and against.image.isdecimal() and int(against.image):
        draft.put(at + 2, at + 3, Lexeme(NUMBER, f"{against.image}.0"))
    if kind in _FRACTION:
        yield _(
            "there are no casts: {name} is read as a fraction where it is compared with one, such as 10.5", name=name
        )
    else:
        yield _("there are no casts: {name} is read as a whole number where it is compared with one", name=name)


def calls(draft: Draft) -> Iterator[str]:
    """A function or a method."""
    for at in list(draft.find([lambda token: token.kind == WORD and token.word not in _NO_CALLS, "("])):
        name, inner = draft[at].word, draft[at + 2]
        if draft[at - 1].sign(".") and name in {"EQUALS", "EQ"} and draft[at - 2].is_name and inner.kind == TEXT:
            continue
        if name in {"ISNULL", "EXISTS", "ISNOTNULL"} and inner.is_name and draft[at + 3].sign(")"):
            continue
        yield _call(draft[at].image, inner)
    for at in reversed(list(draft.find([lambda token: token.is_name, ".", "EQUALS", "(", _is_text, ")"]))):
        draft.put(at, at + 6, draft[at], sign("="), draft[at + 4]._replace(lead=" "))
        yield _("equality is written with a single =")
    asks = {"ISNULL": [], "EXISTS": [word("NOT")], "ISNOTNULL": [word("NOT")]}
    for at in reversed(list(draft.find([lambda token: token.word in asks, "(", lambda token: token.is_name, ")"]))):
        test = word("IS"), *asks[draft[at].word], word("NULL")
        draft.put(at, at + 4, sign("("), draft[at + 2]._replace(lead=""), *test, sign(")", ""))
        yield _("write IS NULL or IS NOT NULL")
    for token in draft.lexemes:
        if token.word == "CASE":
            yield _call(token.image, Lexeme(WORD, ""))


def _is_text(token: Lexeme) -> bool:
    return token.kind == TEXT


def no_time(name: str) -> str | None:
    """What to say of a property whose name is a function of other languages that is written without brackets."""
    return _call(name, Lexeme(WORD, "")) if name.upper() in _BARE_TIMES else None


def _call(image: str, inner: Lexeme) -> str:
    name = image.upper()
    if name in _TIMES:
        return _("there are no functions ({name}), and no time: let the producer send a number to compare", name=image)
    if name in _CASES:
        return _(
            "there are no functions ({name}): name each spelling with IN, or send the value in one case", name=image
        )
    if name in _ABSENT and inner.is_name:
        values = {"name": image, "property": inner.image}
        return _("there are no functions ({name}): ask by {property} IS NULL for messages without it", **values)
    if name in _WITHIN:
        return _("there are no functions ({name}): send what is looked for as a property of its own", name=image)
    if name in _SUMS:
        return _("there are no functions ({name}): each message is judged alone", name=image)
    return _("there are no functions ({name}): send the value that it gives as a property", name=image)


def patterns(draft: Draft) -> Iterator[str]:
    """LIKE and regular expressions; what 5.3.3 can ask instead."""
    kinds = (lambda token: token.word in _PATTERNS or token.sign("~", "=~", "!~"),)
    for at in reversed(list(draft.find(kinds))):
        pattern, no = draft[at + 1], draft[at - 1].word == "NOT"
        operator = draft[at].image
        written = _without_pattern(pattern.content, no) if pattern.kind == TEXT and draft[at].word == "LIKE" else []
        later = "" if written else _later(pattern.content) if pattern.kind == TEXT and draft[at].word == "LIKE" else ""
        if written:
            draft.put(at - no, at + 2, *written)
            yield _("there is no {operator}: where nothing is a wildcard, write = or IS NULL", operator=operator)
        elif later and tests_texts(draft.version):
            operation, _blank, content = later.partition(" ")
            draft.put(at, at + 2, word(operation), quoted(content))
            yield _("there is no {operator}: write {operation}", operator=operator, operation=operation)
        elif no:
            yield _("there is no {operator}: name the values with NOT IN ('...', '...')", operator=operator)
        else:
            yield _(
                "there is no {operator}: ask by = or IN, or send what is looked for as a property of its own",
                operator=operator,
            )
        if later and not tests_texts(draft.version):
            yield _("a 5.3.3 broker has {operation}", operation=later.partition(" ")[0])
    if not tests_texts(draft.version):
        for token in draft.lexemes:
            if token.word in _LATER:
                yield _("{operation} is none of 4.8.0's operators; a 5.3.3 broker has it", operation=token.word)


def _without_pattern(text: str, no: bool) -> list[Lexeme]:
    """What LIKE asks without a wildcard, or with nothing else."""
    if text and not set(text) - {"%"}:
        return [word("IS"), word("NULL")] if no else [word("IS"), word("NOT"), word("NULL")]
    if text and not set(text) & set("%_*"):
        return [sign("<>" if no else "="), quoted(text)]
    return []


def _later(text: str) -> str:
    """The operator of 5.3.3 that asks the same as LIKE, and its text; empty if none does."""
    inner = text.strip("%")
    if not inner or set(inner) & set("%_*"):
        return ""
    before, after = text.startswith("%"), text.endswith("%")
    return f"{'CONTAINS' if before and after else 'ENDSWITH' if before else 'STARTSWITH'} {inner}"


def quoted_names(draft: Draft) -> Iterator[str]:
    """A text where a property is meant: at the left of a comparison with a value."""
    names = []
    for at, token in enumerate(draft.lexemes):
        after, against = draft[at + 1], draft[at + 2]
        compared = after.sign(*COMPARISONS) and (against.is_value or against.sign("-", "+"))
        is_asked = compared or after.word in {"IN", "IS", "BETWEEN", "LIKE", "NOT"}
        alone = draft[at - 1].image in {"", "("} or draft[at - 1].word in {"AND", "OR", "NOT", "WHERE"}
        if (
            token.kind == TEXT
            and is_asked
            and alone
            and NAME.fullmatch(token.content)
            and token.content.upper() not in RESERVED
        ):
            draft.put(at, at + 1, word(token.content))
            names.append(token.content)
    if names:
        yield _("names of properties stand without quotes: {names}", names=", ".join(dict.fromkeys(names)))


def names(draft: Draft) -> Iterator[str]:
    """Words that are no names, parameters, and signs that no expression has."""
    said: dict[str, str] = {}
    for at, token in enumerate(draft.lexemes):
        before = draft[at - 1]
        if token.kind == WORD and token.word not in RESERVED and NAME.fullmatch(token.image) is None:
            said[token.image] = _no_name(token.image)
        if token.kind == NUMBER and token.image[-1:].isalpha() and draft[at + 1].sign(*COMPARISONS):
            said[token.image] = _("{name} is no name of a property: it begins with a letter, _ or $", name=token.image)
        parameter = token.sign("?", "@", ":", "#") or (token.image == "$" and draft[at + 1].sign("{"))
        if parameter and (before.sign("(", ",", *COMPARISONS) or before.word == "AND"):
            said["?"] = _("there are no parameters: the value itself must stand in the expression")
    for name in _joined_names(draft):
        said[name] = _no_name(name)
    if not said:
        odd = dict.fromkeys(token.image for token in draft.lexemes if token.kind == SIGN and token.image not in _SIGNS)
        if odd:
            signs = ", ".join(shown(image) for image in odd)
            said["signs"] = _("no expression has these signs outside a text: {signs}", signs=signs)
    yield from said.values()


def _no_name(name: str) -> str:
    return _("{name} is no name of a property: letters A to Z, digits, _ and $ only", name=name)


def _joined_names(draft: Draft) -> Iterator[str]:
    """Names with points, hyphens, slashes or colons in them: nothing stands between."""
    at = 0
    while at < len(draft.lexemes):
        end = at
        while _goes_on(draft, end + 1):
            end += 2
        whole = draft.lexemes[at : end + 1]
        if end > at and whole[0].kind == WORD and not draft[end + 1].sign("("):
            closed = "]" if whole[-2].image == "[" else ""
            yield "".join(token.image for token in whole) + closed
        at = end + 1


def _goes_on(draft: Draft, at: int) -> bool:
    """Whether a name goes on with a sign and another word; a number after a hyphen is one that is taken away."""
    token, after = draft[at], draft[at + 1]
    if token.lead or after.lead or not token.sign(".", "-", "/", ":", "@", "#", "->", "["):
        return False
    return after.kind == WORD or (after.kind == NUMBER and not token.sign("-"))


def arithmetic(draft: Draft) -> Iterator[str]:
    """Sums and the like between two operands."""
    for at, token in enumerate(draft.lexemes):
        between = draft[at - 1].is_operand and draft[at + 1].is_operand
        if between and token.sign("+", "-", "*", "/", "%") and (token.lead or draft[at + 1].kind == NUMBER):
            yield _("there is no arithmetic: send the computed value as a property")
            return


def numbers(draft: Draft) -> Iterator[str]:
    """Numbers as other languages write them."""
    for at, token in enumerate(draft.lexemes):
        match = _LETTERED.fullmatch(token.image) if token.kind == NUMBER else None
        if match is None or (draft[at + 1].sign(*COMPARISONS) and match[2] is None):
            continue
        right = str(int(match[1], 16)) if match[1] else match[2].replace("_", "")
        if "." not in right:
            right = right.lstrip("0") or "0"
        if right != token.image:
            draft.put(at, at + 1, Lexeme(NUMBER, right))
            yield _("{number} is written {right}", number=token.image, right=right)
