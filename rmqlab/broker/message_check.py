"""May this message be sent here? The checks before a send (4.8.0 `AbstractSendMessageProcessor.msgCheck`)."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from rmqlab.broker.processor import SUGGEST_TODO, require
from rmqlab.message.topics import is_retry_topic, validate_send_topic, validate_topic
from rmqlab.protocol.codes import ResponseCode
from rmqlab.protocol.topic_config import PERM_READ_WRITE, UNIT_FLAG, UNIT_SUB_FLAG, is_writeable

if TYPE_CHECKING:
    from rmqlab.broker.broker_config import BrokerConfig
    from rmqlab.broker.topic_config_manager import TopicConfigManager
    from rmqlab.protocol.channel import Channel
    from rmqlab.protocol.producer_headers import SendMessageRequestHeader, SendMessageRequestHeaderV2


class Refusal(NamedTuple):
    """Why a message is not taken: code and remark of the answer."""

    code: ResponseCode
    remark: str


def check_message(
    config: BrokerConfig,
    topics: TopicConfigManager,
    channel: Channel,
    header: SendMessageRequestHeader | SendMessageRequestHeaderV2,
) -> Refusal | None:
    """Return why the broker does not take a message, or None; a topic it does not know is made when that is allowed.

    A broker that may not be written to refuses ordered topics only, since clients no longer see it as writable
    anyway. A queue id counts as valid up to the larger of the topic's read and write queue numbers, and a negative one
    asks the broker to choose. Raises ProcessorError when a field that is needed is null.
    """
    topic = header.topic
    if not is_writeable(config.broker_permission) and topics.is_order_topic(topic):
        return Refusal(ResponseCode.NO_PERMISSION, f"the broker[{config.broker_ip1}] sending message is forbidden")
    remark = validate_topic(topic)
    if remark is not None:
        return Refusal(ResponseCode.SYSTEM_ERROR, remark)
    remark = validate_send_topic(topic)
    if remark is not None:
        return Refusal(ResponseCode.NO_PERMISSION, remark)
    topic_config = topics.select_topic_config(topic)
    if topic_config is None:
        require(header, ("default_topic", "default_topic_queue_nums"))
        topic_sys_flag = 0
        if header.unit_mode:
            topic_sys_flag = UNIT_SUB_FLAG if is_retry_topic(topic) else UNIT_FLAG
        topic_config = topics.create_topic_in_send_message_method(
            topic, header.default_topic, header.default_topic_queue_nums, topic_sys_flag
        )
        if topic_config is None and is_retry_topic(topic):
            topic_config = topics.create_topic_in_send_message_back_method(topic, 1, PERM_READ_WRITE, topic_sys_flag)
        if topic_config is None:
            return Refusal(ResponseCode.TOPIC_NOT_EXIST, f"topic[{topic}] not exist, apply first please!{SUGGEST_TODO}")
    require(header, ("queue_id",))
    if header.queue_id >= max(topic_config.write_queue_nums, topic_config.read_queue_nums):
        return Refusal(
            ResponseCode.SYSTEM_ERROR,
            f"request queueId[{header.queue_id}] is illegal, {topic_config} Producer: {channel.remote_address}",
        )
    return None
