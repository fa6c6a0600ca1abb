"""Connections, subscriptions and offsets, for the admin tool (`AdminBrokerProcessor`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rmqlab.broker.consumer_manage_processor import TOPIC_GROUP_SEPARATOR
from rmqlab.broker.processor import NULL_POINTER, ProcessorError, success, system_error, with_header
from rmqlab.message.java import LONG_MAX, hash_map_order, is_blank, split
from rmqlab.message.message import MessageQueue
from rmqlab.protocol.admin_bodies import (
    Connection,
    ConsumerConnection,
    ConsumeStats,
    ConsumeStatsList,
    GroupList,
    OffsetWrapper,
    ProducerConnection,
    QueryConsumeTimeSpanBody,
    QueueTimeSpan,
    TopicOffset,
    TopicStatsTable,
)
from rmqlab.protocol.admin_headers import (
    CloneGroupOffsetRequestHeader,
    GetConsumerConnectionListRequestHeader,
    GetConsumeStatsInBrokerHeader,
    GetConsumeStatsRequestHeader,
    GetProducerConnectionListRequestHeader,
    GetTopicStatsInfoRequestHeader,
    QueryConsumeTimeSpanRequestHeader,
    QueryCorrectionOffsetHeader,
    QueryTopicConsumeByWhoRequestHeader,
)
from rmqlab.protocol.bodies import QueryCorrectionOffsetBody
from rmqlab.protocol.codes import RequestCode, ResponseCode
from rmqlab.protocol.command import RemotingCommand
from rmqlab.protocol.serializable import message_queue_order

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rmqlab.broker.broker import Broker
    from rmqlab.broker.client_housekeeping_service import ClientChannelInfo
    from rmqlab.broker.extra.broker_stats_manager import BrokerStatsManager
    from rmqlab.broker.processor import Handler

_GROUPS = 2048  # the table length of the ConcurrentHashMap of groups


class AdminConsumers:
    """One method a request; `handlers` says which. Times are epoch ms, offsets count messages."""

    def __init__(self, broker: Broker, stats: BrokerStatsManager) -> None:
        self._config = broker.config
        self._store = broker.message_store
        self._topics = broker.topic_config_manager
        self._groups = broker.subscription_group_manager
        self._offsets = broker.consumer_offset_manager
        self._consumers = broker.consumer_manager
        self._producers = broker.producer_manager
        self._stats = stats
        code = RequestCode
        self.handlers: dict[int, Handler] = {
            code.GET_TOPIC_STATS_INFO: with_header(GetTopicStatsInfoRequestHeader, self._topic_stats),
            code.GET_CONSUMER_CONNECTION_LIST: with_header(GetConsumerConnectionListRequestHeader, self._consumer_list),
            code.GET_PRODUCER_CONNECTION_LIST: with_header(GetProducerConnectionListRequestHeader, self._producer_list),
            code.GET_CONSUME_STATS: with_header(GetConsumeStatsRequestHeader, self._consume_stats),
            code.GET_BROKER_CONSUME_STATS: with_header(GetConsumeStatsInBrokerHeader, self._broker_consume_stats),
            code.QUERY_CONSUME_TIME_SPAN: with_header(QueryConsumeTimeSpanRequestHeader, self._consume_time_span),
            code.QUERY_TOPIC_CONSUME_BY_WHO: with_header(QueryTopicConsumeByWhoRequestHeader, self._consume_by_who),
            code.QUERY_CORRECTION_OFFSET: with_header(QueryCorrectionOffsetHeader, self._correction_offset),
            code.CLONE_GROUP_OFFSET: with_header(CloneGroupOffsetRequestHeader, self._clone_group_offset),
        }

    def _topic_stats(self, header: GetTopicStatsInfoRequestHeader, _now: int) -> RemotingCommand:
        """Lowest and next offset of every queue, and the store time of its last message."""
        topic, store = header.topic, self._store
        config = self._topics.select_topic_config(topic)
        if config is None:
            return _no_topic(topic)
        table = {}
        for queue in self._queues(topic, config.write_queue_nums):
            highest = max(store.get_max_offset_in_queue(topic, queue.queue_id), 0)
            table[queue] = TopicOffset(
                min_offset=max(store.get_min_offset_in_queue(topic, queue.queue_id), 0),
                max_offset=highest,
                last_update_timestamp=(
                    store.get_message_store_time_stamp(topic, queue.queue_id, highest - 1) if highest > 0 else 0
                ),
            )
        return success(TopicStatsTable(offset_table=table))

    def _consumer_list(self, header: GetConsumerConnectionListRequestHeader, _now: int) -> RemotingCommand:
        """A group's members and the subscriptions in force."""
        group = header.consumer_group
        info = self._consumers.get_consumer_group_info(group)
        if info is None:
            return RemotingCommand.response(ResponseCode.CONSUMER_NOT_ONLINE, f"the consumer group[{group}] not online")
        body = ConsumerConnection(
            connection_set=_connections(info.channel_info_table.values()),
            subscription_table={topic: held for topic, held in info.subscription_table.items() if topic is not None},
            consume_type=info.consume_type,
            message_model=info.message_model,
            consume_from_where=info.consume_from_where,
        )
        return success(body.encode())

    def _producer_list(self, header: GetProducerConnectionListRequestHeader, _now: int) -> RemotingCommand:
        """A producer group's members; an emptied group is still there."""
        table = self._producers.group_channel_table.get(header.producer_group)
        if table is None:
            return system_error(f"the producer group[{header.producer_group}] not exist")
        return success(ProducerConnection(connection_set=_connections(table.values())))

    def _consume_stats(self, header: GetConsumeStatsRequestHeader, now: int) -> RemotingCommand:
        """How far a group is in every queue of one topic, or of all it has offsets of.

        A topic that a group online does not subscribe to is passed over.
        """
        group = header.consumer_group
        topics = self._consumed_topics(group, header.topic)
        table: dict[MessageQueue, OffsetWrapper] = {}
        for topic in topics:
            for queue in self._queues(topic, self._topics.topic_config_table[topic].read_queue_nums):
                table[queue] = self._offsets_of(group, queue)
        return success(
            ConsumeStats(
                offset_table={queue: table[queue] for queue in message_queue_order(table)},
                consume_tps=sum((self._stats.tps_group_get_nums(group, topic, now) for topic in topics), 0.0),
            )
        )

    def _broker_consume_stats(self, header: GetConsumeStatsInBrokerHeader, now: int) -> RemotingCommand:
        """For every group of the table, how far it is in each topic it has offsets of."""
        behind, groups = 0, []
        for group in hash_map_order(self._groups.subscription_group_table, _GROUPS):
            rows = []
            for topic in self._consumed_topics(group, None):
                config = self._topics.topic_config_table[topic]
                if header.is_order and not config.order:
                    continue
                queues = self._queues(topic, config.write_queue_nums)
                table = {queue: self._offsets_of(group, queue) for queue in queues}
                behind += sum(offsets.broker_offset - offsets.consumer_offset for offsets in table.values())
                rate = self._stats.tps_group_get_nums(group, topic, now)
                rows.append(ConsumeStats(offset_table=table, consume_tps=rate))
            groups.append({group: rows})
        return success(
            ConsumeStatsList(consume_stats_list=groups, broker_addr=self._config.broker_addr, total_diff=behind)
        )

    def _consume_time_span(self, header: QueryConsumeTimeSpanRequestHeader, now: int) -> RemotingCommand:
        """Store times of the first, the last and the last consumed message of each queue."""
        topic, store = header.topic, self._store
        config = self._topics.select_topic_config(topic)
        if config is None:
            return _no_topic(topic)
        spans = []
        for number in range(config.write_queue_nums):
            earliest = store.get_earliest_message_time(topic, number)
            highest = store.get_max_offset_in_queue(topic, number)
            consumed = self._offsets.query_offset(header.group, topic, number)
            span = QueueTimeSpan(
                message_queue=MessageQueue(topic, self._config.broker_name, number),
                min_time_stamp=earliest,
                max_time_stamp=store.get_message_store_time_stamp(topic, number, highest - 1),
                consume_time_stamp=(
                    store.get_message_store_time_stamp(topic, number, consumed - 1) if consumed > 0 else earliest
                ),
            )
            if consumed < highest:
                span.delay_time = now - store.get_message_store_time_stamp(topic, number, consumed)
            spans.append(span)
        return success(QueryConsumeTimeSpanBody(consume_time_span_set=spans))

    def _consume_by_who(self, header: QueryTopicConsumeByWhoRequestHeader, _now: int) -> RemotingCommand:
        """Groups online that subscribe to a topic, and groups that have offsets of it."""
        topic, consumers = header.topic, self._consumers.consumer_table
        groups = {group for group, info in consumers.items() if topic in info.subscription_table}
        groups.update(group for other, group in self._offsets.topics_and_groups() if other == topic)
        return success(GroupList(group_list=hash_map_order(sorted(groups))))

    def _correction_offset(self, header: QueryCorrectionOffsetHeader, _now: int) -> RemotingCommand:
        """The lowest offset of all groups, queue by queue, where it does not hold a group back."""
        lowest = self._min_offset_in_all_groups(header.topic, header.filter_groups)
        for queue_id, offset in (self._offsets.query_offsets(header.compare_group, header.topic) or {}).items():
            if queue_id not in lowest:
                raise ProcessorError(NULL_POINTER)
            if lowest[queue_id] > offset:
                lowest[queue_id] = LONG_MAX
        return success(QueryCorrectionOffsetBody(correction_offsets=dict(sorted(lowest.items()))))

    def _min_offset_in_all_groups(self, topic: str, filter_groups: str | None) -> dict[int, int]:
        """Return, for each queue of a topic, the lowest committed offset that is not below the queue's first message.

        4.8.0 forgets the offsets of the groups named in `filter_groups` (with commas) for good, and so does this.
        Raises ProcessorError for a key without a group, where Java throws.
        """
        offset_table = self._offsets.offset_table
        if not is_blank(filter_groups):
            for group in split(filter_groups or "", ","):
                for key in list(offset_table):
                    parts = split(key, TOPIC_GROUP_SEPARATOR)
                    if len(parts) == 1:
                        raise ProcessorError(
                            "java.lang.ArrayIndexOutOfBoundsException: Index 1 out of bounds for length 1"
                        )
                    if parts[1] == group:
                        del offset_table[key]
        lowest: dict[int, int] = {}
        for key, offsets in offset_table.items():
            if split(key, TOPIC_GROUP_SEPARATOR)[:1] != [topic]:
                continue
            for queue_id, offset in offsets.items():
                if offset >= self._store.get_min_offset_in_queue(topic, queue_id):
                    lowest[queue_id] = min(offset, lowest.get(queue_id, LONG_MAX))
        return lowest

    def _clone_group_offset(self, header: CloneGroupOffsetRequestHeader, _now: int) -> RemotingCommand:
        """Give a group the committed offsets that another one has of a topic, instead of its own.

        Without a topic 4.8.0 walks over all topics of the source and clones the offsets of the topic "null": nothing.
        """
        offset_table = self._offsets.offset_table
        topics = [header.topic or ""]
        if is_blank(header.topic):
            topics = self._offsets.which_topic_by_consumer(header.src_group)
        for topic in topics:
            if self._topics.select_topic_config(topic) is None:
                continue
            if header.offline or self._is_subscribed(header.src_group, topic):
                offsets = offset_table.get(f"{header.topic}{TOPIC_GROUP_SEPARATOR}{header.src_group}")
                if offsets is not None:
                    offset_table[f"{header.topic}{TOPIC_GROUP_SEPARATOR}{header.dest_group}"] = dict(offsets)
        return success()

    def _consumed_topics(self, group: str, topic: str | None) -> list[str]:
        """Return `topic`, or all that a group has offsets of, without those unknown or not subscribed to (any more)."""
        topics = [topic or ""]
        if is_blank(topic):
            topics = hash_map_order(self._offsets.which_topic_by_consumer(group))
        table = self._topics.topic_config_table
        return [name for name in topics if name in table and self._is_subscribed(group, name)]

    def _is_subscribed(self, group: str, topic: str) -> bool:
        """Tell whether a group subscribes to a topic; one that subscribes to nothing may consume everything."""
        info = self._consumers.get_consumer_group_info(group)
        return info is None or not info.subscription_table or topic in info.subscription_table

    def _queues(self, topic: str, queue_nums: int) -> list[MessageQueue]:
        name = self._config.broker_name
        return message_queue_order([MessageQueue(topic, name, number) for number in range(queue_nums)])

    def _offsets_of(self, group: str, queue: MessageQueue) -> OffsetWrapper:
        topic, queue_id = queue.topic, queue.queue_id
        consumed = max(self._offsets.query_offset(group, topic, queue_id), 0)
        last = 0
        if consumed > 0:
            last = max(self._store.get_message_store_time_stamp(topic, queue_id, consumed - 1), 0)
        return OffsetWrapper(
            broker_offset=max(self._store.get_max_offset_in_queue(topic, queue_id), 0),
            consumer_offset=consumed,
            last_timestamp=last,
        )


def _no_topic(topic: str) -> RemotingCommand:
    return RemotingCommand.response(ResponseCode.TOPIC_NOT_EXIST, f"topic[{topic}] not exist")


def _connections(members: Iterable[ClientChannelInfo]) -> list[Connection]:
    return [
        Connection(
            client_id=info.client_id,
            client_addr=info.channel.remote_address,
            language=info.language,
            version=info.version,
        )
        for info in members
    ]
