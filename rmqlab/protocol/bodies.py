"""JSON bodies between consumers and brokers (`org.apache.rocketmq.common.protocol.body`)."""

from __future__ import annotations

import msgspec

from rmqlab.message.message import MessageQueue
from rmqlab.protocol.header import NULL
from rmqlab.protocol.serializable import RemotingSerializable
from rmqlab.protocol.subscription_data import SubscriptionData


class GetConsumerListByGroupResponseBody(RemotingSerializable):
    """Answer to 38: client ids of a group's members."""

    consumer_id_list: list[str] = msgspec.field(default_factory=list)


class CheckClientRequestBody(RemotingSerializable):
    """CHECK_CLIENT_CONFIG 46: a client asks whether it may subscribe so."""

    client_id: str = NULL
    group: str = NULL
    subscription_data: SubscriptionData | None = None


class LockBatchRequestBody(RemotingSerializable):
    """LOCK_BATCH_MQ 41: an orderly consumer wants these queues for itself."""

    consumer_group: str = NULL
    client_id: str = NULL
    mq_set: list[MessageQueue] = msgspec.field(default_factory=list)


class LockBatchResponseBody(RemotingSerializable):
    """Answer to 41: the queues it got."""

    lock_ok_mq_set: list[MessageQueue] = msgspec.field(default_factory=list, name="lockOKMQSet")


class UnlockBatchRequestBody(LockBatchRequestBody):
    """UNLOCK_BATCH_MQ 42: these queues are free again."""


class ResetOffsetBody(RemotingSerializable):
    """RESET_CONSUMER_CLIENT_OFFSET 220, and the answer to 222: the offset each queue gets."""

    offset_table: dict[MessageQueue, int] = msgspec.field(default_factory=dict)


class MessageQueueForC(RemotingSerializable):
    """A queue with its offset: C++ clients cannot read maps whose keys are objects."""

    topic: str = NULL
    broker_name: str = NULL
    queue_id: int = 0
    offset: int = 0


class ResetOffsetBodyForC(RemotingSerializable):
    """RESET_CONSUMER_CLIENT_OFFSET 220 for a C++ client."""

    offset_table: list[MessageQueueForC] = msgspec.field(default_factory=list)
