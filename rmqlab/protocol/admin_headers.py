"""Headers of administration that clients and a lab send too: topics, groups, offsets.

Source: `org.apache.rocketmq.common.protocol.header`; the numbers are request codes.
"""

from __future__ import annotations

from rmqlab.message.java import Long, text_of
from rmqlab.message.sysflag import MULTI_TAG, SINGLE_TAG
from rmqlab.protocol.header import NULL, CommandHeader, RemotingCommandException, WithTopic


class CreateTopicRequestHeader(WithTopic):
    """UPDATE_AND_CREATE_TOPIC 17."""

    default_topic: str = NULL
    read_queue_nums: int = NULL
    write_queue_nums: int = NULL
    perm: int = NULL
    topic_filter_type: str = NULL
    topic_sys_flag: int | None = None
    order: bool = False

    def check_fields(self) -> None:
        """Refuse a filter type other than SINGLE_TAG and MULTI_TAG, null included."""
        filter_type: str | None = self.topic_filter_type
        if filter_type not in {SINGLE_TAG, MULTI_TAG}:
            raise RemotingCommandException(f"topicFilterType = [{text_of(filter_type)}] value invalid")


class DeleteSubscriptionGroupRequestHeader(CommandHeader):
    """DELETE_SUBSCRIPTIONGROUP 207."""

    group_name: str = NULL


class DeleteTopicRequestHeader(WithTopic):
    """DELETE_TOPIC_IN_BROKER 215."""


class ResetOffsetRequestHeader(WithTopic):
    """INVOKE_BROKER_TO_RESET_OFFSET 222, and 220 on to the client; `timestamp` in epoch ms, -1 for the end."""

    group: str = NULL
    timestamp: Long = 0
    is_force: bool = False
