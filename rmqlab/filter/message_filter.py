"""Which messages of a queue a pull may return: the two layers of 4.8.0's expression filters (rows F-47..F-68).

Layer 1 looks at the consume queue entry and lets pass what it cannot judge (fail open). Layer 2 reads the properties
in the commit log and drops what it cannot judge (fail closed).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol, TypeGuard

from rmqlab.filter.bloom import BITS_PER_BYTE, BitsArray, BloomFilterData
from rmqlab.filter.filter import CompiledExpression, Filter, is_true
from rmqlab.message.java import Long
from rmqlab.message.properties import PROPERTY_RETRY_TOPIC
from rmqlab.message.record import decode_properties
from rmqlab.message.topics import RETRY_GROUP_TOPIC_PREFIX
from rmqlab.rules import DEFAULT_RULES

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rmqlab.filter.bloom import BloomFilter
    from rmqlab.protocol.subscription_data import SubscriptionData
    from rmqlab.rules import Rules

Record = bytes | bytearray | memoryview


@dataclass(slots=True)
class ConsumerFilterData:
    """What the broker keeps of a group's SQL92 subscription to a topic (row F-45).

    Times are epoch ms; `dead_time` 0 means alive.
    `compiled_expression` is never persisted. Data made for one request has no `bloom_filter_data`.
    """

    consumer_group: str | None = None
    topic: str | None = None
    expression: str | None = None
    expression_type: str | None = None
    compiled_expression: CompiledExpression | None = field(default=None, metadata={"serialize": False})
    born_time: Long = 0
    dead_time: Long = 0
    bloom_filter_data: BloomFilterData | None = None
    client_version: Long = 0

    def is_dead(self) -> bool:
        """Whether the group has left since it was born."""
        return self.dead_time >= self.born_time

    def how_long_after_death(self, now: int) -> int:
        """The ms since death, -1 for the living."""
        return now - self.dead_time if self.is_dead() else -1

    def is_msg_in_live(self, msg_store_time: int) -> bool:
        """Whether a message was stored strictly after this data was born, so that its bitmap knows the group."""
        return msg_store_time > self.born_time


class LayerOneUnit(Protocol):
    """What layer 1 reads of a consume queue extension unit."""

    @property
    def msg_store_time(self) -> int:
        """Epoch ms at which the message was stored."""
        ...

    @property
    def filter_bit_map(self) -> bytes | bytearray | None:
        """The bits the broker computed at dispatch, None when it computed none."""
        ...


class ConsumerFilters(Protocol):
    """What a message filter asks of the broker's `ConsumerFilterManager`."""

    @property
    def bloom_filter(self) -> BloomFilter:
        """The broker's one bloom filter."""
        ...

    def get(self, topic: str | None, consumer_group: str, /) -> ConsumerFilterData | None:
        """The filter data of one group on one topic."""
        ...


class MessageFilter(Protocol):
    """The store's question about a message (`store.MessageFilter`; the class filter's namesake is another)."""

    @property
    def by_tags_code(self) -> bool:
        """Whether the tags code decides alone: layer 1 looks at nothing else, and layer 2 lets everything pass."""
        ...

    def is_matched_by_consume_queue(self, tags_code: int | None, cq_ext_unit: LayerOneUnit | None = None) -> bool:
        """Layer 1. False means: certainly not wanted."""
        ...

    def is_matched_by_commit_log(self, record: Record | None, properties: Mapping[str, str] | None = None) -> bool:
        """Layer 2. The store hands in the record, the hold service the properties."""
        ...


class ExpressionMessageFilter:
    """The filter of an ordinary pull: what can be known of a message goes to `Filter`, which decides."""

    __slots__ = ("consumer_filter_data", "consumer_filter_manager", "filter")

    def __init__(
        self,
        subscription_data: SubscriptionData | None,
        consumer_filter_data: ConsumerFilterData | None = None,
        consumer_filter_manager: ConsumerFilters | None = None,
        rules: Rules = DEFAULT_RULES,
    ) -> None:
        compiled = None if consumer_filter_data is None else consumer_filter_data.compiled_expression
        self.filter = None if subscription_data is None else Filter(subscription_data, rules, compiled)
        self.consumer_filter_data = consumer_filter_data
        self.consumer_filter_manager = consumer_filter_manager

    @property
    def by_tags_code(self) -> bool:
        """Whether it is for tags, for a class filter or for nothing: one answer for each tags code."""
        wanted = self.filter
        return wanted is None or wanted.by_tag or wanted.subscription.class_filter_mode

    def is_matched_by_consume_queue(self, tags_code: int | None, cq_ext_unit: LayerOneUnit | None = None) -> bool:
        """Layer 1: the tags code against the code set, or the group's bits against the message's bitmap."""
        wanted = self.filter
        if wanted is None or wanted.subscription.class_filter_mode:
            return True
        if wanted.by_tag:
            return wanted.rules.is_matched_by_consume_queue(wanted.subscription, tags_code)
        return wanted.passes_layer_1(tags_code, self._is_hit(cq_ext_unit))

    def _is_hit(self, unit: LayerOneUnit | None) -> bool | None:
        """Whether the message's bitmap has the group's bits; None when that cannot be known (rows F-59..F-63)."""
        data, manager = self.consumer_filter_data, self.consumer_filter_manager
        # A message stored before the group was registered has no bit for it.
        if not _is_usable(data) or manager is None or unit is None or not data.is_msg_in_live(unit.msg_store_time):
            return None
        bitmap, bloom = unit.filter_bit_map, data.bloom_filter_data
        if bitmap is None or bloom is None or not manager.bloom_filter.is_valid(bloom):
            return None
        if len(bitmap) * BITS_PER_BYTE != bloom.bit_num:
            return None
        try:
            return manager.bloom_filter.is_hit(bloom, BitsArray.from_bytes(bitmap))
        except Exception:  # noqa: BLE001 - whatever goes wrong in layer 1, the message passes (row F-63)
            return None

    def is_matched_by_commit_log(self, record: Record | None, properties: Mapping[str, str] | None = None) -> bool:
        """Layer 2: the compiled expression on the properties; only the value true passes."""
        wanted = self.filter
        if wanted is None or wanted.by_tag or not _is_usable(self.consumer_filter_data):
            return True
        if properties is None and record is not None:
            properties = decode_properties(record)
        return wanted.passes_layer_2(properties)


class ExpressionForRetryMessageFilter(ExpressionMessageFilter):
    """The filter the broker takes when `filterSupportRetry` is on: retry topics are filtered too (row F-66).

    On `%RETRY%group` layer 2 looks up the filter data of the message's first topic; layer 1 is the ordinary one.
    """

    __slots__ = ()

    @property
    def by_tags_code(self) -> bool:
        """As for the ordinary filter, unless messages of a retry topic are looked at."""
        return super().by_tags_code and self._retry_topic is None

    @property
    def _retry_topic(self) -> str | None:
        """The topic, if it is a retry topic whose messages are filtered one by one."""
        wanted = self.filter
        if wanted is None or wanted.subscription.class_filter_mode:
            return None
        topic = wanted.subscription.topic or ""
        return topic if topic.startswith(RETRY_GROUP_TOPIC_PREFIX) else None

    def is_matched_by_commit_log(self, record: Record | None, properties: Mapping[str, str] | None = None) -> bool:
        """Layer 2.

        Raises:
            ValueError: a retry topic without record and properties (Java: NullPointerException).
        """
        wanted, topic = self.filter, self._retry_topic
        if wanted is None or topic is None:
            return super().is_matched_by_commit_log(record, properties)
        if properties is None and record is not None:
            properties = decode_properties(record)
        if properties is None:
            raise ValueError(f"cannot filter a message of {topic}: it has no properties, so its first topic is unknown")
        manager = self.consumer_filter_manager
        group = topic[len(RETRY_GROUP_TOPIC_PREFIX) :]
        data = None if manager is None else manager.get(properties.get(PROPERTY_RETRY_TOPIC), group)
        return not _is_usable(data) or is_true(data.compiled_expression, properties, wanted.rules)


def _is_usable(data: ConsumerFilterData | None) -> TypeGuard[ConsumerFilterData]:
    return data is not None and data.expression is not None and data.compiled_expression is not None
