"""Headers of what the admin tool asks of a broker, and a broker of a client on its behalf.

Source: `org.apache.rocketmq.common.protocol.header`; the numbers are request codes.
"""

from __future__ import annotations

from rmqlab.message.java import Long
from rmqlab.protocol.header import NULL, CommandHeader, WithConsumerGroup, WithOffset, WithTopic


class CloneGroupOffsetRequestHeader(CommandHeader):
    """CLONE_GROUP_OFFSET 314; `offline`: whether the group subscribes to the topic is not looked at."""

    src_group: str = NULL
    dest_group: str = NULL
    topic: str | None = None
    offline: bool = False


class ConsumeMessageDirectlyResultRequestHeader(WithConsumerGroup):
    """CONSUME_MESSAGE_DIRECTLY 309, to the broker and on to the client; `msg_id` is an offsetMsgId."""

    client_id: str | None = None
    msg_id: str | None = None
    broker_name: str | None = None


class CreateAccessConfigRequestHeader(CommandHeader):
    """UPDATE_AND_CREATE_ACL_CONFIG 50; lists have commas between their parts."""

    access_key: str = NULL
    secret_key: str | None = None
    white_remote_address: str | None = None
    admin: bool = False
    default_topic_perm: str | None = None
    default_group_perm: str | None = None
    topic_perms: str | None = None
    group_perms: str | None = None


class DeleteAccessConfigRequestHeader(CommandHeader):
    """DELETE_ACL_CONFIG 51."""

    access_key: str = NULL


class GetBrokerAclConfigResponseHeader(CommandHeader):
    """Answer to GET_BROKER_CLUSTER_ACL_INFO 52; `version` is the text of a DataVersion."""

    version: str = NULL
    broker_name: str = NULL
    broker_addr: str = NULL
    cluster_name: str = NULL


class GetBrokerConfigResponseHeader(CommandHeader):
    """Answer to GET_BROKER_CONFIG 26; `version` is the text of a DataVersion."""

    version: str = NULL


class GetConsumeStatsInBrokerHeader(CommandHeader):
    """GET_BROKER_CONSUME_STATS 317."""

    is_order: bool = False


class GetConsumerStatusRequestHeader(WithTopic):
    """INVOKE_BROKER_TO_GET_CONSUMER_STATUS 223, and 221 on to clients; `client_addr` is one client's id."""

    group: str = NULL
    client_addr: str | None = None


class GetConsumeStatsRequestHeader(WithConsumerGroup):
    """GET_CONSUME_STATS 208."""

    topic: str | None = None


class GetConsumerConnectionListRequestHeader(WithConsumerGroup):
    """GET_CONSUMER_CONNECTION_LIST 203."""


class GetConsumerRunningInfoRequestHeader(WithConsumerGroup):
    """GET_CONSUMER_RUNNING_INFO 307, to the broker and on to the client."""

    client_id: str = NULL
    jstack_enable: bool = False


class GetProducerConnectionListRequestHeader(CommandHeader):
    """GET_PRODUCER_CONNECTION_LIST 204."""

    producer_group: str = NULL


class GetTopicStatsInfoRequestHeader(WithTopic):
    """GET_TOPIC_STATS_INFO 202."""


class QueryConsumeQueueRequestHeader(CommandHeader):
    """QUERY_CONSUME_QUEUE 321."""

    topic: str | None = None
    queue_id: int = 0
    index: Long = 0
    count: int = 0
    consumer_group: str | None = None


class QueryConsumeTimeSpanRequestHeader(WithTopic):
    """QUERY_CONSUME_TIME_SPAN 303."""

    group: str = NULL


class QueryCorrectionOffsetHeader(WithTopic):
    """QUERY_CORRECTION_OFFSET 308; `filter_groups` are names with commas between them."""

    filter_groups: str | None = None
    compare_group: str = NULL


class QueryMessageRequestHeader(WithTopic):
    """QUERY_MESSAGE 12; times in epoch ms."""

    key: str = NULL
    max_num: int = NULL
    begin_timestamp: Long = NULL
    end_timestamp: Long = NULL


class QueryMessageResponseHeader(CommandHeader):
    """Answer to 12."""

    index_last_update_timestamp: Long = NULL
    index_last_update_phyoffset: Long = NULL


class QueryTopicConsumeByWhoRequestHeader(WithTopic):
    """QUERY_TOPIC_CONSUME_BY_WHO 300."""


class ResumeCheckHalfMessageRequestHeader(CommandHeader):
    """RESUME_CHECK_HALF_MESSAGE 323; `msg_id` is an offsetMsgId."""

    msg_id: str | None = None


class UpdateGlobalWhiteAddrsConfigRequestHeader(CommandHeader):
    """UPDATE_GLOBAL_WHITE_ADDRS_CONFIG 53; addresses with commas between them."""

    global_white_addrs: str = NULL


class ViewBrokerStatsDataRequestHeader(CommandHeader):
    """VIEW_BROKER_STATS_DATA 315."""

    stats_name: str = NULL
    stats_key: str = NULL


class ViewMessageRequestHeader(WithOffset):
    """VIEW_MESSAGE_BY_ID 33; `offset` is a commit log offset (bytes)."""
