"""Vectors of tag codes, of the two steps of tag filtering, and of delay levels (whose due time replaces the code)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rmqlab.filter.message_filter import ExpressionMessageFilter
from rmqlab.message.java import string_hash
from rmqlab.message.sysflag import MULTI_TAG, MULTI_TAGS_FLAG, SINGLE_TAG
from rmqlab.protocol.subscription_data import build_subscription_data
from rmqlab.rules import client_keeps, tags_code
from rmqlab.store.config import DelayLevels, delay_level_to_queue_id, queue_id_to_delay_level
from tests.proof.conform.vectors import BadVector, Kind, take

if TYPE_CHECKING:
    from tests.proof.conform.vectors import Vector


def _hash(vector: Vector) -> dict[str, object]:
    tag = take(vector, "tag", str | None)
    return {
        "hash": None if tag is None else string_hash(tag),
        # 4.8.0 takes the filter type of the message and does not look at it
        "code": tags_code(tag),
        "code_single": tags_code(tag),
        "code_multi": tags_code(tag),
        "cq_bytes": tags_code(tag).to_bytes(8, "big", signed=True).hex(),
    }


def _match(vector: Vector) -> dict[str, object]:
    tag, code = take(vector, "tag", str | None), take(vector, "tagsCode", int | None)
    if code is None and not take(vector, "no_code", bool | None):
        raise BadVector("tagsCode", "must be a number unless no_code is true")
    subscription = build_subscription_data("GroupTest", "TopicTest", take(vector, "subString", str | None))
    subscription.class_filter_mode = bool(take(vector, "classFilterMode", bool | None))
    message_filter = ExpressionMessageFilter(subscription)
    raw = tag is None and vector["classFilterMode"] is None  # a code given as such, not made from a tag
    return {
        "tagsCode": code if raw else tags_code(tag),
        "no_code": True if code is None else None,
        "by_consume_queue": message_filter.is_matched_by_consume_queue(code),
        "by_commit_log": message_filter.is_matched_by_commit_log(None, {} if tag is None else {"TAGS": tag}),
        "by_client": client_keeps(subscription, tag),
    }


def _deliver(vector: Vector) -> dict[str, object]:
    levels = DelayLevels(take(vector, "levels", str))
    results = []
    for index, query in enumerate(take(vector, "results", list)):
        where = f"results[{index}]"
        if not isinstance(query, dict):
            raise BadVector(where, "must be an object with level and storeTimestamp")
        level, stored = take(query, "level", int, where), take(query, "storeTimestamp", int, where)
        results.append(
            {
                "level": level,
                "storeTimestamp": stored,
                "deliver": levels.compute_deliver_timestamp(level, stored),
                "queueId": delay_level_to_queue_id(level),
                "levelFromQueueId": queue_id_to_delay_level(level),
            }
        )
    return {
        "parse_ok": levels.parse_ok,
        "maxDelayLevel": levels.max_delay_level,
        "table": {str(level): delay for level, delay in levels.table.items()},
        "results": results,
    }


KINDS = {
    "hash": Kind(
        given={"tag": str | None},
        expected=("hash", "code", "code_single", "code_multi", "cq_bytes"),
        run=_hash,
    ),
    "filter_type": Kind(
        given={"sysFlag": int},
        expected=("type",),
        run=lambda vector: {"type": MULTI_TAG if take(vector, "sysFlag", int) & MULTI_TAGS_FLAG else SINGLE_TAG},
    ),
    "match": Kind(
        given={
            "subString": str | None,
            "tag": str | None,
            "classFilterMode": bool | None,
            "tagsCode": int | None,
            "no_code": bool | None,
        },
        expected=("tagsCode", "no_code", "by_consume_queue", "by_commit_log", "by_client"),
        run=_match,
    ),
    "deliver": Kind(
        given={"levels": str},
        expected=("parse_ok", "maxDelayLevel", "table", "results"),
        run=_deliver,
    ),
}
