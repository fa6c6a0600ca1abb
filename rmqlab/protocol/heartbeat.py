"""What a client tells every broker each 30 s (4.8.0 `HeartbeatData`, rows H-04..H-10)."""

from __future__ import annotations

from enum import Enum

import msgspec

from rmqlab.protocol.header import NULL
from rmqlab.protocol.serializable import RemotingSerializable
from rmqlab.protocol.subscription_data import SubscriptionData


class ConsumeType(Enum):
    """Who starts the fetching, with RocketMQ's short word for it (row H-07)."""

    CONSUME_ACTIVELY = "PULL"
    CONSUME_PASSIVELY = "PUSH"


class MessageModel(Enum):
    """Whether members share a topic's messages or each get all of them (row H-08)."""

    BROADCASTING = "BROADCASTING"
    CLUSTERING = "CLUSTERING"


class ConsumeFromWhere(Enum):
    """Where a queue without a committed offset is read from (row H-09); three are deprecated."""

    CONSUME_FROM_LAST_OFFSET = 0
    CONSUME_FROM_LAST_OFFSET_AND_FROM_MIN_WHEN_BOOT_FIRST = 1
    CONSUME_FROM_MIN_OFFSET = 2
    CONSUME_FROM_MAX_OFFSET = 3
    CONSUME_FROM_FIRST_OFFSET = 4
    CONSUME_FROM_TIMESTAMP = 5


class ProducerData(RemotingSerializable):
    """A producer group of a client (row H-05)."""

    group_name: str = NULL


class ConsumerData(RemotingSerializable):
    """A consumer group of a client, without defaults of its own (rows H-06, H-08)."""

    group_name: str = NULL
    consume_type: ConsumeType = NULL
    message_model: MessageModel = NULL
    consume_from_where: ConsumeFromWhere = NULL
    subscription_data_set: list[SubscriptionData] = msgspec.field(default_factory=list)
    unit_mode: bool = False


class HeartbeatData(RemotingSerializable):
    """A heartbeat. The three sets are lists here: their order, identity hashes in Java, is the sender's."""

    client_id: str = msgspec.field(default=NULL, name="clientID")
    producer_data_set: list[ProducerData] = msgspec.field(default_factory=list)
    consumer_data_set: list[ConsumerData] = msgspec.field(default_factory=list)
