"""When a message has been retried often enough, and where it goes then (4.8.0 `SendMessageProcessor`)."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from rmqlab.broker.processor_error import NULL_POINTER, ProcessorError
from rmqlab.message.topics import dlq_topic
from rmqlab.protocol.topic_config import PERM_WRITE

if TYPE_CHECKING:
    from rmqlab.broker.broker import Broker
    from rmqlab.protocol.command import RemotingCommand
    from rmqlab.protocol.consumer_headers import ConsumerSendMsgBackRequestHeader
    from rmqlab.protocol.producer_headers import SendMessageRequestHeader, SendMessageRequestHeaderV2
    from rmqlab.protocol.topic_config import SubscriptionGroupConfig

    RetryHeader = ConsumerSendMsgBackRequestHeader | SendMessageRequestHeader | SendMessageRequestHeaderV2

DLQ_NUMS_PER_GROUP = 1
V3_4_9 = 121  # ordinal in `MQVersion`: since then clients say themselves how often they retry


class Place(NamedTuple):
    """Where a message goes."""

    topic: str
    queue_id: int


def max_reconsume_times(command: RemotingCommand, header: RetryHeader, group_config: SubscriptionGroupConfig) -> int:
    """Return how often a message is retried: as the client says, or for old clients as its group is configured.

    Raises ProcessorError when a client that should say it does not.
    """
    if command.version < V3_4_9:
        return group_config.retry_max_times
    if header.max_reconsume_times is None:
        raise ProcessorError(NULL_POINTER)
    return header.max_reconsume_times


def dead_letter_place(broker: Broker, group: str) -> Place:
    """Return the place of a group's dead letters; the topic is made when it is new, and nobody may pull from it."""
    topic = dlq_topic(group)
    queue_id = broker.choose(f"queue of {topic}", DLQ_NUMS_PER_GROUP)
    broker.topic_config_manager.create_topic_in_send_message_back_method(topic, DLQ_NUMS_PER_GROUP, PERM_WRITE, 0)
    return Place(topic, queue_id)
