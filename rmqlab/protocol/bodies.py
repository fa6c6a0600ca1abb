"""JSON bodies of consumers, brokers and the admin tool (`org.apache.rocketmq.common.protocol.body` and `.admin`).

Times are epoch ms; a `double` of Java is a float here.
"""

from __future__ import annotations

import msgspec

from rmqlab.message.java import Long
from rmqlab.message.topics import MessageQueue
from rmqlab.protocol.header import NULL
from rmqlab.protocol.heartbeat import ConsumeFromWhere, ConsumeType, MessageModel
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

    offset_table: dict[MessageQueue, Long] = msgspec.field(default_factory=dict)


class KVTable(RemotingSerializable):
    """Names and values: answers to 28, 103 and 219."""

    table: dict[str, str] = msgspec.field(default_factory=dict)


class GroupList(RemotingSerializable):
    """Answer to 300: groups that consume a topic."""

    group_list: list[str] = msgspec.field(default_factory=list)


class Connection(RemotingSerializable):
    """One client of a group; `client_addr` is "ip:port"."""

    client_id: str = NULL
    client_addr: str = NULL
    language: str | None = None
    version: int = 0


class ProducerConnection(RemotingSerializable):
    """Answer to 204."""

    connection_set: list[Connection] = msgspec.field(default_factory=list)


class ConsumerConnection(RemotingSerializable):
    """Answer to 203: the group's members and the subscriptions in force, by topic."""

    connection_set: list[Connection] = msgspec.field(default_factory=list)
    subscription_table: dict[str, SubscriptionData] = msgspec.field(default_factory=dict)
    consume_type: ConsumeType = NULL
    message_model: MessageModel = NULL
    consume_from_where: ConsumeFromWhere = NULL


class TopicOffset(RemotingSerializable):
    """Lowest and next offset of a queue, and when it last grew."""

    min_offset: Long = 0
    max_offset: Long = 0
    last_update_timestamp: Long = 0


class TopicStatsTable(RemotingSerializable):
    """Answer to 202."""

    offset_table: dict[MessageQueue, TopicOffset] = msgspec.field(default_factory=dict)


class OffsetWrapper(RemotingSerializable):
    """How far a group is in a queue; `last_timestamp` is the store time of the last message it consumed."""

    broker_offset: Long = 0
    consumer_offset: Long = 0
    last_timestamp: Long = 0


class ConsumeStats(RemotingSerializable):
    """Answer to 208."""

    offset_table: dict[MessageQueue, OffsetWrapper] = msgspec.field(default_factory=dict)
    consume_tps: float = 0.0


class ConsumeStatsList(RemotingSerializable):
    """Answer to 317: for each group what 208 says of each of its topics; `total_diff` sums up what is not consumed."""

    consume_stats_list: list[dict[str, list[ConsumeStats]]] = msgspec.field(default_factory=list)
    broker_addr: str = NULL
    total_diff: Long = 0


class QueueTimeSpan(RemotingSerializable):
    """Store times of a queue's first and last message, of the last one consumed, and how old the next one is (ms).

    Each time stands there as text too, in the zone of the broker.
    """

    message_queue: MessageQueue = NULL
    min_time_stamp: Long = 0
    max_time_stamp: Long = 0
    consume_time_stamp: Long = 0
    delay_time: Long = 0
    min_time_stamp_str: str = ""
    max_time_stamp_str: str = ""
    consume_time_stamp_str: str = ""


class QueryConsumeTimeSpanBody(RemotingSerializable):
    """Answer to 303."""

    consume_time_span_set: list[QueueTimeSpan] = msgspec.field(default_factory=list)


class QueryCorrectionOffsetBody(RemotingSerializable):
    """Answer to 308: an offset for each queue."""

    correction_offsets: dict[int, Long] = msgspec.field(default_factory=dict)


class GetConsumerStatusBody(RemotingSerializable):
    """Answer to 221, where `message_queue_table` counts, and to 223, with the tables of clients by their ids."""

    message_queue_table: dict[MessageQueue, Long] = msgspec.field(default_factory=dict)
    consumer_table: dict[str, dict[MessageQueue, Long]] = msgspec.field(default_factory=dict)


class ConsumerOffsetSerializeWrapper(RemotingSerializable):
    """Answer to 43: committed offsets by "topic@group" and queue."""

    offset_table: dict[str, dict[int, Long]] = msgspec.field(default_factory=dict)


class ProcessQueueInfo(RemotingSerializable):
    """What a consumer holds of a queue."""

    commit_offset: Long = 0
    cached_msg_min_offset: Long = 0
    cached_msg_max_offset: Long = 0
    cached_msg_count: int = 0
    cached_msg_size_in_mi_b: int = msgspec.field(default=0, name="cachedMsgSizeInMiB")
    transaction_msg_min_offset: Long = 0
    transaction_msg_max_offset: Long = 0
    transaction_msg_count: int = 0
    locked: bool = False
    try_unlock_times: Long = 0
    last_lock_timestamp: Long = 0
    droped: bool = False
    last_pull_timestamp: Long = 0
    last_consume_timestamp: Long = 0


class ConsumeStatus(RemotingSerializable):
    """A consumer's rates for a topic."""

    pull_rt: float = msgspec.field(default=0.0, name="pullRT")
    pull_tps: float = msgspec.field(default=0.0, name="pullTPS")
    consume_rt: float = msgspec.field(default=0.0, name="consumeRT")
    consume_ok_tps: float = msgspec.field(default=0.0, name="consumeOKTPS")
    consume_failed_tps: float = msgspec.field(default=0.0, name="consumeFailedTPS")
    consume_failed_msgs: Long = 0


class ConsumerRunningInfo(RemotingSerializable):
    """Answer to 307, from a client; `subscription_set` is in the order of `SubscriptionData`."""

    properties: dict[str, str] = msgspec.field(default_factory=dict)
    subscription_set: list[SubscriptionData] = msgspec.field(default_factory=list)
    mq_table: dict[MessageQueue, ProcessQueueInfo] = msgspec.field(default_factory=dict)
    status_table: dict[str, ConsumeStatus] = msgspec.field(default_factory=dict)
    jstack: str | None = None


class ConsumeQueueData(RemotingSerializable):
    """One consume queue entry as 321 shows it; `eval` and `msg` tell what the filter made of it."""

    physic_offset: Long = 0
    physic_size: int = 0
    tags_code: Long = 0
    extend_data_json: str | None = None
    bit_map: str | None = None
    eval: bool = False
    msg: str | None = None


class QueryConsumeQueueResponseBody(RemotingSerializable):
    """Answer to 321."""

    subscription_data: SubscriptionData | None = None
    filter_data: str | None = None
    queue_data: list[ConsumeQueueData] | None = None
    max_queue_index: Long = 0
    min_queue_index: Long = 0


class BrokerStatsItem(RemotingSerializable):
    """A statistic over a span: sum, a second, a time."""

    sum: Long = 0
    tps: float = 0.0
    avgpt: float = 0.0


class BrokerStatsData(RemotingSerializable):
    """Answer to 315."""

    stats_minute: BrokerStatsItem = msgspec.field(default_factory=BrokerStatsItem)
    stats_hour: BrokerStatsItem = msgspec.field(default_factory=BrokerStatsItem)
    stats_day: BrokerStatsItem = msgspec.field(default_factory=BrokerStatsItem)


class PlainAccessConfig(RemotingSerializable):
    """An account of access control, as a file of rules has it."""

    access_key: str | None = None
    secret_key: str | None = None
    white_remote_address: str | None = None
    admin: bool = False
    default_topic_perm: str | None = None
    default_group_perm: str | None = None
    topic_perms: list[str] | None = None
    group_perms: list[str] | None = None


class GetBrokerClusterAclConfigResponseBody(RemotingSerializable):
    """Answer to 54: addresses that need no key, and all accounts."""

    global_white_addrs: list[str] = msgspec.field(default_factory=list)
    plain_access_configs: list[PlainAccessConfig] = msgspec.field(default_factory=list)
