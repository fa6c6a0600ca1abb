"""Topics and groups deleted, groups made, and whole tables of the broker (`AdminBrokerProcessor`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rmqlab.broker.processor import success, system_error, with_header, without_header
from rmqlab.message.java import hash_map_order
from rmqlab.protocol.admin_headers import (
    DeleteSubscriptionGroupRequestHeader,
    DeleteTopicRequestHeader,
)
from rmqlab.protocol.codes import RequestCode
from rmqlab.protocol.header import CommandHeader
from rmqlab.protocol.route import TopicList
from rmqlab.protocol.topic_config import SubscriptionGroupConfig

if TYPE_CHECKING:
    from rmqlab.broker.broker import Broker
    from rmqlab.broker.extra.broker_stats_manager import BrokerStatsManager
    from rmqlab.broker.processor import Handler
    from rmqlab.protocol.channel import Channel
    from rmqlab.protocol.command import RemotingCommand


class AdminTopics:
    """One method a request; `handlers` says which."""

    def __init__(self, broker: Broker, stats: BrokerStatsManager) -> None:
        self._config = broker.config
        self._topics = broker.topic_config_manager
        self._groups = broker.subscription_group_manager
        self._clean_service = broker.message_store.clean_service
        self._stats = stats
        tables = broker.tables
        self.handlers: dict[int, Handler] = {
            RequestCode.DELETE_TOPIC_IN_BROKER: with_header(DeleteTopicRequestHeader, self._delete_topic),
            RequestCode.CLEAN_UNUSED_TOPIC: without_header(self._clean_unused_topic),
            RequestCode.CLEAN_EXPIRED_CONSUMEQUEUE: without_header(self._clean_expired_consume_queue),
            RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP: self._create_group,
            RequestCode.DELETE_SUBSCRIPTIONGROUP: with_header(DeleteSubscriptionGroupRequestHeader, self._delete_group),
            RequestCode.GET_SYSTEM_TOPIC_LIST_FROM_BROKER: without_header(self._system_topics),
            # These are alive: what is told of them is how they are now.
            RequestCode.GET_ALL_TOPIC_CONFIG: without_header(
                lambda: success(tables.topics().encode(), CommandHeader())
            ),
            RequestCode.GET_ALL_SUBSCRIPTIONGROUP_CONFIG: without_header(lambda: success(tables.groups().encode())),
            RequestCode.GET_ALL_CONSUMER_OFFSET: without_header(lambda: success(tables.offsets().encode())),
            RequestCode.GET_ALL_DELAY_OFFSET: without_header(lambda: success(tables.delays().encode())),
        }

    def _delete_topic(self, header: DeleteTopicRequestHeader, _now: int) -> RemotingCommand:
        """Forget a topic and delete the queues of every topic that is not known; the messages stay in the log."""
        refusal = self._topics.refusal_of(header.topic)
        if refusal is not None:
            return system_error(refusal)
        self._topics.delete_topic_config(header.topic)
        self._clean_unused_topic()
        if self._config.auto_delete_unused_stats:
            self._stats.on_topic_deleted(header.topic)
        return success()

    def _clean_unused_topic(self) -> RemotingCommand:
        self._clean_service.clean_unused_topic(self._topics.topic_config_table)
        return success()

    def _clean_expired_consume_queue(self) -> RemotingCommand:
        self._clean_service.clean_expired_consumer_queue()
        return success()

    def _create_group(self, _channel: Channel, command: RemotingCommand, _now: int) -> RemotingCommand:
        if command.body is not None:
            self._groups.update_subscription_group_config(SubscriptionGroupConfig.decode(command.body))
        return success()

    def _delete_group(self, header: DeleteSubscriptionGroupRequestHeader, _now: int) -> RemotingCommand:
        self._groups.delete_subscription_group_config(header.group_name)
        if self._config.auto_delete_unused_stats:
            self._stats.on_group_deleted(header.group_name)
        return success()

    def _system_topics(self) -> RemotingCommand:
        """The names nobody may create or delete."""
        return success(TopicList(topic_list=hash_map_order(sorted(self._topics.system_topics))))
