"""Which messages of a queue a pull may return: the two layers of 4.8.0's expression filters (rows F-47..F-68).

Layer 1 looks at the consume queue entry and lets pass what it cannot judge (fail open). Layer 2 reads the properties
in the commit log and drops what it cannot judge (fail closed).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from rmqlab.filter.bits import BITS_PER_BYTE, BitsArray
from rmqlab.message.properties import PROPERTY_RETRY_TOPIC
from rmqlab.message.record import decode_properties
from rmqlab.message.topics import RETRY_GROUP_TOPIC_PREFIX
from rmqlab.rules import RULES

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rmqlab.filter.bloom import BloomFilter
    from rmqlab.filter.consumer_filter_data import ConsumerFilterData
    from rmqlab.protocol.subscription_data import SubscriptionData
    from rmqlab.rules import Rules

Record = bytes | bytearray | memoryview


class CqExtUnit(Protocol):
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
        """Give the filter data of one group on one topic."""
        ...


class MessageFilter(Protocol):
    """The store's question about a message (4.8.0 `store.MessageFilter`; the class filter's namesake is another)."""

    def is_matched_by_consume_queue(self, tags_code: int | None, cq_ext_unit: CqExtUnit | None = None) -> bool:
        """Layer 1. False means: certainly not wanted."""
        ...

    def is_matched_by_commit_log(self, record: Record | None, properties: Mapping[str, str] | None = None) -> bool:
        """Layer 2. The store hands in the record, the hold service the properties."""
        ...


class ExpressionMessageFilter:
    """The filter of an ordinary pull (4.8.0 `ExpressionMessageFilter`).

    `last_error` holds what an evaluation raised; 4.8.0 only logs it.
    """

    __slots__ = (
        "bloom_data_valid",
        "consumer_filter_data",
        "consumer_filter_manager",
        "last_error",
        "rules",
        "subscription",
    )

    def __init__(
        self,
        subscription_data: SubscriptionData | None,
        consumer_filter_data: ConsumerFilterData | None = None,
        consumer_filter_manager: ConsumerFilters | None = None,
        rules: Rules = RULES["4.8.0"],
    ) -> None:
        """Keep the three; whether the bloom data fits the broker's bloom filter is decided here, once (row F-61)."""
        self.rules = rules
        self.subscription = subscription_data
        self.consumer_filter_data = consumer_filter_data
        self.consumer_filter_manager = consumer_filter_manager
        self.last_error: Exception | None = None
        self.bloom_data_valid = (
            consumer_filter_data is not None
            and consumer_filter_manager is not None
            and consumer_filter_manager.bloom_filter.is_valid(consumer_filter_data.bloom_filter_data)
        )

    def is_matched_by_consume_queue(self, tags_code: int | None, cq_ext_unit: CqExtUnit | None = None) -> bool:
        """Layer 1: the tags code against the code set, or the group's bits against the message's bitmap."""
        subscription = self.subscription
        if subscription is None or subscription.class_filter_mode:
            return True
        if subscription.is_tag:
            return self.rules.is_matched_by_consume_queue(subscription, tags_code)
        data = self.consumer_filter_data
        if not _is_usable(data) or data is None or data.bloom_filter_data is None:
            return True
        # A message stored before the group was registered has no bit for it.
        if cq_ext_unit is None or not data.is_msg_in_live(cq_ext_unit.msg_store_time):
            return True
        bitmap = cq_ext_unit.filter_bit_map
        if bitmap is None or self.consumer_filter_manager is None or not self.bloom_data_valid:
            return True
        if len(bitmap) * BITS_PER_BYTE != data.bloom_filter_data.bit_num:
            return True
        try:
            bits = BitsArray.from_bytes(bitmap)
            return self.consumer_filter_manager.bloom_filter.is_hit(data.bloom_filter_data, bits)
        except Exception as error:  # noqa: BLE001 - whatever goes wrong in layer 1, the message passes (row F-63)
            self.last_error = error
            return True

    def is_matched_by_commit_log(self, record: Record | None, properties: Mapping[str, str] | None = None) -> bool:
        """Layer 2: the compiled expression on the properties; only the value true passes."""
        subscription = self.subscription
        if subscription is None or subscription.class_filter_mode or subscription.is_tag:
            return True
        if not _is_usable(self.consumer_filter_data):
            return True
        if properties is None and record is not None:
            properties = decode_properties(record)
        return self._evaluate(self.consumer_filter_data, properties)

    def _evaluate(self, data: ConsumerFilterData | None, properties: Mapping[str, str] | None) -> bool:
        if data is None or data.compiled_expression is None:
            return True
        try:
            return self.rules.is_matched_by_commit_log(data.compiled_expression.evaluate(properties))
        except Exception as error:  # noqa: BLE001 - whatever goes wrong in layer 2, the message is dropped (row F-65)
            self.last_error = error
            return False


class ExpressionForRetryMessageFilter(ExpressionMessageFilter):
    """The filter the broker takes when `filterSupportRetry` is on: retry topics are filtered too (row F-66).

    On `%RETRY%group` layer 2 looks up the filter data of the message's first topic; layer 1 is the ordinary one.
    """

    __slots__ = ()

    def is_matched_by_commit_log(self, record: Record | None, properties: Mapping[str, str] | None = None) -> bool:
        """Layer 2. Raises `MissingPropertiesError` on a retry topic without record and properties."""
        subscription = self.subscription
        if subscription is None or subscription.class_filter_mode:
            return True
        topic = subscription.topic or ""
        is_retry = topic.startswith(RETRY_GROUP_TOPIC_PREFIX)
        if not is_retry and subscription.is_tag:
            return True
        data = self.consumer_filter_data
        if is_retry:
            if properties is None and record is not None:
                properties = decode_properties(record)
            if properties is None:
                raise MissingPropertiesError(
                    f"cannot filter a message of {topic}: it has no properties, so its first topic is unknown"
                )
            manager = self.consumer_filter_manager
            group = topic[len(RETRY_GROUP_TOPIC_PREFIX) :]
            data = None if manager is None else manager.get(properties.get(PROPERTY_RETRY_TOPIC), group)
        if not _is_usable(data):
            return True
        if properties is None and record is not None:
            properties = decode_properties(record)
        return self._evaluate(data, properties)


class MissingPropertiesError(ValueError):
    """A retry message came without any property; 4.8.0 fails with a NullPointerException."""

    java_name = "NullPointerException"


def _is_usable(data: ConsumerFilterData | None) -> bool:
    return data is not None and data.expression is not None and data.compiled_expression is not None
