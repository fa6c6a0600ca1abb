"""SQL92 message filters, exact to 4.8.0 and, by a switch, with the operators 5.3.3 added."""

from __future__ import annotations

from rmqlab.filter.sql92.compiler import CompiledSql92, ParseCache, compile_sql92
from rmqlab.filter.sql92.errors import ExpressionRefused, JavaError, MQFilterException, NullExpressionError
from rmqlab.filter.sql92.tokens import VERSIONS, Version

__all__ = [
    "VERSIONS",
    "CompiledSql92",
    "ExpressionRefused",
    "JavaError",
    "MQFilterException",
    "NullExpressionError",
    "ParseCache",
    "Version",
    "compile_sql92",
]
