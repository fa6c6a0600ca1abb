"""What 4.8.0 accepts in silence although the author cannot have meant it: conditions, names, the text after them."""

from __future__ import annotations

import re
from itertools import islice
from typing import TYPE_CHECKING, Final

from rmqlab.filter.sql92.compiler import compile_sql92
from rmqlab.filter.sql92.errors import MQFilterException, shown
from rmqlab.filter.sql92.nodes import (
    NOWHERE,
    NULL_CONSTANT,
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
)
from rmqlab.filter.sql92.tokens import KEYWORDS, Kind, Tokens, as_units, position, tests_texts
from rmqlab.language import _, joined
from rmqlab_tools.search.expressions.hints import Hint
from rmqlab_tools.search.expressions.repair.characters import hidden_in
from rmqlab_tools.search.expressions.repair.functions import no_time
from rmqlab_tools.search.expressions.repair.repair import quoted_names_of, repair
from rmqlab_tools.search.expressions.satisfiability import NOT_TRUE, Can, Search, conditions, names_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rmqlab.filter.sql92.compiler import CompiledSql92

LONGEST_EXAMINED: Final = 20_000
"""Characters of an expression whose conditions are examined; the broker itself takes longer ones."""
_MAX_CONDITIONS = 40  # parts that are searched for never and always
_LARGEST = 1_000  # nodes in a part that is searched
_EFFORT = 20_000
_RESERVED = ("TAGS", "KEYS")
_NEARLY_RESERVED = {"TAG": "TAGS", "KEY": "KEYS"}
_STATEMENT = {"SELECT", "WHERE", "CASE"}
_WILDCARD = re.compile(r"[%*?]|\|\|")
_SWITCH = _(
    "the broker needs enablePropertyFilter=true (default false); without it the consumer's start fails with code 1"
)


class Findings:
    """Finds it in one expression."""

    def __init__(self, compiled: CompiledSql92) -> None:
        self._compiled = compiled
        self._text = as_units(compiled.text)
        self._root = compiled.root
        self._noted: set[tuple[str, ...]] = set()
        self._brackets = [] if self.is_long else _brackets_of(compiled)
        self._repair = repair(compiled.text, compiled.version) if compiled.ignored else None

    @property
    def is_long(self) -> bool:
        """Whether it has more text than is examined."""
        return len(self._text) > LONGEST_EXAMINED

    def length(self) -> Iterator[Hint]:
        """That it is too long to be examined."""
        message = _(
            "the expression has {length} characters; of more than {longest} the conditions are not examined",
            length=len(self._text),
            longest=LONGEST_EXAMINED,
        )
        yield self._finding("not-examined", "note", self._root.span, message, _("split it, or use IN"))

    def rest(self) -> Iterator[Hint]:
        """The text after the longest valid prefix."""
        token = self._compiled.rest
        if token.kind is Kind.EOF:
            return
        before = self._text[: token.start].rstrip()
        word = token.image.upper()
        advice: str
        read = repr(_cut(self._text[: token.start].strip()))
        if token.kind in {Kind.DECIMAL, Kind.FLOATING} and before.endswith("0") and before == self._text[: token.start]:
            ignored = repr(_cut(self._text[token.start :]))
            message = _("a number may not begin with 0: only the 0 is read, and {ignored} is ignored", ignored=ignored)
            advice = _("leave out the leading zeros")
        elif word in {"LIKE", "CONTAINS", "STARTSWITH", "ENDSWITH"}:
            values = {"word": word, "version": self._compiled.version, "read": read}
            message = _("{word} is no operator of {version}: only {read} is read", **values)
            if Search(self._root, _EFFORT).find(Can.TRUE).proven:
                message = _("{what}, and that never matches", what=message)
            advice = self._rest_advice(token.image)
        elif self._text.startswith("--", token.start):
            message = _("a comment must end with a line break: this one is read as two minus signs")
            advice = _("end the line")
        else:
            message = _("only {read} is read; the rest is ignored in silence", read=read)
            advice = self._rest_advice(token.image)
        write = None if self._repair is None else self._repair.write
        yield self._finding("ignored-text", "warning", (token.start, len(self._text)), message, advice, write)

    def conditions(self) -> Iterator[Hint]:
        """Conditions that throw, never or always hold, or bind otherwise than they look."""
        reported: list[Node] = []
        for number, node in enumerate(conditions(self._root)):
            yield from self._shape(node)
            if number < _MAX_CONDITIONS and not any(node in part.walk() for part in reported):
                hint = self._never_or_always(node)
                if hint:
                    reported.append(node)
                    yield hint

    def depth(self) -> Iterator[Hint]:
        """A tree that the broker cannot evaluate."""
        if self._compiled.too_deep:
            message = _("evaluating it overflows the broker's stack: no message passes")
            yield self._finding("too-deep", "warning", self._root.span, message, _("split it, or use IN"))

    def names(self) -> Iterator[Hint]:
        """Properties that differ only in case from each other or from RocketMQ's own, and texts that are none."""
        alike: dict[str, list[str]] = {}
        for name in names_of(self._root):
            alike.setdefault(name.lower(), []).append(name)
        for node in {part.name: part for part in self._root.walk() if isinstance(part, Property)}.values():
            for reserved in _RESERVED:
                if node.name.upper() == reserved and node.name != reserved:
                    values = {"name": node.name, "reserved": reserved}
                    message = _("names are case-sensitive: {name} is not the message's {reserved}", **values)
                    yield self._finding("name-case", "warning", node.span, message, _("write {right}", right=reserved))
            near = _NEARLY_RESERVED.get(node.name.upper())
            if near is not None:
                message = _(
                    "{name} is a property of its own, not the message's {reserved}", name=node.name, reserved=near
                )
                advice = _("write {right} if that is meant", right=near)
                yield self._finding("nearly-reserved", "note", node.span, message, advice)
            others = [name for name in alike[node.name.lower()] if name != node.name]
            if others and others[0] < node.name:
                message = _("{first} and {second} are two different properties", first=others[0], second=node.name)
                yield self._finding("name-case", "warning", node.span, message, _("write both in the same case"))
            time = no_time(node.name)
            if time is not None:
                message = _("{name} is read as a property of the message", name=node.name)
                yield self._finding("no-function", "warning", node.span, message, time)

    def upgrade(self) -> Iterator[Hint]:
        """What 5.3.3 makes of the same text, when that is something else."""
        if tests_texts(self._compiled.version):
            return
        try:
            other = str(compile_sql92(self._text, next(filter(tests_texts, KEYWORDS))))
        except MQFilterException:
            message = _("5.3.3 refuses it: CONTAINS, STARTSWITH and ENDSWITH are reserved there")
        else:
            if other == str(self._compiled):
                return
            message = _("5.3.3 reads it as {other}", other=_cut(other))
        advice = _("mind it when the broker is upgraded")
        yield self._finding("upgrade", "note", self._root.span, message, advice)

    def switch(self) -> Iterator[Hint]:
        """The setting without which no SQL92 filter works."""
        yield self._finding("switch", "note", (0, 0), _SWITCH, _("ask the broker's settings: getBrokerConfig"))

    def _shape(self, node: Node) -> Iterator[Hint]:
        match node:
            case BooleanCast():
                yield from self._bare(node)
            case Or() | And() if not is_between(node):
                yield from self._precedence(node)
            case Equal(left=Not()):
                message = _("NOT binds tighter than the comparison: it is read as {node}", node=node)
                advice = _("write NOT (...) around the whole comparison")
                yield self._finding("not-binds-tight", "warning", node.span, message, advice, self._rewritten(node))
            case Equal(left=Constant(value=bool())):
                message = _(
                    "{value} at the left of a text throws ClassCastException: this is never true", value=node.left
                )
                right = f"{node.right} = {node.left}"
                advice = _("write {right}", right=right)
                yield self._finding("boolean-left", "warning", node.span, message, advice, self._with(node, right))
            case Equal(left=Property(name=left), right=Property(name=right)) if left != right:
                message = _(
                    "{first} and {second} are two properties, and their values are compared", first=left, second=right
                )
                advice = _("a text is written {text}", text=repr(right))
                yield self._finding("two-properties", "warning", node.span, message, advice)
            case Equal(left=Constant(value=str())) if quoted_names_of(self._source(node.span)):
                text = self._source(node.left.span)
                message = _("{text} is a text and no property", text=text)
                advice = _("names of properties stand without quotes: {names}", names=text[1:-1])
                yield self._finding("quoted-name", "warning", node.span, message, advice, self._rewritten(node))
            case Comparison() | Equal():
                yield from self._throwing(node)
            case Not(operand=Equal(right=Constant(value=str()))) | In(negated=True):
                yield from self._absent(node)
        yield from self._texts(node)

    def _bare(self, node: BooleanCast) -> Iterator[Hint]:
        last = node.end == len(self._text[: self._end].rstrip())
        if last and (self._compiled.rest.image == "(" or str(node).upper() in _STATEMENT):
            return  # a function or a statement, which the text behind it tells
        message = _("{node} alone is no condition: a property's value is a text, so this is false or null", node=node)
        advice = _("write {right}", right=f"{node} = TRUE")
        if node is self._root and not self._compiled.ignored:
            values = {"first": f"{node} = TRUE", "second": f"TAGS = '{node}'"}
            advice = _("write {first}, or {second} if a tag is meant", **values)
        yield self._finding("bare-property", "warning", node.span, message, advice)

    def _texts(self, node: Node) -> Iterator[Hint]:
        for text in _plain_texts(node):
            if _WILDCARD.search(text):
                message = _(
                    "{text} is compared as it stands: there are no wildcards, and || does not mean or", text=repr(text)
                )
                advice = _("name the values with IN ('...', '...')")
                yield self._finding("wildcard", "warning", node.span, message, advice, self._as_list(node, text))
            if not text:
                message = _("no message has an empty value: the broker leaves such a property out")
                advice = _("ask for messages without it with IS NULL")
                yield self._finding("empty-text", "warning", node.span, message, advice)
            hidden = hidden_in(text)
            if hidden:
                names = " ".join(shown(character) for character in hidden)
                message = _("a text has characters in it that nobody sees: {names}", names=names)
                yield self._finding("hidden-characters", "warning", node.span, message, _("retype the text"))
            elif text != text.strip(" "):
                message = _("{text} begins or ends with a blank, and is compared as it stands", text=repr(text))
                yield self._finding("outer-blank", "warning", node.span, message, _("leave the blank out"))

    def _as_list(self, node: Node, text: str) -> str | None:
        """`TAGS = 'a || b'` with the values named one by one."""
        values = [value.strip() for value in text.split("||")]
        if not isinstance(node, Equal) or not isinstance(node.left, Property) or len(values) < 2:
            return None
        if not all(values) or _WILDCARD.search("".join(values)):
            return None
        return self._with(node, f"{node.left} IN ({', '.join(map(repr, values))})")

    def _precedence(self, node: Or | And) -> Iterator[Hint]:
        for operand in node.operands:
            if type(node) is Or and type(operand) is And and not is_between(operand) and not self._bracketed(operand):
                message = _("AND binds tighter than OR: it is read as {node}", node=_cut(str(node)))
                start, end = self._with_brackets(operand)
                write = f"{self._text[:start]}({self._source((start, end))}){self._text[end : self._end]}"
                other = self._other_reading(node, operand)
                advice = _("write the brackets that are meant")
                if other is not None:
                    advice = _("write the brackets that are meant; the other way round: {other}", other=_cut(other))
                yield self._finding("or-brackets", "warning", node.span, message, advice, self._checked(write))
                return

    def _other_reading(self, either: Or, both: And) -> str | None:
        """`a AND (b OR c)` for `a AND b OR c`; None where OR stands first."""
        if either.left is not both:
            return None
        start, end = self._with_brackets(both.right)[0], self._with_brackets(either.right)[1]
        return self._checked(f"{self._text[:start]}({self._source((start, end))}){self._text[end : self._end]}")

    def _absent(self, node: Not | In) -> Iterator[Hint]:
        names = names_of(node)
        if not names or self._is_noted("absent", names[0]):
            return
        if any(_asks_for_absence(part, names[0]) for part in self._root.walk()):
            return  # q <> 'a' OR q IS NULL: the author has thought of it
        absent = Equal(Property(NOWHERE, names[0]), NULL_CONSTANT, 0)
        if Search(And(self._root, absent), _EFFORT).find(Can.TRUE).proven:
            message = _("a message without {name} does not pass: the condition is null for it", name=names[0])
        else:
            message = _(
                "for a message without {name} this is null: only another condition can let it pass", name=names[0]
            )
        advice = _("add OR {name} IS NULL if it should", name=names[0])
        yield self._finding("absent", "note", node.span, message, advice)

    def _throwing(self, node: Comparison | Equal) -> Iterator[Hint]:
        literals = [part.value for part in node.operands if isinstance(part, Constant)]
        numbers = [value for value in literals if isinstance(value, int | float) and not isinstance(value, bool)]
        names = names_of(node)
        if not names or self._is_noted("throws", *names):
            return
        if numbers and isinstance(numbers[0], float):
            message = _(
                "a value of {name} that is no number throws where it is asked for: the message does not pass",
                name=names[0],
            )
            advice = _("put conditions that may decide alone in front of it")
        elif numbers:
            message = _(
                "a value of {name} such as '5.5' or '1e3' throws: it is read as a whole number here", name=names[0]
            )
            advice = _("write the bound with a point")
            if numbers[0]:
                advice = _("write {number} to allow fractions", number=repr(float(numbers[0])))
        elif isinstance(node, Comparison):
            both = joined(" and ", names)
            message = _(
                "{names} are compared as numbers; a text throws where it is asked for: the message does not pass",
                names=both,
            )
            advice = _("order can only be asked of numbers")
        else:
            return
        yield self._finding("throws", "note", node.span, message, advice)

    def _is_noted(self, *what: str) -> bool:
        """Whether this was said before; one note for each property is enough."""
        before = what in self._noted
        self._noted.add(what)
        return before

    def _never_or_always(self, node: Node) -> Hint | None:
        if isinstance(node, BooleanCast):
            return None
        if sum(1 for _part in islice(node.walk(), _LARGEST + 1)) > _LARGEST:
            return None
        search = Search(node, _EFFORT)
        passing = search.find(Can.TRUE)
        span = self._with_brackets(node)
        source = _cut(self._source(span))
        if passing.proven:
            message = _("{source} can never be true", source=source)
            return self._finding("never", "warning", span, message, _("no message passes it"))
        if passing.properties is not None and search.find(NOT_TRUE).proven:
            message = _("{source} is always true", source=source)
            return self._finding("always", "warning", span, message, _("it filters nothing"))
        return None

    @property
    def _end(self) -> int:
        """Where the text ends that is read."""
        return self._compiled.rest.start

    def _source(self, span: tuple[int, int]) -> str:
        return self._text[slice(*span)]

    def _with_brackets(self, node: Node) -> tuple[int, int]:
        """Where a part stands, with brackets that begin before it or end after it: `(a OR b) AND c` begins at a."""
        start, end = node.span
        for opened, closed in self._brackets:  # inner ones first
            if opened < start < closed < end:
                start = opened
            elif start <= opened < end <= closed:
                end = closed + 1
        return start, end

    def _bracketed(self, node: Node) -> bool:
        """Whether brackets stand around the whole of a part and nothing else."""
        start, end = self._with_brackets(node)
        return any(
            opened < start and closed >= end and not self._text[opened + 1 : start].strip("( \t\r\n\f")
            and not self._text[end:closed].strip(") \t\r\n\f")
            for opened, closed in self._brackets
        )  # fmt: skip

    def _with(self, node: Node, text: str) -> str | None:
        """The expression with another text in the place of a part."""
        start, end = node.span
        return self._checked(f"{self._text[:start]}{text}{self._text[end : self._end]}")

    def _rewritten(self, node: Node) -> str | None:
        """The expression with a part as it is probably meant."""
        write = repair(self._source(node.span), self._compiled.version).write
        return None if write is None else self._with(node, write)

    def _checked(self, text: str) -> str | None:
        """A text that is suggested: nothing of it is ignored."""
        text = text.strip().encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
        try:
            return None if compile_sql92(text, self._compiled.version).ignored else text
        except MQFilterException:
            return None

    def _rest_advice(self, image: str) -> str:
        if self._repair is not None and self._repair.reasons:
            return joined("; ", self._repair.reasons)
        if image == ")":
            return _("an opening bracket is missing")
        if image in {"+", "-"}:
            return _("there is no arithmetic: send the computed value as a property")
        return _("remove the rest, or join it with AND or OR")

    def _finding(
        self, code: str, severity: str, span: tuple[int, int], message: str, advice: str, write: str | None = None
    ) -> Hint:
        line, column = position(self._text, span[0]) if self._text else (0, 0)
        return Hint(code, severity, *span, line, column, message, advice, write)


def _brackets_of(compiled: CompiledSql92) -> list[tuple[int, int]]:
    """Where the brackets of the part that is read open and close, inner ones before outer ones."""
    tokens, opened, pairs, index = Tokens(compiled.text, compiled.version), [], [], 0
    while tokens[index].start < compiled.rest.start:
        token = tokens[index]
        if token.kind is Kind.OPEN:
            opened.append(token.start)
        elif token.kind is Kind.CLOSE and opened:
            pairs.append((opened.pop(), token.start))
        index += 1
    return pairs


def _asks_for_absence(node: Node, name: str) -> bool:
    """Whether a condition is `name IS NULL`."""
    return (
        isinstance(node, Equal)
        and node.right is NULL_CONSTANT
        and isinstance(node.left, Property)
        and node.left.name == name
    )


def _cut(text: str) -> str:
    """A text that fits into a sentence."""
    return text if len(text) <= 300 else f"{text[:300]}..."


def _plain_texts(node: Node) -> Iterator[str]:
    if isinstance(node, In):
        yield from node.elements
    elif isinstance(node, Equal) and isinstance(node.right, Constant) and isinstance(node.right.value, str):
        yield node.right.value
