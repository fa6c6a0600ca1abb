"""Sends to a queue that a selector picks, and sends that wait for nothing (`DefaultMQProducerImpl`, same names)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rmqlab.client.client_error import MQClientError, check_message
from rmqlab.protocol.codes import RequestCode
from rmqlab.protocol.command import RemotingCommand

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from rmqlab.client.mq_client_api import SendResult, TopicPublishInfo
    from rmqlab.client.producer import DefaultMQProducer
    from rmqlab.message.message import Message
    from rmqlab.message.topics import MessageQueue

    MessageQueueSelector = Callable[[Sequence[MessageQueue], Message, object], MessageQueue | None]


async def queue_picked(
    producer: DefaultMQProducer, message: Message, selector: MessageQueueSelector | None, arg: object
) -> MessageQueue:
    """The queue that `selector` picks by `arg`; raises `MQClientError` when it fails, or picks none."""
    info = await producer.find_topic_publish_info(message.topic)
    if not info.ok():
        raise MQClientError(f"No route info for this topic, {message.topic}")
    try:
        queue = None if selector is None else selector(list(info.message_queue_list), message, arg)
    except Exception as error:
        raise MQClientError("select message queue threw exception.") from error
    if queue is None:
        raise MQClientError("select message queue return null.")
    return queue


async def send_picked(
    producer: DefaultMQProducer, message: Message, selector: MessageQueueSelector, arg: object = None
) -> SendResult:
    """Send to the queue that `selector` picks by `arg`, and wait for the answer; nothing is tried again."""
    producer.make_sure_state_ok()
    check_message(message, producer.config.max_message_size)
    return await producer.send(message, await queue_picked(producer, message, selector, arg))


async def send_oneway(producer: DefaultMQProducer, message: Message, queue: MessageQueue | None = None) -> None:
    """Send once, to `queue` or to the next in turn, and wait for nothing."""
    producer.make_sure_state_ok()
    check_message(message, producer.config.max_message_size)

    async def attempt(to: MessageQueue, _info: TopicPublishInfo | None, _left_ms: int) -> None:
        addr, body, header = await producer.prepare(message, to)
        request = RemotingCommand.request(RequestCode.SEND_MESSAGE_V2, header, body)
        await producer.instance.runtime.invoke_oneway(addr, request)

    if queue is not None:
        await attempt(queue, None, 0)
        return
    begin, timeout = producer.instance.runtime.now(), producer.config.send_msg_timeout
    await producer.send_default(message, timeout, begin, attempt, 1)
