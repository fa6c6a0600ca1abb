"""The tree of a compiled expression. Nodes say what they are; `evaluation` says what they are worth.

Source of kinds and printed forms: 4.8.0's `expression` package (`Expression.toString`), 5.3.3's for the text tests.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rmqlab.filter.sql92.values import java_text
from rmqlab.message.java import hash_map_order

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rmqlab.filter.sql92.values import Value

_HASH_SET_FROM = 5  # an IN list of this many elements is kept in a HashSet


class Node:
    """One operation.

    `start`, `end`: the text it was read from (UTF-16 units). `symbol`: the operator as 4.8.0 prints it. `operands`:
    the nodes it works on. `is_boolean`: whether Java's class is a `BooleanExpression`, fit for AND, OR and NOT.
    """

    __slots__ = ("end", "is_boolean", "operands", "start", "symbol")

    def __init__(self, span: tuple[int, int], symbol: str, *operands: Node, is_boolean: bool) -> None:
        self.start, self.end = span
        self.symbol = symbol
        self.operands = operands
        self.is_boolean = is_boolean

    @property
    def span(self) -> tuple[int, int]:
        """Where it was read from."""
        return self.start, self.end

    def parts(self) -> tuple[str | Node, ...]:
        """The printed form: texts, and the nodes to print in between."""
        return (self.symbol,)

    def __str__(self) -> str:
        """Print as 4.8.0's `toString`, however deep."""
        printed: list[str] = []
        waiting: list[str | Node] = [self]
        while waiting:
            part = waiting.pop()
            if isinstance(part, str):
                printed.append(part)
            else:
                waiting.extend(reversed(part.parts()))
        return "".join(printed)

    def walk(self) -> Iterator[Node]:
        """This node and all below it, operands after their operator, left before right."""
        waiting: list[Node] = [self]
        while waiting:
            node = waiting.pop()
            yield node
            waiting.extend(reversed(node.operands))


class Property(Node):
    """A message property, by its exact name."""

    __slots__ = ()

    def __init__(self, span: tuple[int, int], name: str) -> None:
        super().__init__(span, name, is_boolean=False)

    @property
    def name(self) -> str:
        """The name as written."""
        return self.symbol


class Constant(Node):
    """A literal. TRUE, FALSE and NULL are boolean expressions too (`BooleanConstantExpression`)."""

    __slots__ = ("value",)

    def __init__(self, span: tuple[int, int], value: Value) -> None:
        is_boolean = value is None or isinstance(value, bool)
        text = "'" + value.replace("'", "''") + "'" if isinstance(value, str) else java_text(value)
        super().__init__(span, text.upper() if is_boolean else text, is_boolean=is_boolean)
        self.value = value


class _Binary(Node):
    __slots__ = ()

    def __init__(self, symbol: str, left: Node, right: Node, end: int | None = None) -> None:
        super().__init__((left.start, right.end if end is None else end), symbol, left, right, is_boolean=True)

    @property
    def left(self) -> Node:
        """Left operand."""
        return self.operands[0]

    @property
    def right(self) -> Node:
        """Right operand."""
        return self.operands[1]

    def parts(self) -> tuple[str | Node, ...]:
        """Left, operator, right."""
        return ("(", self.left, f" {self.symbol} ", self.right, ")")


class Comparison(_Binary):
    """`>`, `>=`, `<` or `<=`."""

    __slots__ = ()


class Equal(_Binary):
    """`=`; `IS NULL` is the same with the constant NULL at the right."""

    __slots__ = ()

    def __init__(self, left: Node, right: Node, end: int | None = None) -> None:
        super().__init__("==", left, right, end)


class And(_Binary):
    """Three-valued AND; made by BETWEEN too."""

    __slots__ = ()

    def __init__(self, left: Node, right: Node) -> None:
        super().__init__("&&", left, right)


class Or(_Binary):
    """Three-valued OR; made by NOT BETWEEN too."""

    __slots__ = ()

    def __init__(self, left: Node, right: Node) -> None:
        super().__init__("||", left, right)


class _Unary(Node):
    __slots__ = ()

    @property
    def operand(self) -> Node:
        """The only operand."""
        return self.operands[0]

    def parts(self) -> tuple[str | Node, ...]:
        """Operator, operand."""
        return (f"({self.symbol} ", self.operand, ")")


def chain(node: And | Or) -> list[Node]:
    """The terms of `a OR b OR c`, which leans to the left, from left to right."""
    terms: list[Node] = []
    current: Node = node
    while type(current) is type(node):
        terms.append(current.operands[1])
        current = current.operands[0]
    return [current, *reversed(terms)]


def is_between(node: Node) -> bool:
    """Whether an AND or OR was written as BETWEEN or NOT BETWEEN: both sides ask about the same operand."""
    if not isinstance(node, And | Or):
        return False
    left, right = node.operands
    return isinstance(left, Comparison) and isinstance(right, Comparison) and left.left is right.left


class Not(_Unary):
    """Three-valued NOT."""

    __slots__ = ()

    def __init__(self, span: tuple[int, int], operand: Node) -> None:
        super().__init__(span, "NOT", operand, is_boolean=True)


class Negate(_Unary):
    """A minus before a value; a text has no negative (its value is null)."""

    __slots__ = ()

    def __init__(self, span: tuple[int, int], operand: Node) -> None:
        super().__init__(span, "-", operand, is_boolean=False)


class BooleanCast(_Unary):
    """A property where a condition is needed: false when it is there, for its value is a text; null when absent."""

    __slots__ = ()

    def __init__(self, operand: Property) -> None:
        super().__init__(operand.span, "", operand, is_boolean=True)

    def parts(self) -> tuple[str | Node, ...]:
        """The operand alone."""
        return (self.operand,)


class In(_Unary):
    """`IN` or, `negated`, `NOT IN`: the property against texts. `elements` as written, duplicates included."""

    __slots__ = ("elements", "members", "negated")

    def __init__(self, operand: Property, elements: list[str], end: int, *, negated: bool) -> None:
        super().__init__((operand.start, end), "NOT IN" if negated else "IN", operand, is_boolean=True)
        self.elements = elements
        self.members = frozenset(elements)
        self.negated = negated

    @property
    def in_hash_set(self) -> bool:
        """Whether 4.8.0 keeps the elements in a HashSet: without duplicates, in its own order."""
        return len(self.elements) >= _HASH_SET_FROM

    def parts(self) -> tuple[str | Node, ...]:
        """Property, operator, elements without their quotes."""
        return (self.operand, f" {self.symbol} ( {', '.join(self._listed())} )")

    def _listed(self) -> list[str]:
        if not self.in_hash_set:
            return self.elements
        capacity = max(int(len(self.elements) / 0.75) + 1, 16)
        return list(map(str, hash_map_order(self.elements, 1 << (capacity - 1).bit_length())))


class TextTest(_Unary):
    """5.3.3's `CONTAINS`, `STARTSWITH`, `ENDSWITH`, each also `negated`: never null, false without a text."""

    __slots__ = ("negated", "operator", "search")

    def __init__(self, operator: str, operand: Node, search: str, end: int, *, negated: bool) -> None:
        symbol = f"NOT {operator}" if negated else operator
        super().__init__((operand.start, end), symbol, operand, is_boolean=True)
        self.operator = operator
        self.search = search
        self.negated = negated


NOWHERE: Final = (0, 0)
NULL_CONSTANT: Final = Constant(NOWHERE, None)


def shape(root: Node) -> tuple[object, ...]:
    """What two trees have in common when they are the same: the printed form is not enough (`IN ('a, b')`)."""
    return tuple((type(node), node.symbol, len(node.operands), _own(node)) for node in root.walk())


def _own(node: Node) -> object:
    match node:
        case Constant():
            return type(node.value), node.value
        case In():
            return node.members
        case TextTest():
            return node.search
    return None
