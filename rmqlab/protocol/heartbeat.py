"""What a client sends every broker each 30 s (`HeartbeatData`, rows H-04..H-10)."""

from __future__ import annotations

from enum import Enum
from typing import Self

import msgspec
from msgspec.structs import replace

from rmqlab.protocol.header import NULL, FrameError
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
    """A heartbeat. The three sets are lists here: their order, identity hashes in Java, is the sender's.

    The fingerprint of a heartbeat, and whether its subscriptions are left out because the broker has them, are of 5.x:
    nothing is written of them where they are None, and 0 stands for a heartbeat without one.
    """

    client_id: str = msgspec.field(default=NULL, name="clientID")
    producer_data_set: list[ProducerData] = msgspec.field(default_factory=list)
    consumer_data_set: list[ConsumerData] = msgspec.field(default_factory=list)
    heartbeat_fingerprint: int | None = None
    without_sub: bool | None = None

    @classmethod
    def decode(cls, data: bytes) -> Self:
        """Read a heartbeat.

        Raises:
            FrameError: also where a member of a set is null: 4.8.0 fails on it.
        """
        heartbeat = super().decode(data)
        consumers = heartbeat.consumer_data_set
        is_whole = None not in heartbeat.producer_data_set and None not in consumers
        if not is_whole or any(None in consumer.subscription_data_set for consumer in consumers):
            raise FrameError("NullPointerException", "an element of a heartbeat's set is no object")
        return heartbeat

    def as_sent(self) -> HeartbeatData | bytes:
        """What a receiver in this process would read from the bytes; bytes where the two could differ.

        The subscriptions are new ones, so the sender may go on to change its own. Sets are never changed and shared.
        """
        texts = [self.client_id, *(producer.group_name for producer in self.producer_data_set)]
        consumers = []
        for consumer in self.consumer_data_set:
            texts.append(consumer.group_name)
            subscriptions = [
                SubscriptionData(
                    data.topic, data.sub_string, data.class_filter_mode, data.tags_set, data.code_set,
                    data.sub_version, data.expression_type or "TAG",
                )
                for data in consumer.subscription_data_set
            ]  # fmt: skip
            for data in subscriptions:
                texts += (data.topic or "", data.sub_string or "", *data.tags_set)
            consumers.append(replace(consumer, subscription_data_set=subscriptions))
        sent = replace(self, consumer_data_set=consumers)
        # text that is no ASCII may hold half a character, which UTF-8 loses
        return sent if all(map(str.isascii, texts)) else self.encode()
