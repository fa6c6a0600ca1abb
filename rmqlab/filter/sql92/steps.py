"""Evaluation one node at a time: for explaining, and for trees too deep for Python's own stack.

`closures` does the same fast; tests hold the two against each other.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from rmqlab.filter.sql92.comparing import is_equal, is_ordered
from rmqlab.filter.sql92.errors import JavaError, stack_overflow_error
from rmqlab.filter.sql92.nodes import (
    And,
    BooleanCast,
    Comparison,
    Constant,
    Equal,
    In,
    Negate,
    Node,
    Not,
    Or,
    Property,
    TextTest,
)
from rmqlab.filter.sql92.numbers import Long, Value

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping

# Levels of a tree that OpenJDK 17 can evaluate on its default stack of 1 MiB; about 7000 to 8000 when measured.
DEEPEST_EVALUATION = 7000


class StepOutcome(NamedTuple):
    """What a node came to: a value, or what was thrown."""

    node: Node
    value: Value
    error: JavaError | None = None


class Evaluation(NamedTuple):
    """The outcome of the root, and of every node that was evaluated, in the order they finished."""

    root: StepOutcome
    outcomes: list[StepOutcome]


def evaluate_in_steps(root: Node, properties: Mapping[str, str] | None) -> Evaluation:
    """Evaluate `root`; nodes that were never asked do not appear. An error ends up in the outcomes, not raised."""
    outcomes: list[StepOutcome] = []
    stack = [(root, _work(root, properties or {}))]
    value: Value = None
    error: JavaError | None = None
    while stack:
        node, work = stack[-1]
        try:
            if len(stack) > DEEPEST_EVALUATION:
                raise stack_overflow_error()
            asked = work.throw(error) if error is not None else work.send(value)
            value = error = None
            stack.append((asked, _work(asked, properties or {})))
        except StopIteration as done:
            value, error = done.value, None
        except JavaError as thrown:
            value, error = None, thrown
        else:
            continue
        stack.pop()
        outcomes.append(StepOutcome(node, value, error))
    return Evaluation(outcomes[-1], outcomes)


def _work(node: Node, properties: Mapping[str, str]) -> Generator[Node, Value, Value]:
    """Ask for operands by yielding them, in 4.8.0's order, and return the value."""
    match node:
        case Property():
            return properties.get(node.name)
        case Constant():
            return node.value
        case Or():
            return (yield from _either(node, decisive=True))
        case And():
            return (yield from _either(node, decisive=False))
        case Comparison():
            left = yield node.left
            return None if left is None else is_ordered(node.symbol, left, (yield node.right))
        case Equal():
            left = yield node.left
            return is_equal(left, (yield node.right))
        case Not():
            value = yield node.operand
            return None if value is None else not value
        case Negate():
            return negated((yield node.operand))
        case BooleanCast():
            value = yield node.operand
            return None if value is None else value is True
        case In():
            value = yield node.operand
            return (value in node.members) is not node.negated if isinstance(value, str) else None
        case TextTest():
            if not node.search:
                return False
            return text_test(node, (yield node.operand))
    raise TypeError(f"no such node: {type(node).__name__}")


def _either(node: And | Or, *, decisive: bool) -> Generator[Node, Value, Value]:
    """Stop at the decisive value; without one, null wins. An error in an operand that is asked wins over both."""
    left = yield node.left
    if left is decisive:
        return decisive
    right = yield node.right
    if right is decisive:
        return decisive
    return None if left is None or right is None else not decisive


def negated(value: Value) -> Value:
    """Give `-value` in the value's own class; null for what is no number."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return Long(-value) if isinstance(value, Long) else -value


def text_test(node: TextTest, value: Value) -> bool:
    """Test a value against the node's text (never empty here): false for what is no text, negated or not."""
    if not isinstance(value, str):
        return False
    match node.operator:
        case "CONTAINS":
            found = node.search in value
        case "STARTSWITH":
            found = value.startswith(node.search)
        case _:
            found = value.endswith(node.search)
    return found is not node.negated
