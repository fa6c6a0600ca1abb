"""Subscriptions with a filter class, whose source goes to the filter servers after each heartbeat (row F-99)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rmqlab.client.client_config import ServiceState
from rmqlab.client.client_error import CALL_ERRORS
from rmqlab.message.java import to_utf8
from rmqlab.message.record import body_crc
from rmqlab.protocol.codes import RequestCode
from rmqlab.protocol.consumer_headers import RegisterMessageFilterClassRequestHeader
from rmqlab.protocol.heartbeat import ConsumeType

if TYPE_CHECKING:
    from rmqlab.client.mq_client_instance import MQClientInstance
    from rmqlab.client.push_consumer import DefaultMQPushConsumer
    from rmqlab.protocol.subscription_data import SubscriptionData

TIMEOUT = 5_000


async def subscribe_class(
    consumer: DefaultMQPushConsumer, topic: str, full_class_name: str, filter_class_source: str | None
) -> None:
    """Subscribe with a filter class that filter servers run."""
    instance = consumer.instance
    send = instance.send_heartbeat_to_all_broker_with_lock

    async def send_and_upload() -> bool:
        sent = await send()
        if sent:
            await upload_filter_class_source(instance)
        return sent

    if "send_heartbeat_to_all_broker_with_lock" not in vars(instance):
        instance.send_heartbeat_to_all_broker_with_lock = send_and_upload  # type: ignore[method-assign]
    subscription = consumer.put_subscription(topic, "*")
    subscription.sub_string = full_class_name
    subscription.class_filter_mode = True
    subscription.filter_class_source = filter_class_source
    if consumer.state is not ServiceState.CREATE_JUST:
        await instance.send_heartbeat_to_all_broker_with_lock()


async def upload_filter_class_source(instance: MQClientInstance) -> None:
    """Send the sources of all filter classes to all filter servers of their topics; failures are ignored."""
    for consumer in list(instance.consumer_table.values()):
        if consumer.consume_type is not ConsumeType.CONSUME_PASSIVELY:
            continue
        for subscription in consumer.subscriptions():
            if subscription.class_filter_mode and subscription.filter_class_source is not None:
                await _upload(instance, consumer.group_name, subscription, to_utf8(subscription.filter_class_source))


async def _upload(instance: MQClientInstance, group: str, subscription: SubscriptionData, source: bytes) -> None:
    topic = str(subscription.topic)
    route = instance.topic_route_table.get(topic)
    header = RegisterMessageFilterClassRequestHeader(group, topic, str(subscription.sub_string), body_crc(source))
    for servers in [] if route is None else list(route.filter_server_table.values()):
        for addr in servers:
            try:
                await instance.api.call(addr, RequestCode.REGISTER_MESSAGE_FILTER_CLASS, header, TIMEOUT, source)
            except CALL_ERRORS:
                continue
