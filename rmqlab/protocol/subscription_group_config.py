"""What a broker lets a consumer group do (4.8.0 `SubscriptionGroupConfig`, `SubscriptionGroupWrapper`)."""

from __future__ import annotations

import msgspec

from rmqlab.protocol.data_version import DataVersion
from rmqlab.protocol.serializable import RemotingSerializable


class SubscriptionGroupConfig(RemotingSerializable):
    """One group. `which_broker_when_consume_slowly` is the broker id that is suggested to those who lag behind."""

    group_name: str = ""
    consume_enable: bool = True
    consume_from_min_enable: bool = True
    consume_broadcast_enable: bool = True
    retry_queue_nums: int = 1
    retry_max_times: int = 16
    broker_id: int = 0
    which_broker_when_consume_slowly: int = 1
    notify_consumer_ids_changed_enable: bool = True


class SubscriptionGroupWrapper(RemotingSerializable):
    """All groups of a broker and the version of the table."""

    subscription_group_table: dict[str, SubscriptionGroupConfig] = msgspec.field(default_factory=dict)
    data_version: DataVersion = msgspec.field(default_factory=DataVersion)
