"""What the admin tool asks, and what consumers ask on the way: locks, offsets (4.8.0 `AdminBrokerProcessor`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rmqlab.broker.admin_access import AdminAccess
from rmqlab.broker.admin_clients import NOT_SET, AdminClients
from rmqlab.broker.admin_entries import AdminEntries
from rmqlab.broker.admin_lists import AdminLists
from rmqlab.broker.admin_settings import AdminSettings
from rmqlab.broker.admin_tables import AdminTables
from rmqlab.broker.processor_error import require
from rmqlab.message.topics import validate_topic
from rmqlab.protocol.admin_headers import (
    CreateTopicRequestHeader,
    DeleteSubscriptionGroupRequestHeader,
    DeleteTopicRequestHeader,
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
from rmqlab.protocol.topic_config import SubscriptionGroupConfig, TopicConfig

if TYPE_CHECKING:
    from collections.abc import Callable

    from rmqlab.broker.broker import Broker
    from rmqlab.protocol.channel import Channel

    Handler = Callable[[Channel, RemotingCommand, int], RemotingCommand | None]


MOST_QUEUES = 65_536
"""Ours: 4.8.0 makes a topic of two thousand million queues and has no memory for them when somebody asks."""


class AdminBrokerProcessor:
    """Answers every request that has no processor of its own.

    Java answers nothing at all to a code it does not know, and so does this; the client times out.
    """

    def __init__(self, broker: Broker) -> None:
        self._broker = broker
        tables, lists, entries = AdminTables(broker), AdminLists(broker), AdminEntries(broker)
        settings, clients, access = AdminSettings(broker), AdminClients(broker), AdminAccess(broker)
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
            RequestCode.GET_BROKER_CONSUME_STATS: tables.broker_consume_stats,
            RequestCode.QUERY_CONSUME_TIME_SPAN: tables.consume_time_span,
            RequestCode.QUERY_CONSUME_QUEUE: entries.query_consume_queue,
            RequestCode.RESUME_CHECK_HALF_MESSAGE: entries.resume_check_half_message,
            RequestCode.GET_ALL_TOPIC_CONFIG: lists.all_topic_config,
            RequestCode.GET_ALL_SUBSCRIPTIONGROUP_CONFIG: lists.all_subscription_group,
            RequestCode.GET_ALL_CONSUMER_OFFSET: lists.all_consumer_offset,
            RequestCode.GET_ALL_DELAY_OFFSET: lists.all_delay_offset,
            RequestCode.GET_SYSTEM_TOPIC_LIST_FROM_BROKER: lists.system_topic_list,
            RequestCode.QUERY_CORRECTION_OFFSET: lists.query_correction_offset,
            RequestCode.CLONE_GROUP_OFFSET: lists.clone_group_offset,
            RequestCode.CLEAN_EXPIRED_CONSUMEQUEUE: self._clean_expired_consume_queue,
            RequestCode.CLEAN_UNUSED_TOPIC: self._clean_unused_topic,
            RequestCode.DELETE_TOPIC_IN_BROKER: self._delete_topic,
            RequestCode.UPDATE_BROKER_CONFIG: settings.update_broker_config,
            RequestCode.GET_BROKER_CONFIG: settings.get_broker_config,
            RequestCode.GET_BROKER_RUNTIME_INFO: settings.get_broker_runtime_info,
            RequestCode.VIEW_BROKER_STATS_DATA: settings.view_broker_stats_data,
            RequestCode.UPDATE_AND_CREATE_ACL_CONFIG: access.update_and_create,
            RequestCode.DELETE_ACL_CONFIG: access.delete,
            RequestCode.UPDATE_GLOBAL_WHITE_ADDRS_CONFIG: access.update_global_white_addrs,
            RequestCode.GET_BROKER_CLUSTER_ACL_INFO: access.version,
            RequestCode.GET_BROKER_CLUSTER_ACL_CONFIG: access.show,
            RequestCode.GET_CONSUMER_RUNNING_INFO: clients.consumer_running_info,
            RequestCode.CONSUME_MESSAGE_DIRECTLY: clients.consume_message_directly,
            RequestCode.INVOKE_BROKER_TO_RESET_OFFSET: clients.reset_offset,
            RequestCode.INVOKE_BROKER_TO_GET_CONSUMER_STATUS: clients.consumer_status,
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
        if max(header.read_queue_nums, header.write_queue_nums) > MOST_QUEUES:
            return RemotingCommand.response(
                ResponseCode.SYSTEM_ERROR, f"topic[{header.topic}]: at most {MOST_QUEUES} queues can be looked after"
            )
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

    def _delete_topic(self, channel: Channel, command: RemotingCommand, now: int) -> RemotingCommand:
        """Forget a topic and delete the queues of every topic that is not known; the messages stay in the log."""
        topic = command.decode_header(DeleteTopicRequestHeader).topic
        refusal = self._refuse_topic(topic)
        if refusal is not None:
            return refusal
        self._broker.topic_config_manager.delete_topic_config(topic)
        self._clean_unused_topic(channel, command, now)
        if self._broker.config.auto_delete_unused_stats:
            self._broker.broker_stats_manager.on_topic_deleted(topic)
        return RemotingCommand.response(ResponseCode.SUCCESS)

    def _clean_unused_topic(self, channel: Channel, command: RemotingCommand, now: int) -> RemotingCommand:
        broker = self._broker
        broker.message_store.clean_service.clean_unused_topic(broker.topic_config_manager.topic_config_table)
        return RemotingCommand.response(ResponseCode.SUCCESS)

    def _clean_expired_consume_queue(self, channel: Channel, command: RemotingCommand, now: int) -> RemotingCommand:
        self._broker.message_store.clean_service.clean_expired_consumer_queue()
        return RemotingCommand.response(ResponseCode.SUCCESS)

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
        if self._broker.config.auto_delete_unused_stats:
            self._broker.broker_stats_manager.on_group_deleted(header.group_name)
        return RemotingCommand.response(ResponseCode.SUCCESS)

    def _register_filter_server(self, channel: Channel, command: RemotingCommand, now: int) -> RemotingCommand:
        header = command.decode_header(RegisterFilterServerRequestHeader)
        broker = self._broker
        broker.filter_server_manager.register_filter_server(channel, header.filter_server_addr, now)
        answer = RegisterFilterServerResponseHeader(
            broker_name=broker.config.broker_name, broker_id=broker.config.broker_id
        )
        return RemotingCommand.response(ResponseCode.SUCCESS, header=answer)
