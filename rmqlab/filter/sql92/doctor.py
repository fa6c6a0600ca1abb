"""What 4.8.0 accepts in silence although the author cannot have meant it, and what to write instead.

Findings are about meaning: refusals come from the compiler (`hint` adds what was probably meant). Severity: `warning`
for what loses or lets pass messages, `note` for what one should know.
"""

from __future__ import annotations

import re
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from rmqlab.filter.sql92.compiler import compile_sql92
from rmqlab.filter.sql92.errors import MQFilterException
from rmqlab.filter.sql92.nodes import (
    NOWHERE,
    NULL,
    And,
    BooleanCast,
    Comparison,
    Constant,
    Equal,
    In,
    Node,
    Not,
    Or,
    Property,
    is_between,
    shape,
)
from rmqlab.filter.sql92.satisfiability import NOT_TRUE, Can, Search, atoms, conditions, names_of
from rmqlab.filter.sql92.tokens import Kind, as_units, position

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rmqlab.filter.sql92.compiler import CompiledSql92

_MAX_CONDITIONS = 40  # parts that are searched for never and always
_LARGEST = 300  # conditions in a part that is searched
_EFFORT = 20_000
_RESERVED = ("TAGS", "KEYS")
_WILDCARD = re.compile(r"[%*?]|\|\|")
_TAGS = re.compile(r"\s*[^\s|'\"=<>()]+(?:\s*\|\|\s*[^\s|'\"=<>()]+)+\s*")
_QUOTED = re.compile(r"'[^']*'")
_LIKE = re.compile(r"(?i)\sLIKE\s")
_SWITCH = (
    "the broker needs enablePropertyFilter=true (default false); without it the consumer's start fails with code 1"
)


class Hint(NamedTuple):
    """One remark. `start`, `end`: the text it is about (UTF-16 units); `line`, `column` count from 1."""

    code: str
    severity: str
    start: int
    end: int
    line: int
    column: int
    message: str
    advice: str


def examine(compiled: CompiledSql92) -> list[Hint]:
    """Give all findings on an expression the broker accepts, in the order of the text; the switch comes last."""
    doctor = _Doctor(compiled)
    findings = [*doctor.rest(), *doctor.conditions(), *doctor.names(), *doctor.upgrade()]
    findings.sort(key=lambda finding: (finding.start, finding.code))
    return [*findings, *doctor.switch()]


def hint(refusal: MQFilterException, text: str) -> str | None:
    """Guess what was meant by an expression that is refused; None when there is nothing to say."""
    units = as_units(text)
    at = "" if refusal.offset is None else units[refusal.offset :]
    before = "" if refusal.offset is None else units[: refusal.offset].rstrip()
    reason = refusal.reason.text or ""
    word = at.split(maxsplit=1)[0].upper() if at.strip() else ""
    tested = re.search(r"(?i)(\S+)\s+IS(\s+NOT)?$", before)
    rules = (
        (text.strip() == "*", "* is the TAG expression for every message; as SQL92 that is TRUE"),
        (bool(_TAGS.fullmatch(text)), f"this is a TAG expression; as SQL92 write {_as_in(text)}"),
        (not text.strip(), "an expression is a condition, such as a > 3"),
        (at.startswith("*"), "there are neither wildcards nor arithmetic"),
        (
            tested is not None and word in {"TRUE", "FALSE"},
            f"IS asks for NULL only: write {tested[1]} {'<>' if tested[2] else '='} {word}" if tested else "",
        ),
        (bool(re.match(r"(?i)NOT\s+LIKE\b", at)), "there is no LIKE: name the values with NOT IN ('...', '...')"),
        (
            bool(re.fullmatch(r"Value '\(NOT .*\)' cannot be compared\.", reason)),
            "NOT binds tighter than the comparison: write NOT (...) around the whole comparison",
        ),
        (at.startswith("!="), "not equal is written <>"),
        (at.startswith("=") and before.endswith("="), "equality is written with a single ="),
        (at.startswith(("&", "|")), "write AND and OR"),
        (at.startswith(('"', "\u201c", "\u2018")), "texts stand in single quotes: 'TagA'"),
        (at.startswith(";"), "leave the semicolon out"),
        (at.startswith("."), "a property name has no point in it: letters, digits, _ and $ only"),
        (bool(re.search(r"(?i)\bIN\s*\([^)']*$", before)), "IN takes texts: write IN ('1','2')"),
        ("is less than" in reason, "0.0 cannot be written: compare with 0, or with 0.1"),
        (bool(re.fullmatch(r"'NULL' cannot be compared\.", reason)), "write IS NULL or IS NOT NULL"),
        (reason.startswith("Value ''"), "the order of texts cannot be asked; a number is written without quotes"),
        (reason.startswith("Illegal values of between, left"), "the lower bound comes first"),
        (refusal.cause_name == "NumberFormatException", "whole numbers end at 9223372036854775807; write 1e19"),
    )
    return next((advice for applies, advice in rules if applies), None)


def _as_in(tags: str) -> str:
    """A list of tags as the condition on TAGS that means the same."""
    return f"TAGS IN ({', '.join(repr(tag.strip()) for tag in tags.split('||'))})"


def looks_like_sql92(text: str) -> bool:
    """Whether what is given as a TAG expression is a whole SQL92 condition, and no list of tags.

    Example: true for ``a > 3``, false for ``tagA || tagB``, ``tagA`` and ``*``.
    """
    try:
        compiled = compile_sql92(text)
    except MQFilterException:
        return False
    whole = not compiled.ignored and not isinstance(compiled.root, BooleanCast | Constant)
    return whole or bool(_LIKE.search(text))


class _Doctor:
    def __init__(self, compiled: CompiledSql92) -> None:
        self._compiled = compiled
        self._text = as_units(compiled.text)
        self._root = compiled.root
        self._noted: set[tuple[str, ...]] = set()

    def rest(self) -> Iterator[Hint]:
        """The text behind the longest valid prefix."""
        token = self._compiled.rest
        if token.kind is Kind.EOF:
            return
        before = self._text[: token.start].rstrip()
        word = token.image.upper()
        read = self._text[: token.start].strip()
        if token.kind in {Kind.DECIMAL, Kind.FLOATING} and before.endswith("0") and before == self._text[: token.start]:
            message = f"a number may not begin with 0: only the 0 is read, and {self._text[token.start :]!r} is ignored"
            advice = "leave out the leading zeros"
        elif word in {"LIKE", "CONTAINS", "STARTSWITH", "ENDSWITH"}:
            message = f"{word} is no operator of {self._compiled.version}: only {read!r} is read"
            if Search(self._root, _EFFORT).find(Can.TRUE).proven:
                message += ", " + "and that never matches"
            advice = "test for equality or IN, or send what is looked for as a property of its own"
        elif self._text.startswith("--", token.start):
            message, advice = (
                "a comment must end with a line break: this one is read as two minus signs",
                "end the line",
            )
        else:
            message, advice = f"only {read!r} is read; the rest is ignored in silence", self._rest_advice(token.image)
        yield self._finding("ignored-text", "warning", (token.start, len(self._text)), message, advice)

    def conditions(self) -> Iterator[Hint]:
        """Conditions that throw, never or always hold, or bind otherwise than they look."""
        if self._compiled.too_deep:
            message = "evaluating it overflows the broker's stack: no message passes"
            yield self._finding("too-deep", "warning", self._root.span, message, "split it, or use IN")
        told: list[Node] = []
        for number, node in enumerate(conditions(self._root)):
            yield from self._shape(node)
            if number < _MAX_CONDITIONS and not any(node in part.walk() for part in told):
                found = self._never_or_always(node)
                if found:
                    told.append(node)
                    yield found

    def names(self) -> Iterator[Hint]:
        """Properties that differ only in case from each other or from RocketMQ's own."""
        alike: dict[str, list[str]] = {}
        for name in names_of(self._root):
            alike.setdefault(name.lower(), []).append(name)
        for node in {part.name: part for part in self._root.walk() if isinstance(part, Property)}.values():
            for reserved in _RESERVED:
                if node.name.upper() == reserved and node.name != reserved:
                    message = f"names are case-sensitive: {node.name} is not the message's {reserved}"
                    yield self._finding("name-case", "warning", node.span, message, f"write {reserved}")
            others = [name for name in alike[node.name.lower()] if name != node.name]
            if others and others[0] < node.name:
                message = f"{others[0]} and {node.name} are two different properties"
                yield self._finding("name-case", "warning", node.span, message, "write both in the same case")

    def upgrade(self) -> Iterator[Hint]:
        """What 5.3.3 makes of the same text, when that is something else."""
        if self._compiled.version != "4.8.0":
            return
        try:
            other = str(compile_sql92(self._text, "5.3.3"))
        except MQFilterException:
            message = "5.3.3 refuses it: CONTAINS, STARTSWITH and ENDSWITH are reserved there"
        else:
            if other == str(self._compiled):
                return
            message = f"5.3.3 reads it as {other}"
        yield self._finding("upgrade", "note", self._root.span, message, "mind it when the broker is upgraded")

    def switch(self) -> Iterator[Hint]:
        """The setting without which no SQL92 filter works."""
        yield self._finding("switch", "note", (0, 0), _SWITCH, "ask the broker's settings: getBrokerConfig")

    def _shape(self, node: Node) -> Iterator[Hint]:
        match node:
            case BooleanCast():
                message = f"{node} alone is no condition: a property's value is a text, so this is false or null"
                advice = f"write {node} = TRUE"
                if node is self._root and not self._compiled.ignored:
                    advice = f"write {node} = TRUE, or TAGS = '{node}' if a tag is meant"
                yield self._finding("bare-property", "warning", node.span, message, advice)
            case Or() | And() if not is_between(node):
                yield from self._precedence(node)
            case Equal(left=Not()):
                message = f"NOT binds tighter than the comparison: it is read as {node}"
                advice = "write NOT (...) around the whole comparison"
                yield self._finding("not-binds-tight", "warning", node.span, message, advice)
            case Equal(left=Constant(value=bool())):
                message = f"{node.left} at the left of a text throws ClassCastException: this is never true"
                yield self._finding("boolean-left", "warning", node.span, message, f"write {node.right} = {node.left}")
            case Equal(left=Property(name=left), right=Property(name=right)) if left != right:
                message = f"{left} and {right} are two properties, and their values are compared"
                yield self._finding("two-properties", "warning", node.span, message, f"a text is written '{right}'")
            case Comparison() | Equal():
                yield from self._throwing(node)
            case Not(operand=Equal(right=Constant(value=str()))) | In(negated=True):
                yield from self._absent(node)
        for text in _plain_texts(node):
            if _WILDCARD.search(text):
                message = f"{text!r} is compared as it stands: there are no wildcards, and || does not mean or"
                yield self._finding("wildcard", "warning", node.span, message, "name the values with IN ('...', '...')")
            if not text:
                message = "no message has an empty value: the broker leaves such a property out"
                yield self._finding(
                    "empty-text", "warning", node.span, message, "ask for messages without it with IS NULL"
                )

    def _precedence(self, node: Node) -> Iterator[Hint]:
        for operand in node.operands:
            if type(node) is Or and type(operand) is And and not is_between(operand) and not self._bracketed(operand):
                message = f"AND binds tighter than OR: it is read as {node}"
                yield self._finding("or-brackets", "warning", node.span, message, "write the brackets that are meant")
                return

    def _absent(self, node: Not | In) -> Iterator[Hint]:
        names = names_of(node)
        if not names or self._is_noted("absent", names[0]):
            return
        absent = Equal(Property(NOWHERE, names[0]), NULL, 0)
        if any(shape(part) == shape(absent) for part in self._root.walk()):
            return  # q <> 'a' OR q IS NULL: the author has thought of it
        if Search(And(self._root, absent), _EFFORT).find(Can.TRUE).proven:
            message = f"a message without {names[0]} does not pass: the condition is null for it"
        else:
            message = f"for a message without {names[0]} this is null: only another condition can let it pass"
        yield self._finding("absent", "note", node.span, message, f"add OR {names[0]} IS NULL if it should")

    def _throwing(self, node: Comparison | Equal) -> Iterator[Hint]:
        literals = [part.value for part in node.operands if isinstance(part, Constant)]
        numbers = [value for value in literals if isinstance(value, int | float) and not isinstance(value, bool)]
        names = names_of(node)
        if not names or self._is_noted("throws", *names):
            return
        if numbers and isinstance(numbers[0], float):
            message = f"a value of {names[0]} that is no number throws where it is asked for: the message does not pass"
            advice = "put conditions that may decide alone in front of it"
        elif numbers:
            message = f"a value of {names[0]} such as '5.5' or '1e3' throws: it is read as a whole number here"
            advice = f"write {float(numbers[0])!r} to allow fractions" if numbers[0] else "write the bound with a point"
        elif isinstance(node, Comparison):
            both = " and ".join(names)
            message = f"{both} are compared as numbers; a text throws where it is asked for: the message does not pass"
            advice = "order can only be asked of numbers"
        else:
            return
        yield self._finding("throws", "note", node.span, message, advice)

    def _is_noted(self, *what: str) -> bool:
        """Tell whether this was said before; one note for each property is enough."""
        before = what in self._noted
        self._noted.add(what)
        return before

    def _never_or_always(self, node: Node) -> Hint | None:
        if isinstance(node, BooleanCast):
            return None
        if sum(1 for _ in islice(atoms(node), _LARGEST + 1)) > _LARGEST:
            return None
        search = Search(node, _EFFORT)
        passing = search.find(Can.TRUE)
        span = self._with_brackets(node)
        source = self._text[slice(*span)]
        if passing.proven:
            return self._finding("never", "warning", span, f"{source} can never be true", "no message passes it")
        if passing.properties is not None and search.find(NOT_TRUE).proven:
            return self._finding("always", "warning", span, f"{source} is always true", "it filters nothing")
        return None

    def _with_brackets(self, node: Node) -> tuple[int, int]:
        """Where a part stands, with brackets that begin before it or end behind it: `(a OR b) AND c` begins at a."""
        start, end = node.span
        opened = 0
        for bracket in re.findall(r"[()]", _QUOTED.sub("", self._text[start:end])):
            opened += 1 if bracket == "(" else -1
            if opened < 0:
                start, opened = self._text.rindex("(", 0, start), 0
        for _ in range(opened):
            end = self._text.index(")", end) + 1
        return start, end

    def _bracketed(self, node: Node) -> bool:
        return self._text[: node.start].rstrip().endswith("(") and self._text[node.end :].lstrip().startswith(")")

    def _rest_advice(self, image: str) -> str:
        if image == ")":
            return "an opening bracket is missing"
        if image in {"+", "-"}:
            return "there is no arithmetic: send the computed value as a property"
        return "remove the rest, or join it with AND or OR"

    def _finding(self, code: str, severity: str, span: tuple[int, int], message: str, advice: str) -> Hint:
        line, column = position(self._text, span[0]) if self._text else (0, 0)
        return Hint(code, severity, *span, line, column, message, advice)


def _plain_texts(node: Node) -> Iterator[str]:
    if isinstance(node, In):
        yield from node.elements
    elif isinstance(node, Equal) and isinstance(node.right, Constant) and isinstance(node.right.value, str):
        yield node.right.value
