"""Expression types by name, and how their expressions are compiled (4.8.0 `FilterFactory`, `FilterSpi`)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rmqlab.filter.sql92.compiler import ParseCache
from rmqlab.filter.sql92.errors import ExpressionRefused
from rmqlab.protocol.subscription_data import SQL92

if TYPE_CHECKING:
    from collections.abc import Callable

    from rmqlab.filter.consumer_filter_data import CompiledExpression

# As in 4.8.0 one cache serves the whole process; results do not depend on it.
PARSE_CACHE: Final = ParseCache()


class UnknownExpressionTypeError(ExpressionRefused):
    """An expression type that nobody compiles: 4.8.0 finds no filter for it and runs into a NullPointerException."""

    java_message = (
        'Cannot invoke "org.apache.rocketmq.filter.FilterSpi.compile(String)" because the return value of '
        '"org.apache.rocketmq.filter.FilterFactory.get(String)" is null'
    )


EXPRESSION_TYPES: Final[dict[str, Callable[[str | None], CompiledExpression]]] = {SQL92: PARSE_CACHE.compile}
"""What compiles the expressions of each type but TAG; another type is one more entry."""


def compile_expression(expression_type: str | None, expression: str | None) -> CompiledExpression:
    """Compile an expression of a type other than TAG.

    Raises `ExpressionRefused`: `UnknownExpressionTypeError`, or what the SQL92 compiler raises.
    """
    compiler = None if expression_type is None else EXPRESSION_TYPES.get(expression_type)
    if compiler is None:
        known = ", ".join(EXPRESSION_TYPES)
        raise UnknownExpressionTypeError(
            f"expression type {expression_type!r}: no filter of this name; right is {known}"
        )
    return compiler(expression)
