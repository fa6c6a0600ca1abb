"""Connections, subscriptions, offsets and what consumers say, for the admin tool (`AdminBrokerProcessor`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rmqlab.broker.processor import CALL_TIMEOUT_MS, success, system_error, with_header
from rmqlab.message.java import hash_map_order, is_blank
from rmqlab.message.topics import MessageQueue, message_queue_order
from rmqlab.protocol.admin_headers import (
    GetConsumerConnectionListRequestHeader,
    GetConsumerRunningInfoRequestHeader,
    GetConsumeStatsRequestHeader,
    GetProducerConnectionListRequestHeader,
    GetTopicStatsInfoRequestHeader,
    QueryTopicConsumeByWhoRequestHeader,
)
from rmqlab.protocol.bodies import (
    Connection,
    ConsumerConnection,
    ConsumeStats,
    GroupList,
    OffsetWrapper,
    ProducerConnection,
    TopicOffset,
    TopicStatsTable,
)
from rmqlab.protocol.codes import V3_1_8_SNAPSHOT, RequestCode, ResponseCode, version_desc
from rmqlab.protocol.command import RemotingCommand

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rmqlab.broker.broker import Broker
    from rmqlab.broker.client_housekeeping_service import ClientChannelInfo
    from rmqlab.broker.extra.broker_stats_manager import BrokerStatsManager
    from rmqlab.broker.processor import Handler
    from rmqlab.protocol.channel import Channel
_TIMEOUT = "org.apache.rocketmq.remoting.exception.RemotingTimeoutException"


class AdminConsumers:
    """One method a request; `handlers` says which. Times are epoch ms, offsets count messages."""

    def __init__(self, broker: Broker, stats: BrokerStatsManager) -> None:
        self._config = broker.config
        self._store = broker.message_store
        self._topics = broker.topic_config_manager
        self._offsets = broker.consumer_offset_manager
        self._consumers = broker.consumer_manager
        self._producers = broker.producer_manager
        self._broker2client = broker.broker2client
        self._stats = stats
        code = RequestCode
        self.handlers: dict[int, Handler] = {
            code.GET_TOPIC_STATS_INFO: with_header(GetTopicStatsInfoRequestHeader, self._topic_stats),
            code.GET_CONSUMER_CONNECTION_LIST: with_header(GetConsumerConnectionListRequestHeader, self._consumer_list),
            code.GET_PRODUCER_CONNECTION_LIST: with_header(GetProducerConnectionListRequestHeader, self._producer_list),
            code.GET_CONSUME_STATS: with_header(GetConsumeStatsRequestHeader, self._consume_stats),
            code.GET_CONSUMER_RUNNING_INFO: self._consumer_running_info,
            code.QUERY_TOPIC_CONSUME_BY_WHO: with_header(QueryTopicConsumeByWhoRequestHeader, self._consume_by_who),
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

    def _consume_by_who(self, header: QueryTopicConsumeByWhoRequestHeader, _now: int) -> RemotingCommand:
        """Groups online that subscribe to a topic, and groups that have offsets of it."""
        topic, consumers = header.topic, self._consumers.consumer_table
        groups = {group for group, info in consumers.items() if topic in info.subscription_table}
        groups.update(group for other, group in self._offsets.topics_and_groups() if other == topic)
        return success(GroupList(group_list=hash_map_order(sorted(groups))))

    def _consumer_running_info(self, channel: Channel, command: RemotingCommand, _now: int) -> RemotingCommand | None:
        """Pass the question on to a consumer; its answer, which comes later, is the answer."""
        header = command.decode_header(GetConsumerRunningInfoRequestHeader)
        group, client_id = header.consumer_group, header.client_id
        info = self._consumers.find_channel(group, client_id)
        if info is None:
            return system_error(f"The Consumer <{group}> <{client_id}> not online")
        if info.version < V3_1_8_SNAPSHOT:
            return system_error(
                f"The Consumer <{client_id}> Version <{version_desc(info.version)}> too low to finish, please "
                "upgrade it to V3_1_8_SNAPSHOT"
            )
        request = RemotingCommand.request(command.code, None, command.body)
        request.ext_fields = dict(command.all_ext_fields() or {})
        address = info.channel.remote_address

        def on_answer(answer: RemotingCommand | None) -> None:
            if answer is None:
                waited = f"{_TIMEOUT}, wait response on the channel <{address}> timeout, {CALL_TIMEOUT_MS}(ms)"
                answer = RemotingCommand.response(
                    ResponseCode.CONSUME_MSG_TIMEOUT, f"consumer <{group}> <{client_id}> Timeout: {waited}"
                )
            channel.send(answer.reply_to(command))

        self._broker2client.call_client(info.channel, request, on_answer)
        return None

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
