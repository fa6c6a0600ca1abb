"""Expression types by name, and how their expressions are compiled (4.8.0 `FilterFactory`, `FilterSpi`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rmqlab.errors import BadInput
from rmqlab.filter.expression_type import SQL92

if TYPE_CHECKING:
    from rmqlab.filter.consumer_filter_data import CompiledExpression


class UnknownExpressionTypeError(BadInput):
    """An expression type that nobody compiles; the text is what 4.8.0 runs into on Java 17."""


def compile_expression(expression_type: str | None, expression: str | None) -> CompiledExpression:
    """Compile an expression of a type other than TAG.

    Raises UnknownExpressionTypeError, and what the compiler of the type raises (all of it `BadInput`).
    """
    if expression_type != SQL92:
        raise UnknownExpressionTypeError(
            'Cannot invoke "org.apache.rocketmq.filter.FilterSpi.compile(String)" because the return value of '
            '"org.apache.rocketmq.filter.FilterFactory.get(String)" is null'
        )
    raise BadInput("SQL92 filters are not there yet")
