"""Answers of consumers to producers that wait for one (`ReplyMessageProcessor`): 324, 325 and 326."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from rmqlab.broker.processor import RequestRefused
from rmqlab.broker.send_message_processor import SendMessageProcessor, check_message
from rmqlab.message.java import in_hash_map_order
from rmqlab.message.message import Host, MessageExtBrokerInner
from rmqlab.message.properties import (
    PROPERTY_MESSAGE_REPLY_TO_CLIENT,
    PROPERTY_PUSH_REPLY_TIME,
    properties_to_string,
    string_to_properties,
)
from rmqlab.protocol.codes import RequestCode, ResponseCode
from rmqlab.protocol.command import RemotingCommand
from rmqlab.protocol.producer_headers import (
    ReplyMessageRequestHeader,
    SendMessageRequestHeader,
    SendMessageRequestHeaderV2,
    SendMessageResponseHeader,
)

if TYPE_CHECKING:
    from rmqlab.broker.broker import Broker
    from rmqlab.protocol.channel import Channel


class ReplyMessageProcessor(SendMessageProcessor):
    """Answers SEND_REPLY_MESSAGE (324) and its V2 (325) when the producer has taken the reply, or did not."""

    def __init__(self, broker: Broker) -> None:
        super().__init__(broker.send_parts)
        self._producers = broker.producer_manager
        self._broker2client = broker.broker2client
        self._timers = broker.timers
        self.handlers = {
            RequestCode.SEND_REPLY_MESSAGE: self._reply,
            RequestCode.SEND_REPLY_MESSAGE_V2: self._reply,
        }

    def _reply(self, channel: Channel, command: RemotingCommand, now: int) -> RemotingCommand | None:
        """Push a reply to the producer its property names, then store it.

        Raises:
            ProcessorError: a null field.
        """
        if command.code == RequestCode.SEND_REPLY_MESSAGE:
            header = command.decode_header(SendMessageRequestHeader)
        else:
            header = command.decode_header(SendMessageRequestHeaderV2).v1()
        try:
            topic_config = check_message(self._config, self._topics, self._wire, channel, header)
        except RequestRefused as refused:
            return self._answer(refused.code, refused.remark)
        message = MessageExtBrokerInner(
            topic=header.topic,
            queue_id=self._queue_id(header, topic_config),
            body=command.body,
            flag=header.flag,
            properties=in_hash_map_order(string_to_properties(header.properties), self._wire.property_capacity),
            properties_string=header.properties or "",
            born_timestamp=header.born_timestamp,
            born_host=Host.parse(channel.remote_address),
            store_host=self._store_host,
            reconsume_times=header.reconsume_times or 0,
        )
        sender = message.properties.get(PROPERTY_MESSAGE_REPLY_TO_CLIENT)
        if sender is None:
            remark = f"reply message properties[{PROPERTY_MESSAGE_REPLY_TO_CLIENT}] is null"
            return self._finish(message, remark)
        to = self._producers.find_channel(sender)
        if to is None:
            return self._finish(message, f"push reply message fail, channel of <{sender}> not found.")
        on_answer = partial(self._on_answer, channel, command, message, sender)
        self._broker2client.call_client(to, self._push(channel, command, header, message, now), on_answer)
        return None

    def _push(
        self,
        channel: Channel,
        command: RemotingCommand,
        header: SendMessageRequestHeader,
        message: MessageExtBrokerInner,
        now: int,
    ) -> RemotingCommand:
        """The request to the producer; its properties tell when it was pushed, those that are stored do not."""
        properties = in_hash_map_order(
            message.properties | {PROPERTY_PUSH_REPLY_TIME: str(now)}, self._wire.property_capacity
        )
        pushed = ReplyMessageRequestHeader.of(
            header,
            properties=properties_to_string(properties),
            born_host=f"/{channel.remote_address}",
            store_host=str(self._store_host),
            store_timestamp=now,
        )
        return RemotingCommand.request(RequestCode.PUSH_REPLY_MESSAGE_TO_CLIENT, pushed, command.body)

    def _on_answer(
        self,
        channel: Channel,
        command: RemotingCommand,
        message: MessageExtBrokerInner,
        sender: str,
        answer: RemotingCommand | None,
    ) -> None:
        """The producer answered, or did not in time (None)."""
        taken = answer is not None and answer.code == ResponseCode.SUCCESS
        response = self._finish(message, None if taken else f"push reply message to {sender}fail.")
        if not command.is_oneway:
            channel.send(response.reply_to(command, self._wire))

    def _finish(self, message: MessageExtBrokerInner, remark: str | None) -> RemotingCommand:
        """Store the reply, if replies are stored, pushed or not, and say whether it was pushed (no `remark`)."""
        header = None if remark is not None else SendMessageResponseHeader("0", message.queue_id, 0)
        if self._config.store_reply_message_enable:
            result = self._store.async_put_message(message, self._timers.now)
            if result.is_ok:
                header = self.stored(message, result, message.queue_id, self._timers.now)
        return self._answer(ResponseCode.SUCCESS if remark is None else ResponseCode.SYSTEM_ERROR, remark, header)
