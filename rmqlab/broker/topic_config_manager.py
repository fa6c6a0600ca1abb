"""The broker's topics: those it makes at the start, those it makes on demand (4.8.0 `TopicConfigManager`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rmqlab.broker.processor_error import named
from rmqlab.message.topics import (
    AUTO_CREATE_TOPIC_KEY_TOPIC,
    BENCHMARK_TOPIC,
    OFFSET_MOVED_EVENT,
    SCHEDULE_TOPIC,
    SELF_TEST_TOPIC,
    SYSTEM_TOPICS,
    TRANS_CHECK_MAX_TIME_TOPIC,
    is_system_topic,
    reply_topic,
)
from rmqlab.protocol.topic_config import PERM_INHERIT, PERM_READ, PERM_WRITE, DataVersion, TopicConfig, is_inherited

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rmqlab.broker.broker import Broker

SCHEDULE_TOPIC_QUEUE_NUM = 18
BENCHMARK_QUEUE_NUM = 1024
_UNIT, _UNIT_SUB = 0x1, 0x2


class TopicConfigManager:
    """Name to configuration of every topic of the broker, and the version of that table.

    `system_topics` are the names nobody may create or delete: 4.8.0's own, and the broker's and the cluster's names.
    Persisting is left to whoever runs the broker.
    """

    def __init__(self, broker: Broker) -> None:
        self._broker = broker
        self.topic_config_table: dict[str, TopicConfig] = {}
        self.data_version = DataVersion(broker.now)
        self.system_topics = set(SYSTEM_TOPICS)
        config = broker.config
        read_write = PERM_READ | PERM_WRITE
        self._add_system_topic(SELF_TEST_TOPIC, 1)
        if config.auto_create_topic_enable:
            nums = config.default_topic_queue_nums
            self._add_system_topic(AUTO_CREATE_TOPIC_KEY_TOPIC, nums, PERM_INHERIT | read_write)
        self._add_system_topic(BENCHMARK_TOPIC, BENCHMARK_QUEUE_NUM)
        perm = PERM_INHERIT | (read_write if config.cluster_topic_enable else 0)
        self._add_system_topic(config.broker_cluster_name, 16, perm)
        perm = PERM_INHERIT | (read_write if config.broker_topic_enable else 0)
        self._add_system_topic(config.broker_name, 1, perm)
        self._add_system_topic(OFFSET_MOVED_EVENT, 1)
        self._add_system_topic(SCHEDULE_TOPIC, SCHEDULE_TOPIC_QUEUE_NUM)
        if config.trace_topic_enable:
            self._add_system_topic(config.msg_trace_topic_name, 1)
        self._add_system_topic(reply_topic(config.broker_cluster_name), 1)

    def _add_system_topic(self, topic: str, queue_nums: int, perm: int = PERM_READ | PERM_WRITE) -> None:
        self.system_topics.add(topic)
        self.topic_config_table[topic] = TopicConfig(topic, queue_nums, queue_nums, perm)

    def is_system_topic(self, topic: str) -> bool:
        """Tell whether the topic is RocketMQ's or this broker's own."""
        return topic in self.system_topics or is_system_topic(topic)

    def select_topic_config(self, topic: str) -> TopicConfig | None:
        """Return a topic's configuration, None when the broker does not know the topic."""
        return self.topic_config_table.get(topic)

    def is_order_topic(self, topic: str) -> bool:
        """Tell whether a topic is marked as ordered."""
        config = self.topic_config_table.get(topic)
        return config is not None and config.order

    def create_topic_in_send_message_method(
        self, topic: str, default_topic: str, client_default_topic_queue_nums: int, topic_sys_flag: int
    ) -> TopicConfig | None:
        """Return the topic a producer sends to, made after `default_topic` if it is new.

        None when that default does not exist or may not be inherited from. A new topic gets as many queues as the
        client wants but not more than the default topic has, and is registered with the name server.
        """
        config = self.topic_config_table.get(topic)
        if config is not None:
            return config
        default = self.topic_config_table.get(default_topic)
        if default is None:
            return None
        if default_topic == AUTO_CREATE_TOPIC_KEY_TOPIC and not self._broker.config.auto_create_topic_enable:
            default.perm = PERM_READ | PERM_WRITE
        if not is_inherited(default.perm):
            return None
        queue_nums = max(min(client_default_topic_queue_nums, default.write_queue_nums), 0)
        config = TopicConfig(topic, queue_nums, queue_nums, default.perm & ~PERM_INHERIT)
        config.topic_sys_flag = topic_sys_flag
        config.topic_filter_type = default.topic_filter_type
        return self._create(config)

    def create_topic_in_send_message_back_method(
        self, topic: str, queue_nums: int, perm: int, topic_sys_flag: int
    ) -> TopicConfig:
        """Return a retry, dead letter or transaction topic, made and registered if it is new (row H-32)."""
        config = self.topic_config_table.get(topic)
        if config is not None:
            return config
        config = TopicConfig(topic, queue_nums, queue_nums, perm)
        config.topic_sys_flag = topic_sys_flag
        return self._create(config)

    def create_topic_of_tran_check_max_time(self, queue_nums: int, perm: int) -> TopicConfig:
        """Return the topic for half messages that were checked too often, made if it is new."""
        return self.create_topic_in_send_message_back_method(TRANS_CHECK_MAX_TIME_TOPIC, queue_nums, perm, 0)

    def update_topic_unit_flag(self, topic: str, unit: bool) -> None:
        """Set or clear the unit flag of a known topic."""
        config = self.topic_config_table.get(topic)
        if config is not None:
            flag = config.topic_sys_flag
            self._change_sys_flag(config, flag | _UNIT if unit else flag & ~_UNIT)

    def update_topic_unit_sub_flag(self, topic: str, has_unit_sub: bool) -> None:
        """Set the unit subscription flag of a known topic; Java never clears it, but counts it as a change."""
        config = self.topic_config_table.get(topic)
        if config is not None:
            flag = config.topic_sys_flag
            self._change_sys_flag(config, flag | _UNIT_SUB if has_unit_sub else flag)

    def update_topic_config(self, topic_config: TopicConfig) -> None:
        """Put a topic into the table, new or not; the caller registers the broker."""
        self.topic_config_table[named(topic_config.topic_name)] = topic_config
        self.data_version.next_version(self._broker.now)

    def update_order_topic_config(self, order_topics: Iterable[str] | None) -> None:
        """Mark exactly these topics as ordered, as the name server says (None: it says nothing)."""
        if order_topics is None:
            return
        ordered = set(order_topics)
        changed = [config for name, config in self.topic_config_table.items() if config.order != (name in ordered)]
        for config in changed:
            config.order = not config.order
        if changed:
            self.data_version.next_version(self._broker.now)

    def delete_topic_config(self, topic: str) -> None:
        """Forget a topic; an unknown one changes nothing."""
        if self.topic_config_table.pop(topic, None) is not None:
            self.data_version.next_version(self._broker.now)

    def _create(self, config: TopicConfig) -> TopicConfig:
        self.update_topic_config(config)
        self._broker.register_broker_all(check_order_config=False, oneway=True, force_register=True)
        return config

    def _change_sys_flag(self, config: TopicConfig, flag: int) -> None:
        config.topic_sys_flag = flag
        self.data_version.next_version(self._broker.now)
        self._broker.register_broker_all(check_order_config=False, oneway=True, force_register=True)
