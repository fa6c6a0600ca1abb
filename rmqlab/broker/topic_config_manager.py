"""Topics and consumer groups of the broker: those it makes at the start, those it makes on demand.

Source: `TopicConfigManager`, `SubscriptionGroupManager`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rmqlab.broker.config_manager import ConfigManager
from rmqlab.broker.processor import require_not_null
from rmqlab.message.java import in_hash_map_order
from rmqlab.message.topics import (
    AUTO_CREATE_TOPIC_KEY_TOPIC,
    BENCHMARK_TOPIC,
    CID_ONSAPI_OWNER_GROUP,
    CID_ONSAPI_PERMISSION_GROUP,
    CID_ONSAPI_PULL_GROUP,
    FILTERSRV_CONSUMER_GROUP,
    OFFSET_MOVED_EVENT,
    ONS_HTTP_PROXY_GROUP,
    SCHEDULE_TOPIC,
    SELF_TEST_CONSUMER_GROUP,
    SELF_TEST_TOPIC,
    SYSTEM_TOPICS_IN_ORDER,
    TOOLS_CONSUMER_GROUP,
    TRANS_HALF_TOPIC,
    is_system_group,
    listed_queues,
    reply_topic,
    validate_not_system_topic,
    validate_topic,
)
from rmqlab.protocol.topic_config import (
    PERM_INHERIT,
    PERM_READ_WRITE,
    DataVersion,
    SubscriptionGroupConfig,
    SubscriptionGroupWrapper,
    TopicConfig,
    TopicConfigSerializeWrapper,
    is_inherited,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from rmqlab.broker.broker_config import BrokerConfig
    from rmqlab.broker.processor import Timers

    OnCreate = Callable[[str, DataVersion | None], None]

SCHEDULE_TOPIC_QUEUE_NUM = 18
BENCHMARK_QUEUE_NUM = 1024
_CAPACITY = 2048  # of both tables' ConcurrentHashMaps, which decides the order in the files


class TopicConfigManager(ConfigManager):
    """Name to configuration of every topic of the broker, and the version of that table.

    `system_topics` are the names that no client may create or delete: 4.8.0's own, and the broker's and the cluster's
    names. `on_create` is called when a topic was made on demand, with its name and the table's version before, None
    when another topic changed without a new version. Persisting is left to whoever runs the broker.
    """

    file_name = "topics.json"

    def __init__(self, config: BrokerConfig, timers: Timers, on_create: OnCreate = lambda _topic, _since: None) -> None:
        self._config = config
        self._timers = timers
        self._on_create = on_create
        self._changed_quietly = False
        self.topic_config_table: dict[str, TopicConfig] = {}
        self.data_version = DataVersion(timers.now)
        self.system_topics = dict.fromkeys(SYSTEM_TOPICS_IN_ORDER)
        self._add_system_topic(SELF_TEST_TOPIC, 1)
        if config.auto_create_topic_enable:
            nums = config.default_topic_queue_nums
            self._add_system_topic(AUTO_CREATE_TOPIC_KEY_TOPIC, nums, PERM_INHERIT | PERM_READ_WRITE)
        self._add_system_topic(BENCHMARK_TOPIC, BENCHMARK_QUEUE_NUM)
        perm = PERM_INHERIT | (PERM_READ_WRITE if config.cluster_topic_enable else 0)
        self._add_system_topic(config.broker_cluster_name, 16, perm)
        perm = PERM_INHERIT | (PERM_READ_WRITE if config.broker_topic_enable else 0)
        self._add_system_topic(config.broker_name, 1, perm)
        self._add_system_topic(OFFSET_MOVED_EVENT, 1)
        self._add_system_topic(SCHEDULE_TOPIC, SCHEDULE_TOPIC_QUEUE_NUM)
        if config.trace_topic_enable:
            self._add_system_topic(config.msg_trace_topic_name, 1)
        self._add_system_topic(reply_topic(config.broker_cluster_name), 1)

    def _add_system_topic(self, topic: str, queue_nums: int, perm: int = PERM_READ_WRITE) -> None:
        self.system_topics[topic] = None
        self.topic_config_table[topic] = TopicConfig(topic, queue_nums, queue_nums, perm)

    def body(self) -> TopicConfigSerializeWrapper:
        """Every topic, and the table's version."""
        return TopicConfigSerializeWrapper(in_hash_map_order(self.topic_config_table, _CAPACITY), self.data_version)

    def decode(self, text: str) -> None:
        """Take in the topics of a file; those that are not in it stay."""
        loaded = TopicConfigSerializeWrapper.decode(text.encode())
        for topic, config in loaded.topic_config_table.items():
            config.read_queue_nums = listed_queues(topic, config.read_queue_nums)
            config.write_queue_nums = listed_queues(topic, config.write_queue_nums)
        self.topic_config_table.update(loaded.topic_config_table)
        self.data_version = loaded.data_version

    def refusal_of(self, topic: str | None) -> str | None:
        """Why no user's topic may have this name, None when it may: it is RocketMQ's own, or the broker's."""
        remark = validate_topic(topic)
        if remark is None and topic is not None:
            remark = validate_not_system_topic(topic, self.system_topics)
        return remark

    def select_topic_config(self, topic: str) -> TopicConfig | None:
        """A topic's configuration, None when it is not known here.

        Raises:
            ProcessorError: the name is null.
        """
        config = self.topic_config_table.get(topic)
        return self.topic_config_table.get(require_not_null(topic)) if config is None else config

    def is_order_topic(self, topic: str) -> bool:
        """Whether a topic is marked as ordered."""
        config = self.topic_config_table.get(topic)
        return config is not None and config.order

    def create_topic_in_send_message_method(
        self, topic: str, default_topic: str, client_default_topic_queue_nums: int, topic_sys_flag: int
    ) -> TopicConfig | None:
        """The topic a producer sends to, made after `default_topic` if it is new.

        None when that default does not exist or may not be inherited from. A new topic gets as many queues as the
        client wants but not more than the default topic has, and is registered with the name server.
        """
        config = self.topic_config_table.get(topic)
        if config is not None:
            return config
        default = self.topic_config_table.get(default_topic)
        if default is None:
            return None
        if default_topic == AUTO_CREATE_TOPIC_KEY_TOPIC and not self._config.auto_create_topic_enable:
            self._changed_quietly |= default.perm != PERM_READ_WRITE
            default.perm = PERM_READ_WRITE
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
        """A retry, dead letter or transaction topic, made and registered if it is new (row H-32)."""
        config = self.topic_config_table.get(topic)
        if config is not None:
            return config
        config = TopicConfig(topic, queue_nums, queue_nums, perm)
        config.topic_sys_flag = topic_sys_flag
        return self._create(config)

    def create_half_topic(self) -> TopicConfig:
        """The topic of half messages, made if it is new: the first look for transactions makes it."""
        return self.create_topic_in_send_message_back_method(TRANS_HALF_TOPIC, 1, PERM_READ_WRITE, 0)

    def update_topic_config(self, topic_config: TopicConfig) -> None:
        """Put a topic into the table, new or not; the caller registers the broker."""
        self.topic_config_table[require_not_null(topic_config.topic_name)] = topic_config
        self.data_version.next_version(self._timers.now)

    def update_order_topic_config(self, order_topics: Iterable[str] | None) -> None:
        """Mark exactly these topics as ordered, as the name server says (None: it says nothing)."""
        if order_topics is None:
            return
        ordered = set(order_topics)
        changed = [config for name, config in self.topic_config_table.items() if config.order != (name in ordered)]
        for config in changed:
            config.order = not config.order
        if changed:
            self.data_version.next_version(self._timers.now)

    def delete_topic_config(self, topic: str) -> None:
        """Forget a topic; an unknown one changes nothing."""
        if self.topic_config_table.pop(topic, None) is not None:
            self.data_version.next_version(self._timers.now)

    def _create(self, config: TopicConfig) -> TopicConfig:
        since = None if self._changed_quietly else DataVersion(self.data_version.timestamp, self.data_version.counter)
        self._changed_quietly = False
        self.update_topic_config(config)
        self._on_create(config.topic_name, since)
        return config


# Java lets the last four consume by broadcast explicitly; every group may by default.
SYSTEM_GROUPS = (
    TOOLS_CONSUMER_GROUP,
    FILTERSRV_CONSUMER_GROUP,
    SELF_TEST_CONSUMER_GROUP,
    ONS_HTTP_PROXY_GROUP,
    CID_ONSAPI_PULL_GROUP,
    CID_ONSAPI_PERMISSION_GROUP,
    CID_ONSAPI_OWNER_GROUP,
)


class SubscriptionGroupManager(ConfigManager):
    """Name to configuration of every consumer group, and the version of that table."""

    file_name = "subscriptionGroup.json"

    def __init__(self, config: BrokerConfig, timers: Timers) -> None:
        self._config = config
        self._timers = timers
        self.subscription_group_table = {name: SubscriptionGroupConfig(name) for name in SYSTEM_GROUPS}
        self.data_version = DataVersion(timers.now)

    def body(self) -> SubscriptionGroupWrapper:
        """Every consumer group, and the table's version."""
        return SubscriptionGroupWrapper(in_hash_map_order(self.subscription_group_table, _CAPACITY), self.data_version)

    def decode(self, text: str) -> None:
        """Take in the groups of a file; those that are not in it stay."""
        loaded = SubscriptionGroupWrapper.decode(text.encode())
        self.subscription_group_table.update(loaded.subscription_group_table)
        self.data_version = loaded.data_version

    def find_subscription_group_config(self, group: str) -> SubscriptionGroupConfig | None:
        """A group's configuration; an unknown group is made with the defaults (row S-58).

        None when `autoCreateSubscriptionGroup` is off, except for RocketMQ's own CID_RMQ_SYS_ groups.
        """
        config = self.subscription_group_table.get(group)
        if config is None and (is_system_group(require_not_null(group)) or self._config.auto_create_subscription_group):
            config = SubscriptionGroupConfig(group)
            self.update_subscription_group_config(config)
        return config

    def update_subscription_group_config(self, config: SubscriptionGroupConfig) -> None:
        """Put a group into the table, new or not."""
        self.subscription_group_table[require_not_null(config.group_name)] = config
        self.data_version.next_version(self._timers.now)

    def delete_subscription_group_config(self, group: str) -> None:
        """Forget a group; an unknown one changes nothing."""
        if self.subscription_group_table.pop(require_not_null(group), None) is not None:
            self.data_version.next_version(self._timers.now)
