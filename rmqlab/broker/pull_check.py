"""What a pull must pass before the store is asked, in the order of 4.8.0 `PullMessageProcessor.processRequest`."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from rmqlab.broker.broker_config import BrokerConfig
from rmqlab.broker.consumer_filter_manager import ConsumerFilterManager
from rmqlab.broker.consumer_manager import ConsumerManager
from rmqlab.broker.processor import RequestRefused
from rmqlab.broker.topic_config_manager import SubscriptionGroupManager, TopicConfigManager
from rmqlab.errors import BadInput
from rmqlab.protocol.codes import ResponseCode
from rmqlab.protocol.consumer_headers import FLAG_SUBSCRIPTION
from rmqlab.protocol.heartbeat import MessageModel
from rmqlab.protocol.subscription_data import build_subscription
from rmqlab.protocol.topic_config import PERM_READ
from rmqlab.rules import Rules

if TYPE_CHECKING:
    from rmqlab.filter.message_filter import ConsumerFilterData
    from rmqlab.protocol.channel import Channel
    from rmqlab.protocol.consumer_headers import PullMessageRequestHeader
    from rmqlab.protocol.pop_headers import OfMessage, PopMessageRequestHeader
    from rmqlab.protocol.subscription_data import SubscriptionData
    from rmqlab.protocol.topic_config import SubscriptionGroupConfig, TopicConfig
    from rmqlab.protocol.wire import Wire

    OfQueue = PullMessageRequestHeader | PopMessageRequestHeader | OfMessage
    Subscription = tuple[SubscriptionData, ConsumerFilterData | None]


class PullDependencies(NamedTuple):
    """What a pull is checked against."""

    config: BrokerConfig
    topics: TopicConfigManager
    groups: SubscriptionGroupManager
    consumers: ConsumerManager
    filters: ConsumerFilterManager
    rules: Rules


def check_permissions(
    parts: PullDependencies, channel: Channel, header: PullMessageRequestHeader
) -> SubscriptionGroupConfig:
    """Check broker, group, topic and queue (rows S-58, S-60..S-62); return the group's configuration.

    Raises:
        Refused: the broker refuses the request.
    """
    group, topic, wire = header.consumer_group, header.topic, parts.rules.wire
    if not parts.config.broker_permission & PERM_READ:
        remark = f"the broker[{parts.config.broker_ip1}] pulling message is forbidden"
        raise RequestRefused(ResponseCode.NO_PERMISSION, remark)
    group_config = parts.groups.find_subscription_group_config(group)
    if group_config is None:
        remark = f"subscription group [{group}] does not exist, {wire.suggest_todo}"
        raise RequestRefused(ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST, remark)
    if not group_config.consume_enable:
        raise RequestRefused(ResponseCode.NO_PERMISSION, f"subscription group no permission, {group}")
    topic_config = parts.topics.select_topic_config(topic)
    if topic_config is None:
        raise topic_not_exist(topic, wire)
    if not topic_config.perm & PERM_READ:
        raise RequestRefused(ResponseCode.NO_PERMISSION, f"the topic[{topic}] pulling message is forbidden")
    if not 0 <= header.queue_id < topic_config.read_queue_nums:
        raise illegal_queue(wire.illegal_queue, channel, header, topic_config)
    return group_config


def topic_not_exist(topic: str, wire: Wire) -> RequestRefused:
    """The refusal of a pull, a pop or an ack: the broker does not know its topic."""
    remark = f"topic[{topic}] not exist, apply first please! {wire.suggest_todo}"
    return RequestRefused(ResponseCode.TOPIC_NOT_EXIST, remark)


def illegal_queue(code: ResponseCode, channel: Channel, header: OfQueue, topic_config: TopicConfig) -> RequestRefused:
    """The refusal of a pull, a pop or an ack: its topic has no such queue. Each kind of request has its own `code`."""
    remark = (
        f"queueId[{header.queue_id}] is illegal, topic:[{header.topic}] topicConfig.readQueueNums:"
        f"[{topic_config.read_queue_nums}] consumer:[/{channel.remote_address}]"
    )
    return RequestRefused(code, remark)


def subscription_in_force(
    parts: PullDependencies, header: PullMessageRequestHeader, group_config: SubscriptionGroupConfig, now: int
) -> Subscription:
    """The subscription this pull is filtered by, its own or its group's, and SQL92 data (S-63..S-69, S-90).

    Raises:
        Refused: the broker refuses the request.
    """
    if header.sys_flag & FLAG_SUBSCRIPTION:
        subscription, filter_data = _own_subscription(parts, header, now)
        group_subscription = parts.consumers.find_subscription_data(header.consumer_group, header.topic)
        posted = parts.rules.subscription_in_force(subscription, group_subscription) is subscription
    else:
        posted = False
    if not posted:
        subscription, filter_data = _group_subscription(parts, header, group_config)
    if not subscription.is_tag and not parts.config.enable_property_filter:
        remark = f"The broker does not support consumer to filter message by {subscription.expression_type}"
        raise RequestRefused(ResponseCode.SYSTEM_ERROR, remark)
    return subscription, filter_data


def _own_subscription(parts: PullDependencies, header: PullMessageRequestHeader, now: int) -> Subscription:
    try:
        subscription = build_subscription(header.topic, header.subscription, header.expression_type, now)
    except BadInput:
        remark = "parse the consumer's subscription failed"
        raise RequestRefused(ResponseCode.SUBSCRIPTION_PARSE_FAILED, remark) from None
    if subscription.is_tag:
        return subscription, None
    # An expression that does not compile gives None, and a filter without data lets everything pass (row S-63).
    return subscription, parts.filters.build(
        header.topic, header.consumer_group, header.subscription, header.expression_type, header.sub_version, now
    )


def _group_subscription(
    parts: PullDependencies, header: PullMessageRequestHeader, group_config: SubscriptionGroupConfig
) -> Subscription:
    group, topic, wire = header.consumer_group, header.topic, parts.rules.wire
    info = parts.consumers.consumer_table.get(group)
    if info is None:
        raise RequestRefused(
            ResponseCode.SUBSCRIPTION_NOT_EXIST, f"the consumer's group info not exist{wire.suggest_todo}"
        )
    if not group_config.consume_broadcast_enable and info.message_model is MessageModel.BROADCASTING:
        raise RequestRefused(
            ResponseCode.NO_PERMISSION, f"the consumer group[{group}] can not consume by broadcast way"
        )
    subscription = info.subscription_table.get(topic)
    if subscription is None:
        raise RequestRefused(
            ResponseCode.SUBSCRIPTION_NOT_EXIST, f"the consumer's subscription not exist{wire.suggest_todo}"
        )
    # Only an older table is refused. A newer one, made by a member with other tags, serves in silence (row S-66).
    if not parts.rules.is_latest(subscription.sub_version, header.sub_version):
        raise RequestRefused(ResponseCode.SUBSCRIPTION_NOT_LATEST, "the consumer's subscription not latest")
    if subscription.is_tag:
        return subscription, None
    filter_data = parts.filters.get(topic, group)
    if filter_data is None:
        remark = "The broker's consumer filter data is not exist!Your expression may be wrong!"
        raise RequestRefused(ResponseCode.FILTER_DATA_NOT_EXIST, remark)
    if not parts.rules.is_latest(filter_data.client_version, header.sub_version):
        raise RequestRefused(ResponseCode.FILTER_DATA_NOT_LATEST, "the consumer's consumer filter data not latest")
    return subscription, filter_data
