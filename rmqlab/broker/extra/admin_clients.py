"""What the admin tool asks of clients, by way of the broker (`AdminBrokerProcessor`, `Broker2Client`).

What a client has to answer first is answered later, over the channel.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from rmqlab.broker.admin_broker_processor import too_old
from rmqlab.broker.processor import CALL_TIMEOUT_MS, NOT_SET, NULL_POINTER, ProcessorError, success, system_error
from rmqlab.message.ids import MessageIdError, decode_message_id
from rmqlab.message.java import is_blank
from rmqlab.protocol.admin_headers import (
    ConsumeMessageDirectlyResultRequestHeader,
    GetConsumerRunningInfoRequestHeader,
    GetConsumerStatusRequestHeader,
)
from rmqlab.protocol.bodies import GetConsumerStatusBody
from rmqlab.protocol.codes import V3_0_7_SNAPSHOT, V3_1_8_SNAPSHOT, RequestCode, ResponseCode, version_desc
from rmqlab.protocol.command import RemotingCommand
from rmqlab.protocol.header import FrameError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rmqlab.broker.broker import Broker
    from rmqlab.broker.client_housekeeping_service import ClientChannelInfo
    from rmqlab.broker.processor import Broker2Client, Handler
    from rmqlab.message.message import MessageQueue
    from rmqlab.protocol.channel import Channel

STATUS_TIMEOUT_MS = 5_000
_TIMEOUT = "org.apache.rocketmq.remoting.exception.RemotingTimeoutException"


class AdminClients:
    """One method a request; `handlers` says which."""

    def __init__(self, broker: Broker) -> None:
        self._config = broker.config
        self._store = broker.message_store
        self._consumers = broker.consumer_manager
        self._broker2client = broker.broker2client
        self.handlers: dict[int, Handler] = {
            RequestCode.GET_CONSUMER_RUNNING_INFO: self._consumer_running_info,
            RequestCode.CONSUME_MESSAGE_DIRECTLY: self._consume_message_directly,
            RequestCode.INVOKE_BROKER_TO_GET_CONSUMER_STATUS: self._consumer_status,
        }

    def _consumer_running_info(self, channel: Channel, command: RemotingCommand, _now: int) -> RemotingCommand | None:
        """Pass the question on to a consumer; its answer is the answer."""
        header = command.decode_header(GetConsumerRunningInfoRequestHeader)
        return self._call_consumer(channel, command, header.consumer_group, header.client_id, {}, command.body)

    def _consume_message_directly(
        self, channel: Channel, command: RemotingCommand, _now: int
    ) -> RemotingCommand | None:
        """Pass the order on to a consumer, with the message its offsetMsgId names."""
        header = command.decode_header(ConsumeMessageDirectlyResultRequestHeader)
        if header.msg_id is None:
            raise ProcessorError(NULL_POINTER)
        try:
            message_id = decode_message_id(header.msg_id)
        except MessageIdError as error:
            raise ProcessorError(f"java.lang.{error.java_error}") from error
        record = self._store.select_one_message_by_offset(message_id.offset)
        if record is None:
            raise ProcessorError(NULL_POINTER)
        added = {"brokerName": self._config.broker_name}
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
        name = "null" if client_id is None else client_id
        info = self._consumers.find_channel(group, client_id or "")
        if info is None:
            return system_error(f"The Consumer <{group}> <{name}> not online")
        if info.version < V3_1_8_SNAPSHOT:
            return system_error(
                f"The Consumer <{name}> Version <{version_desc(info.version)}> too low to finish, please "
                "upgrade it to V3_1_8_SNAPSHOT"
            )
        request = RemotingCommand.request(command.code, None, body)
        request.ext_fields = dict(command.all_ext_fields() or {}) | added
        address = info.channel.remote_address

        def on_answer(answer: RemotingCommand | None) -> None:
            if answer is None:
                waited = f"{_TIMEOUT}, wait response on the channel <{address}> timeout, {CALL_TIMEOUT_MS}(ms)"
                answer = RemotingCommand.response(
                    ResponseCode.CONSUME_MSG_TIMEOUT, f"consumer <{group}> <{name}> Timeout: {waited}"
                )
            channel.send(answer.reply_to(command))

        self._broker2client.call_client(info.channel, request, on_answer)
        return None

    def _consumer_status(self, channel: Channel, command: RemotingCommand, _now: int) -> RemotingCommand | None:
        """Ask the consumers of a group, one after the other, which offsets they hold."""
        header = command.decode_header(GetConsumerStatusRequestHeader)
        info = self._consumers.get_consumer_group_info(header.group)
        if info is None:
            raise ProcessorError(NULL_POINTER)
        if not info.channel_info_table:
            return system_error(f"No Any Consumer online in the consumer group: [{header.group}]")
        members = list(info.channel_info_table.values())
        return _StatusInquiry(self._broker2client, channel, command, header, members).ask_next()


class _StatusInquiry:
    """A question for the status of consumers under way: the members still to be asked, and what the others said."""

    def __init__(
        self,
        broker2client: Broker2Client,
        channel: Channel,
        command: RemotingCommand,
        header: GetConsumerStatusRequestHeader,
        members: list[ClientChannelInfo],
    ) -> None:
        self._broker2client = broker2client
        self._channel = channel
        self._command = command
        self._header = header
        self._members: Iterator[ClientChannelInfo] = iter(members)
        self._table: dict[str, dict[MessageQueue, int]] = {}

    def ask_next(self) -> RemotingCommand | None:
        """Ask the next member; return the answer when there is none left."""
        wanted = self._header.client_addr
        for member in self._members:
            if member.version < V3_0_7_SNAPSHOT:
                return system_error(too_old(member.version))
            if is_blank(wanted) or wanted == member.client_id:
                header = GetConsumerStatusRequestHeader(topic=self._header.topic, group=self._header.group)
                request = RemotingCommand.request(RequestCode.GET_CONSUMER_STATUS_FROM_CLIENT, header)
                if not is_blank(wanted):
                    self._members = iter(())
                on_answer = partial(self._on_answer, member)
                self._broker2client.call_client(member.channel, request, on_answer, STATUS_TIMEOUT_MS)
                return None
        return success(GetConsumerStatusBody(consumer_table=self._table).encode(), remark=NOT_SET)

    def _on_answer(self, member: ClientChannelInfo, answer: RemotingCommand | None) -> None:
        if answer is not None and answer.code == ResponseCode.SUCCESS and answer.body is not None:
            try:
                body = GetConsumerStatusBody.decode(answer.body)
            except FrameError:
                pass  # Java logs it and goes on
            else:
                self._table[member.client_id or ""] = body.message_queue_table
        final = self.ask_next()
        if final is not None:
            self._channel.send(final.reply_to(self._command))
