"""What is asked of a broker beside messages: topics and groups, offsets of queues, locks, a reset.

Source: `AdminBrokerProcessor`, `RebalanceLockManager`. What only the admin tool asks is in `rmqlab.broker.extra`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rmqlab.broker.broker_config import BrokerConfig
from rmqlab.broker.consumer_manage_processor import ConsumerOffsetManager
from rmqlab.broker.consumer_manager import ConsumerManager
from rmqlab.broker.processor import (
    NOT_SET,
    Broker2Client,
    BrokerHooks,
    require_fields,
    success,
    system_error,
    with_header,
)
from rmqlab.broker.topic_config_manager import SubscriptionGroupManager, TopicConfigManager
from rmqlab.message.topics import MAX_QUEUES, MessageQueue, message_queue_order
from rmqlab.protocol.admin_headers import (
    CreateTopicRequestHeader,
    DeleteSubscriptionGroupRequestHeader,
    DeleteTopicRequestHeader,
    ResetOffsetRequestHeader,
)
from rmqlab.protocol.bodies import LockBatchRequestBody, LockBatchResponseBody, ResetOffsetBody, UnlockBatchRequestBody
from rmqlab.protocol.codes import V3_0_7_SNAPSHOT, RequestCode, ResponseCode, version_desc
from rmqlab.protocol.command import RemotingCommand
from rmqlab.protocol.consumer_headers import (
    GetEarliestMsgStoretimeRequestHeader,
    GetEarliestMsgStoretimeResponseHeader,
    GetMaxOffsetRequestHeader,
    GetMinOffsetRequestHeader,
    SearchOffsetRequestHeader,
)
from rmqlab.protocol.header import WithOffset
from rmqlab.protocol.topic_config import SubscriptionGroupConfig, TopicConfig
from rmqlab.store.clean_service import CleanService
from rmqlab.store.message_store import MessageStore

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rmqlab.broker.processor import Handler
    from rmqlab.protocol.channel import Channel


@dataclass(slots=True, eq=False)
class AdminBrokerProcessor:
    """One method a request; `handlers` says which. `register_broker_all` informs the name servers of a new topic."""

    config: BrokerConfig
    store: MessageStore
    topics: TopicConfigManager
    groups: SubscriptionGroupManager
    offsets: ConsumerOffsetManager
    consumers: ConsumerManager
    locks: RebalanceLockManager
    broker2client: Broker2Client
    hooks: BrokerHooks
    register_broker_all: Callable[[], None]

    @property
    def handlers(self) -> dict[int, Handler]:
        """Who answers which request."""
        return {
            RequestCode.UPDATE_AND_CREATE_TOPIC: with_header(CreateTopicRequestHeader, self._create_topic),
            RequestCode.DELETE_TOPIC_IN_BROKER: with_header(DeleteTopicRequestHeader, self._delete_topic),
            RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP: self._create_group,
            RequestCode.DELETE_SUBSCRIPTIONGROUP: with_header(DeleteSubscriptionGroupRequestHeader, self._delete_group),
            RequestCode.SEARCH_OFFSET_BY_TIMESTAMP: with_header(SearchOffsetRequestHeader, self._search_offset),
            RequestCode.GET_MAX_OFFSET: with_header(GetMaxOffsetRequestHeader, self._max_offset),
            RequestCode.GET_MIN_OFFSET: with_header(GetMinOffsetRequestHeader, self._min_offset),
            RequestCode.GET_EARLIEST_MSG_STORETIME: with_header(
                GetEarliestMsgStoretimeRequestHeader, self._earliest_msg_storetime
            ),
            RequestCode.LOCK_BATCH_MQ: self._lock_batch_mq,
            RequestCode.UNLOCK_BATCH_MQ: self._unlock_batch_mq,
            RequestCode.INVOKE_BROKER_TO_RESET_OFFSET: with_header(ResetOffsetRequestHeader, self._reset_offset),
        }

    def _create_topic(self, header: CreateTopicRequestHeader, _now: int) -> RemotingCommand:
        """Put a topic's configuration in place and register the broker; `order` and the default topic are not read."""
        refusal = self.topics.refusal_of(header.topic)
        if refusal is not None:
            return system_error(refusal)
        require_fields(header, ("read_queue_nums", "write_queue_nums", "topic_filter_type", "perm"))
        nums = header.read_queue_nums, header.write_queue_nums
        if max(nums) > MAX_QUEUES:
            return system_error(f"topic[{header.topic}]: at most {MAX_QUEUES} queues can be looked after")
        self.topics.update_topic_config(
            TopicConfig(header.topic, *nums, header.perm, header.topic_filter_type, header.topic_sys_flag or 0)
        )
        # 4.8.0 sends this one topic; the name server takes the whole table in the same way.
        self.register_broker_all()
        return success(remark=NOT_SET)

    def _delete_topic(self, header: DeleteTopicRequestHeader, _now: int) -> RemotingCommand:
        """Forget a topic, and delete the queues of every topic that is not known; messages stay in the log.

        Offsets stay too. No consumer is notified, and the name server keeps the route until it is informed, too.
        """
        refusal = self.topics.refusal_of(header.topic)
        if refusal is not None:
            return system_error(refusal)
        self.topics.delete_topic_config(header.topic)
        CleanService(self.store).clean_unused_topic(self.topics.topic_config_table)
        if self.config.auto_delete_unused_stats and self.hooks.on_topic_deleted is not None:
            self.hooks.on_topic_deleted(header.topic)
        return success()

    def _create_group(self, _channel: Channel, command: RemotingCommand, _now: int) -> RemotingCommand:
        self.groups.update_subscription_group_config(SubscriptionGroupConfig.decode(command.body or b""))
        return success()

    def _delete_group(self, header: DeleteSubscriptionGroupRequestHeader, _now: int) -> RemotingCommand:
        """Forget a group's configuration: its members, its subscriptions and its offsets stay.

        With autoCreateSubscriptionGroup its next heartbeat or pull makes it anew; without, its pulls are refused.
        """
        self.groups.delete_subscription_group_config(header.group_name)
        if self.config.auto_delete_unused_stats and self.hooks.on_group_deleted is not None:
            self.hooks.on_group_deleted(header.group_name)
        return success()

    def _search_offset(self, header: SearchOffsetRequestHeader, _now: int) -> RemotingCommand:
        require_fields(header, ("topic", "queue_id", "timestamp"))
        offset = self.store.get_offset_in_queue_by_time(header.topic, header.queue_id, header.timestamp)
        return success(header=WithOffset(offset=offset))

    def _max_offset(self, header: GetMaxOffsetRequestHeader, _now: int) -> RemotingCommand:
        require_fields(header, ("topic", "queue_id"))
        offset = self.store.get_max_offset_in_queue(header.topic, header.queue_id)
        return success(header=WithOffset(offset=offset))

    def _min_offset(self, header: GetMinOffsetRequestHeader, _now: int) -> RemotingCommand:
        require_fields(header, ("topic", "queue_id"))
        offset = self.store.get_min_offset_in_queue(header.topic, header.queue_id)
        return success(header=WithOffset(offset=offset))

    def _earliest_msg_storetime(self, header: GetEarliestMsgStoretimeRequestHeader, _now: int) -> RemotingCommand:
        require_fields(header, ("topic", "queue_id"))
        timestamp = self.store.get_earliest_message_time(header.topic, header.queue_id)
        return success(header=GetEarliestMsgStoretimeResponseHeader(timestamp=timestamp))

    def _lock_batch_mq(self, _channel: Channel, command: RemotingCommand, now: int) -> RemotingCommand:
        """Lock queues for an orderly consumer; the answer names those it holds now."""
        body = LockBatchRequestBody.decode(command.body or b"")
        wanted = message_queue_order(body.mq_set)
        locked = self.locks.try_lock_batch(body.consumer_group, wanted, body.client_id, now)
        # Java makes the set of those locked for as many as were asked for.
        return success(LockBatchResponseBody(lock_ok_mq_set=message_queue_order(locked, len(wanted))))

    def _unlock_batch_mq(self, _channel: Channel, command: RemotingCommand, _now: int) -> RemotingCommand:
        body = UnlockBatchRequestBody.decode(command.body or b"")
        self.locks.unlock_batch(body.consumer_group, body.mq_set, body.client_id)
        return success()

    def _reset_offset(self, header: ResetOffsetRequestHeader, _now: int) -> RemotingCommand:
        """Tell every consumer of a group where to go on, by time (-1: at the end).

        Without `isForce` no offset moves forward. The broker's own table is left to the consumers' next commits.
        """
        topic, group, timestamp = header.topic, header.group, header.timestamp
        config = self.topics.select_topic_config(topic)
        if config is None:
            return system_error(f"[reset-offset] reset offset failed, no topic in this broker. topic={topic}")
        offsets: dict[MessageQueue, int] = {}
        for queue_id in range(config.write_queue_nums):
            consumed = self.offsets.query_offset(group, topic, queue_id)
            if consumed == -1:
                return system_error(f"THe consumer group <{group}> not exist")
            if timestamp == -1:
                target = self.store.get_max_offset_in_queue(topic, queue_id)
            else:
                target = self.store.get_offset_in_queue_by_time(topic, queue_id, timestamp)
            target = max(target, 0)
            queue = MessageQueue(topic, self.config.broker_name, queue_id)
            offsets[queue] = target if header.is_force or target < consumed else consumed
        offsets = {queue: offsets[queue] for queue in message_queue_order(offsets)}
        return self._tell_consumers(ResetOffsetRequestHeader(topic, group, timestamp), offsets)

    def _tell_consumers(self, header: ResetOffsetRequestHeader, offsets: dict[MessageQueue, int]) -> RemotingCommand:
        """Send all members the offsets (`Broker2Client.resetOffset`)."""
        body = ResetOffsetBody(offset_table=offsets).encode()
        info = self.consumers.get_consumer_group_info(header.group)
        if info is None or not info.channel_info_table:
            return RemotingCommand.response(
                ResponseCode.CONSUMER_NOT_ONLINE,
                f"Consumer not online, so can not reset offset, Group: {header.group} Topic: {header.topic} "
                f"Timestamp: {header.timestamp}",
            )
        for member in list(info.channel_info_table.values()):
            if member.version < V3_0_7_SNAPSHOT:
                version = version_desc(member.version)
                return system_error(f"the client does not support this feature. version={version}")
            request = RemotingCommand.request(RequestCode.RESET_CONSUMER_CLIENT_OFFSET, header, body)
            self.broker2client.send_oneway(member.channel, request)
        return success(body, remark=NOT_SET)


REBALANCE_LOCK_MAX_LIVE_TIME_MS = 60_000


@dataclass(slots=True)
class LockEntry:
    """Who holds a queue and when it asked last (epoch ms)."""

    client_id: str
    last_update_timestamp: int

    def is_expired(self, now: int) -> bool:
        """Whether the holder has been silent for more than 60 s, so that anybody may take over."""
        return now - self.last_update_timestamp > REBALANCE_LOCK_MAX_LIVE_TIME_MS


class RebalanceLockManager:
    """Gives each queue of a group to one client at a time; a holder renews by asking again."""

    def __init__(self) -> None:
        self.mq_lock_table: dict[str, dict[MessageQueue, LockEntry]] = {}

    def try_lock(self, group: str, queue: MessageQueue, client_id: str, now: int) -> bool:
        """Lock or renew one queue; return whether `client_id` holds it now."""
        entry = self.mq_lock_table.setdefault(group, {}).setdefault(queue, LockEntry(client_id, now))
        if entry.client_id != client_id and not entry.is_expired(now):
            return False
        entry.client_id = client_id
        entry.last_update_timestamp = now
        return True

    def is_lock_all_expired(self, group: str, now: int) -> bool:
        """Whether every lock of the group's queues has expired, or there is none."""
        return all(entry.is_expired(now) for entry in self.mq_lock_table.get(group, {}).values())

    def try_lock_batch(
        self, group: str, queues: Iterable[MessageQueue], client_id: str, now: int
    ) -> list[MessageQueue]:
        """Lock or renew several queues; return those that `client_id` holds now, in the order asked for."""
        return [queue for queue in queues if self.try_lock(group, queue, client_id, now)]

    def unlock_batch(self, group: str, queues: Iterable[MessageQueue], client_id: str) -> None:
        """Give up queues; those held by others, or by no client, stay as they are. An expired lock is its holder's."""
        table = self.mq_lock_table.get(group)
        if table is None:
            return
        for queue in queues:
            entry = table.get(queue)
            if entry is not None and entry.client_id == client_id:
                del table[queue]
