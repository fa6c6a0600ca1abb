"""CHANGE_MESSAGE_INVISIBLETIME (200053): a message gets a check point of its own, then the old one an ack of it.

Source: `ChangeInvisibleTimeProcessor`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rmqlab.broker.pop.ack_message_processor import AckMessageProcessor, check_place, handle_of
from rmqlab.broker.pop.pop_check_point import ACK_TIME_INTERVAL_MS, PopCheckPoint, revive_message
from rmqlab.broker.pop.pop_dependencies import PopDependencies
from rmqlab.broker.processor import NOT_SET, RequestRefused, require_fields
from rmqlab.events import InvisibleTimeChanged
from rmqlab.protocol.codes import RequestCode, ResponseCode
from rmqlab.protocol.command import RemotingCommand
from rmqlab.protocol.pop_headers import ChangeInvisibleTimeRequestHeader, ChangeInvisibleTimeResponseHeader

if TYPE_CHECKING:
    from rmqlab.broker.processor import Handler
    from rmqlab.protocol.channel import Channel
    from rmqlab.protocol.extra_info import ReceiptHandle

_REQUIRED = "consumer_group", "topic", "queue_id", "extra_info", "offset", "invisible_time"


@dataclass(slots=True, eq=False)
class ChangeInvisibleTimeProcessor:
    """Answers CHANGE_MESSAGE_INVISIBLETIME with what the message's new receipt handle is made of.

    The broker takes any time, 0 and below too; a proxy asks for 10 s at least. One that the timer does not take
    (`timerMaxDelaySec`) is a SYSTEM_ERROR.
    """

    parts: PopDependencies
    acks: AckMessageProcessor

    @property
    def handlers(self) -> dict[int, Handler]:
        """Who answers which request."""
        return {RequestCode.CHANGE_MESSAGE_INVISIBLETIME: self._process}

    def _process(self, channel: Channel, command: RemotingCommand, now: int) -> RemotingCommand:
        header = command.decode_header(ChangeInvisibleTimeRequestHeader)
        require_fields(header, _REQUIRED)
        answer = ChangeInvisibleTimeResponseHeader()
        try:
            check_place(self.parts, channel, header)
        except RequestRefused as refused:
            return RemotingCommand.response(refused.code, refused.remark, answer)
        store, place = self.parts.store, (header.topic, header.queue_id)
        if not store.get_min_offset_in_queue(*place) <= header.offset < store.get_max_offset_in_queue(*place):
            return RemotingCommand.response(ResponseCode.NO_MESSAGE, NOT_SET, answer)
        handle = handle_of(header)
        if not self._append_check_point(header, handle, now):
            return RemotingCommand.response(ResponseCode.SYSTEM_ERROR, NOT_SET, answer)
        self.acks.append_ack(header, handle, now)
        answer = ChangeInvisibleTimeResponseHeader(now, header.invisible_time, handle.revive_qid)
        observe = self.parts.hooks.observe_pull
        if observe is not None:
            client, at = self.parts.consumers.client_id(channel, header.consumer_group), header.invisible_time
            observe(InvisibleTimeChanged(client, header.consumer_group, *place, header.offset, at))
        return RemotingCommand.response(ResponseCode.SUCCESS, NOT_SET, answer)

    def _append_check_point(self, header: ChangeInvisibleTimeRequestHeader, handle: ReceiptHandle, now: int) -> bool:
        rules, acks = self.parts.rules, self.acks
        check_point = PopCheckPoint(
            broker_name=handle.broker_name,
            cid=header.consumer_group,
            queue_offset_diff=[0],
            invisible_time=header.invisible_time,
            num=1,
            pop_time=now,
            queue_id=header.queue_id,
            revive_time=rules.visible_at(now, header.invisible_time),
            start_offset=header.offset,
            suspend=bool(header.suspend) if rules.wire.tells_suspend else None,
            topic=header.topic,
        )
        deliver_ms = check_point.revive_time - ACK_TIME_INTERVAL_MS
        host = self.parts.config.store_host
        message = revive_message(check_point, acks.revive_topic, handle.revive_qid, deliver_ms, host, now)
        return acks.timer.put(message, now).is_ok
