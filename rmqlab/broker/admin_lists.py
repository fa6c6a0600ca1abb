"""Whole tables of the broker, and changes to committed offsets, for the admin tool and slaves.

Source: 4.8.0 `AdminBrokerProcessor`, the `encode` of its managers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rmqlab.broker.config_manager import BrokerTables
from rmqlab.broker.processor_error import NULL_POINTER, ProcessorError
from rmqlab.message.java import LONG_MAX, hash_map_order, is_blank
from rmqlab.protocol.admin_headers import (
    CloneGroupOffsetRequestHeader,
    GetAllTopicConfigResponseHeader,
    QueryCorrectionOffsetHeader,
)
from rmqlab.protocol.bodies import QueryCorrectionOffsetBody
from rmqlab.protocol.codes import ResponseCode
from rmqlab.protocol.command import RemotingCommand
from rmqlab.protocol.route import TopicList

if TYPE_CHECKING:
    from rmqlab.broker.broker import Broker
    from rmqlab.protocol.channel import Channel


class AdminLists:
    """One method a request."""

    def __init__(self, broker: Broker) -> None:
        self._broker = broker
        self._tables = BrokerTables(broker)

    def all_topic_config(self, channel: Channel, command: RemotingCommand, now: int) -> RemotingCommand:
        """Answer 21: every topic and the table's version."""
        body = self._tables.topics().encode()
        return RemotingCommand.response(ResponseCode.SUCCESS, None, GetAllTopicConfigResponseHeader(), body)

    def all_subscription_group(self, channel: Channel, command: RemotingCommand, now: int) -> RemotingCommand:
        """Answer 201: every group and the table's version."""
        return RemotingCommand.response(ResponseCode.SUCCESS, body=self._tables.groups().encode())

    def all_consumer_offset(self, channel: Channel, command: RemotingCommand, now: int) -> RemotingCommand:
        """Answer 43: every committed offset."""
        return RemotingCommand.response(ResponseCode.SUCCESS, body=self._tables.offsets().encode())

    def all_delay_offset(self, channel: Channel, command: RemotingCommand, now: int) -> RemotingCommand:
        """Answer 45: how far each delay level has been delivered."""
        return RemotingCommand.response(ResponseCode.SUCCESS, body=self._tables.delays().encode())

    def system_topic_list(self, channel: Channel, command: RemotingCommand, now: int) -> RemotingCommand:
        """Answer 305: the names nobody may create or delete."""
        topics = hash_map_order(sorted(self._broker.topic_config_manager.system_topics))
        return RemotingCommand.response(ResponseCode.SUCCESS, body=TopicList(topic_list=topics).encode())

    def query_correction_offset(self, channel: Channel, command: RemotingCommand, now: int) -> RemotingCommand:
        """Answer 308: the lowest offset of all groups, queue by queue, where it does not hold a group back."""
        header = command.decode_header(QueryCorrectionOffsetHeader)
        manager = self._broker.consumer_offset_manager
        lowest = manager.query_min_offset_in_all_group(header.topic, header.filter_groups)
        for queue_id, offset in (manager.query_offsets(header.compare_group, header.topic) or {}).items():
            if queue_id not in lowest:
                raise ProcessorError(NULL_POINTER)
            if lowest[queue_id] > offset:
                lowest[queue_id] = LONG_MAX
        body = QueryCorrectionOffsetBody(correction_offsets=dict(sorted(lowest.items())))
        return RemotingCommand.response(ResponseCode.SUCCESS, body=body.encode())

    def clone_group_offset(self, channel: Channel, command: RemotingCommand, now: int) -> RemotingCommand:
        """Answer 314: give a group another one's offsets of a topic.

        Without a topic 4.8.0 walks over all topics of the source and clones the offsets of the topic "null": nothing.
        """
        header = command.decode_header(CloneGroupOffsetRequestHeader)
        broker = self._broker
        manager, consumers = broker.consumer_offset_manager, broker.consumer_manager
        topics = [header.topic or ""]
        if is_blank(header.topic):
            topics = manager.which_topic_by_consumer(header.src_group)
        for topic in topics:
            if broker.topic_config_manager.select_topic_config(topic) is None:
                continue
            subscribed = consumers.find_subscription_data(header.src_group, topic) is not None
            online = consumers.find_subscription_data_count(header.src_group) > 0
            if header.offline or subscribed or not online:
                manager.clone_offset(header.src_group, header.dest_group, header.topic)
        return RemotingCommand.response(ResponseCode.SUCCESS)
