"""CONSUMER_SEND_MSG_BACK (36): a message comes again later, or becomes a dead letter.

Source: `SendMessageProcessor.asyncConsumerSendMsgBack` and `handleRetryAndDLQ`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from rmqlab.broker.broker_config import BrokerConfig
from rmqlab.broker.processor import (
    NULL_POINTER,
    BrokerHooks,
    ProcessorError,
    require_fields,
    success,
    system_error,
)
from rmqlab.broker.topic_config_manager import SubscriptionGroupManager, TopicConfigManager
from rmqlab.events import DeadLetter
from rmqlab.message.java import in_hash_map_order, is_blank, to_int32
from rmqlab.message.message import MessageExtBrokerInner
from rmqlab.message.properties import PROPERTY_ORIGIN_MESSAGE_ID, PROPERTY_RETRY_TOPIC, properties_to_string
from rmqlab.message.topics import dlq_topic, retry_topic
from rmqlab.protocol.codes import ResponseCode
from rmqlab.protocol.command import RemotingCommand
from rmqlab.protocol.consumer_headers import ConsumerSendMsgBackRequestHeader
from rmqlab.protocol.topic_config import PERM_READ_WRITE, PERM_WRITE, UNIT_SUB_FLAG, is_writeable
from rmqlab.rules import Rules
from rmqlab.store.dispatch_request import PutMessageStatus
from rmqlab.store.message_store import MessageStore

if TYPE_CHECKING:
    from rmqlab.message.message import MessageExt
    from rmqlab.protocol.channel import Channel
    from rmqlab.protocol.producer_headers import SendMessageRequestHeader, SendMessageRequestHeaderV2
    from rmqlab.protocol.topic_config import SubscriptionGroupConfig
    from rmqlab.protocol.wire import Wire

    RetryHeader = ConsumerSendMsgBackRequestHeader | SendMessageRequestHeader | SendMessageRequestHeaderV2

FIRST_RETRY_DELAY_LEVEL = 3
DLQ_NUMS_PER_GROUP = 1
V3_4_9 = 121  # ordinal in `MQVersion`: since then clients say themselves how often they retry


class SendDependencies(NamedTuple):
    """What a message that is sent, or sent back, is checked against and stored with.

    `is_locked`: whether a member of the group holds the lock of a queue now.
    """

    config: BrokerConfig
    store: MessageStore
    topics: TopicConfigManager
    groups: SubscriptionGroupManager
    choose: Callable[[str, int], int]
    hooks: BrokerHooks
    rules: Rules
    is_locked: Callable[[str, int], bool]


def consumer_send_msg_back(
    parts: SendDependencies, _channel: Channel, command: RemotingCommand, now: int
) -> RemotingCommand:
    """Store a message of the commit log, which a consumer could not handle, once more for its group.

    Delay level 0 means level 3 and one higher with every time; a negative level, or as many times as allowed (16),
    makes it a dead letter.

    Raises:
        ProcessorError: when a required field is null.
    """
    config, store, topics, groups, choose, hooks, rules, _is_locked = parts
    header = command.decode_header(ConsumerSendMsgBackRequestHeader)
    require_fields(header, ("offset", "group", "delay_level"))
    group = header.group
    group_config = groups.find_subscription_group_config(group)
    if group_config is None:
        return RemotingCommand.response(
            ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST,
            f"subscription group not exist, {group} {rules.wire.suggest_todo}",
        )
    if not is_writeable(config.broker_permission):
        return RemotingCommand.response(
            ResponseCode.NO_PERMISSION, f"the broker[{config.broker_ip1}] sending message is forbidden"
        )
    if group_config.retry_queue_nums <= 0:
        return success()
    topic = retry_topic(group)
    queue_id = choose(f"queue of {topic}", group_config.retry_queue_nums)
    topic_config = topics.create_topic_in_send_message_back_method(
        topic, group_config.retry_queue_nums, PERM_READ_WRITE, UNIT_SUB_FLAG if header.unit_mode else 0
    )
    if not is_writeable(topic_config.perm):
        remark = f"the topic[{topic}] sending message is forbidden"
        return RemotingCommand.response(ResponseCode.NO_PERMISSION, remark)
    message = store.look_message_by_offset(header.offset)
    if message is None:
        return system_error(f"look message by offset failed, {header.offset}")
    message.properties.setdefault(PROPERTY_RETRY_TOPIC, message.topic)
    message.wait_store_msg_ok = False
    delay_level = header.delay_level
    if message.reconsume_times >= max_reconsume_times(command, header, group_config, rules) or delay_level < 0:
        topic, queue_id = dead_letter_place(group, topics, choose, rules)
    else:
        message.delay_time_level = delay_level or to_int32(FIRST_RETRY_DELAY_LEVEL + message.reconsume_times)
    result = store.async_put_message(_copy_for(message, topic, queue_id, rules.wire), now)
    if result.status is not PutMessageStatus.PUT_OK:
        return system_error(result.status.name)
    if topic == dlq_topic(group):
        hooks.tell(DeadLetter(group, message.unique_id))
    if hooks.on_sent_back is not None:
        retried = message.properties.get(PROPERTY_RETRY_TOPIC)
        hooks.on_sent_back(group, message.topic if is_blank(retried) else str(retried), now)
    return success()


def max_reconsume_times(
    command: RemotingCommand, header: RetryHeader, group_config: SubscriptionGroupConfig, rules: Rules
) -> int:
    """How often a message is retried: as the client says, or for old clients as its group is configured.

    Raises:
        ProcessorError: when a client that should say it does not.
    """
    if command.version < V3_4_9 or (header.max_reconsume_times is None and not rules.needs_reconsume_times):
        return group_config.retry_max_times
    if header.max_reconsume_times is None:
        raise ProcessorError(NULL_POINTER)
    return header.max_reconsume_times


def dead_letter_place(
    group: str, topics: TopicConfigManager, choose: Callable[[str, int], int], rules: Rules
) -> tuple[str, int]:
    """Topic and queue of a group's dead letters; a new topic is made, from which the rules say who may pull."""
    topic = dlq_topic(group)
    queue_id = choose(f"queue of {topic}", DLQ_NUMS_PER_GROUP)
    perm = PERM_READ_WRITE if rules.may_pull_from_dlq else PERM_WRITE
    topics.create_topic_in_send_message_back_method(topic, DLQ_NUMS_PER_GROUP, perm, 0)
    return topic, queue_id


def _copy_for(message: MessageExt, topic: str, queue_id: int, wire: Wire) -> MessageExtBrokerInner:
    """The message as it goes to the retry or dead letter topic.

    The origin's id is set after the text of the properties was made, as in 4.8.0; the store makes that text again for
    a delayed message, so a retry carries the id. 5.x makes the text again here. A dead letter that was retried before
    still has the delay level of its last retry and is delayed once more.
    """
    inner = MessageExtBrokerInner.again(message, topic, queue_id, wire.property_capacity)
    inner.reconsume_times = to_int32(inner.reconsume_times + 1)
    origin = inner.properties.get(PROPERTY_ORIGIN_MESSAGE_ID)
    if origin is None or is_blank(origin):
        inner.properties[PROPERTY_ORIGIN_MESSAGE_ID] = message.msg_id or ""
    if wire.keeps_origin_in_dlq:
        inner.properties = in_hash_map_order(inner.properties, wire.property_capacity)
        inner.properties_string = properties_to_string(inner.properties)
    return inner
