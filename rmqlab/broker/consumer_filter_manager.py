"""Compiled filters of groups that subscribe with an expression (4.8.0 `ConsumerFilterManager`, rows F-39..F-46)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rmqlab.errors import BadInput
from rmqlab.filter.bloom import BloomFilter
from rmqlab.filter.consumer_filter_data import ConsumerFilterData
from rmqlab.filter.expression_type import is_tag_type
from rmqlab.filter.filter_factory import compile_expression

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rmqlab.broker.broker import Broker
    from rmqlab.filter.bloom import BloomFilterData
    from rmqlab.protocol.subscription_data import SubscriptionData


class ConsumerFilterManager:
    """Keeps filter data by topic and group. TAG subscriptions have none.

    A group that leaves is not forgotten but marked dead, so that its bits go on being computed when messages arrive.
    """

    def __init__(self, broker: Broker) -> None:
        self._broker = broker
        config = broker.config
        self.bloom_filter = BloomFilter.create_by_fn(
            config.max_error_rate_of_bloom_filter, config.expect_consumer_num_use_filter
        )
        broker.message_store.config.bit_map_length_consume_queue_ext = self.bloom_filter.m
        self.filter_data_by_topic: dict[str | None, dict[str, ConsumerFilterData]] = {}

    @staticmethod
    def build(
        topic: str | None,
        group: str,
        expression: str | None,
        expression_type: str | None,
        client_version: int,
        now: int,
    ) -> ConsumerFilterData | None:
        """Make filter data without bloom data; None for tags, and for an expression that does not compile."""
        if is_tag_type(expression_type):
            return None
        try:
            compiled = compile_expression(expression_type, expression)
        except BadInput:
            return None
        return ConsumerFilterData(
            consumer_group=group,
            topic=topic,
            expression=expression,
            expression_type=expression_type,
            compiled_expression=compiled,
            born_time=now,
            client_version=client_version,
        )

    def register(self, group: str, subscriptions: Iterable[SubscriptionData]) -> None:
        """Take in a group's subscriptions; its data for topics that are not among them is marked dead."""
        topics = set()
        for subscription in subscriptions:
            topics.add(subscription.topic)
            self.register_topic(
                subscription.topic,
                group,
                subscription.sub_string,
                subscription.expression_type,
                subscription.sub_version,
            )
        for topic, groups in self.filter_data_by_topic.items():
            data = groups.get(group)
            if data is not None and topic not in topics and not data.is_dead():
                data.dead_time = self._broker.now

    def register_topic(
        self, topic: str | None, group: str, expression: str | None, expression_type: str | None, client_version: int
    ) -> bool:
        """Take in one expression; return whether anything changed. The higher `client_version` wins.

        An expression that does not compile is not stored, and removes what an older version stored.
        """
        if is_tag_type(expression_type) or not expression:
            return False
        groups = self.filter_data_by_topic.setdefault(topic, {})
        bloom_data = self.bloom_filter.generate(f"{group}#{topic}")
        old = groups.get(group)
        if old is None:
            return self._put(groups, bloom_data, (topic, group, expression, expression_type, client_version))
        if client_version <= old.client_version:
            if client_version == old.client_version and old.is_dead():
                old.dead_time = 0
                return True
            return False
        if (
            old.expression == expression
            and old.expression_type == expression_type
            and old.bloom_filter_data == bloom_data
        ):
            old.client_version = client_version
            if old.is_dead():
                old.dead_time = 0
            return True
        return self._put(groups, bloom_data, (topic, group, expression, expression_type, client_version))

    def _put(
        self,
        groups: dict[str, ConsumerFilterData],
        bloom_data: BloomFilterData,
        what: tuple[str | None, str, str, str | None, int],
    ) -> bool:
        data = self.build(*what, self._broker.now)
        if data is None:
            groups.pop(what[1], None)
            return False
        data.bloom_filter_data = bloom_data
        groups[what[1]] = data
        return True

    def un_register(self, group: str) -> None:
        """Mark all living data of a group dead."""
        for groups in self.filter_data_by_topic.values():
            data = groups.get(group)
            if data is not None and not data.is_dead():
                data.dead_time = self._broker.now

    def get(self, topic: str | None, group: str) -> ConsumerFilterData | None:
        """Return the data of a group on a topic, dead or alive."""
        return self.filter_data_by_topic.get(topic, {}).get(group)

    def get_by_topic(self, topic: str) -> list[ConsumerFilterData]:
        """Return the data of all groups on a topic."""
        return list(self.filter_data_by_topic.get(topic, {}).values())

    def clean(self) -> None:
        """Forget data dead for `filterDataCleanTimeSpan` (24 h) or longer; 4.8.0 does so whenever it persists."""
        span, now = self._broker.config.filter_data_clean_time_span, self._broker.now
        for topic, groups in list(self.filter_data_by_topic.items()):
            for group, data in list(groups.items()):
                if data.how_long_after_death(now) >= span:
                    del groups[group]
            if not groups:
                del self.filter_data_by_topic[topic]
