"""What 4.8.0's admin tool is used for in a scenario: to look at groups and offsets, reset them, make and delete."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rmqlab.client.client_error import MQBrokerError
from rmqlab.message.topics import DLQ_GROUP_TOPIC_PREFIX, RETRY_GROUP_TOPIC_PREFIX, MessageQueue
from rmqlab.protocol.admin_headers import (
    DeleteSubscriptionGroupRequestHeader,
    DeleteTopicRequestHeader,
    ResetOffsetRequestHeader,
)
from rmqlab.protocol.bodies import ResetOffsetBody
from rmqlab.protocol.codes import RequestCode, ResponseCode
from rmqlab.protocol.consumer_headers import UpdateConsumerOffsetRequestHeader
from rmqlab.protocol.namesrv import ClusterInfo, DeleteTopicInNamesrvRequestHeader
from rmqlab.protocol.topic_config import SubscriptionGroupConfig

if TYPE_CHECKING:
    from collections.abc import Callable

    from rmqlab.broker.broker import Broker
    from rmqlab.client.mq_client_instance import MQClientInstance

TIMEOUT_MS = 5_000
AT_THE_END = -1
GroupView = dict[str, Any]


def group_view(broker: Broker, group: str, strip: Callable[[str], str], epoch_ms: int) -> GroupView:
    """Clients of a group and its subscriptions as `TYPE:expression@version`, version in ms since `epoch_ms`.

    A group that is not online gives {"offline": 206}, the admin tool's response code.
    """
    info = broker.consumer_manager.get_consumer_group_info(group)
    if info is None or not info.channel_info_table:
        return {"offline": int(ResponseCode.CONSUMER_NOT_ONLINE)}
    clients = sorted(strip(str(client_id)) for client_id in info.client_ids)
    subscriptions = {
        strip(str(topic)): f"{data.expression_type}:{data.sub_string}@{data.sub_version - epoch_ms}"
        for topic, data in sorted(info.subscription_table.items(), key=lambda item: str(item[0]))
    }
    return {"clients": clients, "subs": subscriptions}


def consume_stats(broker: Broker, group: str, topic: str) -> dict[int, int]:
    """Committed offset by queue id, as the admin tool's request 208 has it; empty when the broker has none."""
    config = broker.topic_config_manager.select_topic_config(topic)
    info = broker.consumer_manager.get_consumer_group_info(group)
    if config is None or (info is not None and info.subscription_table and topic not in info.subscription_table):
        return {}
    offsets = broker.consumer_offset_manager
    return {number: max(offsets.query_offset(group, topic, number), 0) for number in range(config.read_queue_nums)}


async def reset_offset_by_time(
    instance: MQClientInstance, group: str, topic: str, timestamp: int, *, direct: bool = False
) -> dict[int, int]:
    """Let a group go on at `timestamp` (epoch ms, -1: the end of each queue); the new offset by queue id.

    As 4.8.0 `ResetOffsetByTimeCommand`, forced: the broker notifies the members, who go on there 10 s later; when none
    is online, each queue's offset is written. A group that never committed in every queue is refused (code 1). With
    `direct` the offsets are written at once, also those of a group that no broker has seen, as
    `CloneGroupOffsetCommand` does (which in 4.8.0 writes the end of each queue, not the other group's offsets).

    Raises:
        MQClientError: no broker has the topic.
        MQBrokerError: the broker refuses.
    """
    await instance.update_topic_route_info_from_name_server(topic)
    route = await instance.api.get_topic_route_info(topic, TIMEOUT_MS)
    written: dict[int, int] = {}
    for broker in sorted(route.broker_datas):
        address = instance.require_broker_address_in_publish(broker.broker_name)
        if not direct:
            try:
                header = ResetOffsetRequestHeader(topic, group, timestamp, is_force=True)
                code = RequestCode.INVOKE_BROKER_TO_RESET_OFFSET
                answer = await instance.api.call(address, code, header, TIMEOUT_MS)
            except MQBrokerError as refused:
                if refused.response_code != ResponseCode.CONSUMER_NOT_ONLINE:
                    raise
            else:
                offsets = ResetOffsetBody.decode(answer.body or b"{}").offset_table
                written.update({queue.queue_id: offset for queue, offset in offsets.items()})
                continue
        queues = next(data.read_queue_nums for data in route.queue_datas if data.broker_name == broker.broker_name)
        for queue_id in range(queues):
            queue = MessageQueue(topic, broker.broker_name, queue_id)
            if timestamp == AT_THE_END:
                offset = await instance.max_offset(queue)
            else:
                offset = await instance.search_offset(queue, timestamp)
            commit = UpdateConsumerOffsetRequestHeader(group, topic, queue_id, offset)
            await instance.api.call(address, RequestCode.UPDATE_CONSUMER_OFFSET, commit, TIMEOUT_MS)
            written[queue_id] = offset
    return dict(sorted(written.items()))


async def delete_topic(instance: MQClientInstance, topic: str) -> None:
    """Delete a topic at every broker, then at the name server, as 4.8.0 `DeleteTopicSubCommand.deleteTopic`.

    Raises:
        MQBrokerError: a broker refuses: it is a topic of RocketMQ's own.
    """
    for address in await _brokers(instance):
        code = RequestCode.DELETE_TOPIC_IN_BROKER
        await instance.api.call(address, code, DeleteTopicRequestHeader(topic), TIMEOUT_MS)
    header = DeleteTopicInNamesrvRequestHeader(topic)
    for address in instance.api.name_servers:
        await instance.api.call(address, RequestCode.DELETE_TOPIC_IN_NAMESRV, header, TIMEOUT_MS)


async def delete_subscription_group(instance: MQClientInstance, group: str) -> None:
    """Delete a group, its retry and its dead letter topic, as 4.8.0 `DeleteSubscriptionGroupCommand` of a cluster."""
    header = DeleteSubscriptionGroupRequestHeader(group)
    for address in await _brokers(instance):
        await instance.api.call(address, RequestCode.DELETE_SUBSCRIPTIONGROUP, header, TIMEOUT_MS)
    for prefix in (RETRY_GROUP_TOPIC_PREFIX, DLQ_GROUP_TOPIC_PREFIX):
        await delete_topic(instance, f"{prefix}{group}")


async def create_subscription_group(instance: MQClientInstance, group: str) -> None:
    """Make a group as 4.8.0 `UpdateSubGroupSubCommand` does without options; one that is there gets these settings."""
    config = SubscriptionGroupConfig(group, consume_broadcast_enable=False, consume_from_min_enable=False)
    for address in await _brokers(instance):
        code = RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP
        await instance.api.call(address, code, None, TIMEOUT_MS, config.encode())


async def _brokers(instance: MQClientInstance) -> list[str]:
    """The addresses of all brokers that the name server knows."""
    server = instance.api.name_servers[0]
    answer = await instance.api.call(server, RequestCode.GET_BROKER_CLUSTER_INFO, None, TIMEOUT_MS)
    table = ClusterInfo.decode(answer.body or b"{}").broker_addr_table
    return [address for broker in table.values() for address in broker.broker_addrs.values()]
