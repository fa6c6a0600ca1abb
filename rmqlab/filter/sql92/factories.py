"""How operators are put together, and what 4.8.0 refuses while doing so (the `create…` methods of its expressions).

Every check raises a `JavaError` with 4.8.0's class and text, in 4.8.0's order.
"""

from __future__ import annotations

from rmqlab.filter.sql92.errors import PARSER_PACKAGE, JavaError, runtime_error
from rmqlab.filter.sql92.nodes import (
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
)
from rmqlab.filter.sql92.values import compare, java_text


def as_boolean(node: Node) -> Node:
    """Give `node` as a condition: a property is cast; a value that is none raises a `ParseException`."""
    if node.is_boolean:
        return node
    if isinstance(node, Property):
        return BooleanCast(node)
    raise JavaError(f"{PARSER_PACKAGE}ParseException", f"Expression will not result in a boolean value: {node}")


def create_or(left: Node, right: Node) -> Node:
    """Join two conditions by OR."""
    return Or(as_boolean(left), as_boolean(right))


def create_and(left: Node, right: Node) -> Node:
    """Join two conditions by AND."""
    return And(as_boolean(left), as_boolean(right))


def create_comparison(operator: str, left: Node, right: Node) -> Node:
    """Compare by order: refused for literals that are no numbers and for conditions."""
    _check_ordered(left)
    _check_ordered(right)
    return Comparison(operator, left, right)


def create_equal(left: Node, right: Node) -> Node:
    """Compare by equality: refused for NULL, and for TRUE or FALSE before a literal of another kind."""
    for node in (left, right):
        if isinstance(node, Constant) and node.value is None:
            raise runtime_error(f"'{node}' cannot be compared.")
    both = isinstance(left, Constant) and isinstance(right, Constant)
    if both and left.is_boolean and not right.is_boolean:
        raise runtime_error(f"'{left}' cannot be compared with '{right}'")
    return Equal(left, right)


def create_not_equal(left: Node, right: Node) -> Node:
    """Negate an equality."""
    equal = create_equal(left, right)
    return Not(equal.span, equal)


def create_is_null(node: Node, end: int) -> Node:
    """Ask for absence; anything may stand before it."""
    return Equal(node, NULL, end)


def create_is_not_null(node: Node, end: int) -> Node:
    """Ask for presence."""
    return Not((node.start, end), create_is_null(node, end))


def create_between(value: Node, low: Node, high: Node) -> Node:
    """Join `>=` and `<=`; two literals must be in order, and neither may be NULL."""
    if isinstance(low, Constant) and isinstance(high, Constant):
        if low.value is None or high.value is None:
            raise runtime_error("Illegal values of between, values can not be null!")
        if compare(high.value, low.value) < 0:
            raise runtime_error(
                f"Illegal values of between, left value({java_text(low.value)}) must less than or equal to "
                f"right value({java_text(high.value)})"
            )
    return create_and(create_comparison(">=", value, low), create_comparison("<=", value, high))


def create_not_between(value: Node, low: Node, high: Node) -> Node:
    """Join `<` and `>`; the order of literals is not checked."""
    return create_or(create_comparison("<", value, low), create_comparison(">", value, high))


def create_in(node: Node, elements: list[str], end: int, negated: bool) -> Node:
    """Look a property up in a list; anything else before IN is refused."""
    if not isinstance(node, Property):
        raise runtime_error(f"Expected a property for In expression, got: {node}")
    return In(node, elements, end, negated=negated)


def _check_ordered(node: Node) -> None:
    if isinstance(node, Constant) and isinstance(node.value, int | float) and not isinstance(node.value, bool):
        return
    if node.is_boolean or isinstance(node, Constant):
        raise runtime_error(f"Value '{node}' cannot be compared.")
