"""Trees to nested functions: the fast way to evaluate one expression on many messages.

A function takes the look-up of the properties (`dict.get`) and gives the value, or raises the `JavaError` 4.8.0 throws.
The common shapes (a property against a literal, a list, NULL) have functions of their own.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import TYPE_CHECKING

from rmqlab.filter.sql92.comparing import ANSWERS, compare_doubles, is_equal, is_ordered
from rmqlab.filter.sql92.errors import JavaError, runtime_error_from
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
from rmqlab.filter.sql92.numbers import Long, Value, parse_double, parse_integer, parse_long
from rmqlab.filter.sql92.steps import negated, text_test

if TYPE_CHECKING:
    from collections.abc import Sequence

Get = Callable[[str], str | None]
Closure = Callable[[Get], Value]


def closure(node: Node) -> Closure:
    """Give the function of a tree. Recursive: call it only for trees whose `nesting` is moderate."""
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
        case Not():
            return _not(closure(node.operand))
        case Negate():
            operand = closure(node.operand)
            return lambda get: negated(operand(get))
        case BooleanCast():
            return _cast(closure(node.operand))
        case In():
            return _in(node)
        case TextTest():
            return _text_test(node)
    raise TypeError(f"no such node: {type(node).__name__}")


def nesting(root: Node) -> tuple[int, int]:
    """Give the levels of the functions (a chain of one connective counts as one) and the levels of the tree."""
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
    answer, symbol = ANSWERS[node.symbol], node.symbol
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


def _not(operand: Closure) -> Closure:
    def evaluate(get: Get) -> Value:
        value = operand(get)
        return None if value is None else not value

    return evaluate


def _cast(operand: Closure) -> Closure:
    def evaluate(get: Get) -> Value:
        value = operand(get)
        return None if value is None else value is True

    return evaluate


def _in(node: In) -> Closure:
    operand, members, wanted = closure(node.operand), node.members, not node.negated

    def evaluate(get: Get) -> Value:
        value = operand(get)
        return None if value is None else (value in members) is wanted

    return evaluate


def _text_test(node: TextTest) -> Closure:
    if not node.search:
        return lambda _get: False
    operand = closure(node.operand)
    return lambda get: text_test(node, operand(get))
