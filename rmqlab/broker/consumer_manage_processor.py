"""What clients tell and ask of themselves: heartbeats, goodbyes, members, committed offsets (rows H-26..H-45).

Source: `ClientManageProcessor`, `ConsumerManageProcessor`, `ConsumerOffsetManager`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from rmqlab.broker.broker_config import BrokerConfig
from rmqlab.broker.client_housekeeping_service import ClientChannelInfo, ProducerManager
from rmqlab.broker.config_manager import ConfigManager
from rmqlab.broker.consumer_manager import ConsumerManager
from rmqlab.broker.processor import BrokerHooks, ProcessorError, require_fields, require_not_null, success, system_error
from rmqlab.broker.topic_config_manager import SubscriptionGroupManager, TopicConfigManager
from rmqlab.events import Commit, Heartbeat
from rmqlab.filter.filter import compile_expression
from rmqlab.filter.sql92.errors import ExpressionRefused
from rmqlab.message.java import in_hash_map_order, in_number_map_order, split, text_of
from rmqlab.message.topics import retry_topic
from rmqlab.protocol.bodies import (
    CheckClientRequestBody,
    ConsumerOffsetSerializeWrapper,
)
from rmqlab.protocol.codes import RequestCode, ResponseCode
from rmqlab.protocol.command import RemotingCommand
from rmqlab.protocol.consumer_headers import (
    GetConsumerListByGroupRequestHeader,
    QueryConsumerOffsetRequestHeader,
    UnregisterClientRequestHeader,
    UpdateConsumerOffsetRequestHeader,
)
from rmqlab.protocol.header import CommandHeader, WithOffset
from rmqlab.protocol.heartbeat import HeartbeatData
from rmqlab.protocol.topic_config import PERM_READ_WRITE, UNIT_SUB_FLAG
from rmqlab.protocol.wire import IS_SUB_CHANGE
from rmqlab.rules import Rules
from rmqlab.store.message_store import MessageStore

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from rmqlab.broker.processor import Handler
    from rmqlab.protocol.channel import Channel
    from rmqlab.protocol.heartbeat import ConsumerData


TOPIC_GROUP_SEPARATOR = "@"
NOT_FOUND = -1
_CAPACITY = 1024  # of the table's ConcurrentHashMap, which decides the order in the file


class ConsumerOffsetManager(ConfigManager):
    """Keeps, for each "topic@group", the next offset to consume of each queue.

    Whoever commits wins, forwards or backwards. The text key is Java's, and so is its weakness: a topic or group with
    an "@" in its name is stored, and then passed over wherever the key is split.
    """

    file_name = "consumerOffset.json"

    def __init__(self, hooks: BrokerHooks) -> None:
        self._hooks = hooks
        self.offset_table: dict[str, dict[int, int]] = {}

    def body(self) -> ConsumerOffsetSerializeWrapper:
        """Every committed offset."""
        table = in_hash_map_order(self.offset_table, _CAPACITY)
        return ConsumerOffsetSerializeWrapper({key: in_number_map_order(queues) for key, queues in table.items()})

    def decode(self, text: str) -> None:
        """Take in the offsets of a file; others are forgotten."""
        self.offset_table = ConsumerOffsetSerializeWrapper.decode(text.encode()).offset_table

    def commit_offset(self, client_host: str, group: str, topic: str, queue_id: int, offset: int) -> None:
        """Store an offset; `client_host` ("ip:port") says who committed it."""
        self.offset_table.setdefault(f"{topic}{TOPIC_GROUP_SEPARATOR}{group}", {})[queue_id] = offset
        if self._hooks.observe is not None:
            self._hooks.observe(Commit(client_host, group, topic, queue_id, offset))

    def query_offset(self, group: str, topic: str, queue_id: int) -> int:
        """The committed offset, -1 when there is none."""
        return self.offset_table.get(f"{topic}{TOPIC_GROUP_SEPARATOR}{group}", {}).get(queue_id, NOT_FOUND)

    def query_offsets(self, group: str, topic: str) -> dict[int, int] | None:
        """The committed offsets of all queues, None when there are none."""
        return self.offset_table.get(f"{topic}{TOPIC_GROUP_SEPARATOR}{group}")

    def which_topic_by_consumer(self, group: str) -> list[str]:
        """The topics of which a group has committed offsets."""
        return [topic for topic, other in self.topics_and_groups() if other == require_not_null(group)]

    def which_group_by_topic(self, topic: str) -> list[str]:
        """The groups that have committed offsets of a topic."""
        return [group for other, group in self.topics_and_groups() if other == require_not_null(topic)]

    def query_min_offset_in_all_group(self, topic: str, min_offset: Callable[[str, int], int]) -> dict[int, int]:
        """The lowest committed offset of each queue of a topic that is not below `min_offset(topic, queue)`."""
        lowest: dict[int, int] = {}
        for key, queues in self.offset_table.items():
            if split(key, TOPIC_GROUP_SEPARATOR)[0] != require_not_null(topic):
                continue
            for queue_id, offset in queues.items():
                if offset >= min_offset(topic, queue_id):
                    lowest[queue_id] = min(offset, lowest.get(queue_id, offset))
        return lowest

    def forget_group(self, group: str) -> None:
        """Forget all offsets of a group.

        Raises:
            ProcessorError: when there is a key without a group, as Java does.
        """
        for key in list(self.offset_table):
            parts = split(key, TOPIC_GROUP_SEPARATOR)
            if len(parts) == 1:
                raise ProcessorError("java.lang.ArrayIndexOutOfBoundsException: Index 1 out of bounds for length 1")
            if parts[1] == group:
                del self.offset_table[key]

    def clone_offset(self, source: str, target: str, topic: str | None) -> None:
        """Give `target` the offsets that `source` has of a topic; nothing happens when it has none."""
        offsets = self.offset_table.get(f"{text_of(topic)}{TOPIC_GROUP_SEPARATOR}{source}")
        if offsets is not None:
            self.offset_table[f"{text_of(topic)}{TOPIC_GROUP_SEPARATOR}{text_of(target)}"] = dict(offsets)

    def topics_and_groups(self) -> Iterable[tuple[str, str]]:
        """Topic and group of every entry whose key can be split."""
        for key in self.offset_table:
            parts = split(key, TOPIC_GROUP_SEPARATOR)
            if len(parts) == 2:
                yield parts[0], parts[1]


@dataclass(slots=True, eq=False)
class ConsumerManageProcessor:
    """Answers GET_CONSUMER_LIST_BY_GROUP (38), QUERY_CONSUMER_OFFSET (14) and UPDATE_CONSUMER_OFFSET (15)."""

    consumers: ConsumerManager
    offsets: ConsumerOffsetManager
    store: MessageStore
    rules: Rules

    @property
    def handlers(self) -> dict[int, Handler]:
        """Who answers which request."""
        return {
            RequestCode.GET_CONSUMER_LIST_BY_GROUP: self._get_consumer_list_by_group,
            RequestCode.UPDATE_CONSUMER_OFFSET: self._update_consumer_offset,
            RequestCode.QUERY_CONSUMER_OFFSET: self._query_consumer_offset,
        }

    def _get_consumer_list_by_group(self, _channel: Channel, command: RemotingCommand, _now: int) -> RemotingCommand:
        """The client ids of all members, whatever topics they subscribe to (row S-93)."""
        group = command.decode_header(GetConsumerListByGroupRequestHeader).consumer_group
        header = CommandHeader()
        info = self.consumers.get_consumer_group_info(group)
        if info is None or not info.client_ids:
            return RemotingCommand.response(
                ResponseCode.SYSTEM_ERROR, f"no consumer for this group, {group}", header=header
            )
        return success(info.client_list, header)

    def _update_consumer_offset(self, channel: Channel, command: RemotingCommand, _now: int) -> RemotingCommand:
        """Commit one offset."""
        header = command.decode_header(UpdateConsumerOffsetRequestHeader)
        require_fields(header, ("queue_id", "commit_offset"))
        self.offsets.commit_offset(
            channel.remote_address, header.consumer_group, header.topic, header.queue_id, header.commit_offset
        )
        return success(header=CommandHeader())

    def _query_consumer_offset(self, _channel: Channel, command: RemotingCommand, _now: int) -> RemotingCommand:
        """The committed offset; without one, what the rules say, or QUERY_NOT_FOUND (row S-96).

        Only the latter leaves it to the client where to start.
        """
        request = command.decode_header(QueryConsumerOffsetRequestHeader)
        require_fields(request, ("queue_id",))
        topic, queue_id = request.topic, request.queue_id
        offset = self.offsets.query_offset(request.consumer_group, topic, queue_id)
        if offset < 0:
            store = self.store
            without = self.rules.offset_without_commit(
                store.get_min_offset_in_queue(topic, queue_id),
                store.get_max_offset_in_queue(topic, queue_id),
                store.check_in_disk_by_consume_offset(topic, queue_id, 0),
            )
            if without is None:
                return RemotingCommand.response(
                    ResponseCode.QUERY_NOT_FOUND,
                    "Not found, V3_0_6_SNAPSHOT maybe this group consumer boot first",
                    header=WithOffset(),
                )
            offset = without
        return success(header=WithOffset(offset=offset))


@dataclass(slots=True, eq=False)
class ClientManageProcessor:
    """Answers HEART_BEAT (34), UNREGISTER_CLIENT (35) and CHECK_CLIENT_CONFIG (46).

    `fingerprints`: of the last heartbeat that each consumer group was in, 0 of one without; nothing ever forgets one.
    """

    config: BrokerConfig
    topics: TopicConfigManager
    groups: SubscriptionGroupManager
    consumers: ConsumerManager
    producers: ProducerManager
    hooks: BrokerHooks
    rules: Rules
    fingerprints: dict[str, int] = field(default_factory=dict)

    @property
    def handlers(self) -> dict[int, Handler]:
        """Who answers which request."""
        return {
            RequestCode.HEART_BEAT: self.heart_beat,
            RequestCode.UNREGISTER_CLIENT: self.unregister_client,
            RequestCode.CHECK_CLIENT_CONFIG: self.check_client_config,
        }

    def heart_beat(self, channel: Channel, command: RemotingCommand, now: int) -> RemotingCommand:
        """Register all consumer groups of the beat, then all producer groups; the answer is always SUCCESS.

        A beat with a fingerprint hears whether a group's last one had another (5.3.3 `heartBeatV2`): then its client
        sends its subscriptions again, if it had left them out.
        """
        data = command.decode_body(HeartbeatData)
        fingerprint = data.heartbeat_fingerprint or 0 if self.rules.knows_heartbeat_v2 else 0
        with_subscriptions = not (fingerprint and data.without_sub)
        info = ClientChannelInfo(channel, data.client_id, command.language, command.version, now)
        if self.hooks.observe is not None:
            self.hooks.observe(Heartbeat.of(data))
        known = [self.fingerprints.get(consumer.group_name) for consumer in data.consumer_data_set]
        for consumer in data.consumer_data_set:
            self.fingerprints[consumer.group_name] = fingerprint
            self._register_consumer(consumer, info, now, with_subscriptions=with_subscriptions)
        for producer in data.producer_data_set:
            self.producers.register_producer(producer.group_name, info, now)
        answer = success()
        answer.ext_fields = dict(self.rules.wire.heartbeat_fields) or None
        if fingerprint and answer.ext_fields:
            changed = any(other is not None and other != fingerprint for other in known)
            answer.ext_fields[IS_SUB_CHANGE] = "true" if changed else "false"
        return answer

    def make_retry_topic(self, data: ConsumerData) -> bool:
        """Make the group and its retry topic, a beat's first part; whether members are notified of others.

        Row H-32: the manager makes the topic, and pushes the broker's data to the name server, once only.
        """
        config = self.groups.find_subscription_group_config(data.group_name)
        if config is None:
            return True
        topic, flag = retry_topic(data.group_name), UNIT_SUB_FLAG if data.unit_mode else 0
        self.topics.create_topic_in_send_message_back_method(topic, config.retry_queue_nums, PERM_READ_WRITE, flag)
        return config.notify_consumer_ids_changed_enable

    def _register_consumer(
        self, data: ConsumerData, info: ClientChannelInfo, now: int, *, with_subscriptions: bool
    ) -> None:
        notify = self.make_retry_topic(data)
        if not self.rules.registers_unknown_groups and not self.groups.find_subscription_group_config(data.group_name):
            return
        self.consumers.register_consumer(
            data, info, now, is_notify_consumer_ids_changed_enable=notify, with_subscriptions=with_subscriptions
        )

    def unregister_client(self, channel: Channel, command: RemotingCommand, now: int) -> RemotingCommand:
        """Forget a client's producer group, consumer group, or both."""
        header = command.decode_header(UnregisterClientRequestHeader)
        info = ClientChannelInfo(channel, header.client_id, command.language, command.version, now)
        if header.producer_group is not None:
            self.producers.unregister_producer(header.producer_group, info)
        if header.consumer_group is not None:
            config = self.groups.find_subscription_group_config(header.consumer_group)
            self.consumers.unregister_consumer(
                header.consumer_group,
                info,
                is_notify_consumer_ids_changed_enable=config is None or config.notify_consumer_ids_changed_enable,
            )
        return success(header=CommandHeader())

    def check_client_config(self, _channel: Channel, command: RemotingCommand, _now: int) -> RemotingCommand:
        """Compile a client's expression before the client starts with it; nothing is stored."""
        subscription = command.decode_body(CheckClientRequestBody).subscription_data
        if subscription is None or subscription.is_tag:
            return success()
        if not self.config.enable_property_filter:
            return system_error(
                f"The broker does not support consumer to filter message by {subscription.expression_type}"
            )
        try:
            compile_expression(subscription.expression_type, subscription.sub_string, self.rules.sql92)
        except ExpressionRefused as refusal:
            return RemotingCommand.response(ResponseCode.SUBSCRIPTION_PARSE_FAILED, refusal.java_message)
        return success()
