"""Tables the admin tool asks for: connections, subscriptions, offsets (4.8.0 `AdminBrokerProcessor`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rmqlab.message.java import hash_map_order, is_blank
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
    GetConsumerConnectionListRequestHeader,
    GetConsumeStatsInBrokerHeader,
    GetConsumeStatsRequestHeader,
    GetProducerConnectionListRequestHeader,
    GetTopicStatsInfoRequestHeader,
    QueryConsumeTimeSpanRequestHeader,
    QueryTopicConsumeByWhoRequestHeader,
)
from rmqlab.protocol.bodies import message_queue_order
from rmqlab.protocol.codes import ResponseCode
from rmqlab.protocol.command import RemotingCommand

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rmqlab.broker.broker import Broker
    from rmqlab.broker.client_channel_info import ClientChannelInfo
    from rmqlab.protocol.channel import Channel


_GROUPS = 2048  # the table length of the ConcurrentHashMap of groups


class AdminTables:
    """One method a request; nothing here changes the broker. Times are epoch ms, offsets count messages."""

    def __init__(self, broker: Broker) -> None:
        self._broker = broker

    def topic_stats_info(self, channel: Channel, command: RemotingCommand, now: int) -> RemotingCommand:
        """Answer 202: lowest and next offset of every queue, and the store time of its last message."""
        topic = command.decode_header(GetTopicStatsInfoRequestHeader).topic
        config = self._broker.topic_config_manager.select_topic_config(topic)
        if config is None:
            return RemotingCommand.response(ResponseCode.TOPIC_NOT_EXIST, f"topic[{topic}] not exist")
        store = self._broker.message_store
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
        return RemotingCommand.response(ResponseCode.SUCCESS, body=TopicStatsTable(offset_table=table).encode())

    def consumer_connection_list(self, channel: Channel, command: RemotingCommand, now: int) -> RemotingCommand:
        """Answer 203: a group's members and the subscriptions in force."""
        group = command.decode_header(GetConsumerConnectionListRequestHeader).consumer_group
        info = self._broker.consumer_manager.get_consumer_group_info(group)
        if info is None:
            return RemotingCommand.response(ResponseCode.CONSUMER_NOT_ONLINE, f"the consumer group[{group}] not online")
        body = ConsumerConnection(
            connection_set=_connections(info.channel_info_table.values()),
            subscription_table={
                topic: subscription for topic, subscription in info.subscription_table.items() if topic is not None
            },
            consume_type=info.consume_type,
            message_model=info.message_model,
            consume_from_where=info.consume_from_where,
        )
        return RemotingCommand.response(ResponseCode.SUCCESS, body=body.encode())

    def producer_connection_list(self, channel: Channel, command: RemotingCommand, now: int) -> RemotingCommand:
        """Answer 204: a producer group's members; an emptied group is still there."""
        group = command.decode_header(GetProducerConnectionListRequestHeader).producer_group
        table = self._broker.producer_manager.group_channel_table.get(group)
        if table is None:
            return RemotingCommand.response(ResponseCode.SYSTEM_ERROR, f"the producer group[{group}] not exist")
        body = ProducerConnection(connection_set=_connections(table.values()))
        return RemotingCommand.response(ResponseCode.SUCCESS, body=body.encode())

    def consume_stats(self, channel: Channel, command: RemotingCommand, now: int) -> RemotingCommand:
        """Answer 208: how far a group is in every queue of one topic, or of all it has offsets of.

        A topic that a group online does not subscribe to is passed over.
        """
        header = command.decode_header(GetConsumeStatsRequestHeader)
        group, rate = header.consumer_group, 0.0
        for topic in self._consumed_topics(group, header.topic):
            rate += self._broker.broker_stats_manager.tps_group_get_nums(group, topic, now)
        stats = ConsumeStats(offset_table=self.offsets_of(group, header.topic), consume_tps=rate)
        return RemotingCommand.response(ResponseCode.SUCCESS, body=stats.encode())

    def offsets_of(self, group: str, topic: str | None) -> dict[MessageQueue, OffsetWrapper]:
        """How far `group` is in every queue of `topic`, or (None or blank) of all topics it has offsets of."""
        table: dict[MessageQueue, OffsetWrapper] = {}
        for name in self._consumed_topics(group, topic):
            config = self._broker.topic_config_manager.topic_config_table[name]
            for queue in self._queues(name, config.read_queue_nums):
                table[queue] = self._offsets(group, queue)
        return {queue: table[queue] for queue in message_queue_order(table)}

    def _consumed_topics(self, group: str, topic: str | None) -> list[str]:
        """Return `topic`, or all that a group has offsets of, without those unknown or not subscribed to (any more)."""
        topics = [topic or ""]
        if is_blank(topic):
            topics = hash_map_order(self._broker.consumer_offset_manager.which_topic_by_consumer(group))
        return [name for name in topics if self._is_consumed(group, name)]

    def _is_consumed(self, group: str, topic: str) -> bool:
        consumers = self._broker.consumer_manager
        return self._broker.topic_config_manager.select_topic_config(topic) is not None and (
            consumers.find_subscription_data(group, topic) is not None
            or consumers.find_subscription_data_count(group) == 0
        )

    def broker_consume_stats(self, channel: Channel, command: RemotingCommand, now: int) -> RemotingCommand:
        """Answer 317: for every group of the table, how far it is in each topic it has offsets of."""
        header = command.decode_header(GetConsumeStatsInBrokerHeader)
        broker, behind = self._broker, 0
        groups: list[dict[str, list[ConsumeStats]]] = []
        for group in hash_map_order(broker.subscription_group_manager.subscription_group_table, _GROUPS):
            rows = []
            for topic in self._consumed_topics(group, None):
                config = broker.topic_config_manager.topic_config_table[topic]
                if header.is_order and not config.order:
                    continue
                table = {queue: self._offsets(group, queue) for queue in self._queues(topic, config.write_queue_nums)}
                rate = broker.broker_stats_manager.tps_group_get_nums(group, topic, now)
                behind += sum(offsets.broker_offset - offsets.consumer_offset for offsets in table.values())
                rows.append(ConsumeStats(offset_table=table, consume_tps=rate))
            groups.append({group: rows})
        body = ConsumeStatsList(consume_stats_list=groups, broker_addr=broker.config.broker_addr, total_diff=behind)
        return RemotingCommand.response(ResponseCode.SUCCESS, body=body.encode())

    def consume_time_span(self, channel: Channel, command: RemotingCommand, now: int) -> RemotingCommand:
        """Answer 303: store times of the first, the last and the last consumed message of each queue."""
        header = command.decode_header(QueryConsumeTimeSpanRequestHeader)
        topic, store = header.topic, self._broker.message_store
        config = self._broker.topic_config_manager.select_topic_config(topic)
        if config is None:
            return RemotingCommand.response(ResponseCode.TOPIC_NOT_EXIST, f"topic[{topic}] not exist")
        spans = []
        for number in range(config.write_queue_nums):
            earliest = store.get_earliest_message_time(topic, number)
            highest = store.get_max_offset_in_queue(topic, number)
            consumed = self._broker.consumer_offset_manager.query_offset(header.group, topic, number)
            span = QueueTimeSpan(
                message_queue=MessageQueue(topic, self._broker.config.broker_name, number),
                min_time_stamp=earliest,
                max_time_stamp=store.get_message_store_time_stamp(topic, number, highest - 1),
                consume_time_stamp=(
                    store.get_message_store_time_stamp(topic, number, consumed - 1) if consumed > 0 else earliest
                ),
            )
            if consumed < highest:
                span.delay_time = now - store.get_message_store_time_stamp(topic, number, consumed)
            spans.append(span)
        body = QueryConsumeTimeSpanBody(consume_time_span_set=spans)
        return RemotingCommand.response(ResponseCode.SUCCESS, body=body.encode())

    def topic_consume_by_who(self, channel: Channel, command: RemotingCommand, now: int) -> RemotingCommand:
        """Answer 300: groups online that subscribe to a topic, and groups that have offsets of it."""
        topic = command.decode_header(QueryTopicConsumeByWhoRequestHeader).topic
        groups = self._broker.consumer_manager.query_topic_consume_by_who(topic)
        groups.update(self._broker.consumer_offset_manager.which_group_by_topic(topic))
        return RemotingCommand.response(
            ResponseCode.SUCCESS, body=GroupList(group_list=hash_map_order(sorted(groups))).encode()
        )

    def _queues(self, topic: str, queue_nums: int) -> list[MessageQueue]:
        name = self._broker.config.broker_name
        return message_queue_order([MessageQueue(topic, name, number) for number in range(queue_nums)])

    def _offsets(self, group: str, queue: MessageQueue) -> OffsetWrapper:
        store = self._broker.message_store
        consumed = max(self._broker.consumer_offset_manager.query_offset(group, queue.topic, queue.queue_id), 0)
        last = 0
        if consumed > 0:
            last = max(store.get_message_store_time_stamp(queue.topic, queue.queue_id, consumed - 1), 0)
        return OffsetWrapper(
            broker_offset=max(store.get_max_offset_in_queue(queue.topic, queue.queue_id), 0),
            consumer_offset=consumed,
            last_timestamp=last,
        )


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
