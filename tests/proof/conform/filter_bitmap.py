"""Vectors of the bitmap at dispatch and of both filter layers that read it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rmqlab.broker.broker_config import BrokerConfig
from rmqlab.broker.consumer_filter_manager import CommitLogDispatcherCalcBitMap, ConsumerFilterManager
from rmqlab.broker.processor import Timers
from rmqlab.filter.message_filter import ExpressionMessageFilter
from rmqlab.message.properties import PROPERTY_TAGS
from rmqlab.protocol.subscription_data import SubscriptionData, build_subscription_data
from rmqlab.rules import tags_code
from rmqlab.store.config import MessageStoreConfig
from rmqlab.store.consume_queue_ext import CqExtUnit
from rmqlab.store.dispatch_request import DispatchRequest
from tests.proof.conform.vectors import BadVector, Kind, from_hex, take

if TYPE_CHECKING:
    from tests.proof.conform.vectors import Vector

_REGISTERED_AT = 1_000


def _consumers(vector: Vector) -> list[tuple[str, str, str | None, str | None]]:
    result = []
    for index, row in enumerate(take(vector, "consumers", list)):
        where = f"consumers[{index}]"
        if not isinstance(row, dict):
            raise BadVector(where, "must be an object with group, topic, expr and type")
        expression, kind = take(row, "expr", str | None, where), take(row, "type", str | None, where)
        result.append((take(row, "group", str, where), take(row, "topic", str, where), expression, kind))
    return result


def _subscription(topic: str, expression: str | None, kind: str | None) -> SubscriptionData:
    subscription = SubscriptionData(topic, expression, expression_type=kind)
    return build_subscription_data(None, topic, expression) if subscription.is_tag else subscription


def _run(vector: Vector) -> dict[str, object]:
    config = BrokerConfig(
        max_error_rate_of_bloom_filter=take(vector, "f", int),
        expect_consumer_num_use_filter=take(vector, "n", int),
        enable_calc_filter_bit_map=take(vector, "enableCalcFilterBitMap", bool),
    )
    manager = ConsumerFilterManager(config, MessageStoreConfig(), Timers(_REGISTERED_AT))
    consumers = _consumers(vector)
    registered = [
        {
            "group": group,
            "topic": topic,
            "expr": expression,
            "type": kind,
            "registered": manager.register_topic(topic, group, expression, kind, _REGISTERED_AT),
        }
        for group, topic, expression, kind in consumers
    ]
    topic, properties = take(vector, "topic", str), take(vector, "props", dict | None)
    request = DispatchRequest(topic=topic, properties_map=properties)
    CommitLogDispatcherCalcBitMap(config, manager).dispatch(request)
    override = take(vector, "bitmap_override_hex", str | None)
    code = tags_code((properties or {}).get(PROPERTY_TAGS))
    bitmap = request.bit_map if override is None else from_hex(override, "bitmap_override_hex")
    results = []
    for group, of_topic, expression, kind in consumers:
        if of_topic != topic:
            continue
        data = manager.get(topic, group)
        message_filter = ExpressionMessageFilter(_subscription(topic, expression, kind), data, manager)
        bloom = None if data is None else data.bloom_filter_data
        results.append(
            {
                "group": group,
                "has_filter_data": data is not None,
                "bitPos": None if bloom is None else bloom.bit_pos,
                "cq_live": message_filter.is_matched_by_consume_queue(code, CqExtUnit(0, _REGISTERED_AT + 1, bitmap)),
                "cq_stored_before_subscription": message_filter.is_matched_by_consume_queue(
                    code, CqExtUnit(0, _REGISTERED_AT, bitmap)
                ),
                "cq_no_ext_unit": message_filter.is_matched_by_consume_queue(code, None),
                # Without properties the recorder had no record to read them from, and asked nothing.
                "commit_log": None if properties is None else message_filter.is_matched_by_commit_log(None, properties),
            }
        )
    return {
        "m": manager.bloom_filter.m,
        "consumers": registered,
        "bitmap_hex": None if request.bit_map is None else request.bit_map.hex(),
        "results": results,
    }


KINDS = {
    "": Kind(
        given={
            "f": int,
            "n": int,
            "topic": str,
            "props": dict | None,
            "bitmap_override_hex": str | None,
            "enableCalcFilterBitMap": bool,
        },
        expected=("m", "consumers", "bitmap_hex", "results"),
        run=_run,
    ),
}
