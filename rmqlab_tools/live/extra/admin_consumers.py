"""Topics' queues, connections and subscriptions, for the admin tool (`AdminBrokerProcessor`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rmqlab.broker.processor import require_not_null, success, system_error, with_header
from rmqlab.message.java import hash_map_order
from rmqlab.message.topics import MessageQueue, message_queue_order
from rmqlab.protocol.bodies import (
    Connection,
    ConsumerConnection,
    GroupList,
    ProducerConnection,
    TopicOffset,
    TopicStatsTable,
)
from rmqlab.protocol.codes import RequestCode, ResponseCode
from rmqlab.protocol.command import RemotingCommand
from rmqlab_tools.live.extra.admin_headers import (
    GetConsumerConnectionListRequestHeader,
    GetProducerConnectionListRequestHeader,
    GetTopicStatsInfoRequestHeader,
    QueryTopicConsumeByWhoRequestHeader,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rmqlab.broker.broker import Broker
    from rmqlab.broker.client_housekeeping_service import ClientChannelInfo
    from rmqlab.broker.processor import Handler


class AdminConsumers:
    """One method a request; `handlers` says which. Times are epoch ms, offsets count messages."""

    def __init__(self, broker: Broker) -> None:
        self._config = broker.config
        self._store = broker.message_store
        self._topics = broker.topic_config_manager
        self._offsets = broker.consumer_offset_manager
        self._consumers = broker.consumer_manager
        self._producers = broker.producer_manager
        code = RequestCode
        self.handlers: dict[int, Handler] = {
            code.GET_TOPIC_STATS_INFO: with_header(GetTopicStatsInfoRequestHeader, self._topic_stats),
            code.GET_CONSUMER_CONNECTION_LIST: with_header(GetConsumerConnectionListRequestHeader, self._consumer_list),
            code.GET_PRODUCER_CONNECTION_LIST: with_header(GetProducerConnectionListRequestHeader, self._producer_list),
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
            subscription_table={topic: data for topic, data in info.subscription_table.items() if topic is not None},
            consume_type=info.consume_type,
            message_model=info.message_model,
            consume_from_where=info.consume_from_where,
        )
        return success(body.encode())

    def _producer_list(self, header: GetProducerConnectionListRequestHeader, _now: int) -> RemotingCommand:
        """A producer group's members; an emptied group is still there."""
        table = self._producers.group_channel_table.get(require_not_null(header.producer_group))
        if table is None:
            return system_error(f"the producer group[{header.producer_group}] not exist")
        return success(ProducerConnection(connection_set=_connections(table.values())))

    def _consume_by_who(self, header: QueryTopicConsumeByWhoRequestHeader, _now: int) -> RemotingCommand:
        """Groups online that subscribe to a topic, and groups that have offsets of it."""
        topic, consumers = header.topic, self._consumers.consumer_table
        groups = {group for group, info in consumers.items() if require_not_null(topic) in info.subscription_table}
        groups.update(self._offsets.which_group_by_topic(topic))
        return success(GroupList(group_list=hash_map_order(sorted(groups))))

    def _queues(self, topic: str, queue_nums: int) -> list[MessageQueue]:
        name = self._config.broker_name
        return message_queue_order([MessageQueue(topic, name, number) for number in range(queue_nums)])


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
