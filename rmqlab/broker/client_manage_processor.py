"""Heartbeats, goodbyes and checks of expressions (`ClientManageProcessor`, rows H-26..H-45)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rmqlab.broker.client_housekeeping_service import ClientChannelInfo
from rmqlab.broker.processor import success, system_error
from rmqlab.events import Heartbeat
from rmqlab.filter.filter import compile_expression
from rmqlab.filter.sql92.errors import ExpressionRefused
from rmqlab.message.topics import retry_topic
from rmqlab.protocol.bodies import CheckClientRequestBody
from rmqlab.protocol.codes import RequestCode, ResponseCode
from rmqlab.protocol.command import RemotingCommand
from rmqlab.protocol.consumer_headers import UnregisterClientRequestHeader
from rmqlab.protocol.header import CommandHeader
from rmqlab.protocol.heartbeat import HeartbeatData
from rmqlab.protocol.topic_config import PERM_READ_WRITE, UNIT_SUB_FLAG

if TYPE_CHECKING:
    from rmqlab.broker.broker_config import BrokerConfig
    from rmqlab.broker.consumer_manager import ConsumerManager
    from rmqlab.broker.processor import BrokerHooks, Handler
    from rmqlab.broker.producer_manager import ProducerManager
    from rmqlab.broker.topic_config_manager import SubscriptionGroupManager, TopicConfigManager
    from rmqlab.protocol.channel import Channel
    from rmqlab.protocol.heartbeat import ConsumerData


class ClientManageProcessor:
    """Answers HEART_BEAT (34), UNREGISTER_CLIENT (35) and CHECK_CLIENT_CONFIG (46)."""

    def __init__(
        self,
        config: BrokerConfig,
        topics: TopicConfigManager,
        groups: SubscriptionGroupManager,
        consumers: ConsumerManager,
        producers: ProducerManager,
        hooks: BrokerHooks,
    ) -> None:
        self._config = config
        self._topics = topics
        self._groups = groups
        self._consumers = consumers
        self._producers = producers
        self._hooks = hooks
        self.handlers: dict[int, Handler] = {
            RequestCode.HEART_BEAT: self.heart_beat,
            RequestCode.UNREGISTER_CLIENT: self.unregister_client,
            RequestCode.CHECK_CLIENT_CONFIG: self.check_client_config,
        }

    def heart_beat(self, channel: Channel, command: RemotingCommand, now: int) -> RemotingCommand:
        """Register all consumer groups of the beat, then all producer groups; the answer is always SUCCESS."""
        data = command.decode_body(HeartbeatData)
        info = ClientChannelInfo(channel, data.client_id, command.language, command.version, now)
        if self._hooks.observe is not None:
            consumers = [consumer.group_name for consumer in data.consumer_data_set]
            producers = [producer.group_name for producer in data.producer_data_set]
            told = [(one.group_name, sub) for one in data.consumer_data_set for sub in one.subscription_data_set]
            self._hooks.observe(Heartbeat(data.client_id, consumers, producers, told))
        for consumer in data.consumer_data_set:
            self._register_consumer(consumer, info, now)
        for producer in data.producer_data_set:
            self._producers.register_producer(producer.group_name, info, now)
        return success()

    def _register_consumer(self, data: ConsumerData, info: ClientChannelInfo, now: int) -> None:
        config = self._groups.find_subscription_group_config(data.group_name)
        notify = True
        if config is not None:
            notify = config.notify_consumer_ids_changed_enable
            # Row H-32: the manager creates the topic and pushes the broker's data to the name server once only.
            self._topics.create_topic_in_send_message_back_method(
                retry_topic(data.group_name),
                config.retry_queue_nums,
                PERM_READ_WRITE,
                UNIT_SUB_FLAG if data.unit_mode else 0,
            )
        self._consumers.register_consumer(
            data.group_name,
            info,
            data.consume_type,
            data.message_model,
            data.consume_from_where,
            data.subscription_data_set,
            now,
            is_notify_consumer_ids_changed_enable=notify,
        )

    def unregister_client(self, channel: Channel, command: RemotingCommand, now: int) -> RemotingCommand:
        """Forget a client's producer group, consumer group, or both."""
        header = command.decode_header(UnregisterClientRequestHeader)
        info = ClientChannelInfo(channel, header.client_id, command.language, command.version, now)
        if header.producer_group is not None:
            self._producers.unregister_producer(header.producer_group, info)
        if header.consumer_group is not None:
            config = self._groups.find_subscription_group_config(header.consumer_group)
            self._consumers.unregister_consumer(
                header.consumer_group,
                info,
                is_notify_consumer_ids_changed_enable=config is None or config.notify_consumer_ids_changed_enable,
            )
        return success(header=CommandHeader())

    def check_client_config(self, _channel: Channel, command: RemotingCommand, _now: int) -> RemotingCommand:
        """Compile a client's expression before the client starts with it; nothing is stored."""
        body = None if command.body is None else CheckClientRequestBody.decode(command.body)
        subscription = None if body is None else body.subscription_data
        if subscription is None or subscription.is_tag:
            return success()
        if not self._config.enable_property_filter:
            return system_error(
                f"The broker does not support consumer to filter message by {subscription.expression_type}"
            )
        try:
            compile_expression(subscription.expression_type, subscription.sub_string)
        except ExpressionRefused as refusal:
            return RemotingCommand.response(ResponseCode.SUBSCRIPTION_PARSE_FAILED, refusal.java_message)
        return success()
