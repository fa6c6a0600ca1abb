"""Vectors of SQL92 compilation: accepted or refused, why, and how the tree prints."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rmqlab.filter.sql92 import MQFilterException, NullExpressionError
from rmqlab.filter.sql92.compiler import ParseCache
from rmqlab.filter.sql92.nodes import BooleanCast, Constant, In
from tests.proof.conform.vectors import Kind, take

if TYPE_CHECKING:
    from rmqlab.filter.sql92.nodes import Node
    from tests.proof.conform.vectors import Vector

_RECORDED = 1000  # characters of a message, the rest was cut


def _root_kind(root: Node) -> str:
    match root:
        case Constant():
            return "BooleanConstantExpression"
        case BooleanCast():
            return "BOOLEANCAST"
        case In():
            return "IN"
    return root.symbol


def _run(vector: Vector) -> dict[str, object]:
    text = take(vector, "expr", str | None)
    answer: dict[str, object] = {
        **dict.fromkeys(("error", "error_message", "cause", "message", "canonical", "node")),
        "ok": False,
        "in_hashset": False,
        "message_truncated": False,
    }
    try:
        compiled = ParseCache().compile(text)
    except MQFilterException as error:
        return answer | {
            "error": error.java_name,
            "error_message": error.error_message,
            "cause": error.cause_name,
            "message": error.java_message[:_RECORDED],
            "message_truncated": len(error.java_message) > _RECORDED,
        }
    except NullExpressionError as error:
        return answer | {"error": error.java_name}
    return answer | {
        "ok": True,
        "canonical": str(compiled),
        "node": _root_kind(compiled.root),
        "in_hashset": any(isinstance(node, In) and node.in_hash_set for node in compiled.root.walk()),
    }


KINDS = {
    "": Kind(
        given={"expr": str | None},
        expected=(
            "ok",
            "error",
            "error_message",
            "cause",
            "message",
            "canonical",
            "in_hashset",
            "node",
            "message_truncated",
        ),
        run=_run,
    ),
}
