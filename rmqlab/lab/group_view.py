"""What the observer of a recording asks the broker: a group's clients and subscriptions, and its offsets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rmqlab.message.message import MessageQueue
from rmqlab.protocol.bodies import message_queue_order
from rmqlab.protocol.codes import ResponseCode

if TYPE_CHECKING:
    from collections.abc import Callable

    from rmqlab.broker.broker import Broker

GroupView = dict[str, Any]


def group_view(broker: Broker, group: str, strip: Callable[[str], str], epoch_ms: int) -> GroupView:
    """Clients of a group and its subscriptions as ``TYPE:expression@version``, version in ms since ``epoch_ms``.

    A group that is not online gives {"offline": 206}, the admin tool's response code.
    """
    info = broker.consumer_manager.get_consumer_group_info(group)
    if info is None or not info.channel_info_table:
        return {"offline": int(ResponseCode.CONSUMER_NOT_ONLINE)}
    clients = sorted(strip(str(client_id)) for client_id in info.all_client_ids())
    subscriptions = {
        strip(str(topic)): f"{data.expression_type}:{data.sub_string}@{data.sub_version - epoch_ms}"
        for topic, data in sorted(info.subscription_table.items(), key=lambda item: str(item[0]))
    }
    return {"clients": clients, "subs": subscriptions}


def consume_stats(broker: Broker, group: str, topic: str) -> dict[int, int]:
    """Committed offset by queue id, as the admin tool's request 208 tells it; empty when the broker tells nothing."""
    config = broker.topic_config_manager.select_topic_config(topic)
    info = broker.consumer_manager.get_consumer_group_info(group)
    if config is None or (info is not None and info.subscription_table and topic not in info.subscription_table):
        return {}
    queues = [MessageQueue(topic, broker.config.broker_name, number) for number in range(config.read_queue_nums)]
    numbers = [queue.queue_id for queue in message_queue_order(queues)]
    return {number: max(broker.consumer_offset_manager.query_offset(group, topic, number), 0) for number in numbers}
