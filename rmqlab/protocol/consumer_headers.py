"""Headers of what consumers ask: pull, offsets, members, locks, messages sent back.

Source: 4.8.0 `org.apache.rocketmq.common.protocol.header`; the numbers are request codes.
"""

from __future__ import annotations

import msgspec

from rmqlab.protocol.header import NULL, CommandHeader, Long


class PullMessageRequestHeader(CommandHeader):
    """PULL_MESSAGE 11 (row S-59); `sub_version` in epoch ms, `sys_flag` made by `pull_sys_flag`."""

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
    """Answer to 11: all four are null when a check refused the pull before the store was asked."""

    suggest_which_broker_id: Long = NULL
    next_begin_offset: Long = NULL
    min_offset: Long = NULL
    max_offset: Long = NULL


class QueryConsumerOffsetRequestHeader(CommandHeader):
    """QUERY_CONSUMER_OFFSET 14."""

    consumer_group: str = NULL
    topic: str = NULL
    queue_id: int = NULL


class QueryConsumerOffsetResponseHeader(CommandHeader):
    """Answer to 14."""

    offset: Long = NULL


class UpdateConsumerOffsetRequestHeader(CommandHeader):
    """UPDATE_CONSUMER_OFFSET 15."""

    consumer_group: str = NULL
    topic: str = NULL
    queue_id: int = NULL
    commit_offset: Long = NULL


class UpdateConsumerOffsetResponseHeader(CommandHeader):
    """Answer to 15: nothing but an empty `extFields`."""


class GetConsumerListByGroupRequestHeader(CommandHeader):
    """GET_CONSUMER_LIST_BY_GROUP 38."""

    consumer_group: str = NULL


class GetConsumerListByGroupResponseHeader(CommandHeader):
    """Answer to 38: the list is in the body."""


class NotifyConsumerIdsChangedRequestHeader(CommandHeader):
    """NOTIFY_CONSUMER_IDS_CHANGED 40, from broker to client."""

    consumer_group: str = NULL


class UnregisterClientRequestHeader(CommandHeader):
    """UNREGISTER_CLIENT 35."""

    client_id: str = msgspec.field(default=NULL, name="clientID")
    producer_group: str | None = None
    consumer_group: str | None = None


class UnregisterClientResponseHeader(CommandHeader):
    """Answer to 35: nothing but an empty `extFields`."""


class ConsumerSendMsgBackRequestHeader(CommandHeader):
    """CONSUMER_SEND_MSG_BACK 36; `offset` is the commit log offset of the message (bytes)."""

    offset: Long = NULL
    group: str = NULL
    delay_level: int = NULL
    origin_msg_id: str | None = None
    origin_topic: str | None = None
    unit_mode: bool = False
    max_reconsume_times: int | None = None


class GetMaxOffsetRequestHeader(CommandHeader):
    """GET_MAX_OFFSET 30."""

    topic: str = NULL
    queue_id: int = NULL


class GetMaxOffsetResponseHeader(CommandHeader):
    """Answer to 30."""

    offset: Long = NULL


class GetMinOffsetRequestHeader(CommandHeader):
    """GET_MIN_OFFSET 31."""

    topic: str = NULL
    queue_id: int = NULL


class GetMinOffsetResponseHeader(CommandHeader):
    """Answer to 31."""

    offset: Long = NULL


class SearchOffsetRequestHeader(CommandHeader):
    """SEARCH_OFFSET_BY_TIMESTAMP 29; `timestamp` in epoch ms."""

    topic: str = NULL
    queue_id: int = NULL
    timestamp: Long = NULL


class SearchOffsetResponseHeader(CommandHeader):
    """Answer to 29."""

    offset: Long = NULL


class GetEarliestMsgStoretimeRequestHeader(CommandHeader):
    """GET_EARLIEST_MSG_STORETIME 32."""

    topic: str = NULL
    queue_id: int = NULL


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


class RegisterMessageFilterClassRequestHeader(CommandHeader):
    """REGISTER_MESSAGE_FILTER_CLASS 302."""

    consumer_group: str = NULL
    topic: str = NULL
    class_name: str = NULL
    class_crc: int = msgspec.field(default=NULL, name="classCRC")
