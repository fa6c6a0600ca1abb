"""Topics and consumer groups as a broker keeps them, and as it registers them with a name server.

Source: `TopicConfig`, `PermName`, `SubscriptionGroupConfig`, `DataVersion`, `RegisterBrokerBody`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

import msgspec

from rmqlab.message.java import Long, to_int64
from rmqlab.message.sysflag import SINGLE_TAG
from rmqlab.protocol.serializable import RemotingSerializable

PERM_INHERIT: Final = 1
PERM_WRITE: Final = 2
PERM_READ: Final = 4
PERM_READ_WRITE: Final = PERM_READ | PERM_WRITE
# `TopicSysFlag`: a topic of a unit, a topic that a unit subscribes.
UNIT_FLAG: Final = 1
UNIT_SUB_FLAG: Final = 2


def is_readable(perm: int) -> bool:
    """Whether messages may be pulled (`PermName.isReadable`)."""
    return bool(perm & PERM_READ)


def is_writeable(perm: int) -> bool:
    """Whether messages may be sent (`PermName.isWriteable`)."""
    return bool(perm & PERM_WRITE)


def is_inherited(perm: int) -> bool:
    """Whether other topics may be made after this one (`PermName.isInherited`)."""
    return bool(perm & PERM_INHERIT)


def perm2string(perm: int) -> str:
    """`RWX`, with `-` for what is not granted (`PermName.perm2String`)."""
    flags = ((PERM_READ, "R"), (PERM_WRITE, "W"), (PERM_INHERIT, "X"))
    return "".join(letter if perm & flag else "-" for flag, letter in flags)


class TopicConfig(RemotingSerializable):
    """One topic: queue numbers, permissions (`PERM_*`), filter type, unit flags."""

    topic_name: str = ""
    read_queue_nums: int = 16
    write_queue_nums: int = 16
    perm: int = PERM_READ | PERM_WRITE
    topic_filter_type: str = SINGLE_TAG
    topic_sys_flag: int = 0
    order: bool = False

    def __str__(self) -> str:
        return (
            f"TopicConfig [topicName={self.topic_name}, readQueueNums={self.read_queue_nums}, "
            f"writeQueueNums={self.write_queue_nums}, perm={perm2string(self.perm)}, "
            f"topicFilterType={self.topic_filter_type}, topicSysFlag={self.topic_sys_flag}, "
            f"order={'true' if self.order else 'false'}]"
        )


class DataVersion(RemotingSerializable):
    """When a table last changed (epoch ms) and how often it did."""

    timestamp: Long = 0
    counter: Long = 0

    def next_version(self, now: int) -> None:
        """Note a change at `now` (epoch ms)."""
        self.timestamp = now
        self.counter = to_int64(self.counter + 1)

    def __str__(self) -> str:
        return f"DataVersion[timestamp={self.timestamp}, counter={self.counter}]"


class TopicConfigSerializeWrapper(RemotingSerializable):
    """All topics of a broker and the version of the table; also the answer to GET_ALL_TOPIC_CONFIG 21."""

    topic_config_table: dict[str, TopicConfig] = msgspec.field(default_factory=dict)
    data_version: DataVersion = msgspec.field(default_factory=DataVersion)


class BrokerRegistration(NamedTuple):
    """What a broker sends the name servers: its address, topics, filter servers (`BrokerOuterAPI`).

    `filter_server_list` None: it says nothing of them. `oneway`: no caller waits for the name server's answer. With
    `check_order_config` the answer's ordered topics go to `TopicConfigManager.update_order_topic_config`. The table and
    its version live on: copy them to keep them. `created`: a topic, and the version of the table of which it alone is
    missing; None when more may be new. It never leaves this process.
    """

    cluster_name: str
    broker_addr: str
    broker_name: str
    broker_id: int
    ha_server_addr: str
    topic_config_table: Mapping[str, TopicConfig]
    data_version: DataVersion
    filter_server_list: list[str] | None
    check_order_config: bool = False
    oneway: bool = False
    created: tuple[str, DataVersion] | None = None


class SubscriptionGroupConfig(RemotingSerializable):
    """One group. `which_broker_when_consume_slowly` is the broker id that is suggested to those who lag."""

    group_name: str = ""
    consume_enable: bool = True
    consume_from_min_enable: bool = True
    consume_broadcast_enable: bool = True
    retry_queue_nums: int = 1
    retry_max_times: int = 16
    broker_id: Long = 0
    which_broker_when_consume_slowly: Long = 1
    notify_consumer_ids_changed_enable: bool = True


class SubscriptionGroupWrapper(RemotingSerializable):
    """All groups of a broker and the version of the table."""

    subscription_group_table: dict[str, SubscriptionGroupConfig] = msgspec.field(default_factory=dict)
    data_version: DataVersion = msgspec.field(default_factory=DataVersion)


class RegisterBrokerBody(RemotingSerializable):
    """Topics and filter servers, as JSON."""

    topic_config_serialize_wrapper: TopicConfigSerializeWrapper = msgspec.field(
        default_factory=TopicConfigSerializeWrapper,
    )
    filter_server_list: list[str] = msgspec.field(default_factory=list)
