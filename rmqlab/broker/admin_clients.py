"""What the admin tool asks of clients, by way of the broker (4.8.0 `AdminBrokerProcessor`, `Broker2Client`)."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from rmqlab.broker.broker2client import CALL_TIMEOUT_MS
from rmqlab.broker.processor_error import NULL_POINTER, ProcessorError
from rmqlab.message.ids import MessageIdError, decode_message_id
from rmqlab.message.java import is_blank
from rmqlab.message.message import MessageQueue
from rmqlab.protocol.admin_headers import (
    ConsumeMessageDirectlyResultRequestHeader,
    GetConsumerRunningInfoRequestHeader,
    GetConsumerStatusRequestHeader,
    ResetOffsetRequestHeader,
)
from rmqlab.protocol.bodies import (
    GetConsumerStatusBody,
    MessageQueueForC,
    ResetOffsetBody,
    ResetOffsetBodyForC,
    message_queue_order,
)
from rmqlab.protocol.codes import V3_0_7_SNAPSHOT, V3_1_8_SNAPSHOT, RequestCode, ResponseCode, version_desc
from rmqlab.protocol.command import RemotingCommand
from rmqlab.protocol.header import FrameError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rmqlab.broker.broker import Broker
    from rmqlab.broker.client_channel_info import ClientChannelInfo
    from rmqlab.protocol.channel import Channel

NOT_SET = "not set any response code"
STATUS_TIMEOUT_MS = 5_000
_TIMEOUT = "org.apache.rocketmq.remoting.exception.RemotingTimeoutException"


class AdminClients:
    """One method a request. What a client has to answer first is answered later, over the channel."""

    def __init__(self, broker: Broker) -> None:
        self._broker = broker

    def consumer_running_info(self, channel: Channel, command: RemotingCommand, now: int) -> RemotingCommand | None:
        """Pass 307 on to a consumer; its answer is the answer."""
        header = command.decode_header(GetConsumerRunningInfoRequestHeader)
        return self._call_consumer(channel, command, header.consumer_group, header.client_id, {}, command.body)

    def consume_message_directly(self, channel: Channel, command: RemotingCommand, now: int) -> RemotingCommand | None:
        """Pass 309 on to a consumer, with the message its offsetMsgId names."""
        header = command.decode_header(ConsumeMessageDirectlyResultRequestHeader)
        if header.msg_id is None:
            raise ProcessorError(NULL_POINTER)
        try:
            message_id = decode_message_id(header.msg_id)
        except MessageIdError as error:
            raise ProcessorError(f"java.lang.{error.java_error}") from error
        record = self._broker.message_store.select_one_message_by_offset(message_id.offset)
        if record is None:
            raise ProcessorError(NULL_POINTER)
        added = {"brokerName": self._broker.config.broker_name}
        return self._call_consumer(channel, command, header.consumer_group, header.client_id, added, record)

    def _call_consumer(
        self,
        channel: Channel,
        command: RemotingCommand,
        group: str,
        client_id: str | None,
        added: dict[str, str],
        body: bytes | None,
    ) -> RemotingCommand | None:
        info = self._broker.consumer_manager.find_channel(group, client_id or "")
        if info is None:
            return RemotingCommand.response(
                ResponseCode.SYSTEM_ERROR, f"The Consumer <{group}> <{_text(client_id)}> not online"
            )
        if info.version < V3_1_8_SNAPSHOT:
            return RemotingCommand.response(
                ResponseCode.SYSTEM_ERROR,
                f"The Consumer <{_text(client_id)}> Version <{version_desc(info.version)}> too low to finish, please "
                "upgrade it to V3_1_8_SNAPSHOT",
            )
        request = RemotingCommand.request(command.code, None, body)
        request.ext_fields = dict(command.all_ext_fields() or {}) | added
        address = info.channel.remote_address

        def on_answer(answer: RemotingCommand | None) -> None:
            if answer is None:
                waited = f"{_TIMEOUT}, wait response on the channel <{address}> timeout, {CALL_TIMEOUT_MS}(ms)"
                answer = RemotingCommand.response(
                    ResponseCode.CONSUME_MSG_TIMEOUT, f"consumer <{group}> <{_text(client_id)}> Timeout: {waited}"
                )
            channel.send(answer.reply_to(command))

        self._broker.broker2client.call_client(info.channel, request, on_answer, CALL_TIMEOUT_MS)
        return None

    def reset_offset(self, channel: Channel, command: RemotingCommand, now: int) -> RemotingCommand:
        """Answer 222: tell every consumer of a group where to go on, by time (-1: at the end).

        Without `isForce` nobody moves forward. The broker's own table is left to the consumers' next commits.
        """
        header = command.decode_header(ResetOffsetRequestHeader)
        topic, group, timestamp = header.topic, header.group, header.timestamp
        broker = self._broker
        config = broker.topic_config_manager.select_topic_config(topic)
        if config is None:
            return RemotingCommand.response(
                ResponseCode.SYSTEM_ERROR, f"[reset-offset] reset offset failed, no topic in this broker. topic={topic}"
            )
        store = broker.message_store
        offsets: dict[MessageQueue, int] = {}
        for queue_id in range(config.write_queue_nums):
            consumed = broker.consumer_offset_manager.query_offset(group, topic, queue_id)
            if consumed == -1:
                return RemotingCommand.response(ResponseCode.SYSTEM_ERROR, f"THe consumer group <{group}> not exist")
            if timestamp == -1:
                target = store.get_max_offset_in_queue(topic, queue_id)
            else:
                target = store.get_offset_in_queue_by_time(topic, queue_id, timestamp)
            target = max(target, 0)
            queue = MessageQueue(topic, broker.config.broker_name, queue_id)
            offsets[queue] = target if header.is_force or target < consumed else consumed
        offsets = {queue: offsets[queue] for queue in message_queue_order(offsets)}
        return self._tell_consumers(command, ResetOffsetRequestHeader(topic, group, timestamp), offsets)

    def _tell_consumers(
        self, command: RemotingCommand, header: ResetOffsetRequestHeader, offsets: dict[MessageQueue, int]
    ) -> RemotingCommand:
        broker, body = self._broker, ResetOffsetBody(offset_table=offsets).encode()
        told = body
        if command.language == "CPP":
            rows = [MessageQueueForC(q.topic, q.broker_name, q.queue_id, offset) for q, offset in offsets.items()]
            told = ResetOffsetBodyForC(offset_table=rows).encode()
        info = broker.consumer_manager.get_consumer_group_info(header.group)
        if info is None or not info.channel_info_table:
            return RemotingCommand.response(
                ResponseCode.CONSUMER_NOT_ONLINE,
                f"Consumer not online, so can not reset offset, Group: {header.group} Topic: {header.topic} "
                f"Timestamp: {header.timestamp}",
            )
        opaque = broker.next_opaque()
        for member in list(info.channel_info_table.values()):
            if member.version < V3_0_7_SNAPSHOT:
                return _too_old(member)
            request = RemotingCommand.request(RequestCode.RESET_CONSUMER_CLIENT_OFFSET, header, told)
            request.opaque = opaque
            request.mark_oneway()
            member.channel.send(request)
        return RemotingCommand.response(ResponseCode.SUCCESS, NOT_SET, body=body)

    def consumer_status(self, channel: Channel, command: RemotingCommand, now: int) -> RemotingCommand | None:
        """Answer 223: ask the consumers of a group, one after the other, which offsets they hold."""
        header = command.decode_header(GetConsumerStatusRequestHeader)
        info = self._broker.consumer_manager.get_consumer_group_info(header.group)
        if info is None:
            raise ProcessorError(NULL_POINTER)
        if not info.channel_info_table:
            return RemotingCommand.response(
                ResponseCode.SYSTEM_ERROR, f"No Any Consumer online in the consumer group: [{header.group}]"
            )
        asking = _Asking(self._broker, channel, command, header, list(info.channel_info_table.values()))
        return asking.go_on()


class _Asking:
    """One 223 under way: the members still to be asked, and what the others said."""

    def __init__(
        self,
        broker: Broker,
        channel: Channel,
        command: RemotingCommand,
        header: GetConsumerStatusRequestHeader,
        members: list[ClientChannelInfo],
    ) -> None:
        self._broker = broker
        self._channel = channel
        self._command = command
        self._header = header
        self._members: Iterator[ClientChannelInfo] = iter(members)
        self._table: dict[str, dict[MessageQueue, int]] = {}

    def go_on(self) -> RemotingCommand | None:
        """Ask the next member; return the answer when there is none left."""
        wanted = self._header.client_addr
        for member in self._members:
            if member.version < V3_0_7_SNAPSHOT:
                return _too_old(member)
            if is_blank(wanted) or wanted == member.client_id:
                header = GetConsumerStatusRequestHeader(topic=self._header.topic, group=self._header.group)
                request = RemotingCommand.request(RequestCode.GET_CONSUMER_STATUS_FROM_CLIENT, header)
                if not is_blank(wanted):
                    self._members = iter(())
                heard = partial(self._heard, member)
                self._broker.broker2client.call_client(member.channel, request, heard, STATUS_TIMEOUT_MS)
                return None
        return RemotingCommand.response(
            ResponseCode.SUCCESS, NOT_SET, body=GetConsumerStatusBody(consumer_table=self._table).encode()
        )

    def _heard(self, member: ClientChannelInfo, answer: RemotingCommand | None) -> None:
        if answer is not None and answer.code == ResponseCode.SUCCESS and answer.body is not None:
            try:
                body = GetConsumerStatusBody.decode(answer.body)
            except FrameError:
                pass  # Java logs it and goes on
            else:
                self._table[member.client_id or ""] = body.message_queue_table
        final = self.go_on()
        if final is not None:
            self._channel.send(final.reply_to(self._command))


def _too_old(member: ClientChannelInfo) -> RemotingCommand:
    return RemotingCommand.response(
        ResponseCode.SYSTEM_ERROR, f"the client does not support this feature. version={version_desc(member.version)}"
    )


def _text(value: str | None) -> str:
    return "null" if value is None else value
