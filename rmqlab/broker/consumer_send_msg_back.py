"""CONSUMER_SEND_MSG_BACK (36): a message comes again later, or becomes a dead letter.

Source: 4.8.0 `SendMessageProcessor.asyncConsumerSendMsgBack`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rmqlab.broker.dead_letter import dead_letter_place, max_reconsume_times
from rmqlab.broker.faq import SUGGEST_TODO
from rmqlab.broker.message_check import UNIT_SUB_FLAG
from rmqlab.broker.processor_error import require
from rmqlab.message.java import is_blank
from rmqlab.message.message import MessageExtBrokerInner
from rmqlab.message.properties import (
    PROPERTY_ORIGIN_MESSAGE_ID,
    PROPERTY_RETRY_TOPIC,
    in_hash_map_order,
    properties_to_string,
)
from rmqlab.message.topics import retry_topic
from rmqlab.protocol.codes import ResponseCode
from rmqlab.protocol.command import RemotingCommand
from rmqlab.protocol.consumer_headers import ConsumerSendMsgBackRequestHeader
from rmqlab.protocol.topic_config import PERM_READ, PERM_WRITE, is_writeable
from rmqlab.rules import tags_code
from rmqlab.store.put_message_result import PutMessageStatus

if TYPE_CHECKING:
    from rmqlab.broker.broker import Broker
    from rmqlab.message.message import MessageExt

FIRST_RETRY_DELAY_LEVEL = 3


def consumer_send_msg_back(broker: Broker, command: RemotingCommand, now: int) -> RemotingCommand:
    """Store a message of the commit log once more, for the group that could not consume it.

    Delay level 0 means level 3 and one higher with every time; a negative level, or as many times as allowed (16),
    makes it a dead letter. Raises ProcessorError when a required field is null.
    """
    header = command.decode_header(ConsumerSendMsgBackRequestHeader)
    require(header, ("offset", "group", "delay_level"))
    group = header.group
    group_config = broker.subscription_group_manager.find_subscription_group_config(group)
    if group_config is None:
        return RemotingCommand.response(
            ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST, f"subscription group not exist, {group} {SUGGEST_TODO}"
        )
    if not is_writeable(broker.config.broker_permission):
        return RemotingCommand.response(
            ResponseCode.NO_PERMISSION, f"the broker[{broker.config.broker_ip1}] sending message is forbidden"
        )
    if group_config.retry_queue_nums <= 0:
        return RemotingCommand.response(ResponseCode.SUCCESS)
    topic = retry_topic(group)
    queue_id = broker.choose(f"queue of {topic}", group_config.retry_queue_nums)
    topic_config = broker.topic_config_manager.create_topic_in_send_message_back_method(
        topic, group_config.retry_queue_nums, PERM_READ | PERM_WRITE, UNIT_SUB_FLAG if header.unit_mode else 0
    )
    if not is_writeable(topic_config.perm):
        return RemotingCommand.response(ResponseCode.NO_PERMISSION, f"the topic[{topic}] sending message is forbidden")
    message = broker.message_store.look_message_by_offset(header.offset)
    if message is None:
        return RemotingCommand.response(ResponseCode.SYSTEM_ERROR, f"look message by offset failed, {header.offset}")
    message.properties.setdefault(PROPERTY_RETRY_TOPIC, message.topic)
    message.wait_store_msg_ok = False
    delay_level = header.delay_level
    if message.reconsume_times >= max_reconsume_times(command, header, group_config) or delay_level < 0:
        topic, queue_id = dead_letter_place(broker, group)
    else:
        message.delay_time_level = delay_level or FIRST_RETRY_DELAY_LEVEL + message.reconsume_times
    result = broker.message_store.async_put_message(_copy_for(message, topic, queue_id), now)
    if result.status is PutMessageStatus.PUT_OK:
        retried = message.properties.get(PROPERTY_RETRY_TOPIC)
        broker.broker_stats_manager.sent_back(group, message.topic if is_blank(retried) else str(retried), now)
        return RemotingCommand.response(ResponseCode.SUCCESS)
    return RemotingCommand.response(ResponseCode.SYSTEM_ERROR, result.status.name)


def _copy_for(message: MessageExt, topic: str, queue_id: int) -> MessageExtBrokerInner:
    """Return the message as it goes to the retry or dead letter topic.

    The origin's id is set after the text of the properties was made, as in 4.8.0; the store makes that text again for
    a delayed message, so a retry carries the id. A dead letter that was retried before still has the delay level of its
    last retry and is delayed once more.
    """
    properties = in_hash_map_order(message.properties)
    text = properties_to_string(properties)
    origin = properties.get(PROPERTY_ORIGIN_MESSAGE_ID)
    properties[PROPERTY_ORIGIN_MESSAGE_ID] = (message.msg_id or "") if origin is None or is_blank(origin) else origin
    return MessageExtBrokerInner(
        topic=topic,
        body=message.body,
        flag=message.flag,
        properties=properties,
        queue_id=queue_id,
        sys_flag=message.sys_flag,
        born_timestamp=message.born_timestamp,
        born_host=message.born_host,
        store_host=message.store_host,
        reconsume_times=message.reconsume_times + 1,
        properties_string=text,
        tags_code=tags_code(message.tags),
    )
