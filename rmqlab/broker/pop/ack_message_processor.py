"""ACK_MESSAGE (200051): a popper is done with a message; an ack follows the check point into the revive log.

Also what is checked of an ack and of a change of invisibility alike. Source: `AckMessageProcessor`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rmqlab.broker.pop.pop_check_point import AckMsg, revive_message
from rmqlab.broker.pop.pop_dependencies import PopDependencies
from rmqlab.broker.pop.timer_message_store import TimerMessageStore
from rmqlab.broker.processor import ProcessorError, RequestRefused, require_fields
from rmqlab.broker.pull_check import illegal_queue, topic_not_exist
from rmqlab.events import Acked
from rmqlab.protocol.codes import RequestCode, ResponseCode
from rmqlab.protocol.command import RemotingCommand
from rmqlab.protocol.extra_info import ReceiptHandle, ReceiptHandleError
from rmqlab.protocol.pop_headers import AckMessageRequestHeader

if TYPE_CHECKING:
    from rmqlab.broker.processor import Handler
    from rmqlab.protocol.channel import Channel
    from rmqlab.protocol.pop_headers import OfMessage

_REQUIRED = "consumer_group", "topic", "queue_id", "extra_info", "offset"


@dataclass(slots=True, eq=False)
class AckMessageProcessor:
    """Answers ACK_MESSAGE. Whether the message was popped, and by whom, is not asked."""

    parts: PopDependencies
    timer: TimerMessageStore
    revive_topic: str

    @property
    def handlers(self) -> dict[int, Handler]:
        """Who answers which request."""
        return {RequestCode.ACK_MESSAGE: self._process}

    def _process(self, channel: Channel, command: RemotingCommand, now: int) -> RemotingCommand:
        header = command.decode_header(AckMessageRequestHeader)
        require_fields(header, _REQUIRED)
        try:
            check_place(self.parts, channel, header)
            self._check_offset(header)
        except RequestRefused as refused:
            return RemotingCommand.response(refused.code, refused.remark)
        self.append_ack(header, handle_of(header), now)
        observe = self.parts.hooks.observe_pull
        if observe is not None:
            client = self.parts.consumers.client_id(channel, header.consumer_group)
            observe(Acked(client, header.consumer_group, header.topic, header.queue_id, header.offset))
        return RemotingCommand.response(ResponseCode.SUCCESS)

    def _check_offset(self, header: AckMessageRequestHeader) -> None:
        store, topic, queue_id = self.parts.store, header.topic, header.queue_id
        low, high = store.get_min_offset_in_queue(topic, queue_id), store.get_max_offset_in_queue(topic, queue_id)
        if not low <= header.offset <= high:
            remark = f"offset is illegal, key:{topic}@{queue_id}, commit:{header.offset}, store:{low}~{high}"
            raise RequestRefused(ResponseCode.NO_MESSAGE, remark)

    def append_ack(self, header: OfMessage, handle: ReceiptHandle, now: int) -> None:
        """Store the ack of a message, which the revive log has when the message would become visible."""
        ack = AckMsg(
            header.offset, handle.broker_name, header.consumer_group, handle.pop_time, header.queue_id,
            handle.start_offset, header.topic,
        )  # fmt: skip
        deliver_ms = self.parts.rules.visible_at(handle.pop_time, handle.invisible_time)
        host = self.parts.config.store_host
        self.timer.put(revive_message(ack, self.revive_topic, handle.revive_qid, deliver_ms, host, now), now)


def handle_of(header: OfMessage) -> ReceiptHandle:
    """The receipt handle of a message.

    Raises:
        ProcessorError: it is none; Java throws this or another exception.
    """
    try:
        return ReceiptHandle.parse(header.extra_info)
    except ReceiptHandleError as error:
        raise ProcessorError(f"java.lang.IllegalArgumentException: {error}") from error


def check_place(parts: PopDependencies, channel: Channel, header: OfMessage) -> None:
    """Check topic and queue of a message.

    Raises:
        RequestRefused: there is no such queue.
    """
    topic_config = parts.topics.select_topic_config(header.topic)
    if topic_config is None:
        raise topic_not_exist(header.topic, parts.rules.wire)
    if not 0 <= header.queue_id < topic_config.read_queue_nums:
        raise illegal_queue(ResponseCode.MESSAGE_ILLEGAL, channel, header, topic_config)
