"""Compiled filters of groups that subscribe with an expression (`ConsumerFilterManager`, rows F-39..F-46)."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Final

import msgspec

from rmqlab.broker.config_manager import ConfigManager, file_text
from rmqlab.filter.bloom import BitsArray, BloomFilter, BloomFilterError
from rmqlab.filter.filter import compile_expression
from rmqlab.filter.message_filter import ConsumerFilterData
from rmqlab.filter.sql92.errors import ExpressionRefused
from rmqlab.message.java import in_hash_map_order
from rmqlab.protocol.serializable import RemotingSerializable
from rmqlab.protocol.subscription_data import TAG, TAG_TYPES
from rmqlab.rules import DEFAULT_RULES

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rmqlab.broker.broker_config import BrokerConfig
    from rmqlab.broker.processor import Timers
    from rmqlab.filter.filter import CompiledExpression
    from rmqlab.protocol.subscription_data import SubscriptionData
    from rmqlab.rules import Rules
    from rmqlab.store.config import MessageStoreConfig
    from rmqlab.store.dispatch_request import DispatchRequest


PERSIST_PERIOD_MS = 10_000  # whoever writes the file or not: what is dead for long is forgotten then
LOADED_DEAD_SINCE_MS = 30_000
_LOADED_CAPACITY = 16


class ConsumerFilterManager(ConfigManager):
    """Keeps filter data by topic and group. TAG subscriptions have none.

    A group that leaves is not forgotten but marked dead, so that its bits go on being computed when messages arrive.
    Making one lets the store know how long bitmaps are.
    """

    file_name = "consumerFilter.json"

    def __init__(
        self, config: BrokerConfig, store_config: MessageStoreConfig, timers: Timers, rules: Rules = DEFAULT_RULES
    ) -> None:
        self._config = config
        self._grammar = rules.sql92
        self._timers = timers
        self.bloom_filter = BloomFilter.create_by_fn(
            config.max_error_rate_of_bloom_filter, config.expect_consumer_num_use_filter, rules
        )
        store_config.bit_map_length_consume_queue_ext = self.bloom_filter.m
        self.filter_data_by_topic: FilterDataByTopic = {}
        self._capacity = TOPICS_CAPACITY

    def build(
        self,
        topic: str | None,
        group: str,
        expression: str | None,
        expression_type: str | None,
        client_version: int,
        now: int,
    ) -> ConsumerFilterData | None:
        """Make filter data without bloom data; None for tags, and for an expression that does not compile."""
        compiled = self._compiled(expression_type, expression)
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
            text, kind, version = subscription.sub_string, subscription.expression_type, subscription.sub_version
            self.register_topic(subscription.topic, group, text, kind, version)
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
        if expression_type in TAG_TYPES or not expression:
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
        """The data of a group on a topic, dead or alive."""
        return self.filter_data_by_topic.get(topic, {}).get(group)

    def get_by_topic(self, topic: str) -> list[ConsumerFilterData]:
        """The data of all groups on a topic, dead ones too."""
        return list(self.filter_data_by_topic.get(topic, {}).values())

    def get_by_group(self, group: str) -> list[ConsumerFilterData]:
        """The data of a group on all topics, dead or alive."""
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

    def body(self) -> RemotingSerializable:
        """Clean up, then return everything as `config/consumerFilter.json` has it."""
        self.clean()
        topics = {str(topic): groups for topic, groups in self.filter_data_by_topic.items()}
        return _File(
            {
                topic: _Topic(
                    {
                        group: _stored(filter_data)
                        for group, filter_data in in_hash_map_order(groups, _GROUPS_CAPACITY).items()
                    },
                    topic,
                )
                for topic, groups in in_hash_map_order(topics, self._capacity).items()
            }
        )

    def decode(self, text: str) -> None:
        """Load the text of what `body` gave.

        Whoever was alive is dead since 30 s ago, though not since before it was born. If one entry's bloom data is of
        another k or m, nothing at all is loaded: the stored bitmaps mean something else.

        Raises:
            FrameError: a text fastjson could not read.
        """
        loaded = decode_filter_data(text)
        if loaded is None:
            return
        for data in (data for groups in loaded.values() for data in groups.values()):
            if not self.bloom_filter.is_valid(data.bloom_filter_data):
                return
            data.compiled_expression = self._compiled(data.expression_type, data.expression)
            if data.dead_time == 0:
                data.dead_time = max(self._timers.now - LOADED_DEAD_SINCE_MS, data.born_time)
        self.filter_data_by_topic = loaded
        self._capacity = _LOADED_CAPACITY

    def _compiled(self, expression_type: str | None, expression: str | None) -> CompiledExpression | None:
        try:
            return compile_expression(expression_type, expression, self._grammar)
        except ExpressionRefused:
            return None


def _re_alive(data: ConsumerFilterData) -> bool:
    """Bring dead data back to life; return whether it was dead."""
    was_dead = data.is_dead()
    if was_dead:
        data.dead_time = 0
    return was_dead


class CommitLogDispatcherCalcBitMap:
    """Sets the bits of every group, dead ones too, whose expression is true for a message that is being dispatched.

    A message of a topic without such groups gets no bitmap at all, which the pull filter takes for "may match"
    (rows F-82..F-88).
    """

    def __init__(self, config: BrokerConfig, consumer_filter_manager: ConsumerFilterManager) -> None:
        self._config = config
        self._manager = consumer_filter_manager

    def dispatch(self, request: DispatchRequest) -> None:
        """Fill `request.bit_map`; nothing happens unless `enableCalcFilterBitMap` is on."""
        if not self._config.enable_calc_filter_bit_map:
            return
        filter_data = self._manager.get_by_topic(request.topic)
        if filter_data:
            self._calculate(request, filter_data)

    def _calculate(self, request: DispatchRequest, filter_data: list[ConsumerFilterData]) -> None:
        bits = BitsArray.of_length(self._manager.bloom_filter.m)
        for data in filter_data:
            if data.compiled_expression is None or data.bloom_filter_data is None:
                continue
            try:
                matched = data.compiled_expression.evaluate(request.properties_map)
            except Exception:  # noqa: BLE001, S112 - Java logs whatever an evaluation throws and leaves the bits out
                continue
            if matched is not True:
                continue
            try:
                self._manager.bloom_filter.hash_to(data.bloom_filter_data, bits)
            except (BloomFilterError, ValueError, IndexError):
                return  # foreign positions: Java gives up on the message's bitmap
        request.bit_map = bytes(bits.data)


FilterDataByTopic = dict[str | None, dict[str, ConsumerFilterData]]
# Table lengths of the two ConcurrentHashMaps, which decide the order in the file.
TOPICS_CAPACITY: Final = 512
_GROUPS_CAPACITY: Final = 16


@dataclass(slots=True)
class _Written(ConsumerFilterData):
    dead: bool = False  # for people; nothing reads it


class _Topic(RemotingSerializable):
    group_filter_data: dict[str, ConsumerFilterData | None] = msgspec.field(default_factory=dict)
    topic: str | None = None


class _File(RemotingSerializable):
    filter_data_by_topic: dict[str, _Topic | None] | None = None


def filter_data_text(data: ConsumerFilterData | None) -> str:
    """Write one group's filter data as the admin tool is shown it."""
    return "null" if data is None else file_text(_stored(data))


def decode_filter_data(text: str) -> FilterDataByTopic | None:
    """Read a file; compiled expressions are not in it. None when it holds no table at all.

    Raises:
        FrameError: what fastjson could not read.
    """
    stored = _File.decode(text.encode("utf-8", "surrogatepass"))
    if stored.filter_data_by_topic is None:
        return None
    return {
        topic: {group: data for group, data in groups.group_filter_data.items() if data is not None}
        for topic, groups in stored.filter_data_by_topic.items()
        if groups is not None
    }


def _stored(data: ConsumerFilterData) -> ConsumerFilterData:
    """What stands in the file now, whatever becomes of `data`."""
    written = _Written(*(getattr(data, field.name) for field in fields(data)))
    written.dead = data.is_dead()
    return written
