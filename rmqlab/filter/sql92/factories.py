"""How operators are put together, and what 4.8.0 refuses while doing so (the `create…` methods of its expressions).

Every check raises a `JavaError` with 4.8.0's class and text, in 4.8.0's order.
"""

from __future__ import annotations

from rmqlab.filter.sql92.errors import PARSER_PACKAGE, JavaError, runtime_error
from rmqlab.filter.sql92.nodes import And, BooleanCast, Comparison, Constant, Equal, In, Node, Or, Property
from rmqlab.filter.sql92.values import compare, java_text


def as_boolean(node: Node) -> Node:
    """Give `node` as a condition: a property is cast; a value that is none is a fault.

    Raises:
        ParseException: `node` is a value that is no condition.
    """
    if node.is_boolean:
        return node
    if isinstance(node, Property):
        return BooleanCast(node)
    raise JavaError(f"{PARSER_PACKAGE}ParseException", f"Expression will not result in a boolean value: {node}")


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


def create_between(value: Node, low: Node, high: Node, *, negated: bool) -> Node:
    """Join `>=` and `<=`: two literals must be in order, and neither may be NULL. Negated, `<` or `>`: as they come."""
    if negated:
        return Or(create_comparison("<", value, low), create_comparison(">", value, high))
    if isinstance(low, Constant) and isinstance(high, Constant):
        if low.value is None or high.value is None:
            raise runtime_error("Illegal values of between, values can not be null!")
        if compare(high.value, low.value) < 0:
            raise runtime_error(
                f"Illegal values of between, left value({java_text(low.value)}) must less than or equal to "
                f"right value({java_text(high.value)})"
            )
    return And(create_comparison(">=", value, low), create_comparison("<=", value, high))


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
