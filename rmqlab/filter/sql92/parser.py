"""The grammar of 4.8.0's `SelectorParser`, without recursion, so that no nesting is too deep for Python.

What is kept exactly: the longest valid prefix is the expression and the rest is never read, save for the one token
that is looked at; when a token is looked at and when an operator is put together, for it decides which error comes
first; and the look-ahead after `+`, which checks the syntax of the whole operand before any of it is put together.

From loose to tight: OR; AND; `=`, `<>`, IS NULL; `>`, `>=`, `<`, `<=`, BETWEEN, IN; and the prefixes +, -, NOT.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple, ParamSpec

from rmqlab.filter.sql92.errors import JavaError, SyntaxFault, stack_overflow_error
from rmqlab.filter.sql92.factories import as_boolean, create_between, create_comparison, create_equal, create_in
from rmqlab.filter.sql92.nodes import (
    NOWHERE,
    NULL_CONSTANT,
    And,
    Constant,
    Equal,
    Negate,
    Node,
    Not,
    Or,
    Property,
    TextTest,
)
from rmqlab.filter.sql92.tokens import (
    IMAGES,
    WORDING,
    Kind,
    Token,
    Tokens,
    escaped,
    position,
    string_value,
    tests_texts,
)
from rmqlab.filter.sql92.values import decimal_literal, float_literal
from rmqlab.language import _
from rmqlab.rules import DEFAULT_VERSION

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from rmqlab.filter.sql92.tokens import Version

# What OpenJDK 17 can read on its default stack of 1 MiB, measured: some 1200 brackets, some 10000 prefixes.
STACK: Final = 10_000
_BRACKET_COST: Final = 8

_TEXT_TESTS = (Kind.CONTAINS, Kind.STARTSWITH, Kind.ENDSWITH)
_ORDER = {Kind.GREATER: ">", Kind.GREATER_EQUAL: ">=", Kind.LESS: "<", Kind.LESS_EQUAL: "<="}
_BRACKET: Final = -1
_ORDERED: Final = 3
_PREFIX: Final = 4
_LEVELS: Mapping[Kind, int] = {
    Kind.OR: 0,
    Kind.AND: 1,
    Kind.EQUAL: 2,
    Kind.NOT_EQUAL: 2,
    Kind.IS: 2,
    **dict.fromkeys(_ORDER, _ORDERED),
    **dict.fromkeys((Kind.NOT, Kind.BETWEEN, Kind.IN, *_TEXT_TESTS), _ORDERED),
}
_OPERAND_STARTS = (
    Kind.NOT,
    Kind.TRUE,
    Kind.FALSE,
    Kind.NULL,
    Kind.DECIMAL,
    Kind.FLOATING,
    Kind.STRING,
    Kind.ID,
    Kind.OPEN,
    Kind.MINUS,
)
_P = ParamSpec("_P")


class Parsed(NamedTuple):
    """The tree and the first token after it, which 4.8.0 looks at and then ignores."""

    root: Node
    rest: Token


_NOTHING: Final = Constant(NOWHERE, None)  # stands for every node while only the syntax is looked at


class _Pending(NamedTuple):
    """An operator or bracket that waits for what is being read.

    `left` is what stands before the operator, `low` the lower bound of BETWEEN once it is read.
    """

    kind: Kind
    level: int
    token: Token
    left: Node = _NOTHING
    low: Node | None = None
    negated: bool = False


def parse(expression: str, version: Version = DEFAULT_VERSION) -> Parsed:
    """Parse the longest valid prefix of `expression`.

    Raises:
        JavaError: that 4.8.0's parser throws.
    """
    tokens = Tokens(expression, version)
    parser = _Parser(tokens, version)
    root = parser.read_expression()
    return Parsed(_at(tokens[0], as_boolean, root), tokens[parser.index])


class _Parser:
    """Reads from token `index` on. With `builds` off it only looks at the syntax, and every node is `_NOTHING`."""

    def __init__(self, tokens: Tokens, version: Version, index: int = 0, *, builds: bool = True) -> None:
        self._tokens = tokens
        self._version = version
        self.index = index
        self._builds = builds
        self._stack: list[_Pending] = []
        self._used = 0
        self._checked = 0
        self._ended = False

    def read_expression(self) -> Node:
        """Read as much as is one expression and return its tree."""
        while True:
            node = self._operand()
            while node is not None:
                node = self._finish_operand(node)
                if node is not None:
                    node = self._operators(node)
                if node is not None and self._ended:
                    return node

    def skip_operand(self, used: int) -> None:
        """Read one operand with its prefixes, `used` of the stack being taken.

        Raises:
            SyntaxFault: wrong syntax.
        """
        self._used = used
        while True:
            node = self._operand()
            while node is not None:
                node = self._finish_operand(node)
                if node is not None:
                    if not self._stack:
                        return
                    node = self._operators(node)

    def _operand(self) -> Node | None:
        """Read prefixes and a value; None after an opening bracket, for then another operand follows."""
        while True:
            token = self._tokens[self.index]
            match token.kind:
                case Kind.PLUS:
                    self._look_past_plus()
                    self._push(_Pending(token.kind, _PREFIX, token))
                case Kind.MINUS | Kind.NOT:
                    self._push(_Pending(token.kind, _PREFIX, token))
                case Kind.OPEN:
                    self._push(_Pending(token.kind, _BRACKET, token), _BRACKET_COST)
                    return None
                case Kind.ID | Kind.TRUE | Kind.FALSE | Kind.NULL | Kind.DECIMAL | Kind.FLOATING | Kind.STRING:
                    self.index += 1
                    return _at(token, _value, token) if self._builds else _NOTHING
                case _:
                    raise self._fault(_OPERAND_STARTS)

    def _push(self, pending: _Pending, cost: int = 1) -> None:
        self.index += 1
        self._stack.append(pending)
        self._used += cost
        if self._used > STACK:
            raise stack_overflow_error()

    def _look_past_plus(self) -> None:
        """Check the syntax of the operand after `+`; every `+` within an operand once checked is right as well."""
        if not self._builds or self.index < self._checked:
            return
        ahead = _Parser(self._tokens, self._version, self.index + 1, builds=False)
        try:
            ahead.skip_operand(self._used + 1)
        except SyntaxFault as fault:
            if fault.java_name == "TokenMgrError":
                raise
            # JavaCC blames the plus; a person wants to know what is wrong behind it.
            blamed = self._fault(_OPERAND_STARTS)
            blamed.offset, blamed.read, blamed.expected = fault.offset, fault.read, fault.expected
            raise blamed from fault
        self._checked = ahead.index

    def _finish_operand(self, node: Node) -> Node | None:
        """Apply prefixes and comparisons that wait, before any further token is looked at.

        None when BETWEEN has got its lower bound and waits for the upper one.
        """
        while self._stack and self._stack[-1].level >= _ORDERED:
            top = self._stack.pop()
            if top.kind is Kind.BETWEEN and top.low is None:
                self._take(Kind.AND)
                self._stack.append(top._replace(low=node))
                return None
            if top.level == _PREFIX:
                self._used -= 1
            node = self._join(top, node)
        return node

    def _operators(self, node: Node) -> Node | None:
        """Go on after a complete operand: None if another must follow, else the node of a bracket or of everything."""
        tightest = _ORDERED
        while True:
            token = self._tokens[self.index]
            level = _LEVELS.get(token.kind, _BRACKET)
            if level > tightest:
                level = _BRACKET
            while self._stack and self._stack[-1].level >= max(level, 0):
                node = self._join(self._stack.pop(), node)
            if level == _BRACKET:
                return self._close(node, tightest)
            self.index += 1
            negated = token.kind is Kind.NOT
            kind = self._kind_after_not() if negated else token.kind
            if kind is Kind.IS:
                node = self._is_null(node)
                # Only an equality or a connective may follow: `a IS NULL > 5` ends before the `>`.
                tightest = level
            elif kind is Kind.IN:
                node = self._in(token, node, negated=negated)
            elif kind in _TEXT_TESTS:
                node = self._text_test(kind, node, negated=negated)
            else:
                self._stack.append(_Pending(kind, level, token, node, negated=negated))
                return None

    def _close(self, node: Node, tightest: int) -> Node:
        """Close the bracket that waits; without one this is the end."""
        if not self._stack:
            self._ended = True
            return node
        if self._tokens[self.index].kind is not Kind.CLOSE:
            raise self._fault((*(kind for kind, level in self._levels() if level <= tightest), Kind.CLOSE))
        self.index += 1
        self._stack.pop()
        self._used -= _BRACKET_COST
        return node

    def _kind_after_not(self) -> Kind:
        kind = self._tokens[self.index].kind
        if kind not in {Kind.BETWEEN, Kind.IN, *_TEXT_TESTS}:
            self.index -= 1
            raise self._fault(tuple(k for k, level in self._levels() if level == _ORDERED and k is not Kind.NOT))
        self.index += 1
        return kind

    def _is_null(self, node: Node) -> Node:
        negated = self._tokens[self.index].kind is Kind.NOT
        if not negated and self._tokens[self.index].kind is not Kind.NULL:
            raise self._fault((Kind.NOT,))
        self.index += negated
        null = self._take(Kind.NULL)
        if not self._builds:
            return _NOTHING
        is_null = Equal(node, NULL_CONSTANT, null.end)
        return Not(is_null.span, is_null) if negated else is_null

    def _in(self, operator: Token, node: Node, *, negated: bool) -> Node:
        self._take(Kind.OPEN)
        elements = [string_value(self._take(Kind.STRING).image)]
        while self._tokens[self.index].kind is Kind.COMMA:
            self.index += 1
            elements.append(string_value(self._take(Kind.STRING).image))
        end = self._take(Kind.CLOSE, Kind.COMMA).end
        if not self._builds:
            return _NOTHING
        return _at(operator, create_in, node, elements, end, negated)

    def _text_test(self, kind: Kind, node: Node, *, negated: bool) -> Node:
        text = self._take(Kind.STRING)
        if not self._builds:
            return _NOTHING
        return TextTest(kind.name, node, string_value(text.image), text.end, negated=negated)

    def _join(self, pending: _Pending, node: Node) -> Node:
        return _at(pending.token, _joined, pending, node) if self._builds else _NOTHING

    def _take(self, kind: Kind, *also: Kind) -> Token:
        """Take a token that must be `kind`; `also` could have stood there too, and stands in the fault."""
        token = self._tokens[self.index]
        if token.kind is not kind:
            raise self._fault((kind, *also))
        self.index += 1
        return token

    def _levels(self) -> list[tuple[Kind, int]]:
        old = not tests_texts(self._version)
        return [(kind, level) for kind, level in _LEVELS.items() if not (old and kind in _TEXT_TESTS)]

    def _fault(self, expected: Sequence[Kind]) -> SyntaxFault:
        """The `ParseException` for the token at `index`, in JavaCC's words."""
        token = self._tokens[self.index]
        line, column = position(self._tokens.text, token.start)
        encountered = IMAGES[token.kind]
        if token.kind is not Kind.EOF:
            encountered = f' {encountered} "{escaped(token.image)} "'
        images = [IMAGES[kind] for kind in sorted(expected)]
        text = (
            f'Encountered "{encountered}" at line {line}, column {column}.\n'
            f"Was expecting{' one of' if len(images) > 1 else ''}:\n    "
            + "".join(f"{image} ...\n    " for image in images)
        )
        read = _("the end of the expression") if token.kind is Kind.EOF else token.image
        # JavaCC forgets the plus because of its look-ahead.
        possible = [*sorted(expected), Kind.PLUS] if expected is _OPERAND_STARTS else sorted(expected)
        words = dict.fromkeys(WORDING[kind] for kind in possible)
        return SyntaxFault("ParseException", text, token.start, read, tuple(words))


def _at(token: Token, function: Callable[_P, Node], *arguments: _P.args, **options: _P.kwargs) -> Node:
    """Call `function`; an error it throws is given the place of `token`."""
    try:
        return function(*arguments, **options)
    except JavaError as error:
        if error.offset is None:
            error.offset = token.start
        raise


def _value(token: Token) -> Node:
    span = token.start, token.end
    match token.kind:
        case Kind.ID:
            return Property(span, token.image)
        case Kind.STRING:
            return Constant(span, string_value(token.image))
        case Kind.DECIMAL:
            return Constant(span, decimal_literal(token.image))
        case Kind.FLOATING:
            return Constant(span, float_literal(token.image))
    return Constant(span, {Kind.TRUE: True, Kind.FALSE: False}.get(token.kind))


def _joined(pending: _Pending, node: Node) -> Node:
    """Put an operator that waited together with its last operand."""
    left, span = pending.left, (pending.token.start, node.end)
    match pending.kind:
        case Kind.PLUS:
            return node
        case Kind.MINUS:
            return Negate(span, node)
        case Kind.NOT:
            return Not(span, as_boolean(node))
        case Kind.BETWEEN:
            return create_between(left, pending.low or _NOTHING, node, negated=pending.negated)
        case Kind.OR:
            return Or(as_boolean(left), as_boolean(node))
        case Kind.AND:
            return And(as_boolean(left), as_boolean(node))
        case Kind.EQUAL:
            return create_equal(left, node)
        case Kind.NOT_EQUAL:
            equal = create_equal(left, node)
            return Not(equal.span, equal)
    return create_comparison(_ORDER[pending.kind], left, node)
