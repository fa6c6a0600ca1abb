"""Headers of what consumers ask: pull, offsets, members, locks, messages sent back.

Source: `org.apache.rocketmq.common.protocol.header`; the numbers are request codes.
"""

from __future__ import annotations

from typing import Final

import msgspec

from rmqlab.message.java import Long
from rmqlab.protocol.header import NULL, CommandHeader, WithConsumerGroup, WithOffset, WithQueue

FLAG_COMMIT_OFFSET: Final = 0x1
"""Bits of a pull's `sysFlag` (`PullSysFlag`, row S-59): it also commits `commitOffset`."""
FLAG_SUSPEND: Final = 0x2
"""The broker may hold the pull when there is nothing to give."""
FLAG_SUBSCRIPTION: Final = 0x4
"""The pull brings its own subscription."""
FLAG_CLASS_FILTER: Final = 0x8
"""A filter server runs the consumer's own class."""
FLAG_LITE_PULL_MESSAGE: Final = 0x10
"""A lite pull consumer asks."""


class PullMessageRequestHeader(CommandHeader):
    """PULL_MESSAGE 11 (row S-59); `sub_version` in epoch ms, `sys_flag` of the bits `FLAG_*`."""

    consumer_group: str = NULL
    topic: str = NULL
    queue_id: int = NULL
    queue_offset: Long = NULL
    max_msg_nums: int = NULL
    sys_flag: int = NULL
    commit_offset: Long = NULL
    suspend_timeout_millis: Long = NULL
    subscription: str | None = None
    sub_version: Long = NULL
    expression_type: str | None = None


class PullMessageResponseHeader(CommandHeader):
    """Answer to 11: all are null when a check refused the pull before the store was asked; 5.x has the flags."""

    suggest_which_broker_id: Long = NULL
    next_begin_offset: Long = NULL
    min_offset: Long = NULL
    max_offset: Long = NULL
    topic_sys_flag: int = NULL
    group_sys_flag: int = NULL


class QueryConsumerOffsetRequestHeader(WithConsumerGroup):
    """QUERY_CONSUMER_OFFSET 14."""

    topic: str = NULL
    queue_id: int = NULL


class UpdateConsumerOffsetRequestHeader(WithConsumerGroup):
    """UPDATE_CONSUMER_OFFSET 15."""

    topic: str = NULL
    queue_id: int = NULL
    commit_offset: Long = NULL


class GetConsumerListByGroupRequestHeader(WithConsumerGroup):
    """GET_CONSUMER_LIST_BY_GROUP 38."""


class NotifyConsumerIdsChangedRequestHeader(WithConsumerGroup):
    """NOTIFY_CONSUMER_IDS_CHANGED 40, from broker to client."""


class UnregisterClientRequestHeader(CommandHeader):
    """UNREGISTER_CLIENT 35."""

    client_id: str = msgspec.field(default=NULL, name="clientID")
    producer_group: str | None = None
    consumer_group: str | None = None


class ConsumerSendMsgBackRequestHeader(WithOffset):
    """CONSUMER_SEND_MSG_BACK 36; `offset` is the commit log offset of the message (bytes)."""

    group: str = NULL
    delay_level: int = NULL
    origin_msg_id: str | None = None
    origin_topic: str | None = None
    unit_mode: bool = False
    max_reconsume_times: int | None = None


class GetMaxOffsetRequestHeader(WithQueue):
    """GET_MAX_OFFSET 30."""


class GetMinOffsetRequestHeader(WithQueue):
    """GET_MIN_OFFSET 31."""


class SearchOffsetRequestHeader(WithQueue):
    """SEARCH_OFFSET_BY_TIMESTAMP 29; `timestamp` in epoch ms."""

    timestamp: Long = NULL


class GetEarliestMsgStoretimeRequestHeader(WithQueue):
    """GET_EARLIEST_MSG_STORETIME 32."""


class GetEarliestMsgStoretimeResponseHeader(CommandHeader):
    """Answer to 32; `timestamp` in epoch ms."""

    timestamp: Long = NULL


class RegisterFilterServerRequestHeader(CommandHeader):
    """REGISTER_FILTER_SERVER 301."""

    filter_server_addr: str = NULL


class RegisterFilterServerResponseHeader(CommandHeader):
    """Answer to 301."""

    broker_name: str = NULL
    broker_id: Long = 0


class RegisterMessageFilterClassRequestHeader(WithConsumerGroup):
    """REGISTER_MESSAGE_FILTER_CLASS 302."""

    topic: str = NULL
    class_name: str = NULL
    class_crc: int = msgspec.field(default=NULL, name="classCRC")
