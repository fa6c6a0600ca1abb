"""What the broker allows each consumer group (4.8.0 `SubscriptionGroupManager`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rmqlab.broker.processor import named
from rmqlab.message.topics import (
    CID_ONSAPI_OWNER_GROUP,
    CID_ONSAPI_PERMISSION_GROUP,
    CID_ONSAPI_PULL_GROUP,
    FILTERSRV_CONSUMER_GROUP,
    ONS_HTTP_PROXY_GROUP,
    SELF_TEST_CONSUMER_GROUP,
    TOOLS_CONSUMER_GROUP,
    is_system_group,
)
from rmqlab.protocol.topic_config import DataVersion, SubscriptionGroupConfig

if TYPE_CHECKING:
    from rmqlab.broker.broker_config import BrokerConfig
    from rmqlab.broker.timers import Timers

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


class SubscriptionGroupManager:
    """Name to configuration of every consumer group, and the version of that table. Nothing here persists."""

    def __init__(self, config: BrokerConfig, timers: Timers) -> None:
        self._config = config
        self._timers = timers
        self.subscription_group_table = {name: SubscriptionGroupConfig(name) for name in SYSTEM_GROUPS}
        self.data_version = DataVersion(timers.now)

    def find_subscription_group_config(self, group: str) -> SubscriptionGroupConfig | None:
        """Return a group's configuration; an unknown group is made with the defaults (row S-58).

        None when `autoCreateSubscriptionGroup` is off, except for RocketMQ's own CID_RMQ_SYS_ groups.
        """
        config = self.subscription_group_table.get(named(group))
        if config is None and (self._config.auto_create_subscription_group or is_system_group(group)):
            config = SubscriptionGroupConfig(group)
            self.update_subscription_group_config(config)
        return config

    def update_subscription_group_config(self, config: SubscriptionGroupConfig) -> None:
        """Put a group into the table, new or not."""
        self.subscription_group_table[named(config.group_name)] = config
        self.data_version.next_version(self._timers.now)

    def delete_subscription_group_config(self, group: str) -> None:
        """Forget a group; an unknown one changes nothing."""
        if self.subscription_group_table.pop(group, None) is not None:
            self.data_version.next_version(self._timers.now)
