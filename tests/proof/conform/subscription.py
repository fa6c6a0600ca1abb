"""Vectors of `FilterAPI`: subscription text to subscription data."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rmqlab.protocol.subscription_data import (
    EmptyExpressionError,
    SubscriptionSplitError,
    build_subscription,
    build_subscription_data,
)
from tests.proof.conform.vectors import BadVector, Kind, take

if TYPE_CHECKING:
    from tests.proof.conform.vectors import Vector

_RESULT = ("resultTopic", "resultSubString", "tagsSet", "codeSet", "expressionType", "classFilterMode")


def _run(vector: Vector) -> dict[str, object]:
    call = take(vector, "call", str)
    topic, text = take(vector, "topic", str | None), take(vector, "subString", str | None)
    try:
        match call:
            case "buildSubscriptionData":
                data = build_subscription_data(take(vector, "group", str | None), topic, text)
            case "build":
                data = build_subscription(topic, text, take(vector, "type", str | None))
            case _:
                raise BadVector("call", f"must be build or buildSubscriptionData, not {call!r}")
    except (EmptyExpressionError, SubscriptionSplitError) as error:
        return {"ok": False, "error": error.java_name, "message": str(error), **dict.fromkeys(_RESULT)}
    return {
        "ok": True,
        "error": None,
        "message": None,
        "resultTopic": data.topic,
        "resultSubString": data.sub_string,
        "tagsSet": list(data.tags_set),
        "codeSet": sorted(data.code_set),
        "expressionType": data.expression_type,
        "classFilterMode": data.class_filter_mode,
    }


def _as_set(value: object) -> object:
    return sorted(value) if isinstance(value, list) and all(isinstance(part, str) for part in value) else value


KINDS = {
    "": Kind(
        given={"call": str, "group": str | None, "topic": str | None, "subString": str | None, "type": str | None},
        expected=("ok", "error", "message", *_RESULT),
        run=_run,
        reduce={"tagsSet": _as_set},
    ),
}
