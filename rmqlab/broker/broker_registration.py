"""What a broker tells the name servers (4.8.0 `BrokerOuterAPI.registerBrokerAll`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from rmqlab.protocol.topic_config import PERM_READ, PERM_WRITE, DataVersion, TopicConfig

_READ_WRITE = PERM_READ | PERM_WRITE


class BrokerRegistration(NamedTuple):
    """A broker's address, topics and filter servers.

    `oneway`: nobody waits for the name server's answer. With `check_order_config` the answer's ordered topics go to
    `TopicConfigManager.update_order_topic_config`. The table and its version live on: copy them to keep them.
    """

    cluster_name: str
    broker_addr: str
    broker_name: str
    broker_id: int
    ha_server_addr: str
    topic_config_table: Mapping[str, TopicConfig]
    data_version: DataVersion
    filter_server_list: list[str]
    check_order_config: bool
    oneway: bool
    force_register: bool


def registered_topics(table: Mapping[str, TopicConfig], broker_permission: int) -> Mapping[str, TopicConfig]:
    """Return the topics as they are registered: a broker that may not be read or written lends them its permission."""
    if broker_permission & _READ_WRITE == _READ_WRITE:
        return table
    return {
        name: TopicConfig(name, topic.read_queue_nums, topic.write_queue_nums, broker_permission)
        for name, topic in table.items()
    }
