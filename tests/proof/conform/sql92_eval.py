"""Vectors of SQL92 evaluation: the value, or what was thrown, and whether the broker lets the message pass."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rmqlab.filter.message_filter import ConsumerFilterData, ExpressionMessageFilter
from rmqlab.filter.sql92 import JavaError, MQFilterException, compile_sql92
from rmqlab.protocol.subscription_data import SubscriptionData
from tests.proof.conform.vectors import Kind, take

if TYPE_CHECKING:
    from tests.proof.conform.vectors import Vector


def _run(vector: Vector) -> dict[str, object]:
    text, properties = take(vector, "expr", str), take(vector, "props", dict | None)
    answer: dict[str, object] = dict.fromkeys(("result", "error", "cause", "matches"))
    try:
        compiled = compile_sql92(text)
    except MQFilterException as error:
        return answer | {"compiled": False, "error": error.java_name}
    try:
        answer["result"] = compiled.evaluate(properties)
    except JavaError as error:
        answer |= {"error": error.java_name, "cause": error.cause_name}
    data = ConsumerFilterData("G", "T", text, "SQL92", compiled)
    message_filter = ExpressionMessageFilter(SubscriptionData("T", text, expression_type="SQL92"), data)
    return answer | {"compiled": True, "matches": message_filter.is_matched_by_commit_log(None, properties)}


KINDS = {
    "": Kind(
        given={"expr": str, "props": dict | None},
        expected=("compiled", "result", "error", "cause", "matches"),
        run=_run,
    ),
}
