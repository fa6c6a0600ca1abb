"""Compiled filters of groups that subscribe with an expression (4.8.0 `ConsumerFilterManager`, rows F-39..F-46)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rmqlab.broker.consumer_filter_file import TOPICS_CAPACITY, decode_filter_data, encode_filter_data
from rmqlab.filter.bloom import BloomFilter
from rmqlab.filter.consumer_filter_data import ConsumerFilterData
from rmqlab.filter.filter_factory import compile_expression
from rmqlab.filter.sql92.errors import ExpressionRefused
from rmqlab.protocol.subscription_data import TAG, is_tag_type
from rmqlab.rules import RULES

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rmqlab.broker.broker_config import BrokerConfig
    from rmqlab.broker.consumer_filter_file import FilterDataByTopic
    from rmqlab.broker.timers import Timers
    from rmqlab.filter.consumer_filter_data import CompiledExpression
    from rmqlab.protocol.subscription_data import SubscriptionData
    from rmqlab.rules import Rules
    from rmqlab.store.config import MessageStoreConfig

PERSIST_PERIOD_MS = 10_000  # whoever writes the file or not: what is dead for long is forgotten then
LOADED_DEAD_SINCE_MS = 30_000
_LOADED_CAPACITY = 16


class ConsumerFilterManager:
    """Keeps filter data by topic and group. TAG subscriptions have none.

    A group that leaves is not forgotten but marked dead, so that its bits go on being computed when messages arrive.
    Making one tells the store how long bitmaps are.
    """

    def __init__(
        self, config: BrokerConfig, store_config: MessageStoreConfig, timers: Timers, rules: Rules = RULES["4.8.0"]
    ) -> None:
        self._config = config
        self._timers = timers
        self.bloom_filter = BloomFilter.create_by_fn(
            config.max_error_rate_of_bloom_filter, config.expect_consumer_num_use_filter, rules
        )
        store_config.bit_map_length_consume_queue_ext = self.bloom_filter.m
        self.filter_data_by_topic: FilterDataByTopic = {}
        self._capacity = TOPICS_CAPACITY

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
        compiled = _compiled(expression_type, expression)
        if compiled is None:
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
        """Take in a group's subscriptions; its data for topics that are not among them is marked dead (row F-44)."""
        topics = set()
        for subscription in subscriptions:
            topics.add(subscription.topic)
            if subscription.expression_type == TAG:
                continue  # most are, and every heartbeat comes here
            self.register_topic(
                subscription.topic,
                group,
                subscription.sub_string,
                subscription.expression_type,
                subscription.sub_version,
            )
        if not self.filter_data_by_topic:
            return
        for data in self.get_by_group(group):
            if data.topic not in topics and not data.is_dead():
                data.dead_time = self._timers.now

    def register_topic(
        self, topic: str | None, group: str, expression: str | None, expression_type: str | None, client_version: int
    ) -> bool:
        """Take in one expression; return whether anything changed (row F-43).

        A higher `client_version` wins; with the same version a dead group comes alive again and nothing else
        happens. An expression that does not compile is not stored, and removes what an older version stored.
        """
        if is_tag_type(expression_type) or not expression:
            return False
        groups = self.filter_data_by_topic.setdefault(topic, {})
        bloom_data = self.bloom_filter.generate(f"{group}#{'null' if topic is None else topic}")
        old = groups.get(group)
        if old is not None:
            if client_version <= old.client_version:
                return client_version == old.client_version and _re_alive(old)
            same_text = (old.expression, old.expression_type) == (expression, expression_type)
            if same_text and old.bloom_filter_data == bloom_data:
                old.client_version = client_version
                _re_alive(old)
                return True
        data = self.build(topic, group, expression, expression_type, client_version, self._timers.now)
        if data is None:
            # Without data the next pull is refused, and the client learns that its expression is wrong.
            groups.pop(group, None)
            return False
        data.bloom_filter_data = bloom_data
        groups[group] = data
        return True

    def un_register(self, group: str) -> None:
        """Mark all living data of a group dead (row F-36)."""
        for data in self.get_by_group(group):
            if not data.is_dead():
                data.dead_time = self._timers.now

    def get(self, topic: str | None, group: str, /) -> ConsumerFilterData | None:
        """Return the data of a group on a topic, dead or alive."""
        return self.filter_data_by_topic.get(topic, {}).get(group)

    def get_by_topic(self, topic: str) -> list[ConsumerFilterData]:
        """Return the data of all groups on a topic, dead ones too."""
        return list(self.filter_data_by_topic.get(topic, {}).values())

    def get_by_group(self, group: str) -> list[ConsumerFilterData]:
        """Return the data of a group on all topics, dead or alive."""
        return [groups[group] for groups in self.filter_data_by_topic.values() if group in groups]

    def clean(self) -> None:
        """Forget data dead for `filterDataCleanTimeSpan` (24 h) or longer, and topics without data."""
        span, now = self._config.filter_data_clean_time_span, self._timers.now
        for topic, groups in list(self.filter_data_by_topic.items()):
            for group, data in list(groups.items()):
                if data.how_long_after_death(now) >= span:
                    del groups[group]
            if not groups:
                del self.filter_data_by_topic[topic]

    def encode(self) -> str:
        """Clean up, then write everything as `config/consumerFilter.json` has it."""
        self.clean()
        return encode_filter_data(self.filter_data_by_topic, self._capacity)

    def decode(self, text: str) -> None:
        """Load what `encode` wrote. Raises `FrameError` for a text fastjson could not read.

        Whoever was alive is dead since 30 s ago, though not since before it was born. If one entry's bloom data is of
        another k or m, nothing at all is loaded: the stored bitmaps mean something else.
        """
        loaded = decode_filter_data(text)
        if loaded is None:
            return
        for data in (data for groups in loaded.values() for data in groups.values()):
            if not self.bloom_filter.is_valid(data.bloom_filter_data):
                return
            data.compiled_expression = _compiled(data.expression_type, data.expression)
            if data.dead_time == 0:
                data.dead_time = max(self._timers.now - LOADED_DEAD_SINCE_MS, data.born_time)
        self.filter_data_by_topic = loaded
        self._capacity = _LOADED_CAPACITY


def _compiled(expression_type: str | None, expression: str | None) -> CompiledExpression | None:
    try:
        return compile_expression(expression_type, expression)
    except ExpressionRefused:
        return None


def _re_alive(data: ConsumerFilterData) -> bool:
    """Bring dead data back to life; return whether it was dead."""
    was_dead = data.is_dead()
    if was_dead:
        data.dead_time = 0
    return was_dead
