"""What an expression is worth for a message: fast by nested functions, or one node at a time.

`operation` and `values` say what nodes make of their operands' values; both ways use them. A nested function takes
the look-up of the properties (`dict.get`); common shapes (a property against a literal, a list, NULL) have their own.
Steps explain, and serve trees too deep for Python's own stack.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from rmqlab.filter.sql92.errors import JavaError, runtime_error_from, stack_overflow_error
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
    chain,
)
from rmqlab.filter.sql92.values import (
    COMPARISON_TESTS,
    Long,
    Value,
    compare_doubles,
    is_equal,
    is_ordered,
    parse_double,
    parse_integer,
    parse_long,
)

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping, Sequence

Get = Callable[[str], str | None]
Closure = Callable[[Get], Value]
# Levels of a tree that OpenJDK 17 can evaluate on its default stack of 1 MiB; about 7000 to 8000 when measured.
DEEPEST_EVALUATION = 7000


def operation(node: Node) -> Callable[[Value], Value]:
    """What a node with a single operand makes of its value."""
    match node:
        case Not():
            return _not
        case Negate():
            return negated
        case BooleanCast():
            return _cast
        case In():
            members, wanted = node.members, not node.negated
            return lambda value: (value in members) is wanted if isinstance(value, str) else None
        case TextTest():
            return partial(_text_test, node)
    raise TypeError(f"no such node: {type(node).__name__}")


def _not(value: Value) -> Value:
    return None if value is None else not value


def _cast(value: Value) -> Value:
    return None if value is None else value is True


def negated(value: Value) -> Value:
    """`-value` in the value's own class; null for what is no number."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return Long(-value) if isinstance(value, Long) else -value


def _text_test(node: TextTest, value: Value) -> bool:
    """Test a value against the node's text (never empty here): false for what is no text, negated or not."""
    if not isinstance(value, str):
        return False
    match node.operator:
        case "CONTAINS":
            is_match = node.search in value
        case "STARTSWITH":
            is_match = value.startswith(node.search)
        case _:
            is_match = value.endswith(node.search)
    return is_match is not node.negated


def closure(node: Node) -> Closure:
    """The function of a tree. Recursive: call it only for trees whose `nesting` is moderate."""
    match node:
        case Property():
            name = node.name
            return lambda get: get(name)
        case Constant():
            constant = node.value
            return lambda _get: constant
        case And() | Or():
            return _chain(node)
        case Comparison():
            return _comparison(node)
        case Equal():
            return _equal(node)
        case In(operand=Property()):
            return _in(node)
        case TextTest(search=""):
            return lambda _get: False
    apply, operand = operation(node), closure(node.operands[0])
    return lambda get: apply(operand(get))


def nesting(root: Node) -> tuple[int, int]:
    """The levels of the functions (a chain of one connective counts as one) and the levels of the tree."""
    order = list(root.walk())
    levels: dict[int, tuple[int, int]] = {}
    for node in reversed(order):
        flat = deep = 0
        for index, operand in enumerate(node.operands):
            operand_flat, operand_deep = levels[id(operand)]
            joins = index == 0 and isinstance(node, And | Or) and type(operand) is type(node)
            flat = max(flat, operand_flat - (1 if joins else 0))
            deep = max(deep, operand_deep)
        levels[id(node)] = flat + 1, deep + 1
    return levels[id(root)]


def _chain(node: And | Or) -> Closure:
    """`a OR b OR c` leans to the left: asked from left to right until one decides; else null if one was null."""
    closures = [closure(term) for term in chain(node)]
    decisive = isinstance(node, Or)
    return _pair(*closures, decisive=decisive) if len(closures) == 2 else _many(closures, decisive=decisive)


def _pair(first: Closure, second: Closure, *, decisive: bool) -> Closure:
    def evaluate(get: Get) -> Value:
        left = first(get)
        if left is decisive:
            return left
        right = second(get)
        return right if right is decisive or left is not None else None

    return evaluate


def _many(closures: Sequence[Closure], *, decisive: bool) -> Closure:
    def evaluate(get: Get) -> Value:
        result: bool | None = not decisive
        for term in closures:
            value = term(get)
            if value is decisive:
                return decisive
            if value is None:
                result = None
        return result

    return evaluate


def _comparison(node: Comparison) -> Closure:
    answer, symbol = COMPARISON_TESTS[node.symbol], node.symbol
    left, right = node.left, node.right
    if isinstance(left, Property) and isinstance(right, Constant):
        return _against_number(left.name, answer, right.value)
    first, second = closure(left), closure(right)

    def evaluate(get: Get) -> Value:
        value = first(get)
        return None if value is None else is_ordered(symbol, value, second(get))

    return evaluate


def _against_number(name: str, answer: Callable[[int, int], bool], bound: Value) -> Closure:
    """A property against a number literal, in whose class it is read."""
    if isinstance(bound, float):
        double = bound

        def against_double(get: Get) -> Value:
            text = get(name)
            if text is None:
                return None
            try:
                return answer(compare_doubles(parse_double(text), double), 0)
            except JavaError as error:
                raise runtime_error_from(error) from error

        return against_double
    parse, whole = (parse_long if isinstance(bound, Long) else parse_integer), int(bound or 0)

    def against_whole(get: Get) -> Value:
        text = get(name)
        if text is None:
            return None
        try:
            return answer(parse(text), whole)
        except JavaError as error:
            raise runtime_error_from(error) from error

    return against_whole


def _equal(node: Equal) -> Closure:
    left, right = node.left, node.right
    if isinstance(left, Property) and isinstance(right, Constant):
        name, constant = left.name, right.value
        if constant is None:
            return lambda get: get(name) is None
        if isinstance(constant, str):

            def same_text(get: Get) -> Value:
                value = get(name)
                return None if value is None else value == constant

            return same_text
        if not isinstance(constant, bool):
            return _against_number(name, operator.eq, constant)
    first, second = closure(left), closure(right)
    return lambda get: is_equal(first(get), second(get))


def _in(node: In) -> Closure:
    name, members, wanted = node.operand.symbol, node.members, not node.negated

    def evaluate(get: Get) -> Value:
        value = get(name)
        return None if value is None else (value in members) is wanted

    return evaluate


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
            child = work.throw(error) if error is not None else work.send(value)
            value = error = None
            stack.append((child, _work(child, properties or {})))
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
    """Ask for operands by yielding them, in Java's order, and return the value."""
    match node:
        case Property():
            return properties.get(node.name)
        case Constant():
            return node.value
        case And() | Or():
            return (yield from _either(node, decisive=isinstance(node, Or)))
        case Comparison():
            left = yield node.left
            return None if left is None else is_ordered(node.symbol, left, (yield node.right))
        case Equal():
            left = yield node.left
            return is_equal(left, (yield node.right))
        case TextTest(search=""):
            return False
    return operation(node)((yield node.operands[0]))


def _either(node: And | Or, *, decisive: bool) -> Generator[Node, Value, Value]:
    """Stop at the decisive value; without one, null wins. An error in an operand that is asked wins over both."""
    left = yield node.left
    if left is decisive:
        return decisive
    right = yield node.right
    if right is decisive:
        return decisive
    return None if left is None or right is None else not decisive
