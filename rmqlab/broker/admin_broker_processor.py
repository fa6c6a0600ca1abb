"""What the admin tool asks, and what consumers ask on the way: locks, offsets (4.8.0 `AdminBrokerProcessor`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rmqlab.broker import admin_tables
from rmqlab.broker.processor_error import require
from rmqlab.message.topics import validate_topic
from rmqlab.protocol.admin_headers import (
    CreateTopicRequestHeader,
    DeleteSubscriptionGroupRequestHeader,
)
from rmqlab.protocol.bodies import (
    LockBatchRequestBody,
    LockBatchResponseBody,
    UnlockBatchRequestBody,
    message_queue_order,
)
from rmqlab.protocol.codes import RequestCode, ResponseCode
from rmqlab.protocol.command import RemotingCommand
from rmqlab.protocol.consumer_headers import (
    GetEarliestMsgStoretimeRequestHeader,
    GetEarliestMsgStoretimeResponseHeader,
    GetMaxOffsetRequestHeader,
    GetMaxOffsetResponseHeader,
    GetMinOffsetRequestHeader,
    GetMinOffsetResponseHeader,
    RegisterFilterServerRequestHeader,
    RegisterFilterServerResponseHeader,
    SearchOffsetRequestHeader,
    SearchOffsetResponseHeader,
)
from rmqlab.protocol.subscription_group_config import SubscriptionGroupConfig
from rmqlab.protocol.topic_config import TopicConfig

if TYPE_CHECKING:
    from collections.abc import Callable

    from rmqlab.broker.broker import Broker
    from rmqlab.broker.channel import Channel

    Handler = Callable[[Channel, RemotingCommand, int], RemotingCommand]

# What Java's `createResponseCommand(null)` says until somebody says something else; some answers keep it.
NOT_SET = "not set any response code"


class AdminBrokerProcessor:
    """Answers every request that has no processor of its own, as far as the lab needs them.

    Java answers nothing at all to a code it does not know, and so does this; the client times out.
    """

    def __init__(self, broker: Broker) -> None:
        self._broker = broker
        tables = admin_tables.AdminTables(broker)
        self._handlers: dict[int, Handler] = {
            RequestCode.UPDATE_AND_CREATE_TOPIC: self._update_and_create_topic,
            RequestCode.SEARCH_OFFSET_BY_TIMESTAMP: self._search_offset_by_timestamp,
            RequestCode.GET_MAX_OFFSET: self._get_max_offset,
            RequestCode.GET_MIN_OFFSET: self._get_min_offset,
            RequestCode.GET_EARLIEST_MSG_STORETIME: self._get_earliest_msg_storetime,
            RequestCode.LOCK_BATCH_MQ: self._lock_batch_mq,
            RequestCode.UNLOCK_BATCH_MQ: self._unlock_batch_mq,
            RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP: self._update_and_create_subscription_group,
            RequestCode.DELETE_SUBSCRIPTIONGROUP: self._delete_subscription_group,
            RequestCode.REGISTER_FILTER_SERVER: self._register_filter_server,
            RequestCode.GET_TOPIC_STATS_INFO: tables.topic_stats_info,
            RequestCode.GET_CONSUMER_CONNECTION_LIST: tables.consumer_connection_list,
            RequestCode.GET_PRODUCER_CONNECTION_LIST: tables.producer_connection_list,
            RequestCode.GET_CONSUME_STATS: tables.consume_stats,
            RequestCode.QUERY_TOPIC_CONSUME_BY_WHO: tables.topic_consume_by_who,
        }

    def process(self, channel: Channel, command: RemotingCommand, now: int) -> RemotingCommand | None:
        """Answer a request, None for an unknown code. Raises ProcessorError for a required field that is null."""
        handler = self._handlers.get(command.code)
        return None if handler is None else handler(channel, command, now)

    def _refuse_topic(self, topic: str | None) -> RemotingCommand | None:
        """Return the answer to a name that no user's topic may have, None when it is good."""
        remark = validate_topic(topic)
        if remark is None and topic is not None and self._broker.topic_config_manager.is_system_topic(topic):
            remark = f"The topic[{topic}] is conflict with system topic."
        return None if remark is None else RemotingCommand.response(ResponseCode.SYSTEM_ERROR, remark)

    def _update_and_create_topic(self, channel: Channel, command: RemotingCommand, now: int) -> RemotingCommand:
        """Put a topic's configuration in place and register the broker; `order` and the default topic are not read."""
        header = command.decode_header(CreateTopicRequestHeader)
        refusal = self._refuse_topic(header.topic)
        if refusal is not None:
            return refusal
        require(header, ("read_queue_nums", "write_queue_nums", "topic_filter_type", "perm"))
        broker = self._broker
        broker.topic_config_manager.update_topic_config(
            TopicConfig(
                header.topic,
                header.read_queue_nums,
                header.write_queue_nums,
                header.perm,
                header.topic_filter_type,
                header.topic_sys_flag or 0,
            )
        )
        # 4.8.0 sends this one topic; the name server takes the whole table in the same way.
        broker.register_broker_all(check_order_config=True, oneway=False, force_register=True)
        return RemotingCommand.response(ResponseCode.SUCCESS, NOT_SET)

    def _search_offset_by_timestamp(self, channel: Channel, command: RemotingCommand, now: int) -> RemotingCommand:
        header = command.decode_header(SearchOffsetRequestHeader)
        require(header, ("topic", "queue_id", "timestamp"))
        offset = self._broker.message_store.get_offset_in_queue_by_time(header.topic, header.queue_id, header.timestamp)
        return RemotingCommand.response(ResponseCode.SUCCESS, header=SearchOffsetResponseHeader(offset=offset))

    def _get_max_offset(self, channel: Channel, command: RemotingCommand, now: int) -> RemotingCommand:
        header = command.decode_header(GetMaxOffsetRequestHeader)
        require(header, ("topic", "queue_id"))
        offset = self._broker.message_store.get_max_offset_in_queue(header.topic, header.queue_id)
        return RemotingCommand.response(ResponseCode.SUCCESS, header=GetMaxOffsetResponseHeader(offset=offset))

    def _get_min_offset(self, channel: Channel, command: RemotingCommand, now: int) -> RemotingCommand:
        header = command.decode_header(GetMinOffsetRequestHeader)
        require(header, ("topic", "queue_id"))
        offset = self._broker.message_store.get_min_offset_in_queue(header.topic, header.queue_id)
        return RemotingCommand.response(ResponseCode.SUCCESS, header=GetMinOffsetResponseHeader(offset=offset))

    def _get_earliest_msg_storetime(self, channel: Channel, command: RemotingCommand, now: int) -> RemotingCommand:
        header = command.decode_header(GetEarliestMsgStoretimeRequestHeader)
        require(header, ("topic", "queue_id"))
        timestamp = self._broker.message_store.get_earliest_message_time(header.topic, header.queue_id)
        return RemotingCommand.response(
            ResponseCode.SUCCESS, header=GetEarliestMsgStoretimeResponseHeader(timestamp=timestamp)
        )

    def _lock_batch_mq(self, channel: Channel, command: RemotingCommand, now: int) -> RemotingCommand:
        """Lock queues for an orderly consumer; the answer names those it holds now."""
        body = LockBatchRequestBody.decode(command.body or b"")
        asked = message_queue_order(body.mq_set)
        locked = self._broker.rebalance_lock_manager.try_lock_batch(body.consumer_group, asked, body.client_id, now)
        # Java makes the set of those locked for as many as were asked for.
        answer = LockBatchResponseBody(lock_ok_mq_set=message_queue_order(locked, len(asked)))
        return RemotingCommand.response(ResponseCode.SUCCESS, body=answer.encode())

    def _unlock_batch_mq(self, channel: Channel, command: RemotingCommand, now: int) -> RemotingCommand:
        body = UnlockBatchRequestBody.decode(command.body or b"")
        self._broker.rebalance_lock_manager.unlock_batch(body.consumer_group, body.mq_set, body.client_id)
        return RemotingCommand.response(ResponseCode.SUCCESS)

    def _update_and_create_subscription_group(
        self, channel: Channel, command: RemotingCommand, now: int
    ) -> RemotingCommand:
        if command.body is not None:
            config = SubscriptionGroupConfig.decode(command.body)
            self._broker.subscription_group_manager.update_subscription_group_config(config)
        return RemotingCommand.response(ResponseCode.SUCCESS)

    def _delete_subscription_group(self, channel: Channel, command: RemotingCommand, now: int) -> RemotingCommand:
        header = command.decode_header(DeleteSubscriptionGroupRequestHeader)
        self._broker.subscription_group_manager.delete_subscription_group_config(header.group_name)
        return RemotingCommand.response(ResponseCode.SUCCESS)

    def _register_filter_server(self, channel: Channel, command: RemotingCommand, now: int) -> RemotingCommand:
        header = command.decode_header(RegisterFilterServerRequestHeader)
        broker = self._broker
        broker.filter_server_manager.register_filter_server(channel, header.filter_server_addr, now)
        answer = RegisterFilterServerResponseHeader(
            broker_name=broker.config.broker_name, broker_id=broker.config.broker_id
        )
        return RemotingCommand.response(ResponseCode.SUCCESS, header=answer)
